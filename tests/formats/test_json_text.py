"""One JSON object of a small file: what is read, and which byte is to blame."""

import pytest

from formats.errors import CorruptError, LimitError
from formats.json_text import read_object


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b' \n{"a": "[{"} and more', {"a": "[{"}),
        (b'{"a": "\\"{"}', {"a": '"{'}),
        (b"{}", {}),
    ],
)
def test_the_object_at_the_start_is_read(data, expected):
    assert read_object(data) == expected


@pytest.mark.parametrize(
    ("data", "position"),
    [
        (b"", 0),
        (b" [1]", 1),
        (b"1", 0),
        (b'{"a": NaN}', 0),
        (b'{"a": ' + b"9" * 5000 + b"}", 0),
        ('{"é": nul}'.encode(), 7),
        (b'{"a"}', 4),
        (b'{"\xff"}', 2),
    ],
)
def test_the_byte_that_is_no_json_is_named(data, position):
    with pytest.raises(CorruptError) as error:
        read_object(data)

    assert error.value.position == position


def test_levels_and_bytes_have_bounds():
    with pytest.raises(LimitError, match="bytes"):
        read_object(b'{"a":1}', longest=6)
    with pytest.raises(LimitError, match="levels"):
        read_object(b'{"a":' * 100_000)
