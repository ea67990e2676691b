"""What rows and their columns are, and the columns that most rows begin with.

A row is a tuple in column order. Kinds are JSON's, with two that carry more:
`bytes` (base64 in JSON) and `timestamp` (epoch milliseconds, with an ISO-8601
twin in tables). `json` columns hold nested values of the given schema.
"""

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from formats.types import Buffer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pickle import PickleBuffer

Schema = dict[str, Any]
Value: TypeAlias = "int | str | bool | bytes | float | list[Value] | dict[str, Value] | None"


TITLE = "title"
"""Type of a row that says what comes: it answers nothing yet."""


class Row(NamedTuple):
    """One row: the name of its type, and its values in column order."""

    type: str
    values: tuple[Value, ...]


class Block(Row):
    """Many rows of one type at once: its only value is an Arrow RecordBatch with all columns of the type.

    Only who asks a job for columns gets any.
    """

    @property
    def batch(self) -> Any:
        """The RecordBatch."""
        return self.values[0]


class Lines(Row):
    """Many lines of text at once, or a long one: its values are their bytes, one behind the other, each line with its newline.

    They are buffers of their own on the way between processes.
    """

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The bytes, of UTF-8."""
        values: Any = self.values
        buffers: tuple[Buffer, ...] = values
        return buffers

    def __reduce__(self) -> tuple[type["Lines"], tuple[str, "tuple[PickleBuffer, ...]"]]:
        from pickle import PickleBuffer  # noqa: PLC0415 - there, when this is called

        return Lines, (self.type, tuple(map(PickleBuffer, self.buffers)))


class Written(Row):
    """Many rows of one type, written in the format that was asked for: how many they are, and their bytes, of UTF-8.

    In a json document they stand with commas between them, else each ends with its newline. Only who asks a job for a
    format gets any.
    """

    @property
    def rows(self) -> int:
        """How many they are."""
        values: Any = self.values
        rows: int = values[0]
        return rows

    @property
    def buffer(self) -> Buffer:
        """The bytes."""
        values: Any = self.values
        buffer: Buffer = values[1]
        return buffer

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The same as of Lines."""
        return (self.buffer,)

    def __reduce__(self) -> tuple[type["Written"], tuple[str, tuple[int, "PickleBuffer"]]]:
        from pickle import PickleBuffer  # noqa: PLC0415 - there, when this is called

        return Written, (self.type, (self.rows, PickleBuffer(self.buffer)))


class Away(Row):
    """Lines or Written whose bytes are still in the process that made them, which writes them itself, without their being copied.

    Only who says that stdout is a regular file gets any. Whoever writes tells it of the file's descriptor, once everything
    before it is in the file; the bytes are there when the next row is given.
    """

    @property
    def reached(self) -> "Callable[[int], None]":
        """What is to be told of the file's descriptor."""
        values: Any = self.values
        reached: Callable[[int], None] = values[0]
        return reached


class Failure(NamedTuple):
    """An input that could not be answered; `position` in bytes, path as reached from the argument."""

    path: str
    error: str
    position: int | None
    field: str | None
    message: str


class Column(NamedTuple):
    """One column: its name, kind, whether it may be null, what it means, and the schema of a nested value."""

    name: str
    kind: str
    nullable: bool
    doc: str
    nested: Schema | None = None


class RowType(NamedTuple):
    """A kind of row: the name that ndjson lines carry as `type`, and its columns in order."""

    name: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The column names in order."""
        return tuple(column.name for column in self.columns)


def integer(name: str, doc: str, *, null: bool = False) -> Column:
    """Return an integer column."""
    return Column(name, "int", null, doc)


def text(name: str, doc: str, *, null: bool = False) -> Column:
    """Return a text column."""
    return Column(name, "str", null, doc)


def boolean(name: str, doc: str, *, null: bool = False) -> Column:
    """Return a column of true and false."""
    return Column(name, "bool", null, doc)


def binary(name: str, doc: str) -> Column:
    """Return a nullable column of bytes, base64 in JSON."""
    return Column(name, "bytes", True, doc)


def timestamp(name: str, doc: str, *, null: bool = False) -> Column:
    """Return a column of epoch milliseconds."""
    return Column(name, "timestamp", null, doc)


def array(name: str, doc: str, items: Schema, *, null: bool = False) -> Column:
    """Return a column that holds an array of the given schema."""
    return Column(name, "json", null, doc, {"type": "array", "items": items})


def anything(name: str, doc: str) -> Column:
    """Return a nullable column that holds an object whose keys are not known here."""
    return Column(name, "json", True, doc, {"type": "object"})


def record(required: dict[str, Schema]) -> Schema:
    """Return the schema of an object with exactly these keys."""
    return {
        "type": "object",
        "properties": required,
        "required": list(required),
        "additionalProperties": False,
    }


INTEGER: Schema = {"type": "integer"}
NULLABLE_INTEGER: Schema = {"type": ["integer", "null"]}
EPOCH_ENTRY = record({"epoch": INTEGER, "start_offset": INTEGER})

WHERE = (
    text("dir", "partition directory, as reached from the argument"),
    integer("broker_id", "of meta.properties", null=True),
    text("cluster_id", "of meta.properties", null=True),
    text("topic", "from the directory's name", null=True),
    integer("partition", "from the directory's name", null=True),
)
