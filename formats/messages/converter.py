"""Messages as JSON, member for member what Kafka's generated JSON converters write.

The truth is the `write` methods of the generated `*JsonConverter` classes, and
Jackson's `JsonNode.toString` for the text. Uuids are Kafka's text, bytes base64.
Numbers that JSON does not have are texts: `NaN`, `Infinity`, `-Infinity`. A field of
another version is left out, and so is a tagged field at its default (Kafka shows a
tagged struct at its default if there are unknown tags inside; here it is left out).
"""

import binascii
import json
import math
from typing import Any

from formats.messages.declare import Field, Schema, Value

_LEAST_PLAIN, _LEAST_SCIENTIFIC = 1e-3, 1e7
"""Where `Double.toString` begins to write plain digits, and where it ends."""


def to_json(schema: Schema, version: int, fields: dict[str, Value]) -> dict[str, Any]:
    """Return the fields of a decoded message as Kafka's JSON converter for it writes them."""
    return _struct(schema.fields, version, fields)


def json_text(node: Any) -> str:
    """Return JSON as Jackson prints it on one line: no blanks, control characters as upper case hex, doubles as Java."""
    if isinstance(node, dict):
        return "{" + ",".join(f"{_quoted(name)}:{json_text(value)}" for name, value in node.items()) + "}"
    if isinstance(node, list):
        return "[" + ",".join(json_text(value) for value in node) + "]"
    if isinstance(node, str):
        return _quoted(node)
    if isinstance(node, float):
        return _double(node)
    return json.dumps(node)


def _struct(fields: tuple[Field, ...], version: int, values: dict[str, Value]) -> dict[str, Any]:
    return {
        field.name: _node(field, version, values[field.name])
        for field in fields
        if version in field.versions and (field.tag is None or values[field.name] != field.default)
    }


def _node(field: Field, version: int, value: Value) -> Any:
    if isinstance(value, list):
        return [_node(field, version, element) for element in value]
    if isinstance(value, dict) and field.struct is not None:
        return _struct(field.struct, version, value)
    if isinstance(value, bytes):
        return binascii.b2a_base64(value, newline=False).decode("ascii")
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _quoted(text: str) -> str:
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return "".join(['"', *(_ESCAPES.get(ord(character), character) for character in text), '"'])


_ESCAPES = {number: f"\\u{number:04X}" for number in range(0x20)} | {
    ord(character): escape
    for character, escape in {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}.items()
}


def _double(value: float) -> str:
    if value == 0 or _LEAST_PLAIN <= abs(value) < _LEAST_SCIENTIFIC:
        return _plain(value)
    sign, digits, exponent = _parts(value)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _plain(value: float) -> str:
    sign, digits, exponent = _parts(value)
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{sign}{whole}.{digits[exponent + 1 :] or '0'}"


def _parts(value: float) -> tuple[str, str, int]:
    """Return the sign, the shortest digits that mean this number, and the power of ten of the first."""
    mantissa, _, exponent = f"{value!r}".partition("e")
    sign, mantissa = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    power = int(exponent or 0) + len(whole) - 1 - (len(whole + fraction) - len(digits) if digits else 0)
    return sign, digits.rstrip("0") or "0", power if digits else 0
