"""One JSON object from a small file, with bounds and positions, as Jackson's `readTree` takes it.

What follows the object is not looked at. Numbers and names are as the JSON grammar has them (no NaN, no
comments).
"""

import json
from typing import Any

from formats.errors import CorruptError, LimitError
from formats.types import Buffer

LONGEST_JSON = 1 << 20

_JSON_BLANKS = " \t\r\n"


def read_object(data: Buffer, *, longest: int = LONGEST_JSON) -> dict[str, Any]:
    """Return the JSON object at the start of the buffer; a repeated key's last value wins.

    CorruptError where it is not UTF-8, JSON or an object; LimitError beyond `longest` bytes or too deep.
    """
    if len(data) > longest:
        raise LimitError(0, "JSON", f"at most {longest} bytes", len(data))
    raw = bytes(data)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise CorruptError(error.start, "JSON", "UTF-8", f"byte 0x{raw[error.start]:02x}") from error
    start = len(text) - len(text.lstrip(_JSON_BLANKS))
    try:
        value, _ = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        expected = error.msg.removeprefix("Expecting ")
        raise CorruptError(_byte(text, error.pos), "JSON", expected[:1].lower() + expected[1:]) from error
    except RecursionError as error:
        raise LimitError(_byte(text, start), "JSON", "fewer levels", "more") from error
    except ValueError as error:
        raise CorruptError(_byte(text, start), "JSON", "numbers of JSON") from error
    if not isinstance(value, dict):
        raise CorruptError(_byte(text, start), "JSON", "an object", type(value).__name__)
    return value


def _byte(text: str, character: int) -> int:
    return len(text[:character].encode())


def _constant(name: str) -> Any:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_constant=_constant)
