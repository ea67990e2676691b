"""The error row: why an input could not be answered."""

from typing import NamedTuple


class Failure(NamedTuple):
    """An input that could not be answered; `position` in bytes, path as reached from the argument."""

    path: str
    error: str
    position: int | None
    field: str | None
    message: str
