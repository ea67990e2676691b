"""Starts over wrappers of magic 0 and 1: the search for the log end opens them, recovery does not."""

import pytest

from kcli.kafka.kraft.partition_start import load
from kcli.kafka.storage import log_segment
from kcli.kafka.storage.loaded_log import Settings
from kcli.kafka.storage.log_segment import BrokerError, file_batches, first_offset, translate_offset
from kcli.logdir.find import find
from kcli.logdir.partition import Partition
from kcli.logdir.targets import Selection
from tests.messages import put_message, put_set, put_wrapper
from tests.partitions import segment, time_entries

NOW = 1_700_000_000_000
SETTINGS = Settings(now_ms=NOW, index_interval_bytes=0, max_index_size=120)
BROKEN = put_wrapper(9, b"", timestamp=5)
A, C = put_set(0, [1, 2, 3]), put_set(7, [6, 7, 8], codec=3)


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
