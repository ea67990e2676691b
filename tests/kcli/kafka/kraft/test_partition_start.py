"""What a starting broker makes of a directory.

Worked out by hand from Kafka's sources, small enough to check by eye.
"""

import struct

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
    """Two segments, [0, 20) and [20, 40), batches of ten, an index entry for every batch but the first of a
    segment."""
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


def test_preallocated_zeros_are_entries_and_mislead_the_log_end(orders):
    (orders / f"{20:020d}.index").write_bytes(offset_entries((19, SIZE)) + bytes(80))
    found = loaded(orders)
    assert found.segments[1].offset_index.entries == 11
    assert found.log_end_offset == 40, "the last entry leads to the start of the segment: everything is read"
    (orders / f"{20:020d}.index").write_bytes(offset_entries((19, 5 * SIZE)))
    assert loaded(orders).log_end_offset == 20, "an entry that leads past the log"


def test_a_batch_that_runs_past_the_end_is_not_seen_by_a_clean_start(orders):
    path = orders / f"{20:020d}.log"
    path.write_bytes(path.read_bytes()[:-1])
    found = loaded(orders)
    assert (found.log_end_offset, found.segments[1].log_size) == (20, 2 * SIZE - 1), (
        "the entry's own batch is cut"
    )


def test_a_clean_start_fails_on_zeros_after_the_last_batch(orders):
    with (orders / f"{20:020d}.log").open("ab") as file:
        file.write(bytes(100))
    error = refused(orders)
    assert (error.exception, error.position) == ("CorruptRecordException", 2 * SIZE)
    assert error.path == str(orders / f"{20:020d}.log")
    assert loaded(orders, clean=False).log_end_offset == 40


def test_an_unclean_start_rebuilds_from_the_floor_of_the_recovery_point(orders):
    for base in (0, 20):
        (orders / f"{base:020d}.index").write_bytes(bytes(16))
    found = loaded(orders, clean=False, recovery_point=25)
    assert shape(found) == [(0, 2 * SIZE, 2, 1), (20, 2 * SIZE, 1, 1)], (
        "below the recovery point nothing is rebuilt"
    )
    assert (found.log_end_offset, found.recovery_point) == (40, 25)
    assert loaded(orders, clean=False, recovery_point=99).recovery_point == 40


@pytest.mark.parametrize("chunk", [SIZE // 2, SIZE + 7, 1 << 20])
def test_recovery_cuts_at_the_first_bad_batch_and_deletes_what_follows(orders, monkeypatch, chunk):
    monkeypatch.setattr(valid_batches, "CHUNK", chunk)
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


def test_recovery_learns_epochs_from_batches_without_a_checkpoint(orders):
    (orders / "leader-epoch-checkpoint").unlink()
    assert loaded(orders).epochs == ()
    assert loaded(orders, clean=False).epochs == ((0, 0), (1, 20))
    assert loaded(orders, clean=False, recovery_point=40).epochs == ((1, 20),)


def test_a_missing_offset_index_makes_even_a_clean_start_recover_the_segment(orders):
    (orders / f"{0:020d}.index").unlink()
    path = orders / f"{0:020d}.log"
    path.write_bytes(path.read_bytes()[:-1])
    found = loaded(orders)
    assert shape(found) == [(0, SIZE, 0, 1), (20, 2 * SIZE, 1, 1)], (
        "the cut leaves a hole: later segments stay"
    )
    assert [f.code for f in found.findings] == ["IDX-001", "LOG-001"]


def test_a_missing_time_index_is_empty(orders):
    (orders / f"{20:020d}.timeindex").unlink()
    assert shape(loaded(orders))[1] == (20, 2 * SIZE, 1, 0)


def test_a_log_that_ends_below_its_start_is_deleted(orders):
    found = loaded(orders, log_start_offset=41)
    assert shape(found) == [(41, 0, 0, 0)]
    assert (found.log_start_offset, found.log_end_offset, found.recovery_point) == (41, 41, 41)
    assert (found.deleted, found.epochs, dict(found.producers.disk)) == ((0, 20), (), {41: {}})
    assert [f.code for f in found.findings] == ["LOG-006"]


def test_the_log_start_is_at_least_the_first_base_unless_the_log_is_tiered(orders):
    for name in ("log", "index", "timeindex"):
        (orders / f"{0:020d}.{name}").unlink()
    assert loaded(orders, log_start_offset=5).log_start_offset == 20
    tiered = Settings(now_ms=NOW, index_interval_bytes=0, max_index_size=120, remote_storage=True)
    assert loaded(orders, tiered, log_start_offset=5).log_start_offset == 5


def test_an_empty_directory_gets_a_segment_at_the_log_start(tmp_path):
    directory = tmp_path / "orders-0"
    directory.mkdir()
    found = loaded(directory, log_start_offset=7)
    assert (shape(found), found.log_end_offset, found.recovery_point) == ([(7, 0, 0, 0)], 7, 7)


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
    path.write_bytes(TXN_INDEX_ENTRY.pack(AbortedTxn(0, 1, 20, 25, 26)) + b"\x01" + bytes(33))
    error = refused(orders)
    assert (error.exception, error.path, error.position) == ("KafkaException", str(path), 34)
    assert error.message == "aborted transaction of version 1"


def test_the_first_bad_entry_of_a_transaction_index_decides(orders):
    good, below = (TXN_INDEX_ENTRY.pack(AbortedTxn(0, 1, 20, last, 26)) for last in (25, 5))
    unknown = b"\x05\xd0" + bytes(32)
    path = orders / f"{20:020d}.txnindex"
    path.write_bytes(good + below + unknown)
    for clean in (True, False):
        found = loaded(orders, clean=clean)
        assert found.segments[1].aborted == ()
        assert [(f.code, f.position) for f in found.findings if f.code == "START-004"] == [("START-004", 34)]
    path.write_bytes(good + unknown + below)
    assert refused(orders).message == "aborted transaction of version 5"
    below_and_unknown = b"\1" + below[1:]
    path.write_bytes(below_and_unknown)
    assert refused(orders).position == 0, "the version is read before the offset"


def test_an_index_longer_than_the_setting_fails(orders):
    (orders / f"{20:020d}.index").write_bytes(offset_entries((19, SIZE)) * 16)
    assert refused(orders).exception == "IllegalArgumentException"
    (orders / f"{0:020d}.index").write_bytes(offset_entries((19, SIZE)) * 16)
    (orders / f"{20:020d}.index").write_bytes(offset_entries((19, SIZE)))
    assert loaded(orders).segments[0].offset_index.entries == 16, "only the active one is resized"


def test_offsets_that_do_not_rise_empty_the_segment_in_recovery(orders):
    path = orders / f"{20:020d}.log"
    path.write_bytes(log(20, 30, 30))
    found = loaded(orders, clean=False)
    assert shape(found)[1] == (20, 0, 0, 0)
    assert [f.code for f in found.findings] == ["START-001"]
    (orders / f"{20:020d}.index").unlink()
    assert refused(orders).exception == "InvalidOffsetException"


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


def test_a_batch_shorter_than_its_header_is_cut(orders):
    (orders / f"{20:020d}.log").write_bytes(log(20) + struct.pack(">qiib", 30, 30, 0, 2) + bytes(60))
    found = loaded(orders, clean=False)
    assert (found.segments[1].log_size, found.log_end_offset) == (SIZE, 30)


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


def test_swaps_at_or_above_a_cleaned_file_are_an_interrupted_split(orders):
    rename(orders, 20, ".swap")
    (orders / f"{20:020d}.log.cleaned").write_bytes(b"")
    assert [s.base_offset for s in loaded(orders).segments] == [0]


def test_a_swap_without_an_index_gets_one_full_of_zeros(orders):
    rename(orders, 20, ".swap")
    (orders / f"{20:020d}.index.swap").unlink()
    assert loaded(orders).segments[1].offset_index.entries == 15


@pytest.mark.parametrize(
    "name", ["notes.log", "x.index", "x.snapshot", "x.log.swap", "x.log.cleaned", "x.swap", "x.index.swap"]
)
def test_a_name_without_an_offset_fails(orders, name):
    (orders / name).write_bytes(b"")
    error = refused(orders)
    assert (error.exception, error.path) == ("NumberFormatException", str(orders / name))


def test_an_index_without_a_log_is_ignored(orders):
    (orders / f"{30:020d}.index").write_bytes(bytes(8))
    assert len(loaded(orders).segments) == 2
