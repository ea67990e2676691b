"""Starts over wrappers of magic 0 and 1: the search for the log end opens them, recovery does not."""

import pytest

from kcli.kafka.storage import log_segment
from kcli.kafka.storage.log_segment import file_batches, first_offset, translate_offset
from tests.messages import put_message, put_set, put_wrapper
from tests.partitions import loaded, segment, time_entries

A, C = put_set(0, [1, 2, 3]), put_set(7, [6, 7, 8], codec=3)


LONG = put_wrapper(4, put_message(0, value=bytes(5000)) + put_message(1))


@pytest.mark.parametrize(("bound", "firsts"), [(1, [2, 4, 9]), (1000, [0, 4, 7]), (6000, [0, 3, 7])])
def test_a_wrapper_too_large_to_be_opened_has_the_offset_in_its_header(tmp_path, monkeypatch, bound, firsts):
    """Before it is decompressed and after; searches end at the same batch."""
    segment(tmp_path / "orders-0", 0, A + LONG + C, timeindex=time_entries((9, 9)))
    (found,) = loaded(tmp_path / "orders-0").segments
    expected = [translate_offset(found, offset) for offset in range(11)]
    monkeypatch.setattr(log_segment, "LARGEST_WRAPPER", bound)
    assert [translate_offset(found, offset) for offset in range(11)] == expected
    with found.log() as log:
        assert [first_offset(log, place) for place in file_batches(log, 0, found.log_size)] == firsts
