"""How bytes of keys, values and headers are shown: as they are, as text, hex, size or hash, or redacted.

The change is made where the rows are made: what is redacted leaves no worker.
"""

import base64
import hashlib
import hmac
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from formats.bounds import describe
from formats.errors import FormatError
from kcli.dump.options import DumpOptions
from kcli.rows import Item
from kcli.rows.declare import AnyRow, Column, RowType, Value, columns_of
from kcli.rows.declare import record as object_schema
from kcli.rows.dump import DumpRecordRow

Show: TypeAlias = Callable[[bytes], Value]

HASH_DIGITS = 32
"""Hex digits of a salted hash that are shown: two values of one dump never share so many by chance."""
REDACTED = object_schema({"size": {"type": "integer"}, "hash": {"type": "string"}})
TEXT_OR_BYTES = {
    "anyOf": [{"type": "string"}, object_schema({"base64": {"type": "string", "contentEncoding": "base64"}})]
}


LONG_VALUE = 1 << 20
CONTROL_CHARACTERS = bytes(range(0x20))
MOST_CONTROLS = 4
"""A long value with more control characters than one in so many is no text: JSON takes six bytes for each."""


def _text(data: bytes) -> Value:
    """Return UTF-8 as text; other bytes as an object, which no text can be mistaken for."""
    try:
        if (
            len(data) <= LONG_VALUE
            or len(data) - len(data.translate(None, CONTROL_CHARACTERS)) <= len(data) // MOST_CONTROLS
        ):
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


def salted(data: bytes, salt: bytes) -> str:
    """Return what replaces bytes in a redacted dump: equal for equal bytes, unguessable without the salt."""
    return hmac.new(salt, data, hashlib.sha256).hexdigest()[:HASH_DIGITS]


def shown_as(options: DumpOptions) -> Show | None:
    """Return what the options make of bytes; None if they stay as they are."""
    salt = options.salt
    if salt is not None:
        return lambda data: {"size": len(data), "hash": salted(data, salt)}
    return MODES[options.bytes_as] if options.bytes_as not in {None, "base64"} else None


def shown_text(data: bytes, options: DumpOptions) -> str:
    """Return how key or payload is printed in text where it is not as kafka-dump-log prints it."""
    if options.salt is not None:
        return f"{len(data)} bytes, hash {salted(data, options.salt)}"
    if options.bytes_as == "base64":
        return base64.b64encode(data).decode()
    return str(MODES[options.bytes_as or "text"](data))


def describe_contents(error: FormatError, options: DumpOptions) -> str:
    """Return an error about contents in words, without the found bytes where contents are redacted."""
    return describe(error) if options.salt is None else f"byte {error.position}: {error.field}"


def shown_row(row: Item, show: Show) -> Item:
    """Return a row with its bytes shown."""
    if not isinstance(row, tuple):
        return row
    changed: dict[str, Any] = {
        name: show(value) for name in _bytes_fields(type(row)) if (value := getattr(row, name)) is not None
    }
    if isinstance(row, DumpRecordRow):
        headers: tuple[Any, ...] = row.headers
        changed["headers"] = tuple(
            header if header.value is None else header._replace(value=show(header.value))
            for header in headers
        )
    return row._replace(**changed) if changed else row  # type: ignore[attr-defined]  # each is a NamedTuple


@cache
def _bytes_fields(row: type[AnyRow]) -> tuple[str, ...]:
    """Return the fields of a class of rows that hold bytes."""
    return tuple(column.name for column in columns_of(row) if column.kind == "bytes")


def types_as_shown(types: tuple[RowType, ...], options: DumpOptions) -> tuple[RowType, ...]:
    """Return row types whose columns are of the kinds that the options make of bytes."""
    if shown_as(options) is None:
        return types
    nested = REDACTED if options.salt is not None else {"text": TEXT_OR_BYTES}.get(options.bytes_as or "")
    kind = "json" if nested else "int" if options.bytes_as == "size" else "str"
    schema = nested or {"type": "integer" if kind == "int" else "string"}
    value = (
        {"anyOf": [schema, {"type": "null"}]}
        if "anyOf" in schema
        else {**schema, "type": [schema["type"], "null"]}
    )
    headers = {"type": "array", "items": object_schema({"key": {"type": "string"}, "value": value})}

    def shown_column(column: Column) -> Column:
        if column.kind == "bytes":
            return column._replace(kind=kind, nested=nested)
        return column._replace(nested=headers) if column.name == "headers" else column

    return tuple(RowType(row_type.name, tuple(map(shown_column, row_type.columns))) for row_type in types)
