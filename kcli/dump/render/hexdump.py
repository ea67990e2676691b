"""The rows of `dump --layout` as text: a line per 16 bytes, with the field that they are part of and what they say.

    batch header
    00000061  8  base_offset  00 00 00 00 00 00 00 2a  42  offset of the first record as written

Positions are in decimal, as everywhere in kcli; `+` before one says that it
counts in the decompressed records. Lines that repeat the bytes of the line
before are told by one `*`.
"""

import os
from collections.abc import Iterable, Iterator
from typing import Any

from kcli.output.values import one_line
from kcli.rows import Item, type_name, values_of
from kcli.rows.dump import DUMP_LAYOUT
from kcli.rows.places import FROM_FILE

BYTES_PER_LINE = 16
POSITION = 8
SIZE = 6
FIELD = 24
HEX = 3 * BYTES_PER_LINE - 1
NOT_SHOWN = ".."
REPEATED = "*"
CHUNK = 1 << 16

_FILE = len(FROM_FILE)


def layout_lines(rows: Iterable[Item]) -> Iterator[str]:
    """Yield the lines of rows of type `dump_layout`: names of files and structures where they change, and fields.

    Of a row of another type, which stands for a file without a layout, the file's name is told and the columns behind it.
    """
    file = structure = None
    for row in rows:
        assert isinstance(row, tuple)
        values = values_of(row)
        where, (name, *field) = values[:_FILE], values[_FILE:]
        if where != file:
            if file is not None:
                yield ""
            file, structure = where, None
            yield one_line(os.path.join(str(where[0]), str(where[-1])))
        if type_name(row) != DUMP_LAYOUT.name:
            yield one_line("  ".join(str(value) for value in (name, *field) if value is not None))
            continue
        if name != structure:
            structure = name
            yield one_line(str(name))
        yield from _field(*field)


def _field(  # noqa: PLR0917
    field: Any, position: Any, stream_position: Any, size: Any, data: Any, value: Any, meaning: Any
) -> Iterator[str]:
    start, mark = (position, "") if position is not None else (stream_position, "+")
    words = "" if data and _is_hex_of(value, data) else value
    last = (len(data or b"") - 1) // BYTES_PER_LINE
    chunks = _hex(data) if data else iter([NOT_SHOWN if data is None else ""])
    before = next(chunks)
    yield _line(f"{mark}{start:0{POSITION}d}", str(size), field, before, words, meaning)
    repeated = False
    for number, chunk in enumerate(chunks, 1):
        if before == chunk and number < last:
            if not repeated:
                yield REPEATED
            repeated = True
            continue
        repeated, before = False, chunk
        yield _line(f"{mark}{start + number * BYTES_PER_LINE:0{POSITION}d}", "", "", chunk, None, None)


def _hex(data: bytes) -> Iterator[str]:
    return (data[at : at + BYTES_PER_LINE].hex(" ") for at in range(0, len(data), BYTES_PER_LINE))


def _is_hex_of(value: Any, data: bytes) -> bool:
    """Whether a value says no more than the bytes beside it do."""
    if value is None or len(value) != 2 + 2 * len(data) or not value.startswith("0x"):
        return False
    return all(value.startswith(data[at : at + CHUNK].hex(), 2 + 2 * at) for at in range(0, len(data), CHUNK))


def _line(position: str, size: str, field: str, chunk: str, value: str | None, meaning: str | None) -> str:  # noqa: PLR0917
    start = f"{position:>{POSITION + 1}}  {size:>{SIZE}}  {one_line(field):<{FIELD}}  {chunk:<{HEX}}"
    return "  ".join([start, *(one_line(word) for word in (value, meaning) if word)]).rstrip()


__all__ = ["layout_lines"]
