"""The check value of the checksum, that it resumes, and what is loaded for it."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.crc import crc32c, crc32c_function

CHECK_VALUES = [(crc32c, 0xE3069283), (crc32c_function(), 0xE3069283)]


@pytest.mark.parametrize(("checksum", "check"), CHECK_VALUES)
def test_check_value_of_the_catalogue(checksum, check):
    assert checksum(b"123456789") == check
    assert checksum(memoryview(b"123456789")) == checksum(bytearray(b"123456789")) == check
    assert checksum(b"") == 0


@given(st.binary(max_size=200), st.integers(0, 200))
def test_a_checksum_resumes_anywhere(data, at):
    for checksum, _ in CHECK_VALUES:
        assert checksum(data[at:], checksum(data[:at])) == checksum(data)


def test_the_command_line_of_the_package_is_not_loaded():
    code = (
        "import sys; from formats.crc import crc32c; crc32c(b'x'); print('importlib.metadata' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"
