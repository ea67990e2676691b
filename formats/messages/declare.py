"""The little language in which Kafka's versioned messages are declared, one table per family.

A table says what Kafka's own schemas say (`common/message/*.json` and
`common/metadata/*.json`), one line per message and one per field:

    OffsetCommitValue 1 versions 0-4 flexible 4+
        offset           int64
        leaderEpoch      int32   3+
        topicId          uuid    4+ tag 0

A message: name, api key, valid versions, the first flexible version if any. A field: name as Kafka's JSON has
it, type, then in this order what differs from "in every version, never null, no tag": versions, `nullable`,
`tag N`, `= default` of a tagged field (without it the type's zero). `[]` before a type is an array. Fields of
a struct are indented below the first field of that type; later fields of the table name the type alone. Few
fields follow their message, or their struct, on its own line:

    ShareGroupMetadataValue 11 versions 0 flexible 0+: epoch int32, metadataHash int64
"""

import json
import re
from typing import NamedTuple, TypeAlias

Value: TypeAlias = "bool | int | float | str | bytes | list[Value] | dict[str, Value] | None"
"""A field's value; uuids as Kafka prints them, bytes as bytes, null as None."""

SCALAR_DEFAULTS: dict[str, Value] = {
    **dict.fromkeys(("int8", "int16", "uint16", "int32", "int64"), 0),
    "bool": False,
    "float64": 0.0,
    "uuid": "AAAAAAAAAAAAAAAAAAAAAA",
    "string": "",
    "bytes": b"",
}
"""Types that are no struct, and the value that a tagged field of the type has when it is left out."""

INDENT = 4
LATEST_VERSION = 0x7FFF

_MESSAGE = re.compile(
    r"(?P<name>\w+) (?P<key>\d+) versions (?P<versions>[\d-]+)(?: flexible (?P<flexible>\d+)\+)?"
)
_FIELD = re.compile(
    r"(?P<name>\w+) +(?P<array>\[\])?(?P<type>\w+)(?: +(?P<versions>\d[\d+-]*))?(?P<nullable> +nullable)?"
    r"(?: +tag (?P<tag>\d+)(?: = (?P<default>-?\d+|null))?)?"
)


class Versions(NamedTuple):
    """A range of message versions, both ends inclusive."""

    lowest: int
    highest: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.lowest <= version <= self.highest


class Field(NamedTuple):
    """One declared field; `struct` holds the fields of a struct's type, `tag` is None for a field without."""

    name: str
    type: str
    array: bool
    versions: Versions
    nullable: bool
    tag: int | None
    default: Value
    struct: "tuple[Field, ...] | None"


class Schema(NamedTuple):
    """One declared message; `flexible` is the first version with compact lengths and tags, None for none."""

    name: str
    api_key: int
    versions: Versions
    flexible: int | None
    fields: tuple[Field, ...]

    def __hash__(self) -> int:
        """Hash the name alone: defaults may be lists."""
        return hash((self.name, self.api_key))

    def is_flexible(self, version: int) -> bool:
        """Tell whether this version has compact lengths and tagged fields."""
        return self.flexible is not None and version >= self.flexible


class _Line(NamedTuple):
    depth: int
    text: str


def declared(table: str) -> dict[str, Schema]:
    """Return the messages of a table by name; ValueError names the line that is not of the language."""
    lines = [line for text in table.splitlines() if text.strip() for line in _lines(text)]
    schemas: dict[str, Schema] = {}
    structs: dict[str, tuple[Field, ...]] = {}
    line_number = 0
    while line_number < len(lines):
        match = _MESSAGE.fullmatch(lines[line_number].text)
        if match is None:
            raise ValueError(f"no message: {lines[line_number].text}")
        fields, line_number = _fields(lines, line_number + 1, 1, structs)
        flexible = None if match["flexible"] is None else int(match["flexible"])
        versions = _versions(match["versions"])
        schemas[match["name"]] = Schema(match["name"], int(match["key"]), versions, flexible, fields)
    return schemas


def by_key(schemas: dict[str, Schema], suffix: str) -> dict[int, Schema]:
    """Return the messages whose names end so, by their api keys."""
    return {schema.api_key: schema for name, schema in schemas.items() if name.endswith(suffix)}


def zero(field: Field) -> Value:
    """Return a tagged field's value where it is left out and declares no default, as in generated classes."""
    if field.array:
        return []
    if field.struct is not None:
        return {inner.name: zero(inner) for inner in field.struct}
    return SCALAR_DEFAULTS[field.type]


def _lines(text: str) -> list[_Line]:
    """Return a message or a field, and the fields that follow it on its line."""
    depth, remainder = divmod(len(text) - len(text.lstrip()), INDENT)
    if remainder:
        raise ValueError(f"indented by {len(text) - len(text.lstrip())}: {text.strip()}")
    owner, *fields = re.split(": |, ", text.strip())
    return [_Line(depth, owner), *(_Line(depth + 1, field) for field in fields)]


def _fields(
    lines: list[_Line], line_number: int, depth: int, structs: dict[str, tuple[Field, ...]]
) -> tuple[tuple[Field, ...], int]:
    fields: list[Field] = []
    while line_number < len(lines) and lines[line_number].depth == depth:
        match = _FIELD.fullmatch(lines[line_number].text)
        if match is None:
            raise ValueError(f"no field: {lines[line_number].text}")
        kind, line_number = match["type"], line_number + 1
        has_fields = line_number < len(lines) and lines[line_number].depth > depth
        if kind not in SCALAR_DEFAULTS and (has_fields or kind not in structs):
            structs[kind], line_number = _fields(lines, line_number, depth + 1, structs)
        fields.append(_field(match, structs.get(kind)))
    return tuple(fields), line_number


def _field(match: re.Match[str], struct: tuple[Field, ...] | None) -> Field:
    if struct == ():
        raise ValueError(f"no fields: {match['type']}")
    field = Field(
        name=match["name"],
        type=match["type"],
        array=match["array"] is not None,
        versions=_versions(match["versions"] or "0+"),
        nullable=match["nullable"] is not None,
        tag=None if match["tag"] is None else int(match["tag"]),
        default=None,
        struct=struct,
    )
    return field._replace(default=json.loads(match["default"]) if match["default"] else zero(field))


def _versions(text: str) -> Versions:
    lowest, dash, highest = text.partition("-")
    if text.endswith("+"):
        return Versions(int(text[:-1]), LATEST_VERSION)
    return Versions(int(lowest), int(highest) if dash else int(lowest))
