"""Messages as JSON, member for member what Kafka's generated JSON converters write.

The truth is the `write` methods of the generated `*JsonConverter` classes, and Jackson's `JsonNode.toString`
for the text. Uuids are Kafka's text, bytes base64. Numbers that JSON does not have are texts: `NaN`,
`Infinity`, `-Infinity`. A field of another version is left out, and so is a tagged field at its default.
"""

import binascii
import json
import math
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from formats.messages.control import CONTROL_VALUES
from formats.messages.declare import Field, Schema, Value
from formats.messages.reader import Message

Writer: TypeAlias = Callable[[Any], Any]

_LEAST_PLAIN, _LEAST_SCIENTIFIC = 1e-3, 1e7
"""Where `Double.toString` begins to write plain digits, and where it ends."""


def to_json(schema: Schema, version: int, fields: dict[str, Value]) -> dict[str, Any]:
    """Return the fields of a decoded message as Kafka's JSON converter for it writes them."""
    node: dict[str, Any] = _message(schema, version)(fields)
    return node


def json_text(node: Any) -> str:
    """Return JSON as Jackson prints it on one line: no blanks, upper case hex, doubles as Java."""
    pieces: list[str] = []
    _put(node, pieces)
    return "".join(pieces)


def _put(node: Any, pieces: list[str]) -> None:
    kind = type(node)
    if kind is dict:
        before = "{"
        for name, value in node.items():
            # most are leaves: a call for each costs as much again
            kind = type(value)
            if kind is int:
                pieces.append(f"{before}{_member(name)}{value}")
            elif kind is str:
                pieces.append(f"{before}{_member(name)}{_quoted(value)}")
            else:
                pieces.append(before + _member(name))
                _put(value, pieces)
            before = ","
        pieces.append("}" if node else "{}")
    elif kind is list:
        before = "["
        for value in node:
            pieces.append(before)
            _put(value, pieces)
            before = ","
        pieces.append("]" if node else "[]")
    else:
        pieces.append(_leaf(node))


def _leaf(node: Any) -> str:
    kind = type(node)
    if kind is str:
        return _quoted(node)
    return str(node) if kind is int else _double(node) if kind is float else json.dumps(node)


@cache
def _member(name: str) -> str:
    """Return the name of a member, which a declaration has, and the colon."""
    return f"{_quoted(name)}:"


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


def _quoted(text: str) -> str:
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return "".join(['"', *(_ESCAPES.get(ord(character), character) for character in text), '"'])


_ESCAPES = {number: f"\\u{number:04X}" for number in range(0x20)} | {
    ord(character): f"\\{letter}" for character, letter in zip('"\\\b\f\n\r\t', '"\\bfnrt', strict=True)
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
    integer_digits = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{sign}{integer_digits}.{digits[exponent + 1 :] or '0'}"


def _parts(value: float) -> tuple[str, str, int]:
    """Return sign, shortest digits and the first's power of ten, as Double.toString has them from Java 19."""
    two = f"{value:.1e}"
    mantissa, _, exponent = (two if float(two) == value else f"{value!r}").partition("e")
    sign, mantissa = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    integer, _, fraction = mantissa.partition(".")
    digits = (integer + fraction).lstrip("0")
    power = int(exponent or 0) + len(integer) - 1 - (len(integer + fraction) - len(digits) if digits else 0)
    return sign, digits.rstrip("0") or "0", power if digits else 0


def control_json(message: Message) -> dict[str, Any]:
    """Return a decoded value of a control record as Kafka's JSON converter for it writes it."""
    return to_json(CONTROL_VALUES[message.api_key], message.version, message.fields)
