"""What jobs yield: rows one by one, or many at once as columns or as text.

The blocks are plain classes: each answer imports them, and a dataclass takes half a millisecond to make.
"""

import traceback
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

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


Item: TypeAlias = AnyRow | ArrowBlock | TextBlock


def type_name(item: Item) -> str:
    """Return the name of the type of a row, or of the rows of a block; KeyError for what has no type."""
    return item.type_name if isinstance(item, ArrowBlock) else type_of(item).name


class Failure(NamedTuple):
    """An input that could not be answered; `position` in bytes, path as reached from the argument."""

    path: str
    error: str
    position: int | None
    field: str | None
    message: str


def described(error: BaseException) -> str:
    """Return in words an exception that no job foresees, with the place in the code that raised it."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({frame.filename.rsplit('/', 1)[-1]}:{frame.lineno})"
