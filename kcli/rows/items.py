"""What jobs yield: rows one by one, or many at once as columns, as text, or encoded in an output format.

The blocks are plain classes: each answer imports them, and a dataclass takes half a millisecond to make.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from formats.types import Buffer
from kcli.rows.declare import AnyRow, type_of


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

    `is_title`: they say what comes, and answer nothing yet. Buffers travel between processes without copies.
    """

    __slots__ = ("buffers", "is_title")

    def __init__(
        self,
        buffers: tuple[Buffer, ...],
        is_title: bool = False,  # noqa: FBT001, FBT002 - pickled by position
    ) -> None:
        self.buffers = buffers
        self.is_title = is_title

    def __reduce__(self) -> tuple[Callable[..., "TextBlock"], tuple[Any, ...]]:
        from pickle import PickleBuffer

        return TextBlock, (tuple(map(PickleBuffer, self.buffers)), self.is_title)


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
        from pickle import PickleBuffer

        return EncodedRows, (self.type_name, self.count, PickleBuffer(self.buffer))


Item: TypeAlias = AnyRow | ArrowBlock | TextBlock | EncodedRows


def type_name(item: Item) -> str:
    """Return the name of the type of a row, or of the rows of a block; KeyError for what has no type."""
    return item.type_name if isinstance(item, (ArrowBlock, EncodedRows)) else type_of(item).name
