"""Twins: recovery in windows does what recovery batch by batch does, for markers, old messages, all."""

import random
import struct
import zlib

import pytest

from formats.batch import BATCH, CRC_FROM
from formats.checkpoint import EpochEntry
from formats.crc import crc32c
from kcli.kafka.storage import valid_batches
from kcli.kafka.storage.log_segment import BrokerError, LoadedSegment
from kcli.kafka.storage.producer_state import ProducerState, replay
from kcli.kafka.storage.recovery import RecoveryError, recover
from tests.builders import put_batch, put_record, put_records
from tests.formats.recorded import stored
from tests.partitions import put_range, recover_in_windows
from tests.transactions import TRANSACTIONAL, control

LOGS = 300
BASE = 100
WINDOWS = (64, 300, 1 << 20)
OLD = stored("v1-none.log")[:200]


def old_message(offset, magic, body):
    """Return a message with the right checksum, of whichever magic and length."""
    covered = struct.pack(">bb", magic, 0) + body
    return struct.pack(">qiI", offset, 4 + len(covered), zlib.crc32(covered)) + covered


def batch(choose, offset):
    """Return a batch that is usual most of the time, and the offset after it."""
    kind = choose.choices(range(8), (60, 20, 10, 6, 2, 1, 1, 1))[0]
    producer = choose.randrange(3)
    count = choose.randrange(1, 4)
    epoch = choose.choice((0, 0, 0, 1, 2, -1))
    times = {"timestamp": choose.randrange(5000), "epoch": epoch}
    written = {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0}
    if kind == 0:
        return put_range(offset, count, **times), offset + count
    if kind == 1:
        return put_range(offset, count, **times, **written), offset + count
    if kind == 2:
        return put_range(offset, count, **times, **written, attributes=TRANSACTIONAL), offset + count
    if kind == 3:
        key = struct.pack(">hh", 0, choose.choice((0, 1, 1, 3)))
        return control(offset, producer, key, timestamp=offset), offset + 1
    if kind == 4:
        return OLD, offset
    if kind == 5:
        return old_message(
            offset, choose.choice((0, 1, 1, 3, -1)), bytes(choose.randrange(8, 40))
        ), offset + 1
    if kind == 6:
        return put_range(choose.choice((-1, BASE - 50, 1 << 40, (1 << 63) - 4)), count, **times), offset
    return put_records([put_record(value=bytes(choose.randrange(2000)))], base_offset=offset), offset + 1


def make_log(choose):
    parts, offset = [], BASE
    for _ in range(choose.choice((2, 10, 60))):
        data, offset = batch(choose, offset)
        parts.append(data)
    data = bytearray(b"".join(parts))
    for _ in range(choose.choice((0, 0, 0, 1, 2))):
        data[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
    return bytes(data[: len(data) - choose.choice((0, 0, 0, choose.randrange(40)))])


def producer_state():
    return ProducerState(disk={}, now_ms=0, expiration_ms=1)


def recovered(segment):
    """Return all that recovery gives, or the error and what had been built when it came."""
    state = producer_state()
    try:
        done = recover(segment, state, (EpochEntry(0, BASE),), index_interval_bytes=200, max_index_size=400)
    except RecoveryError as error:
        return error.exception, error.args, error.segment, error.epochs
    except BrokerError as error:
        return error.exception, error.args
    ended = f"cut: {done.reason.exception}" if done.reason else "whole"
    return ended, done.segment, done.epochs, done.truncated, str(done.reason), state


def replayed(segment):
    state = producer_state()
    try:
        replay(state, segment, BASE, segment.log_size)
    except BrokerError as error:
        return error.exception, error.args
    return "whole", state


@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("follow", [recovered, replayed])
def test_in_windows_as_batch_by_batch(tmp_path, monkeypatch, window, follow):
    choose = random.Random(window)
    path = tmp_path / f"{BASE:020d}.log"
    for _ in range(LOGS):
        path.write_bytes(make_log(choose))
        segment = LoadedSegment(BASE, str(path), path.stat().st_size)
        monkeypatch.setattr(valid_batches, "BULK_FROM", 1 << 40)
        plain = follow(segment)
        recover_in_windows(monkeypatch, window)
        assert follow(segment) == plain


def in_windows(monkeypatch, window):
    """Let a log be read in windows of so many bytes, or batch by batch."""
    if window is None:
        monkeypatch.setattr(valid_batches, "BULK_FROM", 1 << 40)
    else:
        recover_in_windows(monkeypatch, window)


def recovery_of(tmp_path, *batches):
    path = tmp_path / f"{BASE:020d}.log"
    path.write_bytes(b"".join(batches))
    segment = LoadedSegment(BASE, str(path), path.stat().st_size)
    return recover(segment, producer_state(), (), index_interval_bytes=200, max_index_size=400)


@pytest.mark.parametrize("window", [None, *WINDOWS])
def test_a_batch_without_records_is_whole(tmp_path, monkeypatch, window):
    """The cleaner keeps such a batch for its producer: 61 bytes, a header alone."""
    empty = put_batch(b"", 0, base_offset=BASE + 1, producer_id=1, producer_epoch=0, base_sequence=0)
    in_windows(monkeypatch, window)
    done = recovery_of(tmp_path, put_range(BASE, 1), empty, put_range(BASE + 2, 1))

    assert (len(empty), done.truncated, done.reason) == (61, 0, None)


@pytest.mark.parametrize("window", [None, *WINDOWS])
@pytest.mark.parametrize("size", [26, 60])
def test_a_batch_shorter_than_its_header_ends_the_log(tmp_path, monkeypatch, window, size):
    """Its checksum is right: `DefaultRecordBatch.ensureValid` looks at its size first."""
    short = put_batch(b"", 0, base_offset=BASE + 1)[:size]
    short = short[:8] + struct.pack(">i", size - 12) + short[12:]
    short = short[: BATCH.span("crc")[0]] + struct.pack(">I", crc32c(short[CRC_FROM:])) + short[CRC_FROM:]
    after = put_range(BASE + 2, 1)
    in_windows(monkeypatch, window)
    done = recovery_of(tmp_path, put_range(BASE, 1), short, after)

    assert (done.truncated, done.reason.position) == (size + len(after), len(put_range(BASE, 1)))
