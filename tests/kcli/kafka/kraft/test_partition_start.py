"""What a starting broker makes of a directory: by hand from Kafka's sources, to be checked by eye."""

import pytest

from formats.index import TXN_INDEX_ENTRY, AbortedTxn
from kcli.kafka.kraft.partition_start import load
from kcli.kafka.storage import valid_batches
from kcli.kafka.storage.loaded_log import Settings
from kcli.kafka.storage.log_segment import BrokerError
from kcli.logdir.buffers import FileError
from kcli.logdir.find import find
from kcli.logdir.partition import Partition
from kcli.logdir.targets import Selection
from tests.partitions import epoch_lines, offset_entries, put_range, segment, snapshot, time_entries

NOW = 1_700_000_000_000
SMALL = Settings(now_ms=NOW, index_interval_bytes=0, max_index_size=120)


def loaded(directory, settings=SMALL, **given):
    partition = Partition(find([str(directory)], Selection()).targets[0])
    return load(
        partition,
        **{"clean": True, "recovery_point": 0, "log_start_offset": 0, "settings": settings, **given},
    )


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


def shape(found):
    return [(s.base_offset, s.log_size, s.offset_index.entries, s.time_index.entries) for s in found.segments]


def test_a_clean_start_trusts_the_files(orders):
    before = snapshot(orders)
    found = loaded(orders)
    assert shape(found) == [(0, 2 * SIZE, 1, 1), (20, 2 * SIZE, 1, 1)]
    assert (found.log_start_offset, found.log_end_offset, found.recovery_point) == (0, 40, 40)
    assert found.epochs == ((0, 0), (1, 20))
    assert sorted(found.producers.disk) == [20, 40]
    assert found.findings == ()
    assert snapshot(orders) == before


@pytest.mark.parametrize("chunk", [SIZE // 2, SIZE + 7, 1 << 20])
def test_recovery_cuts_at_the_first_bad_batch_and_deletes_what_follows(orders, monkeypatch, chunk):
    monkeypatch.setattr(valid_batches, "CHECKSUM_CHUNK", chunk)
    path = orders / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    found = loaded(orders, clean=False)
    assert shape(found) == [(0, SIZE, 0, 1)]
    assert (found.log_end_offset, found.deleted, found.epochs) == (10, (20,), ((0, 0),))
    assert [(f.code, f.position) for f in found.findings] == [("START-001", SIZE), ("START-001", None)]
    assert loaded(orders).log_end_offset == 40, "a clean start does not notice"
    assert loaded(orders, clean=False, recovery_point=20).log_end_offset == 40, (
        "nor does one that recovers only what is later"
    )


def test_a_missing_offset_index_makes_even_a_clean_start_recover_the_segment(orders):
    (orders / f"{0:020d}.index").unlink()
    path = orders / f"{0:020d}.log"
    path.write_bytes(path.read_bytes()[:-1])
    found = loaded(orders)
    assert shape(found) == [(0, SIZE, 0, 1), (20, 2 * SIZE, 1, 1)], (
        "the cut leaves a hole: later segments stay"
    )
    assert [f.code for f in found.findings] == ["IDX-001", "LOG-001"]


@pytest.mark.parametrize(
    ("text", "exception"),
    [
        ("0\n1\n-1 5\n", "IllegalArgumentException"),
        ("0\n1\n1 -5\n", "IllegalArgumentException"),
        ("0\n3\n1 5\n", "KafkaStorageException"),
        ("7\n0\n", "KafkaStorageException"),
    ],
)
@pytest.mark.parametrize("clean", [True, False])
def test_bad_epoch_lines_fail_every_start(orders, text, exception, clean):
    (orders / "leader-epoch-checkpoint").write_text(text)
    error = refused(orders, clean=clean)
    assert error.exception == exception
    assert error.path == str(orders / "leader-epoch-checkpoint")


def test_a_transaction_index_of_another_version_fails_and_one_of_another_segment_is_rebuilt(orders):
    path = orders / f"{20:020d}.txnindex"
    path.write_bytes(TXN_INDEX_ENTRY.pack(AbortedTxn(0, 1, 20, 25, 26)) + b"partial")
    assert [one.last_offset for one in loaded(orders).segments[1].aborted] == [25]
    path.write_bytes(TXN_INDEX_ENTRY.pack(AbortedTxn(0, 1, 2, 5, 6)))
    found = loaded(orders)
    assert found.segments[1].aborted == ()
    assert [(f.code, f.position) for f in found.findings] == [("START-004", 0)]
    path.write_bytes(TXN_INDEX_ENTRY.pack(AbortedTxn(0, 1, 20, 25, 26)) + b"\0\1" + bytes(32))
    error = refused(orders)
    assert (error.exception, error.path, error.position) == ("KafkaException", str(path), 34)
    assert error.message == "aborted transaction of version 1"


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


# Leftovers


def rename(directory, base, suffix):
    for path in list(directory.iterdir()):
        if path.name.startswith(f"{base:020d}"):
            path.rename(directory / (path.name + suffix))


def test_deleted_and_cleaned_files_go(orders):
    rename(orders, 20, ".deleted")
    (orders / f"{40:020d}.log.cleaned").write_bytes(b"")
    found = loaded(orders)
    assert (len(found.segments), found.log_end_offset) == (1, 20)
    assert [f.code for f in found.findings] == ["START-003"]


def test_a_swap_replaces_what_lies_in_its_range(orders):
    rename(orders, 20, ".swap")
    segment(orders, 25, log(25), b"", b"")
    segment(orders, 40, log(40), b"", b"")
    (orders / f"{30:020d}.snapshot").write_bytes(b"")
    found = loaded(orders)
    assert [s.base_offset for s in found.segments] == [0, 20, 40]
    assert found.snapshots_before == (30,)
