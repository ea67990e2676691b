"""Makers of what transactions leave behind: batches, markers, records of __transaction_state."""

import struct

from formats.control import ABORT, COMMIT
from formats.crc import crc32c
from formats.producer_snapshot import PRODUCER_ENTRY, PRODUCER_SNAPSHOT_HEADER, ProducerSnapshotHeader
from kcli.logdir.targets import PRODUCER_EXPIRATION_MS
from tests.builders import put_record, put_records
from tests.partitions import put_range

NOW = 1_800_000_000_000
DAY = PRODUCER_EXPIRATION_MS
TRANSACTIONAL, CONTROL = 0x10, 0x20


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
    return put_records(
        [put_record(key=key, value=struct.pack(">hi", 0, coordinator_epoch))],
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
