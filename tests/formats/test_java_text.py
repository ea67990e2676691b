"""Text, lines, numbers and tokens as Java has them, where Python has others."""

import pytest

from formats.errors import CorruptError
from formats.java_text import (
    BLANKS,
    FOUND_MAX,
    INT_BITS,
    LONG_BITS,
    excerpt,
    integer,
    java_string,
    lines,
    split,
)


@pytest.mark.parametrize(
    ("text", "bits", "expected"),
    [
        ("+7", INT_BITS, 7),
        ("-0", INT_BITS, 0),
        ("000000000000000000000000012", INT_BITS, 12),
        ("2147483647", INT_BITS, 2147483647),
        ("2147483648", INT_BITS, None),
        ("-2147483648", INT_BITS, -2147483648),
        ("9223372036854775808", LONG_BITS, None),
        ("-9223372036854775808", LONG_BITS, -9223372036854775808),
        ("\u0661\u0662", INT_BITS, 12),
        ("\U0001d7d9", INT_BITS, None),
        ("", INT_BITS, None),
        ("+", INT_BITS, None),
        (" 1", INT_BITS, None),
        ("1_0", INT_BITS, None),
    ],
)
def test_numbers_are_those_of_parse_int_and_parse_long(text, bits, expected):
    assert integer(text, bits) == expected


def test_lines_end_as_buffered_reader_ends_them():
    found = [(line.number, line.position, line.text) for line in lines(b"a\nb\r\nc\rd\x0be\n\n")]

    assert found == [(1, 0, "a"), (2, 2, "b"), (3, 5, "c"), (4, 7, "d\x0be"), (5, 11, "")]


def test_the_first_byte_that_is_not_utf_8_is_named_before_any_line():
    with pytest.raises(CorruptError) as error:
        next(lines(b"a\nb\xff"))

    assert (error.value.position, error.value.field) == (3, "line 2")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("a  b", ["a", "b"]), (" a", ["", "a"]), ("a ", ["a"]), ("", [""]), (" ", []), ("a\xa0b", ["a\xa0b"])],
)
def test_tokens_are_those_of_pattern_split(text, tokens):
    assert split(BLANKS, text) == tokens


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"a\xff", "a\ufffd"), (b"\xed\xa0\x80", "\ufffd"), (b"\xed\xa0", "\ufffd"), ("é".encode(), "é")],
)
def test_text_has_as_many_marks_as_that_of_java(data, text):
    assert java_string(data) == text


def test_what_an_error_repeats_is_bounded():
    assert excerpt("x" * FOUND_MAX) == repr("x" * FOUND_MAX)
    assert excerpt("x" * (FOUND_MAX + 1)) == repr("x" * FOUND_MAX + "...")
