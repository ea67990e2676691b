"""JSON, and cells of csv and tsv, of rows with long values.

In slices, so that memory never holds an encoded value as a whole.
"""

import base64
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kcli.output.values import compact, needs_quotes, tsv_escaped
from kcli.rows.declare import Value

LONG = 1 << 16
"""Bytes and characters beyond which a value is written in slices."""
SLICE = 3 << 14
"""Bytes or characters of a slice; base64 takes three bytes at a time."""

_TEXTS, _HOLDERS = frozenset({str, bytes}), frozenset({tuple, list, dict})


def is_long(value: Any) -> bool:
    """Whether the texts and bytes in a value are long together; a tuple is a row's values."""
    return length_of(value) > LONG


def length_of(value: Any) -> int:
    """Return how long the texts and bytes in a value are together."""
    total, values = 0, [value]
    # a loop, not a recursion: every row of an output is measured
    for item in values:
        kind = type(item)
        if kind in _TEXTS:
            total += len(item)
        elif kind in _HOLDERS:
            values += item.values() if kind is dict else item
    return total


def json_slices(
    value: Any, encode: Callable[[Any], str], comma: str = ",", colon: str = ":"
) -> Iterator[str]:
    """Yield what `encode` makes of a value, in slices; `comma` and `colon` are those that it writes."""
    if not is_long(value):
        yield encode(value)
    elif isinstance(value, str):
        yield '"'
        yield from (encode(piece)[1:-1] for piece in _slices(value))
        yield '"'
    elif isinstance(value, bytes):
        yield '"'
        yield from base64_slices(value)
        yield '"'
    elif isinstance(value, dict):
        for number, (name, item) in enumerate(value.items()):
            yield f"{comma if number else '{'}{encode(name)}{colon}"
            yield from json_slices(item, encode, comma, colon)
        yield "}"
    else:
        for number, item in enumerate(value):
            yield comma if number else "["
            yield from json_slices(item, encode, comma, colon)
        yield "]"


def csv_slices(value: Value) -> Iterator[str]:
    """Yield the csv cell of a long value in slices, as `kcli.output.values.csv_cell` has it."""
    quote = "" if isinstance(value, bytes) or (isinstance(value, str) and not needs_quotes(value)) else '"'
    yield quote
    yield from (piece.replace('"', '""') for piece in _cell(value))
    yield quote


def tsv_slices(value: Value) -> Iterator[str]:
    """Yield the tsv cell of a long value in slices, as `kcli.output.values.tsv_cell` has it."""
    return map(tsv_escaped, _cell(value))


def beginning(value: Value, length: int) -> str:
    """Return the first characters of a cell of csv or tsv, not yet escaped."""
    text = ""
    for piece in _cell(value):
        text += piece
        if len(text) >= length:
            break
    return text[:length]


def _cell(value: Value) -> Iterable[str]:
    if isinstance(value, str):
        return _slices(value)
    return base64_slices(value) if isinstance(value, bytes) else json_slices(value, compact)


def _slices(text: str) -> Iterator[str]:
    return (text[start : start + SLICE] for start in range(0, len(text), SLICE))


def base64_slices(data: bytes) -> Iterator[str]:
    """Return the base64 of bytes in slices."""
    return (base64.b64encode(data[start : start + SLICE]).decode() for start in range(0, len(data), SLICE))
