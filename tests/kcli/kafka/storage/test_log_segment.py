"""A start over wrappers of magic 0 and 1.

The search for the log end opens them, recovery looks at checksums alone.
"""

import pytest

from kcli.kafka.kraft.partition_start import load
from kcli.kafka.storage import log_segment
from kcli.kafka.storage.loaded_log import Settings
from kcli.kafka.storage.log_segment import (
    BrokerError,
    file_batches,
    first_offset,
    read_next_offset,
    translate_offset,
)
from kcli.logdir.find import find
from kcli.logdir.partition import Partition
from kcli.logdir.targets import Selection
from tests.messages import put_message, put_set, put_wrapper
from tests.partitions import offset_entries, put_range, segment, time_entries

NOW = 1_700_000_000_000
SETTINGS = Settings(now_ms=NOW, index_interval_bytes=0, max_index_size=120)
BROKEN = put_wrapper(9, b"", timestamp=5)
A, B, C = put_set(0, [1, 2, 3]), put_set(3, [4, 5], magic=0), put_set(7, [6, 7, 8], codec=3)


def loaded(directory, **given):
    partition = Partition(find([str(directory)], Selection()).targets[0])
    return load(
        partition,
        **{"clean": True, "recovery_point": 0, "log_start_offset": 0, "settings": SETTINGS, **given},
    )


@pytest.fixture
def start(tmp_path):
    """Write one segment at 0 and start a broker over it."""

    def run(log, index=b"", **given):
        segment(tmp_path / "orders-0", 0, log, index, time_entries((9, 9)))
        return loaded(tmp_path / "orders-0", **given)

    return run


def test_the_first_offset_of_batches(start):
    (found,) = start(A + B + put_message(6) + C + put_range(10, 2)).segments
    with found.log() as log:
        assert [first_offset(log, place) for place in file_batches(log, 0, found.log_size)] == [
            0,
            3,
            6,
            7,
            10,
        ]


def test_offsets_are_found_in_wrappers(start):
    (found,) = start(A + B + C).segments
    a, b = len(A), len(A + B)
    expected = [0, 0, 0, a, a, b, b, b, b, b, None]
    assert [translate_offset(found, offset) for offset in range(11)] == expected
    assert read_next_offset(found) == 10


LONG = put_wrapper(4, put_message(0, value=bytes(5000)) + put_message(1))


@pytest.mark.parametrize(("bound", "firsts"), [(1, [2, 4, 9]), (1000, [0, 4, 7]), (6000, [0, 3, 7])])
def test_a_wrapper_too_large_to_be_opened_has_the_offset_in_its_header(start, monkeypatch, bound, firsts):
    """Before it is decompressed and after; searches end at the same batch."""
    (found,) = start(A + LONG + C).segments
    expected = [translate_offset(found, offset) for offset in range(11)]
    monkeypatch.setattr(log_segment, "LARGEST_WRAPPER", bound)
    assert [translate_offset(found, offset) for offset in range(11)] == expected
    with found.log() as log:
        assert [first_offset(log, place) for place in file_batches(log, 0, found.log_size)] == firsts


def with_magic(magic, message):
    """Return a message with another magic: of a flipped bit in it, which no checksum covers."""
    return message[:16] + bytes([magic & 0xFF]) + message[17:]


@pytest.mark.parametrize(
    ("broken", "exception"),
    [
        (BROKEN, "InvalidRecordException"),
        (put_wrapper(9, put_set(0, [1])), "InvalidRecordException"),
        (put_wrapper(9, put_message(10)), "InvalidRecordException"),
        (put_wrapper(9, put_message(0, size=13)), "CorruptRecordException"),
        (put_message(9, attributes=1), "InvalidRecordException"),
        (put_message(9, attributes=1, value=(9, b"")), "IllegalArgumentException"),
        (put_message(9, attributes=1, key=(9, b""), value=b"x"), "IndexOutOfBoundsException"),
        (put_message(9, attributes=1, value=b"x"), "KafkaException"),
        (put_message(9, attributes=4, value=b"x"), "InvalidRecordException"),
        (put_message(9, attributes=5, value=b"x"), "IllegalArgumentException"),
        (with_magic(-126, put_message(9, attributes=5, value=b"x")), "IllegalArgumentException"),
        (with_magic(-126, put_message(9, attributes=2, value=b"x")), "InvalidRecordException"),
    ],
)
def test_a_clean_start_fails_on_a_wrapper_that_it_must_open(start, broken, exception):
    with pytest.raises(BrokerError) as thrown:
        start(broken)
    assert (thrown.value.exception, thrown.value.position) == (exception, 0)


def test_what_the_search_does_not_reach_is_not_opened(start):
    assert start(A + BROKEN).log_end_offset == 10
    assert start(BROKEN + put_set(10, [1, 2]), offset_entries((11, len(BROKEN)))).log_end_offset == 12


def test_recovery_does_not_cut_what_has_a_right_checksum_but_fails_after_it(start):
    with pytest.raises(BrokerError):
        start(A + BROKEN, clean=False)
    found = start(A + put_message(9, attributes=1, crc=1), clean=False)
    assert (found.log_end_offset, found.segments[0].log_size) == (3, len(A))
