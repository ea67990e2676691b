"""Keys and values in rows: which bytes are shown as text."""

import base64
import hashlib

import pytest

from kcli.dump.bytes_as import LONG_VALUE, MODES


@pytest.mark.parametrize(
    ("data", "is_text"),
    [
        (b"\1" * LONG_VALUE, True),
        (b"\1" * (LONG_VALUE + 1), False),
        (b"\n" * (LONG_VALUE // 4) + b"x" * LONG_VALUE, True),
        (b"\n" * LONG_VALUE + b"x" * LONG_VALUE, False),
        ("é".encode() * LONG_VALUE, True),
        (b"\xff", False),
    ],
)
def test_what_is_long_and_mostly_control_characters_is_no_text(data, is_text):
    assert MODES["text"](data) == (data.decode() if is_text else {"base64": base64.b64encode(data).decode()})


@pytest.mark.parametrize("data", [b"", b"x", b"\xff\0"])
def test_bytes_that_are_not_shown_as_text(data):
    assert {mode: MODES[mode](data) for mode in MODES if mode != "text"} == {
        "base64": data,
        "hex": data.hex(),
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
