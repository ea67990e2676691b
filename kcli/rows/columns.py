"""Rows whose bytes another process writes; and the type of a row that is a title."""

from collections.abc import Callable
from typing import Any

from kcli.rows.declare import Row

TITLE = "title"
"""Type of a row that says what comes: it answers nothing yet."""


class Away(Row):
    """A TextBlock or EncodedRows whose bytes are still in the process that made them, which writes them itself.

    Only who says that stdout is a regular file gets any. Whoever writes tells it of the file's descriptor, once everything
    before it is in the file; the bytes are there when the next row is given.
    """

    @property
    def reached(self) -> "Callable[[int], None]":
        """What is to be told of the file's descriptor."""
        values: Any = self.values
        reached: Callable[[int], None] = values[0]
        return reached
