"""Producer state: which producers expire, which transactions are open, what a broker throws."""

import struct
import tracemalloc

import pytest

from formats.bounds import LARGEST_CONTROL_BATCH
from formats.producer_snapshot import ProducerEntry
from formats.producer_snapshot import read_snapshot as decode_snapshot
from kcli.kafka.storage.log_segment import BrokerError, LoadedSegment
from kcli.kafka.storage.producer_state import EMPTY_SNAPSHOT, Producer, ProducerState, replay
from kcli.logdir.buffers import FileError
from kcli.logdir.targets import PRODUCER_EXPIRATION_MS
from tests.builders import put_records
from tests.partitions import put_range
from tests.transactions import CONTROL, TRANSACTIONAL, control, snapshot_file

NOW = 10 * PRODUCER_EXPIRATION_MS
COMMIT = 1


def state(disk=None, **fields):
    disk = dict(disk or {})
    return ProducerState(
        disk=disk, now_ms=NOW, expiration_ms=PRODUCER_EXPIRATION_MS, snapshots=set(disk), **fields
    )


def marker(offset, producer, kind, **fields):
    return control(offset, producer, **{"key": struct.pack(">hh", 0, kind), "timestamp": NOW, **fields})


def data(offset, producer=-1, count=1, transactional=False):
    fields = {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0} if producer >= 0 else {}
    return put_range(offset, count, timestamp=NOW, attributes=TRANSACTIONAL if transactional else 0, **fields)


def segment(tmp_path, base, *batches):
    log = b"".join(batches)
    path = tmp_path / f"{base:020d}.log"
    path.write_bytes(log)
    return LoadedSegment(base, str(path), len(log))


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


def test_an_empty_snapshot_has_the_checksum_that_is_known():
    assert decode_snapshot(EMPTY_SNAPSHOT).entries == ()
