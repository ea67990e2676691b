"""Producer state: which snapshots a broker writes, loads, deletes, and which transactions it holds open."""

import struct
import tracemalloc

import pytest

from formats.bounds import LARGEST_CONTROL_BATCH
from formats.crc import crc32c
from formats.producer_snapshot import PRODUCER_ENTRY, SNAPSHOT_HEADER, ProducerEntry, ProducerSnapshotHeader
from formats.producer_snapshot import read_snapshot as decode_snapshot
from kcli.kafka.storage.log_segment import BrokerError, LoadedSegment
from kcli.kafka.storage.producer_state import (
    EMPTY_SNAPSHOT,
    PRODUCER_EXPIRATION_MS,
    Producer,
    ProducerState,
    read_snapshot,
    rebuild,
    replay,
)
from kcli.logdir.buffers import FileError
from tests.builders import put_record, put_records
from tests.partitions import put_range

NOW = 10 * PRODUCER_EXPIRATION_MS
TRANSACTIONAL, CONTROL = 0x10, 0x20
ABORT, COMMIT = 0, 1


def state(disk=None, **fields):
    disk = dict(disk or {})
    return ProducerState(
        disk=disk, now_ms=NOW, expiration_ms=PRODUCER_EXPIRATION_MS, known=set(disk), **fields
    )


def marker(offset, producer, kind, key=None, value=None):
    record = put_record(
        key=struct.pack(">hh", 0, kind) if key is None else key,
        value=struct.pack(">hi", 0, 1) if value is None else value,
    )
    return put_records(
        [record],
        base_offset=offset,
        producer_id=producer,
        producer_epoch=0,
        attributes=TRANSACTIONAL | CONTROL,
        base_timestamp=NOW,
        max_timestamp=NOW,
    )


def data(offset, producer=-1, count=1, transactional=False):
    fields = {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0} if producer >= 0 else {}
    return put_range(offset, count, timestamp=NOW, attributes=TRANSACTIONAL if transactional else 0, **fields)


def segment(tmp_path, base, *batches):
    log = b"".join(batches)
    path = tmp_path / f"{base:020d}.log"
    path.write_bytes(log)
    return LoadedSegment(base, str(path), len(log))


def snapshot_file(path, *entries):
    body = struct.pack(">i", len(entries)) + b"".join(PRODUCER_ENTRY.pack(entry) for entry in entries)
    path.write_bytes(SNAPSHOT_HEADER.pack(ProducerSnapshotHeader(1, crc32c(body), len(entries))) + body[4:])
    return str(path)


def test_a_snapshot_is_written_once_per_offset():
    producers = state(map_end=10)
    producers.take_snapshot()
    producers.take_snapshot()
    assert set(producers.disk) == {10}
    assert producers.last_snapshot == 10


@pytest.mark.parametrize(
    ("offsets", "bases", "left"),
    [
        ([5, 10, 15], [0, 10], [10, 15]),
        ([5, 10], [0, 10], [10]),
        ([12, 15, 20], [0, 10], [20]),
        ([0, 10], [0, 10], [0, 10]),
        ([], [0], []),
    ],
)
def test_stray_snapshots_go_but_for_the_highest_above_all_segments(offsets, bases, left):
    producers = state({offset: {} for offset in offsets})
    producers.remove_stray_snapshots(bases)
    assert sorted(producers.disk) == sorted(producers.known) == left


def test_a_snapshot_that_is_not_known_is_not_deleted():
    producers = state({5: {}})
    producers.disk[9] = {}
    producers.start_at(20)
    assert set(producers.disk) == {9}
    assert producers.map_end == 20


def test_loading_forgets_expired_producers_but_not_open_transactions(tmp_path):
    def entry(number, timestamp, first=-1):
        return ProducerEntry(number, 0, 0, 3, 0, timestamp, 0, first)

    old = NOW - PRODUCER_EXPIRATION_MS
    path = snapshot_file(tmp_path / "a", entry(1, old), entry(2, old + 1), entry(3, old, first=2))
    producers = state({7: path})
    producers.truncate_and_reload(0, 10)
    assert producers.producers == {
        2: Producer(old + 1, None, 0, 0, 3, 0, 0),
        3: Producer(old, 2, 0, 0, 3, 0, 0),
    }
    assert producers.ongoing == {2: 3}
    assert (producers.map_end, producers.last_snapshot) == (7, 7)


def test_a_corrupt_snapshot_is_deleted_and_the_next_older_one_loaded(tmp_path):
    bad = tmp_path / "bad"
    bad.write_bytes(b"\x00\x01\x00\x00")
    producers = state({4: {9: Producer(NOW, None)}, 8: str(bad)})
    producers.truncate_and_reload(0, 10)
    assert set(producers.disk) == {4}
    assert set(producers.producers) == {9}
    assert read_snapshot(str(bad)) is None


def test_snapshots_outside_the_log_are_deleted():
    producers = state({offset: {} for offset in (0, 3, 4, 9, 10, 11)})
    producers.truncate_and_reload(3, 10)
    assert sorted(producers.disk) == [4, 9, 10]


def test_a_clean_start_without_snapshots_writes_empty_ones_and_reads_nothing():
    producers = state()
    missing = [LoadedSegment(base, "/nowhere", 100) for base in (0, 10, 20)]
    rebuild(producers, missing, 0, 30, clean_start=True)
    assert producers.disk == {10: {}, 20: {}, 30: {}}


def test_replay_starts_at_the_newest_snapshot_and_writes_at_the_last_two_bases(tmp_path):
    segments = [
        segment(tmp_path, 0, data(0, 1), data(1, 2)),
        segment(tmp_path, 2, data(2, 3)),
        segment(tmp_path, 3, data(3, 4), data(4, 5, count=3)),
    ]
    producers = state({1: {7: Producer(NOW, None)}})
    rebuild(producers, segments, 0, 6, clean_start=False)
    assert set(producers.producers) == {7, 2, 3, 4}, "the batch that holds offset 6 is not replayed"
    assert {offset: set(found) for offset, found in producers.disk.items()} == {
        1: {7},
        2: {7, 2},
        3: {7, 2, 3},
        6: {7, 2, 3, 4},
    }


def test_nothing_is_replayed_when_no_producer_was_there_before(tmp_path):
    segments = [segment(tmp_path, 0, data(0, 1), data(1))]
    producers = state(map_end=2)
    rebuild(producers, segments, 0, 1, clean_start=False)
    assert producers.producers == {}
    assert set(producers.disk) == {1}


def test_transactions_open_and_end(tmp_path):
    producers = state()
    held = segment(
        tmp_path,
        0,
        data(0, 1, transactional=True),
        data(1, 2, transactional=True),
        data(2, 1, transactional=True),
        marker(3, 1, COMMIT),
        data(4, 1, transactional=True),
    )
    replay(producers, held, 0, held.log_size)
    assert producers.producers == {
        1: Producer(NOW, 4, 0, 0, 4, 0, coordinator_epoch=1),
        2: Producer(NOW, 1, 0, 0, 1, 0),
    }
    assert producers.ongoing == {1: 2, 4: 1}


def test_a_marker_without_a_transaction_only_notes_the_producer(tmp_path):
    producers = state()
    held = segment(tmp_path, 0, marker(0, 1, ABORT))
    replay(producers, held, 0, held.log_size)
    assert producers.producers == {1: Producer(NOW, None, 0, coordinator_epoch=1)}


def test_a_new_epoch_forgets_the_batches_of_the_old_one(tmp_path):
    producers = state()
    bumped = put_range(5, 2, timestamp=NOW, producer_id=1, producer_epoch=3, base_sequence=2**31 - 1)
    held = segment(tmp_path, 0, data(0, 1, count=5), bumped)
    replay(producers, held, 0, held.log_size)
    assert producers.producers == {
        1: Producer(NOW + 1, None, 3, last_sequence=0, last_offset=6, offset_delta=1)
    }
    assert producers.producers[1].of_epoch(4) == Producer(NOW + 1, None, 4)


def test_an_emptied_control_batch_notes_a_producer_without_a_timestamp(tmp_path):
    producers = state()
    held = segment(
        tmp_path,
        0,
        put_records([], base_offset=0, producer_id=1, producer_epoch=0, attributes=TRANSACTIONAL | CONTROL),
    )
    replay(producers, held, 0, held.log_size)
    assert producers.producers == {1: Producer(-1, None)}


@pytest.mark.parametrize(
    ("batches", "exception"),
    [
        ([data(0, 1, transactional=True), data(1, 1)], "InvalidTxnStateException"),
        ([marker(0, 1, 2)], "IllegalArgumentException"),
        ([marker(0, 1, COMMIT, key=b"\x00")], "InvalidRecordException"),
        ([marker(0, 1, COMMIT, key=b"\xff\xff\x00\x01")], "InvalidRecordException"),
        ([marker(0, 1, COMMIT, value=b"\xff\xff\x00\x00\x00\x01")], "InvalidRecordException"),
        (
            [put_records([b"\x05"], base_offset=0, producer_id=1, attributes=TRANSACTIONAL | CONTROL)],
            "InvalidRecordException",
        ),
        ([data(0, 1), bytes(20)], "CorruptRecordException"),
    ],
)
def test_what_the_broker_would_throw(tmp_path, batches, exception):
    held = segment(tmp_path, 0, *batches)
    with pytest.raises(BrokerError) as thrown:
        replay(state(), held, 0, held.log_size)
    assert thrown.value.exception == exception
    assert thrown.value.path == held.log_path
    assert thrown.value.position == held.log_size - len(batches[-1])


def test_a_control_batch_that_is_too_large_is_not_read(tmp_path):
    log = segment(tmp_path, 0, marker(0, 7, COMMIT, value=bytes(LARGEST_CONTROL_BATCH)))
    tracemalloc.start()
    with pytest.raises(
        FileError, match=f"control batch size: expected at most {LARGEST_CONTROL_BATCH} bytes"
    ):
        replay(state(), log, 0, log.log_size)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < LARGEST_CONTROL_BATCH // 2


def test_copies_do_not_touch_one_another():
    first = state({4: {}}, map_end=9)
    second = first.copy()
    second.take_snapshot()
    second.delete_snapshot(4)
    assert (set(first.disk), set(second.disk)) == ({4}, {9})


def test_an_empty_snapshot_has_the_checksum_that_is_known():
    assert decode_snapshot(EMPTY_SNAPSHOT).entries == ()
