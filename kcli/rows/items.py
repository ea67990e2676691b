"""What jobs yield: rows one by one, or many at once as columns, as text, or encoded in an output format."""

from dataclasses import dataclass
from pickle import PickleBuffer
from typing import Any, TypeAlias

from formats.types import Buffer
from kcli.rows.declare import AnyRow, Row, type_of


@dataclass(frozen=True, slots=True)
class ArrowBlock:
    """Many rows of one type as an Arrow RecordBatch with all columns of the type.

    Only who asks a job for columns gets any.
    """

    type_name: str
    batch: Any


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Lines of text as UTF-8, each with its newline: the buffers, one after the other.

    `type_name` says what the lines are about. Buffers travel between processes without copies.
    """

    type_name: str
    buffers: tuple[Buffer, ...]

    def __reduce__(self) -> tuple[type["TextBlock"], tuple[str, tuple[PickleBuffer, ...]]]:
        return TextBlock, (self.type_name, tuple(map(PickleBuffer, self.buffers)))


@dataclass(frozen=True, slots=True)
class EncodedRows:
    """Many rows of one type as UTF-8 in the output format that the job was asked for; `count` says how many.

    In a json document they have commas between them, else each ends with a newline.
    """

    type_name: str
    count: int
    buffer: Buffer

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The buffer, as of TextBlock."""
        return (self.buffer,)

    def __reduce__(self) -> tuple[type["EncodedRows"], tuple[str, int, PickleBuffer]]:
        return EncodedRows, (self.type_name, self.count, PickleBuffer(self.buffer))


Item: TypeAlias = AnyRow | ArrowBlock | TextBlock | EncodedRows


def type_name(item: Item) -> str:
    """Return the name of the type of a row, or of the rows of a block."""
    if isinstance(item, (ArrowBlock, TextBlock, EncodedRows)):
        return item.type_name
    return item.type if isinstance(item, Row) else type_of(item).name
