r"""How Java makes text of bytes, and reads the lines and numbers of a text file, to the letter.

The broker's text files are read by `BufferedReader.readLine`, `Integer.parseInt`,
`Long.parseLong` and `Pattern.split`. Python's own `splitlines`, `int` and
`split` accept other things, so a file could be read here that stops a broker.

    line     ends at \n, \r or \r\n; nothing after the last line end is no line
    number   one optional + or -, then decimal digits of any script in the Basic
             Multilingual Plane; no blanks, no underscores; within the type's range
    split    at runs of a pattern; a leading empty token stays, trailing ones go
    text     U+FFFD for what is not UTF-8, as many as `new String(bytes, UTF_8)` has
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from formats.errors import CorruptError
from formats.types import Buffer

INT_BITS = 32
LONG_BITS = 64

FOUND_MAX = 120
"""Characters of a bad line that an error repeats."""

CUT_SHORT = "a file that is cut, as a full disk leaves one"

_CHECKPOINT_STEMS = (
    "leader-epoch",
    "recovery-point-offset",
    "log-start-offset",
    "replication-offset",
    "cleaner-offset",
)
LAST_BYTES = {
    "meta.properties": (0, b"\n"),
    **{f"{name}-checkpoint": (0, b"\n") for name in _CHECKPOINT_STEMS},
    "partition.metadata": (len("version: 0\ntopic_id: ") + 22, b""),
    "quorum-state": (0, b"}"),
}
"""By name the fewest bytes that a broker writes to a file of text, and the last of them."""

BLANKS = r"[ \t\n\x0b\f\r]+"
"""Java's `\\s+` without its Unicode flag."""

_TEXT_LINE = re.compile(rb"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_INTEGER = re.compile(r"([+-]?)(\d+)")
_LAST_BMP = "\uffff"
_LONG_DIGITS, _NAME_DIGITS = 19, 20
_HALF_A_PAIR = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
"""Where they differ: UTF-8 of half a surrogate pair is one mark in Java, and one for each byte in Python."""
_ONE_MARK = b"\xff"
"""Never part of UTF-8: one mark in either."""


class Line(NamedTuple):
    """One line of a text file, its end cut off."""

    number: int
    position: int
    text: str

    @property
    def field(self) -> str:
        """The line's name in an error."""
        return f"line {self.number}"

    def corrupt(self, expected: str) -> CorruptError:
        """Return the error that this line is not what was expected."""
        return CorruptError(self.position, self.field, expected, excerpt(self.text))


EMPTY_FILE = "an empty file, as a full disk or a power cut leaves one"
NUL_FILE = "nothing but NUL bytes ({}), as a power cut leaves a file"
NUL_TAIL = "NUL bytes from byte {} on, as a power cut leaves a file"


def java_string(data: bytes) -> str:
    """Return the text of bytes as `new String(bytes, UTF_8)`, which marks damage otherwise than Python."""
    if data.isascii():
        return data.decode("ascii")
    return _HALF_A_PAIR.sub(_ONE_MARK, data).decode("utf-8", "replace")


def left_by_a_crash(name: str, data: Buffer) -> str | None:
    """Return in words what a full disk or a power cut (NUL bytes) made of a file of this name, else None."""
    raw = bytes(data)
    zeros = len(raw) - len(raw.rstrip(b"\0"))
    if not raw:
        return EMPTY_FILE
    if zeros == len(raw):
        return NUL_FILE.format(zeros)
    if zeros and name in LAST_BYTES:
        return NUL_TAIL.format(len(raw) - zeros)
    least, end = LAST_BYTES.get(name, (0, b""))
    is_cut = len(raw) < least or not raw.rstrip(b" ").endswith(end)
    return CUT_SHORT if is_cut else None


def excerpt(text: str) -> str:
    """Return a text in quotes, cut to a bounded length, fit for an error."""
    if text and not text.strip("\0"):
        return "NUL bytes"
    return repr(text if len(text) <= FOUND_MAX else text[:FOUND_MAX] + "...")


def byte_lines(data: Buffer) -> Iterator[tuple[int, bytes]]:
    """Yield (position, bytes) of every line as `BufferedReader.readLine` cuts them."""
    raw = bytes(data)
    for match in _TEXT_LINE.finditer(raw):
        if match.start() < len(raw):
            yield match.start(), match.group(1)


def lines(data: Buffer) -> Iterator[Line]:
    """Yield the lines of a UTF-8 file, a BOM as a character; CorruptError before any if it is not UTF-8."""
    try:
        bytes(data).decode()
    except UnicodeDecodeError as error:
        number = sum(1 for position, _ in byte_lines(data) if position <= error.start)
        byte = f"byte 0x{data[error.start]:02x}"
        raise CorruptError(error.start, f"line {number}", "UTF-8", byte) from error
    for number, (position, text) in enumerate(byte_lines(data), 1):
        yield Line(number, position, text.decode())


def integer(text: str, bits: int) -> int | None:
    """Return what `Integer.parseInt` (32 bits) or `Long.parseLong` (64) reads; None where it throws."""
    limit = 1 << (bits - 1)
    if len(text) <= _NAME_DIGITS and text.isdecimal() and text.isascii():  # most of them
        return value if (value := int(text)) < limit else None
    match = _INTEGER.fullmatch(text)
    if match is None or max(text) > _LAST_BMP:
        return None
    sign, digits = match.groups()
    if not digits.isascii():
        digits = "".join(str(int(digit)) for digit in digits)
    digits = digits.lstrip("0") or "0"
    if len(digits) > _LONG_DIGITS:
        return None
    value = -int(digits) if sign == "-" else int(digits)
    return value if -limit <= value < limit else None


def split(pattern: str, text: str) -> list[str]:
    """Return the tokens of `Pattern.split`: trailing empty ones are dropped, unless nothing matched."""
    tokens = re.split(pattern, text)
    if len(tokens) > 1:
        while tokens and not tokens[-1]:
            tokens.pop()
    return tokens
