"""Values without arrays, printed straight from their bytes: most records of `__consumer_offsets` are such.

A twin of `reader` and `converter`: where it gives a text they give the same, and
where anything is out of the ordinary it gives none, and they are to be asked.
Ordinary are numbers, strings of plain ASCII, and one tagged field at most.
"""

import re
from collections.abc import Callable
from struct import Struct as Fields
from typing import NamedTuple, TypeAlias

from formats.layout import struct_of
from formats.messages.declare import Field, Schema
from formats.messages.reader import FIXED
from formats.primitives import UUID_SIZE, int16, uuid_text
from formats.types import Buffer

Printer: TypeAlias = Callable[[Buffer, int], str | None]

_INTEGERS = {"int8", "int16", "uint16", "int32", "int64"}
INT16_SIZE = 2
_PLAIN_TEXT = re.compile(rb"[ !#-\[\]-~]*")
"""What JSON has as it is."""
_ONE_BYTE = 0x80
"""An unsigned varint below it is one byte."""


class _Run(NamedTuple):
    """Numbers side by side, and the string after them if there is one."""

    numbers: Fields
    string: bool


def flat_printer(schema: Schema, version: int) -> Printer | None:
    """Return what makes JSON of a value's bytes from its first field on; None for less simple messages.

    It gives None for a value that it leaves to others, bad ones among them.
    """
    present = [field for field in schema.fields if version in field.versions]
    plain = [field for field in present if field.tag is None]
    tagged = [field for field in present if field.tag is not None]
    flexible = schema.is_flexible(version)
    if not all(map(_is_plain, plain)) or present != [*plain, *tagged] or not (plain and _is_known(tagged)):
        return None
    runs = _runs(plain)
    members = ",".join(f'"{field.name}":' + ('"%s"' if field.type == "string" else "%d") for field in plain)
    template = f"{{{members}%s}}"
    tags = _tags(tagged)

    def text(data: Buffer, position: int) -> str | None:
        values: list[int | str] = []
        for numbers, string in runs:
            start = position + numbers.size
            if start > len(data):
                return None
            values += numbers.unpack_from(data, position)
            if not string:
                position = start
                continue
            length, start = _compact(data, start) if flexible else _fixed(data, start)
            position = start + length
            raw = bytes(data[start:position])
            if length < 0 or len(raw) != length or _PLAIN_TEXT.fullmatch(raw) is None:
                return None
            values.append(raw.decode("ascii"))
        after = tags(data, position) if flexible else ""
        return None if after is None else template % (*values, after)

    return text


def _is_plain(field: Field) -> bool:
    return not field.array and not field.nullable and (field.type in _INTEGERS or field.type == "string")


def _is_known(tagged: list[Field]) -> bool:
    return not tagged or (len(tagged) == 1 and tagged[0].type == "uuid" and not tagged[0].array)


def _runs(fields: list[Field]) -> list[_Run]:
    letters: list[str] = []
    runs: list[_Run] = []
    for field in fields:
        if field.type == "string":
            runs.append(_Run(struct_of(letters), string=True))
            letters = []
        else:
            letters.append(FIXED[field.type][0])
    return [*runs, _Run(struct_of(letters), string=False)] if letters else runs


def _fixed(data: Buffer, position: int) -> tuple[int, int]:
    """Return the length of a string and where it begins; -1 for one that is cut off."""
    start = position + INT16_SIZE
    return (int16(data, position)[0] if start <= len(data) else -1), start


def _compact(data: Buffer, position: int) -> tuple[int, int]:
    """Return the same of a compact string; -1 for a long one, too."""
    return (data[position] - 1 if position < len(data) and data[position] < _ONE_BYTE else -1), position + 1


def _tags(tagged: list[Field]) -> Callable[[Buffer, int], str | None]:
    """Return what makes the JSON of the tagged fields at a place."""
    only = tagged[0] if tagged else None
    expected = b"" if only is None else bytes([1, only.tag or 0, UUID_SIZE])

    def text(data: Buffer, position: int) -> str | None:
        if position < len(data) and data[position] == 0:
            return ""
        start = position + len(expected)
        raw = bytes(data[start : start + UUID_SIZE])
        if only is None or data[position:start] != expected or len(raw) != UUID_SIZE:
            return None
        value = uuid_text(raw)
        return "" if value == only.default else f',"{only.name}":"{value}"'

    return text
