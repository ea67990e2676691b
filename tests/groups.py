"""Makers of records of __consumer_offsets: commits, tombstones, groups."""

import struct

import numpy as np

from formats.messages.group import GROUP_VALUES
from formats.primitives import uuid_bytes
from kcli.kafka.coordinator.coordinator_log import CoordinatorRecords
from tests.builders import put_record, put_records
from tests.metadata_records import put_fields, put_topic
from tests.partitions import epoch_lines, log_dir, put_range, segment

NOW = 1_800_000_000_000
TRANSACTIONAL = 0x10


def text(word):
    return struct.pack(">h", len(word.encode())) + word.encode()


def commit_key(group, topic, partition, kind=1):
    return struct.pack(">h", kind) + text(group) + text(topic) + struct.pack(">i", partition)


def commit_value(offset, epoch=-1, at=NOW, *, version=3, metadata="", expires=-1, topic_id=None):
    """Return the value of a commit in a version from 0 to 4."""
    head = struct.pack(">hq", version, offset)
    if version >= 3:
        head += struct.pack(">i", epoch)
    if version < 4:
        tail = struct.pack(">qq", at, expires) if version == 1 else struct.pack(">q", at)
        return head + text(metadata) + tail
    tags = b"\0" if topic_id is None else b"\1\0\x10" + uuid_bytes(topic_id)
    return head + bytes([len(metadata) + 1]) + metadata.encode() + struct.pack(">q", at) + tags


def group_key(group, kind=2):
    return struct.pack(">h", kind) + text(group)


NO_OWN = (struct.pack(">i", 0), struct.pack(">i", -1))


def group_value(*members, protocol_type="consumer", generation=1, protocol="range", since=NOW, own=NO_OWN):
    """Return a GroupMetadataValue; a member is its id and the topics that it asks for.

    `own` is what it puts into its subscription, and into its assignment, after their lengths.
    """
    body = struct.pack(">h", 3) + text(protocol_type) + struct.pack(">i", generation)
    body += text(protocol) + (text(members[0][0]) if members else struct.pack(">h", -1))
    body += struct.pack(">qi", since, len(members))
    for name, *topics in members:
        subscription = struct.pack(">hi", 0, len(topics)) + b"".join(map(text, topics)) + own[0]
        held = b"".join(text(topic) + struct.pack(">ii", 1, 0) for topic in topics)
        assignment = struct.pack(">hi", 0, len(topics)) + held + own[1]
        body += text(name) + struct.pack(">h", -1) + text("client") + text("/10.0.0.1")
        body += struct.pack(">ii", 1000, 1000)
        body += b"".join(struct.pack(">i", len(data)) + data for data in (subscription, assignment))
    return body


def record_value(kind, **values):
    """Return the value of a record about a group of a newer protocol, of a type."""
    return struct.pack(">h", 0) + put_fields(GROUP_VALUES[kind].fields, values, 0)


def batch(base, *records, producer=-1, timestamp=NOW):
    """Return a batch of (key, value) pairs."""
    return put_records(
        [put_record(offset_delta=n, key=key, value=value) for n, (key, value) in enumerate(records)],
        base_offset=base,
        producer_id=producer,
        producer_epoch=0 if producer >= 0 else -1,
        attributes=TRANSACTIONAL if producer >= 0 else 0,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
    )


def commit(base, group="g", topic="orders", partition=0, offset=5, producer=-1, timestamp=NOW, **value):
    """Return a batch of one commit."""
    pair = commit_key(group, topic, partition), commit_value(offset, **value)
    return batch(base, pair, producer=producer, timestamp=timestamp)


def put_columns(pairs):
    """Return records as columns, from keys and values that are no null."""
    data, rows = b"", []
    for key, value in pairs:
        rows.append((0, 0, len(data), len(key), len(data) + len(key), len(value), 0))
        data += key + value
    return CoordinatorRecords(data, "", -1, *np.array(rows, np.int64).T)


def coordinator(root, *batches, number=0, **dir_options):
    """Write __consumer_offsets-N of batches in a log dir that stopped cleanly; return its directory."""
    directory = log_dir(root, **dir_options) / f"__consumer_offsets-{number}"
    segment(directory, 0, b"".join(batches))
    return directory


def screen_dirs(root):
    """Write the log dir that screens of groups show: one group is well, one reads what is gone."""
    for number, first in enumerate((0, 100)):
        directory = log_dir(root) / f"orders-{number}"
        segment(directory, first, put_range(first, 40, epoch=2))
        (directory / "leader-epoch-checkpoint").write_text(epoch_lines((2, first)))
    (root / "replication-offset-checkpoint").write_text("0\n2\norders 0 40\norders 1 140\n")
    (root / "log-start-offset-checkpoint").write_text("0\n1\norders 1 100\n")
    put_topic(root, "__consumer_offsets")
    members = group_value(("billing-1-c0ffee", "orders"), ("billing-2-decade", "orders"))
    coordinator(
        root,
        batch(0, (group_key("billing"), members)),
        commit(1, "billing", offset=12, epoch=2),
        commit(2, "billing", partition=1, offset=130, epoch=2, at=NOW + 60_000, timestamp=NOW + 60_000),
        commit(3, "etl-photos", offset=2020, epoch=2, at=NOW - 9 * 86_400_000),
        commit(4, "etl-photos", partition=1, offset=57, epoch=1),
        commit(5, "mover", offset=20, producer=7),
        commit(6, "billing", offset=38, epoch=2, at=NOW + 90_000, timestamp=NOW + 90_000),
        batch(7, (commit_key("reports", "orders", 0), commit_value(3)), timestamp=NOW),
        batch(8, (commit_key("reports", "orders", 0), None), timestamp=NOW + 120_000),
    )
