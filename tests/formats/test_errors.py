"""Errors say the byte, the field, what was expected and what was found."""

import pytest

from formats.errors import CorruptError, LimitError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (CorruptError(7, "magic"), "byte 7: magic"),
        (CorruptError(7, "magic", 2), "byte 7: magic: expected 2"),
        (CorruptError(7, "magic", found=0), "byte 7: magic: found 0"),
        (CorruptError(7, "magic", 2, ""), "byte 7: magic: expected 2, found "),
    ],
)
def test_an_error_in_words(error, text):
    assert str(error) == text


def test_a_moved_error_is_the_same_but_for_its_position():
    moved = LimitError(3, "length", 10, 11).moved(100)

    assert type(moved) is LimitError
    assert (moved.position, moved.field, moved.expected, moved.found) == (103, "length", 10, 11)
