"""A structure of fields read from front to back, with the place of each kept: one description, both answers."""

from collections.abc import Callable
from typing import TypeVar

from formats.layout import Layout, Part
from formats.types import Buffer

R = TypeVar("R")
T = TypeVar("T")


class Reading:
    """A buffer and how far it is read; `parts` are the fields met so far, in order and without gaps."""

    __slots__ = ("buffer", "parts", "position")

    def __init__(self, buffer: Buffer, position: int = 0) -> None:
        self.buffer = buffer
        self.position = position
        self.parts: list[Part] = []

    def fixed(self, layout: Layout[R]) -> R:
        """Return the row of a declaration that stands here, and go behind it."""
        row = layout.read(self.buffer, self.position)
        self.parts.extend(layout.parts(self.buffer, self.position))
        self.position += layout.size
        return row

    def take(self, structure: str, field: str, read: Callable[[Buffer, int, str], tuple[T, int]]) -> T:
        """Return what a reader of `formats.primitives` makes of the bytes here, and go behind them.

        Errors name the field as it is given, with the structure's name before it or not.
        """
        value, after = read(self.buffer, self.position, field)
        self.parts.append(Part(structure, field.removeprefix(f"{structure} "), self.position, after, value))
        self.position = after
        return value
