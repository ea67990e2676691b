"""Where share groups read on, by snapshots and updates of their state."""

import struct

from formats.primitives import uuid_bytes
from tests.commands.answers import codes, document
from tests.groups import NOW, batch, coordinator, text
from tests.partitions import put_range, segment

TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAw"


def state_key(kind, partition=0):
    return struct.pack(">h", kind) + text("s") + uuid_bytes(TOPIC_ID) + struct.pack(">i", partition)


def snapshot(start, done=None, at=NOW):
    tags = b"\0" if done is None else b"\1\0\4" + struct.pack(">i", done)
    return struct.pack(">hiiiqqq", 0, 1, 0, 3, start, at, at) + b"\1" + tags


def update(start):
    return struct.pack(">hiiq", 0, 1, 4, start) + b"\1\0"


def offsets(tmp_path, *pairs, status=0):
    """Return partition, offset, lag and position of each row, and the findings."""
    root = tmp_path / "d"
    coordinator(root)
    segment(root / "orders-0", 0, put_range(0, 20))
    (root / "orders-0" / "partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC_ID}\n")
    segment(root / "__share_group_state-1", 0, batch(0, *pairs))
    found = document("group", "offsets", root, status=status)
    names = ("topic", "partition", "committed_offset", "committed_leader_epoch", "lag", "position")
    return [tuple(row[name] for name in names) for row in found["rows"]], codes(found)


def test_an_update_moves_the_start_of_the_snapshot(tmp_path):
    first = (state_key(0), snapshot(5, done=2))
    assert offsets(tmp_path / "a", first)[0] == [("orders", 0, 5, 3, 13, "valid")]
    moved = offsets(tmp_path / "b", first, (state_key(1), update(9)))[0]
    assert moved == [("orders", 0, 9, 4, 11, "valid")]
    kept = offsets(tmp_path / "c", first, (state_key(1), update(-1)))[0]
    assert kept == [("orders", 0, 5, 4, 15, "valid")]
    assert offsets(tmp_path / "d", first, (state_key(0), None))[0] == []


def test_a_group_that_has_set_no_start_has_no_offset(tmp_path):
    rows, _ = offsets(tmp_path, (state_key(0), snapshot(-1)))
    assert rows == [("orders", 0, None, 3, None, "unknown")]


def test_a_value_of_another_version_ends_the_load(tmp_path):
    rows, found = offsets(tmp_path, (state_key(0), b"\0\7"), (state_key(0, 1), snapshot(2)), status=1)
    assert [row[:3] for row in rows] == [("orders", 1, 2)]
    assert "COORD-002" in found
    row, *_ = (
        row for row in document("check", tmp_path / "d", status=1)["findings"] if row["code"] == "COORD-002"
    )
    assert row["dir"].endswith("__share_group_state-1")
