"""Offsets out of a segment's range, or below 0, at a start: by hand from Kafka's sources."""

import pytest

from kcli.kafka.storage.log_segment import BrokerError
from kcli.logdir.buffers import FileError
from tests.partitions import epoch_lines, loaded, offset_entries, put_range, segment, time_entries


def refused(directory, **given):
    with pytest.raises(BrokerError) as thrown:
        loaded(directory, **given)
    return thrown.value


def log(*bases, step=10, epoch=0):
    return b"".join(put_range(base, step, epoch=epoch, timestamp=1000 + base) for base in bases)


SIZE = len(log(0))


@pytest.fixture
def orders(tmp_path):
    """Segments [0, 20) and [20, 40) of batches of ten, each but the first in the index."""
    directory = tmp_path / "orders-0"
    segment(directory, 0, log(0, 10), offset_entries((19, SIZE)), time_entries((1019, 19)))
    segment(directory, 20, log(20, 30, epoch=1), offset_entries((19, SIZE)), time_entries((1039, 19)))
    (directory / "leader-epoch-checkpoint").write_text(epoch_lines((0, 0), (1, 20)))
    return directory


def test_a_segment_that_ends_out_of_its_range_would_be_split_and_is_not_predicted(orders):
    (orders / f"{20:020d}.log").write_bytes(log(20) + log(1 << 40))
    with pytest.raises(FileError, match="the broker splits the segment") as error:
        loaded(orders, clean=False)
    assert (error.value.code, error.value.position) == ("unsupported", SIZE)


def test_an_offset_out_of_range_before_the_last_batch_stops_the_load(orders):
    """LocalLog.splitOverflowedSegment splits only a segment that ends with such an offset."""
    (orders / f"{20:020d}.log").write_bytes(log(20) + log(1 << 40) + log(30))
    assert refused(orders, clean=False).exception == "IllegalArgumentException"


def test_a_negative_base_offset_of_the_newest_epoch_stops_the_load(orders):
    """LeaderEpochFileCache.assign throws where recovery meets it; a clean start does not look."""
    negative = put_range(-3, 30, epoch=7)
    (orders / f"{20:020d}.log").unlink()
    (orders / f"{0:020d}.log").write_bytes(log(0) + negative)
    assert refused(orders, clean=False).exception == "IllegalArgumentException"
    assert loaded(orders).log_end_offset == 27
