"""What a reader of messages collects besides their fields, and the bound on what it may make of bytes."""

from typing import NamedTuple

from formats.errors import LimitError

ELEMENTS_MAX = 1 << 20
"""Elements of all arrays of one message unless a caller allows more: 64 MiB of memory at most.

A struct or a tagged field counts as eight.
"""

BYTES_PER_ELEMENT = 64
"""Memory that an element costs at most: how many a caller allows who thinks in bytes."""

STRUCT_WEIGHT = 8


class UnknownTag(NamedTuple):
    """A tagged field that no declared version has, or that came again.

    The struct that held it, its number and its bytes.
    """

    struct: str
    tag: int
    data: bytes


class Span(NamedTuple):
    """Where one field of a struct lies: first byte, byte after the last.

    Counts, marks of null and tags are spans of their own.
    """

    struct: str
    field: str
    start: int
    end: int


class Collector:
    """What a reader collects besides the fields, and how many array elements it may still make.

    `unknown_tags` and `replaced` are tagged fields that no field shows; `known_tags` are (struct, tag) of the
    others that were there; `spans` is where fields lie, if asked for. With `replace_invalid_utf8` what is not
    UTF-8 in a string becomes U+FFFD as in Java; else it is a CorruptError.
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
        self, elements: int = ELEMENTS_MAX, *, spans: bool = False, replace_invalid_utf8: bool = False
    ) -> None:
        self.unknown_tags: list[UnknownTag] = []
        self.replaced: list[UnknownTag] = []
        self.known_tags: list[tuple[str, int]] = []
        self.replace_invalid_utf8 = replace_invalid_utf8
        self.spans: list[Span] | None = [] if spans else None
        self.elements = self.elements_left = elements

    def spend(self, position: int, label: str, count: int, weight: int) -> None:
        """Count elements about to be made; LimitError beyond what one message may have."""
        self.elements_left -= count * weight
        if self.elements_left < 0:
            raise LimitError(position, label, f"at most {self.elements // weight} in all of a message", count)

    def span(self, label: str, start: int, end: int) -> None:
        """Keep where a field lies; the label is its struct's name, a blank, its own."""
        if self.spans is not None:
            struct_name, _, field = label.partition(" ")
            self.spans.append(Span(struct_name, field, start, end))
