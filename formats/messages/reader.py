"""Bounded readers compiled from the declarations of messages, one per message and version.

Runs of fixed-width fields become one Construct `Struct` bound by a `Layout`; what has a length is read by
`formats.primitives`. A reader takes `(buffer, position, found)` and returns `(fields, next position)`. The
truth is what Kafka's generator makes of a schema (`org.apache.kafka.message`): the `read` methods of the
generated classes.

    version not flexible    string i16 length, bytes and array i32; -1 is null
    flexible                compact lengths; tagged fields end every struct
    nullable struct         i8, below 0 is null; as a tagged field a uvarint, 0 is null

Lengths and counts are Java's ints: any below 0 is null; a count of tagged fields
below 0 is refused. Tags come in any order; of one that comes twice the last counts.
The size of a tagged field that is known is not looked at: the field is read by its
type, and reading goes on after it.
"""

from collections.abc import Callable
from functools import cache
from itertools import groupby
from typing import Annotated, Any, NamedTuple, TypeAlias

from formats import primitives
from formats.errors import CorruptError, LimitError, TruncatedError
from formats.java_text import java_string
from formats.layout import FLOAT64, INT8, INT16, INT32, INT64, UINT8, UINT16, FieldSpan, Layout
from formats.messages.declare import Field, Schema, Value, zero
from formats.types import Buffer

ELEMENTS_MAX = 1 << 20
"""Elements of all arrays of one message unless a caller allows more: 64 MiB of memory at most.

A struct or a tagged field counts as eight.
"""

BYTES_PER_ELEMENT = 64
"""Memory that an element costs at most: how many a caller allows who thinks in bytes."""

STRUCT_WEIGHT = 8


class UnknownTag(NamedTuple):
    """A tagged field that no declared version has, or that came again: its struct, number and bytes."""

    struct: str
    tag: int
    data: bytes


class Collector:
    """What a reader collects besides the fields, and how many array elements it may still make.

    `unknown_tags`, `replaced`: tagged fields that no field shows; `known_tags`: (struct, tag) of the others;
    `spans`, if given, gets the fields as they lie, counts, marks of null and tags too. With
    `replace_invalid_utf8` what is not UTF-8 becomes U+FFFD as in Java; else it is a CorruptError.
    """

    __slots__ = (
        "elements",
        "elements_left",
        "known_tags",
        "replace_invalid_utf8",
        "replaced",
        "spans",
        "unknown_tags",
    )

    def __init__(
        self,
        elements: int = ELEMENTS_MAX,
        *,
        replace_invalid_utf8: bool = False,
        spans: list[FieldSpan] | None = None,
    ) -> None:
        self.unknown_tags: list[UnknownTag] = []
        self.replaced: list[UnknownTag] = []
        self.known_tags: list[tuple[str, int]] = []
        self.replace_invalid_utf8 = replace_invalid_utf8
        self.spans = spans
        self.elements = self.elements_left = elements

    def spend(self, position: int, label: str, count: int, weight: int) -> None:
        """Count elements about to be made; LimitError beyond what one message may have."""
        self.elements_left -= count * weight
        if self.elements_left < 0:
            raise LimitError(position, label, f"at most {self.elements // weight} in all of a message", count)

    def span(self, label: str, start: int, end: int, value: Value) -> None:
        """Keep where a field lies and what it says; the label is its struct's name, a blank, its own."""
        if self.spans is not None:
            struct_name, _, field = label.partition(" ")
            self.spans.append(FieldSpan(struct_name, field, start, end, value))


FIXED: dict[str, tuple[str, Callable[[Any], Value] | None]] = {
    "bool": (UINT8, bool),
    "int8": (INT8, None),
    "int16": (INT16, None),
    "uint16": (UINT16, None),
    "int32": (INT32, None),
    "int64": (INT64, None),
    "float64": (FLOAT64, None),
    "uuid": (f"{primitives.UUID_SIZE}s", primitives.uuid_text),
}
"""Fixed-width types: their letters for `struct`, and what makes a value of what it reads."""


class NeverDefault(dict[str, Value]):
    """Fields of a struct with unknown tags inside: never the default that a tagged field is left out for."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        """Tell whether this is the very same."""
        return self is other


Reader: TypeAlias = Callable[[Buffer, int, Collector], tuple[Any, int]]
_Elements: TypeAlias = Callable[[Buffer, int, int, Collector], tuple[list[Value], int]]
_Step: TypeAlias = Callable[[Buffer, int, Collector, dict[str, Value]], int]


class _Version(NamedTuple):
    """What a reader is compiled for."""

    number: int
    flexible: bool


@cache
def reader(schema: Schema, version: int) -> Reader:
    """Return the reader of one version of a message: its fields in declared order, without other ones."""
    return _struct(schema.name, schema.fields, _Version(version, schema.is_flexible(version)))[0]


@cache
def head_reader(schema: Schema, version: int) -> Reader:
    """Return the reader of a message's first fields: it ends before the tagged fields that end a message."""
    steps, _ = _steps(schema.name, list(schema.fields), _Version(version, schema.is_flexible(version)))

    def read(buffer: Buffer, position: int, collector: Collector) -> tuple[dict[str, Value], int]:
        values: dict[str, Value] = {}
        for step in steps:
            position = step(buffer, position, collector, values)
        return values, position

    return read


def _struct(name: str, fields: tuple[Field, ...], version: _Version) -> tuple[Reader, int]:
    """Return the reader of a struct and the fewest bytes that it can have."""
    present = [field for field in fields if version.number in field.versions]
    plain = [field for field in present if field.tag is None]
    tagged = {field.tag: _steps(name, [field], version)[0][0] for field in present if field.tag is not None}
    steps, smallest = _steps(name, plain, version)
    of_other_versions = {field.tag for field in fields if field.tag is not None} - tagged.keys()
    tags = _tags(name, tagged, of_other_versions) if version.flexible else None
    defaults = {field.name: field.default for field in present} if tagged else {}
    fresh = [field for field in present if field.tag is not None and isinstance(field.default, (list, dict))]

    def read(buffer: Buffer, position: int, collector: Collector) -> tuple[dict[str, Value], int]:
        values: dict[str, Value] = defaults.copy()
        for field in fresh:
            values[field.name] = zero(field)
        for step in steps:
            position = step(buffer, position, collector, values)
        if tags is None:
            return values, position
        # nearly always there are none
        if position < len(buffer) and not buffer[position] and collector.spans is None:
            return values, position + 1
        return values, tags(buffer, position, collector, values)

    return read, smallest + version.flexible


def _steps(name: str, fields: list[Field], version: _Version) -> tuple[list[_Step], int]:
    """Return the readers of fields, one for those of fixed width side by side, and their fewest bytes."""
    steps: list[_Step] = []
    smallest = 0
    for is_fixed, run in groupby(fields, _is_fixed):
        run_fields = [*run]
        if is_fixed:
            layout = fixed_layout(name, run_fields)
            steps.append(_fixed_run(name, layout, run_fields))
            smallest += layout.size
            continue
        for field in run_fields:
            read_value, least = _value(name, field, version)
            steps.append(_single_step(name, field, read_value))
            smallest += least
    return steps, smallest


def _is_fixed(field: Field) -> bool:
    return field.type in FIXED and not field.array


def fixed_layout(name: str, fields: list[Field]) -> Layout[Any]:
    """Return the layout of fields of fixed width side by side, in the struct of that name."""
    make_row: Any = NamedTuple  # mypy knows only literal ones
    row = make_row(name, [(field.name, Annotated[Any, FIXED[field.type][0]]) for field in fields])
    return Layout(row, f"{name} {', '.join(row._fields)}")


def _fixed_run(owner: str, layout: Layout[Any], fields: list[Field]) -> _Step:
    names = [field.name for field in fields]
    makers = [(field.name, make) for field in fields if (make := FIXED[field.type][1]) is not None]
    values_at, size = layout.values, layout.size

    def step(buffer: Buffer, position: int, collector: Collector, values: dict[str, Value]) -> int:
        # cheaper than `update` for the few fields of a run
        for name, value in zip(names, values_at(buffer, position), strict=True):
            values[name] = value  # noqa: PERF403
        for name, make in makers:
            values[name] = make(values[name])
        if collector.spans is not None:
            for field in layout.fields:
                start = position + field.offset
                collector.span(f"{owner} {field.name}", start, start + field.size, values[field.name])
        return position + size

    return step


def _single_step(owner: str, field: Field, read_value: Reader) -> _Step:
    label = f"{owner} {field.name}"

    name, has_span = field.name, field.struct is None  # a struct has spans of its own fields

    def step(buffer: Buffer, position: int, collector: Collector, values: dict[str, Value]) -> int:
        values[name], after = read_value(buffer, position, collector)
        if collector.spans is not None and has_span:
            collector.span(label, position, after, values[name])
        return after

    return step


def _value(owner: str, field: Field, version: _Version) -> tuple[Reader, int]:
    """Return the reader of a value of no fixed width and the fewest bytes that it can have."""
    label = f"{owner} {field.name}"
    if field.array:
        return _array(label, field, version)
    if field.struct is not None:
        read_struct, smallest = _struct(field.type, field.struct, version)
        if field.nullable:
            return _nullable_struct(label, read_struct, tagged=field.tag is not None), 1
        return read_struct, smallest
    if field.type == "string":
        return _string(label, version, nullable=field.nullable), 1 if version.flexible else 2
    return _bytes(label, version, nullable=field.nullable), 1 if version.flexible else 4


def _string(label: str, version: _Version, *, nullable: bool) -> Reader:
    sized = primitives.compact_string_bytes if version.flexible else primitives.string_bytes

    def read(buffer: Buffer, position: int, collector: Collector) -> tuple[str | None, int]:
        data, after = sized(buffer, position, label)
        if data is None:
            if not nullable:
                raise CorruptError(position, label, "a value", "null")
            return None, after
        if collector.replace_invalid_utf8:
            return java_string(data), after
        return primitives.utf8(data, position, label), after

    return read


def _bytes(label: str, version: _Version, *, nullable: bool) -> Reader:
    compact = primitives.compact_nullable_bytes if version.flexible else primitives.nullable_bytes

    def read(buffer: Buffer, position: int, _collector: Collector) -> tuple[bytes | None, int]:
        data, after = compact(buffer, position, label)
        if data is None and not nullable:
            raise CorruptError(position, label, "a value", "null")
        return data, after

    return read


def _nullable_struct(label: str, inner: Reader, *, tagged: bool) -> Reader:
    def read(buffer: Buffer, position: int, collector: Collector) -> tuple[Value, int]:
        if tagged:
            mark, after = primitives.unsigned_varint(buffer, position, label)
            is_null = primitives.java_int(mark) <= 0
        elif position < len(buffer):
            is_null, after = buffer[position] > 0x7F, position + 1
        else:
            raise TruncatedError(position, label, "1 byte", 0)
        collector.span(f"{label}: null or not", position, after, "null" if is_null else "not null")
        if is_null:
            return None, after
        unknown = len(collector.unknown_tags)
        values, end = inner(buffer, after, collector)
        return (NeverDefault(values) if tagged and len(collector.unknown_tags) > unknown else values), end

    return read


def _array(label: str, field: Field, version: _Version) -> tuple[Reader, int]:
    read_elements, smallest = (
        _fixed_elements(field) if field.type in FIXED else _elements(label, field, version)
    )
    weight = 1 if field.struct is None else STRUCT_WEIGHT
    read_count = primitives.compact_length if version.flexible else primitives.int32

    def read(buffer: Buffer, position: int, collector: Collector) -> tuple[list[Value] | None, int]:
        count, after = read_count(buffer, position, label)
        if field.struct is not None and collector.spans is not None:
            collector.span(f"{label}: count", position, after, None if count < 0 else count)
        if count < 0:
            if not field.nullable:
                raise CorruptError(position, label, "an array", "null")
            return None, after
        if count * smallest > len(buffer) - after:
            least, remaining_bytes = f"{count} elements of {smallest} bytes or more", len(buffer) - after
            raise TruncatedError(position, label, least, f"{remaining_bytes} bytes")
        collector.spend(position, label, count, weight)
        return read_elements(buffer, after, count, collector)

    return read, 1 if version.flexible else 4


def _fixed_elements(field: Field) -> tuple[_Elements, int]:
    layout, make = fixed_layout("element", [field]), FIXED[field.type][1]

    def read(buffer: Buffer, start: int, count: int, _collector: Collector) -> tuple[list[Value], int]:
        end = start + count * layout.size
        elements = layout.all_values(memoryview(buffer)[start:end])
        return [make(value) if make else value for (value,) in elements], end

    return read, layout.size


def _elements(label: str, field: Field, version: _Version) -> tuple[_Elements, int]:
    element_field = field._replace(array=False, nullable=False, tag=None)
    element, smallest = _value(label.split(" ", maxsplit=1)[0], element_field, version)
    plain_structs = _plain_structs(field, version)

    def read(buffer: Buffer, position: int, count: int, collector: Collector) -> tuple[list[Value], int]:
        if plain_structs is not None and collector.spans is None:
            end = position + count * smallest
            structs = plain_structs(memoryview(buffer)[position:end])
            if structs is not None:
                return structs, end
        values = []
        for _ in range(count):
            value, position = element(buffer, position, collector)
            values.append(value)
        return values, position

    return read, smallest


def _plain_structs(field: Field, version: _Version) -> Callable[[Buffer], list[Value] | None] | None:
    """Return the reader of fixed-width structs side by side, the longest arrays there are; None for others.

    It returns None for structs with tagged fields.
    """
    fields = [inner for inner in field.struct or () if version.number in inner.versions]
    if not fields or not all(_is_fixed(inner) and inner.tag is None for inner in fields):
        return None
    names = [inner.name for inner in fields]
    makers = [(inner.name, make) for inner in fields if (make := FIXED[inner.type][1]) is not None]
    size = fixed_layout(field.type, fields).size
    count_of_tags = fields[0]._replace(name="tagged_fields", type="int8")
    layout = fixed_layout(field.type, [*fields, count_of_tags] if version.flexible else fields)

    def read(buffer: Buffer) -> list[Value] | None:
        if version.flexible and any(buffer[size :: layout.size]):
            return None
        structs: list[Value] = []
        for row in layout.all_values(buffer):
            values = dict(zip(names, row))  # noqa: B905 - the count of tags has no name
            for name, make in makers:
                values[name] = make(values[name])
            structs.append(values)
        return structs

    return read


def _tags(name: str, declared: dict[int, _Step], of_other_versions: set[int]) -> _Step:
    label = f"{name} tagged fields"

    def step(buffer: Buffer, position: int, collector: Collector, values: dict[str, Value]) -> int:
        count, cursor = primitives.tag_count(buffer, position, label)
        if count * primitives.SMALLEST_TAGGED_FIELD > len(buffer) - cursor:
            raise TruncatedError(position, label, f"{count} tagged fields", f"{len(buffer) - cursor} bytes")
        collector.spend(position, label, count, STRUCT_WEIGHT)
        if collector.spans is not None:
            collector.span(f"{label}: count", position, cursor, count)
        tag_spans: dict[int, tuple[int, int]] = {}
        for _ in range(count):
            start = cursor
            tag, cursor = primitives.unsigned_varint(buffer, cursor, label)
            if tag in of_other_versions:
                raise CorruptError(start, label, "a tag of this version", tag)
            size, cursor = primitives.unsigned_varint(buffer, cursor, label)
            collector.span(f"{label}: tag {tag} and size", start, cursor, f"tag {tag}, {size} bytes")
            if tag in declared:
                if tag in tag_spans:
                    before, after = tag_spans[tag]
                    collector.replaced.append(UnknownTag(name, tag, bytes(buffer[before:after])))
                end = declared[tag](buffer, cursor, collector, values)
                collector.known_tags.append((name, tag))
                tag_spans[tag] = cursor, end
            else:
                if size > len(buffer) - cursor:
                    raise TruncatedError(start, label, f"{size} bytes", len(buffer) - cursor)
                end = cursor + size
                data = bytes(buffer[cursor:end])
                collector.unknown_tags.append(UnknownTag(name, tag, data))
                collector.span(f"{label}: tag {tag}", cursor, end, data)
            cursor = end
        return cursor

    return step


class Message(NamedTuple):
    """A decoded key or value: its fields in declared order, by the names of Kafka's JSON.

    `version` is the declared version that it was read as: a layout's number where Kafka writes 0 for all of
    them (see `formats.messages.remote`). Fields of other versions are not there; tagged fields that were left
    out have their default. `tail` are bytes after the message, which Kafka does not look at; `replaced` are
    tagged fields that came again, of which the last is in `fields`.
    """

    name: str
    api_key: int
    version: int
    fields: dict[str, Value]
    unknown_tags: tuple[UnknownTag, ...]
    tail: bytes
    replaced: tuple[UnknownTag, ...] = ()


class Unknown(NamedTuple):
    """A key or value of a type or version that is not declared; `version` is None where it has none."""

    api_key: int
    version: int | None
    raw: bytes


def read_message(
    schema: Schema, version: int, buffer: Buffer, position: int, collector: Collector
) -> Message:
    """Return the message that begins at `position`; FormatError for bytes that are not of the version."""
    fields, end = reader(schema, version)(buffer, position, collector)
    return message_of(schema, version, fields, bytes(buffer[end:]), collector)


def message_of(
    schema: Schema, version: int, fields: dict[str, Value], tail: bytes, collector: Collector
) -> Message:
    """Return fields that were read, with what the collector has."""
    unknown, replaced = tuple(collector.unknown_tags), tuple(collector.replaced)
    return Message(schema.name, schema.api_key, version, fields, unknown, tail, replaced)
