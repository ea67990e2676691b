"""What a reader of messages collects besides their fields, and the bound on what it may make of bytes."""

from typing import NamedTuple

from formats.errors import LimitError
from formats.layout import FieldSpan
from formats.messages.declare import Value

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


class Collector:
    """What a reader collects besides the fields, and how many array elements it may still make.

    `unknown_tags` and `replaced` are tagged fields that no field shows; `known_tags` are (struct, tag) of the
    others that were there; `spans`, if given, gets the fields as they lie: counts, marks of null and tags are
    spans of their own. With `replace_invalid_utf8` what is not
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
        self,
        elements: int = ELEMENTS_MAX,
        *,
        replace_invalid_utf8: bool = False,
        spans: list[FieldSpan] | None = None,
    ) -> None:
        self.unknown_tags: list[UnknownTag] = []
        self.replaced: list[UnknownTag] = []
        self.known_tags: list[tuple[str, int]] = []
        self.replace_invalid_utf8 = replace_invalid_utf8
        self.spans = spans
        self.elements = self.elements_left = elements

    def spend(self, position: int, label: str, count: int, weight: int) -> None:
        """Count elements about to be made; LimitError beyond what one message may have."""
        self.elements_left -= count * weight
        if self.elements_left < 0:
            raise LimitError(position, label, f"at most {self.elements // weight} in all of a message", count)

    def span(self, label: str, start: int, end: int, value: Value) -> None:
        """Keep where a field lies and what it says; the label is its struct's name, a blank, its own."""
        if self.spans is not None:
            struct_name, _, field = label.partition(" ")
            self.spans.append(FieldSpan(struct_name, field, start, end, value))
