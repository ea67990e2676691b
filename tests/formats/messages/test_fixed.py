"""Runs of fields of fixed width, derived from the declaration."""

import pytest

from formats.messages.declare import declared
from formats.messages.fixed import fixed_run

ALL = declared("""
Everything 0 versions 0 flexible 0+
    flag    bool
    place   Place
        id      uuid
        number  int32
    name    string
    small   int16
    list    []Place
    last    int64
""")["Everything"].fields


def test_a_run_ends_before_a_field_of_any_width_or_with_the_count_of_an_array():
    assert [fixed_run(ALL).format, fixed_run(ALL, after="name").format] == [">B16siB", ">hB"]


def test_a_run_may_begin_after_any_field():
    assert fixed_run(ALL, after="id").format == ">iB"


def test_without_a_field_of_fixed_width_there_is_none():
    with pytest.raises(ValueError, match="no fields of fixed width after place"):
        fixed_run(ALL, after="place")
