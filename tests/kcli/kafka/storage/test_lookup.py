"""The rules of lookups, on values."""

from typing import NamedTuple

import pytest

from kcli.kafka.storage import lookup
from kcli.kafka.storage.lookup import LargestTimestamp


class Record(NamedTuple):
    offset: int
    timestamp: int


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


@pytest.mark.parametrize(("offset", "place"), [(0, 0), (9, 0), (10, 1), (29, 1), (30, 2), (99, 2), (-1, 0)])
def test_floor_segment(offset, place):
    assert lookup.floor_segment([0, 10, 30], offset) == place


def test_the_reason_says_whether_the_batch_spans_the_offset():
    assert lookup.reason_of(5, 5) == lookup.reason_of(5, 9) == "in batch"
    assert lookup.reason_of(5, 3).startswith("gap: offsets 3 to 4")
    assert lookup.reason_of(9, 5).startswith("gap:")
    assert lookup.reason_of(9, 5, is_wrapper=True).startswith("in batch: ")


def test_the_first_segment_with_the_largest():
    largest = [
        LargestTimestamp(5, 1),
        LargestTimestamp(9, 12),
        LargestTimestamp(9, 25),
        LargestTimestamp(-1, 30),
    ]
    assert lookup.largest_place(largest) == 1


def test_records():
    records = [Record(3, 50), Record(4, 40), Record(5, 70), Record(6, 70)]
    assert lookup.first_record(records, 45, 0) == (3, 50)
    assert lookup.first_record(records, 45, 4) == (5, 70)
    assert lookup.first_record(records, 40, 4) == (4, 40)
    assert lookup.first_record(records, 71, 0) is None
    assert lookup.record_of_max(records, 70) == (5, 70)
    assert lookup.record_of_max(records, 80) is None
