"""How the bytes of keys, values and headers are shown: as they are, as text, hex, their size or hash, or redacted.

The change is made where the rows are made: what is redacted leaves no worker.
"""

import base64
import hashlib
import hmac
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from formats.record import Record
from kcli.analysis.selection import AnyRecord
from kcli.dump.options import Options
from kcli.dump.render.lines import Words
from kcli.output.long_values import SLICE, base64_slices
from kcli.rows import Item, Row, RowType, Value, row_types, type_name, values_of
from kcli.rows.declare import Column
from kcli.rows.declare import record as object_schema

Show: TypeAlias = Callable[[bytes], Value]

HASH_DIGITS = 32
"""Hex digits of a salted hash that are shown: enough that two values of one dump never share them by chance."""
REDACTED = object_schema({"size": {"type": "integer"}, "hash": {"type": "string"}})
TEXT_OR_BYTES = {
    "anyOf": [{"type": "string"}, object_schema({"base64": {"type": "string", "contentEncoding": "base64"}})]
}


LONG = 1 << 20
CONTROLS = bytes(range(0x20))
MOST_CONTROLS = 4
"""A long value is no text if more than one in so many characters is a control character: JSON takes six bytes for one."""


def _text(data: bytes) -> Value:
    """Return UTF-8 as text; other bytes as an object, which no text can be mistaken for."""
    try:
        if len(data) <= LONG or len(data) - len(data.translate(None, CONTROLS)) <= len(data) // MOST_CONTROLS:
            return data.decode()
    except UnicodeDecodeError:
        pass
    return {"base64": base64.b64encode(data).decode()}


MODES: dict[str, Show] = {
    "base64": lambda data: data,
    "text": _text,
    "hex": bytes.hex,
    "size": len,
    "sha256": lambda data: hashlib.sha256(data).hexdigest(),
}
"""How bytes can be shown; as `base64` they stay bytes, which JSON and csv write that way."""

_KINDS = {"base64": "bytes", "hex": "str", "size": "int", "sha256": "str"}


def salted(data: bytes, salt: bytes) -> str:
    """Return what stands for bytes in a dump that is redacted: equal for equal bytes, not to be guessed without the salt."""
    return hmac.new(salt, data, hashlib.sha256).hexdigest()[:HASH_DIGITS]


def shown_as(options: Options) -> Show | None:
    """Return what the options make of bytes; None if they stay as they are."""
    salt = options.salt
    if salt is not None:
        return lambda data: {"size": len(data), "hash": salted(data, salt)}
    return MODES[options.bytes_as] if options.bytes_as not in {None, "base64"} else None


def words_of(data: bytes, options: Options) -> Words:
    """Return how key or payload is printed in text where it is not as kafka-dump-log prints it."""
    if options.salt is not None:
        return f"{len(data)} bytes, hash {salted(data, options.salt)}"
    if options.bytes_as == "base64":
        return "".join(base64_slices(data)) if len(data) <= SLICE else base64_slices(data)
    if options.bytes_as == "hex":
        return (
            data.hex()
            if len(data) <= SLICE
            else (data[at : at + SLICE].hex() for at in range(0, len(data), SLICE))
        )
    return str(MODES[options.bytes_as or "text"](data))


def redacted(record: AnyRecord, options: Options) -> AnyRecord:
    """Return a record whose header keys can be told: hashes of them where all is redacted."""
    if options.salt is None or not isinstance(record, Record):
        return record
    salt = options.salt
    return record._replace(
        headers=tuple((salted(key, salt).encode(), value) for key, value in record.headers)
    )


def shown_row(row: Item, show: Show) -> Item:
    """Return a row with its bytes shown."""
    if not isinstance(row, tuple):
        return row
    values = list(values_of(row))
    for kind, place in bytes_columns(type_name(row)):
        value = values[place]
        if isinstance(value, bytes):
            values[place] = show(value)
        elif kind == "headers" and isinstance(value, list):
            values[place] = [_header(header, show) for header in value if isinstance(header, dict)]
    return Row(type_name(row), tuple(values))


def _header(header: dict[str, Value], show: Show) -> dict[str, Value]:
    value = header["value"]
    return {"key": header["key"], "value": show(value) if isinstance(value, bytes) else value}


@cache
def bytes_columns(name: str) -> tuple[tuple[str, int], ...]:
    """Return (kind or `headers`, place) of the columns of a row type that hold bytes."""
    (row_type,) = (row_type for row_type in row_types("dump") if row_type.name == name)
    return tuple(
        (column.kind if column.kind == "bytes" else "headers", place)
        for place, column in enumerate(row_type.columns)
        if column.kind == "bytes" or column.name == "headers"
    )


def types_as_shown(types: tuple[RowType, ...], options: Options) -> tuple[RowType, ...]:
    """Return row types whose columns are of the kinds that the options make of bytes."""
    return tuple(
        RowType(row_type.name, tuple(_column(column, options) for column in row_type.columns))
        for row_type in types
    )


def _column(column: Column, options: Options) -> Column:
    if column.kind == "bytes":
        if options.salt is not None:
            return column._replace(kind="json", nested=REDACTED)
        kind = _KINDS.get(options.bytes_as or "base64")
        return (
            column._replace(kind="json", nested=TEXT_OR_BYTES) if kind is None else column._replace(kind=kind)
        )
    if column.name == "headers":
        value = _column(Column("value", "bytes", True, ""), options)
        schema = value.nested or {"type": {"int": "integer"}.get(value.kind, "string")}
        if value.kind == "bytes":
            return column
        nullable = (
            {"anyOf": [schema, {"type": "null"}]}
            if "type" not in schema
            else {**schema, "type": [schema["type"], "null"]}
        )
        return column._replace(
            nested={"type": "array", "items": object_schema({"key": {"type": "string"}, "value": nullable})}
        )
    return column


__all__ = [
    "MODES",
    "bytes_columns",
    "redacted",
    "salted",
    "shown_as",
    "shown_row",
    "types_as_shown",
    "words_of",
]
