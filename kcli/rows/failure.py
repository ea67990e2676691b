"""The error row: why an input could not be answered."""

import traceback
from typing import NamedTuple


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
