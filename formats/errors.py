"""The one family of errors that reading bytes can raise.

An error carries facts, never only a sentence: which code, at which byte, in which field, what was expected
and what was found. The path is not known here; whoever opened the file adds it. Four kinds, in the order in
which a reader must check them: too few bytes, bytes of a version we do not know, bytes beyond a bound, bytes
that contradict the format.
"""

from typing import ClassVar, TypeAlias

Fact: TypeAlias = int | str | None


class FormatError(Exception):
    """Bytes are not what the format says they are; `code` is a stable word for scripts.

    `position` counts bytes from the start of the buffer or file; for text files `field` names the line.
    """

    code: ClassVar[str] = "format"

    def __init__(self, position: int, field: str, expected: Fact = None, found: Fact = None) -> None:
        super().__init__(position, field, expected, found)
        self.position = position
        self.field = field
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        text = f"byte {self.position}: {self.field}"
        if self.expected is not None:
            text += f": expected {self.expected}"
        if self.found is not None:
            text += f", found {self.found}" if self.expected is not None else f": found {self.found}"
        return text

    def moved(self, by: int) -> "FormatError":
        """Return the same error for a buffer that starts `by` bytes into its file."""
        return type(self)(self.position + by, self.field, self.expected, self.found)

    def in_stream(self, start: int) -> "FormatError":
        """Return the same error, met in decompressed bytes, for the stream that begins at `start`."""
        field = f"{self.field} at decompressed byte {self.position}"
        return type(self)(start, field, self.expected, self.found)


class TruncatedError(FormatError):
    """Fewer bytes are left than the structure needs."""

    code = "truncated"


class UnsupportedError(FormatError):
    """A version, magic or codec that this reader does not know."""

    code = "unsupported"


class LimitError(FormatError):
    """A length or count beyond the bound that protects memory and time."""

    code = "limit"


class CorruptError(FormatError):
    """Bytes that contradict the format: a bad checksum, count, flag or text."""

    code = "corrupt"
