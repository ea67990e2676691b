"""Makers of what transactions leave behind: batches, markers, records of __transaction_state."""

import struct

import numpy as np

from formats.control import ABORT, COMMIT
from formats.crc import crc32c
from formats.messages.transaction import TRANSACTION_STATES
from formats.producer_snapshot import PRODUCER_ENTRY, PRODUCER_SNAPSHOT_HEADER, ProducerSnapshotHeader
from kcli.kafka.coordinator.coordinator_log import CoordinatorRecords
from kcli.logdir.targets import PRODUCER_EXPIRATION_MS
from tests.builders import put_record, put_records
from tests.partitions import log_dir, put_range, segment

NOW = 1_800_000_000_000
DAY = PRODUCER_EXPIRATION_MS
TRANSACTIONAL, CONTROL = 0x10, 0x20
PAYMENTS = ("payments", 0)


def sent(base, producer, epoch=0, count=1, *, timestamp=NOW, sequence=0, transactional=True):
    """Return a batch of a producer; its records have the timestamp."""
    return put_range(
        base,
        count,
        timestamp=timestamp,
        step=0,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        attributes=TRANSACTIONAL * transactional,
    )


def ended(offset, producer, epoch=0, *, commits=True, timestamp=NOW, coordinator_epoch=0):
    """Return the batch of an end marker."""
    key = struct.pack(">hh", 0, COMMIT if commits else ABORT)
    return control(offset, producer, key, struct.pack(">hi", 0, coordinator_epoch), epoch, timestamp)


def control(offset, producer, key, value=b"\0\0\0\0\0\1", epoch=0, timestamp=NOW):
    """Return a control batch of a producer."""
    return put_records(
        [put_record(key=key, value=value)],
        base_offset=offset,
        producer_id=producer,
        producer_epoch=epoch,
        attributes=TRANSACTIONAL | CONTROL,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
    )


def snapshot_file(path, *entries):
    """Write a producer snapshot; return its path."""
    body = struct.pack(">i", len(entries)) + b"".join(PRODUCER_ENTRY.pack(entry) for entry in entries)
    header = ProducerSnapshotHeader(1, crc32c(body), len(entries))
    path.write_bytes(PRODUCER_SNAPSHOT_HEADER.pack(header) + body[4:])
    return str(path)


def key_of(transactional_id):
    name = transactional_id.encode()
    return struct.pack(">hh", 0, len(name)) + name


def value_of(producer_id, epoch, state, partitions=(), *, timeout=60_000, start=NOW, updated=NOW):
    """Return the value of a record of __transaction_state; `partitions` are (topic, number), None is null."""
    body = struct.pack(">hqhib", 0, producer_id, epoch, timeout, TRANSACTION_STATES.index(state))
    if partitions is None:
        body += struct.pack(">i", -1)
    else:
        body += struct.pack(">i", len(partitions))
        for topic, number in partitions:
            body += struct.pack(">h", len(topic)) + topic.encode() + struct.pack(">ii", 1, number)
    return body + struct.pack(">qq", updated, start)


def coordinator_records(*records):
    """Yield records, (key, value) of offsets from 0 on, as a reader of a coordinator's log gives them."""
    for offset, (key, value) in enumerate(records):
        lengths = [-1 if part is None else len(part) for part in (key, value)]
        columns = (offset, NOW, 0, lengths[0], max(lengths[0], 0), lengths[1], 100 * offset)
        data = (key or b"") + (value or b"")
        yield CoordinatorRecords(data, "log", -1, *(np.array([column], np.int64) for column in columns))


def state_log(*records):
    """Return a log of __transaction_state, each record (key, value) a batch of its own."""
    return b"".join(
        put_records([put_record(key=key, value=value)], base_offset=offset, base_timestamp=NOW)
        for offset, (key, value) in enumerate(records)
    )


def coordinator(root, *records, number=0):
    """Write a partition of __transaction_state."""
    segment(root / f"__transaction_state-{number}", 0, state_log(*records))


def hanging_log_dir(root):
    """Make a log dir with payments-0: producer 7 wrote behind its marker, 8 has a transaction under way."""
    batches = (
        sent(0, 7, epoch=3, count=2, timestamp=NOW - 5),
        ended(2, 7, epoch=3, timestamp=NOW - 4),
        sent(3, 7, epoch=3, count=2, sequence=2, timestamp=NOW - 3),
        sent(5, 8, count=3),
        put_range(8, 4),
    )
    segment(log_dir(root, clean=False) / "payments-0", 0, b"".join(batches))
    return root
