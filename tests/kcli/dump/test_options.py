"""What the options of `dump` ask for together."""

import pytest

from kcli.dump.filter import RecordFilter
from kcli.dump.options import DumpOptions


@pytest.mark.parametrize(
    "more",
    [
        {"tail": 3},
        {"tail": 0},
        {"filter": RecordFilter(offsets=(1, 2))},
        {"filter": RecordFilter(epochs=frozenset({1}))},
        {"filter": RecordFilter(times=(0, 5)), "tail": 1},
    ],
)
def test_a_part_of_the_batches_is_selected(more):
    assert DumpOptions(**more).selects


@pytest.mark.parametrize("more", [{}, {"limit": 3}, {"records": True}, {"max_bytes": 100}, {"salt": b"x"}])
def test_other_options_select_no_batches(more):
    assert not DumpOptions(**more).selects


@pytest.mark.parametrize("more", [{}, {"tail": 3}, {"records": True}, {"decoder": "offsets"}])
def test_rows_are_as_stored(more):
    assert DumpOptions(**more).is_as_stored


@pytest.mark.parametrize(
    "more",
    [
        {"limit": 3},
        {"salt": b"x"},
        {"bytes_as": "hex"},
        {"key_decoder": "org.apache.kafka.tools.api.LongDecoder"},
        {"value_decoder": "org.apache.kafka.tools.api.IntegerDecoder"},
    ],
)
def test_rows_are_fewer_or_shown_in_another_way(more):
    assert not DumpOptions(**more).is_as_stored
