"""The rules of lookups, on values."""

import pytest

from kcli.kafka.storage import lookup


@pytest.mark.parametrize(
    ("offset", "word"), [(4, "below log start"), (5, None), (9, None), (10, "log end"), (11, "above log end")]
)
def test_outside(offset, word):
    reason = lookup.outside(offset, 5, 5, 10)
    assert (reason.partition(":")[0] if reason else None) == word


def test_an_empty_log_is_all_end():
    assert lookup.outside(5, 5, 5, 5).startswith("log end:")


@pytest.mark.parametrize(
    ("offset", "word"),
    [(4, "below log start"), (5, "remote"), (7, "remote"), (8, None), (9, None), (10, "log end")],
)
def test_outside_of_a_tiered_log(offset, word):
    reason = lookup.outside(offset, 5, 8, 10)

    assert (reason.split(":")[0] if reason else None) == word


def test_the_reason_says_whether_the_batch_spans_the_offset():
    assert lookup.reason_of(5, 5) == lookup.reason_of(5, 9) == "in batch"
    assert lookup.reason_of(5, 3).startswith("gap: offsets 3 to 4")
    assert lookup.reason_of(9, 5).startswith("gap:")
    assert lookup.reason_of(9, 5, is_wrapper=True).startswith("in batch: ")
