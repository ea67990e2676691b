"""Messages as JSON, member for member what Kafka's generated JSON converters write.

The truth is the `write` methods of the generated `*JsonConverter` classes, and Jackson's `JsonNode.toString`
for the text. Uuids are Kafka's text, bytes base64. Numbers that JSON does not have are texts: `NaN`,
`Infinity`, `-Infinity`. A field of another version is left out, and so is a tagged field at its default.
"""

import binascii
import json
import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from formats.messages.control import CONTROL_VALUES
from formats.messages.declare import Field, Schema, Value
from formats.messages.reader import Message

Writer: TypeAlias = Callable[[Any], Any]

_LEAST_PLAIN, _LEAST_SCIENTIFIC = 1e-3, 1e7
"""Where `Double.toString` begins to write plain digits, and where it ends."""
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_ESCAPE = re.compile(r"\\(?:u(?P<hex>.{4})|.)")
_DOUBLE = re.compile(r'(?<="value":)-?\d+(?:\.\d+(?:e[+-]\d+)?|e[+-]\d+)')
"""Of a quota, the one message that has a double; in a text the quotes would be escaped."""


def to_json(schema: Schema, version: int, fields: dict[str, Value]) -> dict[str, Any]:
    """Return the fields of a decoded message as Kafka's JSON converter for it writes them."""
    node: dict[str, Any] = _message(schema, version)(fields)
    return node


def json_text(node: Any) -> str:
    """Return JSON as Jackson prints it on one line: no blanks, upper case hex, doubles as Java."""
    text = _ENCODER.encode(node)
    if "\\u" in text:
        text = _ESCAPE.sub(lambda match: rf"\u{match['hex'].upper()}" if match["hex"] else match[0], text)
    if '"value":' in text:
        text = _DOUBLE.sub(lambda match: _double(float(match[0])), text)
    return text


@cache
def _message(schema: Schema, version: int) -> Writer:
    return _struct(schema.fields, version)


def _struct(fields: tuple[Field, ...], version: int) -> Writer:
    """Return what makes JSON of a struct's fields."""
    present = [field for field in fields if version in field.versions]
    writers = [(field.name, _node(field, version)) for field in present]
    defaults = {field.name: field.default for field in present if field.tag is not None}

    def write(values: dict[str, Value]) -> dict[str, Any]:
        node = {name: values[name] if writer is None else writer(values[name]) for name, writer in writers}
        for name, default in defaults.items():
            if values[name] == default:
                del node[name]
        return node

    return write


def _node(field: Field, version: int) -> Writer | None:
    """Return what makes JSON of a field's value, None where the value is JSON already."""
    writer = _struct(field.struct, version) if field.struct is not None else _SCALAR_JSON.get(field.type)
    if writer is None:
        return None
    if field.array:
        return lambda values: (
            None if values is None else [None if value is None else writer(value) for value in values]
        )
    return lambda value: None if value is None else writer(value)


def _base64(value: bytes) -> str:
    return binascii.b2a_base64(value, newline=False).decode("ascii")


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


_SCALAR_JSON: dict[str, Writer] = {"bytes": _base64, "float64": _number}


def _double(value: float) -> str:
    """Return a number as Double.toString does from Java 19: the nearest two digits where one would do."""
    if value == 0 or _LEAST_PLAIN <= abs(value) < _LEAST_SCIENTIFIC:
        return repr(value)
    from decimal import Decimal

    two = f"{value:.1e}"
    shortest = Decimal(two if float(two) == value else repr(value)).normalize()
    digits, _, exponent = f"{shortest:E}".partition("E")
    return f"{digits if '.' in digits else f'{digits}.0'}E{int(exponent)}"


def control_json(message: Message) -> dict[str, Any]:
    """Return a decoded value of a control record as Kafka's JSON converter for it writes it."""
    return to_json(CONTROL_VALUES[message.api_key], message.version, message.fields)
