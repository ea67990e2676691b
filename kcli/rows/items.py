"""What jobs yield: rows one by one, or many at once as columns, as text, or encoded in an output format.

The blocks are plain classes: each answer imports them, and a dataclass takes half a millisecond to make.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from formats.types import Buffer
from kcli.rows.declare import AnyRow, Row, type_of


class ArrowBlock:
    """Many rows of one type as an Arrow RecordBatch with all columns of the type.

    Only who asks a job for columns gets any.
    """

    __slots__ = ("batch", "type_name")

    def __init__(self, type_name: str, batch: Any) -> None:
        self.type_name = type_name
        self.batch = batch


class TextBlock:
    """Lines of text as UTF-8, each with its newline: the buffers, one after the other.

    `type_name` says what the lines are about. Buffers travel between processes without copies.
    """

    __slots__ = ("buffers", "type_name")

    def __init__(self, type_name: str, buffers: tuple[Buffer, ...]) -> None:
        self.type_name = type_name
        self.buffers = buffers

    def __reduce__(self) -> tuple[Callable[..., "TextBlock"], tuple[Any, ...]]:
        from pickle import PickleBuffer  # noqa: PLC0415 - imported by whoever pickles

        return TextBlock, (self.type_name, tuple(map(PickleBuffer, self.buffers)))


class EncodedRows:
    """Many rows of one type as UTF-8 in the output format that the job was asked for; `count` says how many.

    In a json document they have commas between them, else each ends with a newline.
    """

    __slots__ = ("buffer", "count", "type_name")

    def __init__(self, type_name: str, count: int, buffer: Buffer) -> None:
        self.type_name = type_name
        self.count = count
        self.buffer = buffer

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The buffer, as of TextBlock."""
        return (self.buffer,)

    def __reduce__(self) -> tuple[Callable[..., "EncodedRows"], tuple[Any, ...]]:
        from pickle import PickleBuffer  # noqa: PLC0415 - imported by whoever pickles

        return EncodedRows, (self.type_name, self.count, PickleBuffer(self.buffer))


Item: TypeAlias = AnyRow | ArrowBlock | TextBlock | EncodedRows


def type_name(item: Item) -> str:
    """Return the name of the type of a row, or of the rows of a block."""
    if isinstance(item, (ArrowBlock, TextBlock, EncodedRows)):
        return item.type_name
    return item.type if isinstance(item, Row) else type_of(item).name
