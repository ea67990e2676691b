"""Offsets out of a segment's range, or below 0, at a start: by hand from Kafka's sources."""

import pytest

from kcli.kafka.storage.log_segment import BrokerError
from kcli.logdir.buffers import FileError
from tests.partitions import epoch_lines, loaded, offset_entries, put_range, segment, time_entries


def refused(directory, **fields):
    with pytest.raises(BrokerError) as thrown:
        loaded(directory, **fields)
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


@pytest.mark.parametrize("clean", [False, True], ids=["unclean", "without its index"])
def test_a_segment_that_ends_out_of_its_range_is_split(orders, clean):
    """Nothing is lost: its batches go to segments named by their first offsets."""
    (orders / f"{20:020d}.log").write_bytes(log(20, 30) + log(1 << 40, (1 << 40) + 10))
    if clean:
        (orders / f"{20:020d}.index").unlink()
    found = loaded(orders, clean=clean)
    assert [segment.base_offset for segment in found.segments] == [0, 20, 1 << 40]
    assert [segment.log_size for segment in found.segments[1:]] == [2 * SIZE, 2 * SIZE]
    assert (found.log_end_offset, found.lost) == ((1 << 40) + 20, ())
    (split,) = [finding for finding in found.findings if finding.code == "LOG-018"]
    assert (split.severity, split.position) == ("warning", 2 * SIZE)
    assert "splits it into segments 20, 1099511627776" in split.message
    with found.segments[-1].log() as part:
        assert part.read(0, 2 * SIZE) == log(1 << 40, (1 << 40) + 10)


def test_a_part_of_a_split_segment_that_is_damaged_is_cut(orders):
    (orders / f"{20:020d}.log").write_bytes(log(20) + log(1 << 40) + log((1 << 40) + 10)[:-1] + b"?")
    found = loaded(orders, clean=False)
    segments = [(segment.base_offset, segment.log_size) for segment in found.segments[1:]]
    assert segments == [(20, SIZE), (1 << 40, SIZE)]
    assert found.log_end_offset == (1 << 40) + 10


def test_a_split_that_would_write_over_another_segment_is_not_foreseen(orders):
    segment(orders, 1 << 40, log(1 << 40))
    (orders / f"{20:020d}.log").write_bytes(log(20) + log(1 << 40))
    with pytest.raises(FileError, match="not foreseen") as error:
        loaded(orders, clean=False)
    assert (error.value.code, error.value.position) == ("unsupported", SIZE)


def test_a_segment_that_ends_in_part_of_a_batch_cannot_be_split(orders):
    (orders / f"{20:020d}.log").write_bytes(log(20) + log(1 << 40) + log(1 << 40)[:30])
    assert refused(orders, clean=False).exception == "NoSuchElementException"


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
