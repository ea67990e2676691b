"""Producer snapshots: files of 13 versions with what their readers said, damage, round trips."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.crc import crc32c
from formats.errors import CorruptError, FormatError, TruncatedError, UnsupportedError
from formats.producer_snapshot import (
    PRODUCER_ENTRY,
    PRODUCER_SNAPSHOT_HEADER,
    ProducerEntry,
    ProducerSnapshotHeader,
    read_snapshot,
)
from tests.formats.files import json_lines

ONE = bytes.fromhex(
    "00017f0c315b000000010000000000000fa000020000000900000000"
    "00000006000000010000018bcfe5680a00000007ffffffffffffffff"
)
I64 = st.integers(-(2**63), 2**63 - 1)
I32 = st.integers(-(2**31), 2**31 - 1)


def snapshot(rows, tail=b"", version=1, count=None):
    body = (len(rows) if count is None else count).to_bytes(4, "big", signed=True)
    body += b"".join(map(PRODUCER_ENTRY.pack, rows)) + tail
    return PRODUCER_SNAPSHOT_HEADER.pack(ProducerSnapshotHeader(version, crc32c(body), 0))[:6] + body


def test_vector():
    read = read_snapshot(ONE)
    assert read == (1, 2131505499, (ProducerEntry(4000, 2, 9, 6, 1, 1700000000010, 7, -1),), 0)
    assert snapshot(read.entries) == ONE
    assert read.entries[0].has_batch
    assert not read.entries[0].has_open_transaction


def test_as_thirteen_versions_read_them():
    cases = [case for case in json_lines("producer-state.jsonl") if case["file"].endswith(".snapshot")]
    assert len({case["version"] for case in cases}) == 13
    for case in cases:
        data = bytes.fromhex(case["hex"])
        if "error" in case:
            with pytest.raises(FormatError):
                read_snapshot(data)
            continue
        read = read_snapshot(data)
        assert len(read.entries) == len(case["read"])
        # Readers of different versions name their fields differently, and some drop the order.
        expected = {
            (
                e["producerId"],
                e["producerEpoch"],
                e["timestamp"] if "timestamp" in e else e["lastTimestamp"],
                e["coordinatorEpoch"],
                e["currentTxnFirstOffset"],
            )
            for e in case["read"]
        }
        assert expected == {
            (
                e.producer_id,
                e.producer_epoch,
                e.timestamp,
                e.coordinator_epoch,
                e.current_txn_first_offset if e.has_open_transaction else None,
            )
            for e in read.entries
        }


@pytest.mark.parametrize("size", range(len(ONE)))
def test_every_prefix(size):
    with pytest.raises(TruncatedError) as raised:
        read_snapshot(ONE[:size])
    assert raised.value.position <= size


@pytest.mark.parametrize("bit", [1, 0x80])
def test_every_flipped_byte(bit):
    for at in range(len(ONE)):
        data = bytearray(ONE)
        data[at] ^= bit
        with pytest.raises(FormatError):
            read_snapshot(data)


@pytest.mark.parametrize(
    ("data", "kind", "position"),
    [
        (snapshot([], version=0), UnsupportedError, 0),
        (snapshot([], version=2), UnsupportedError, 0),
        (snapshot([], count=-1), CorruptError, 6),
        (snapshot([], count=-(2**31)), CorruptError, 6),
        (snapshot([], count=2**31 - 1), TruncatedError, 10),
        (snapshot([], count=1, tail=bytes(45)), TruncatedError, 10),
        (bytes(100), UnsupportedError, 0),
        (b"\0\2", UnsupportedError, 0),
        (ONE + b"\0", CorruptError, 2),
    ],
)
def test_hostile(data, kind, position):
    with pytest.raises(kind) as raised:
        read_snapshot(data)
    assert type(raised.value) is kind
    assert raised.value.position == position


@given(
    st.lists(
        st.builds(ProducerEntry, I64, st.integers(-(2**15), 2**15 - 1), I32, I64, I32, I64, I32, I64),
        max_size=5,
    ),
    st.binary(max_size=60),
)
def test_round_trip_with_trailing_bytes(rows, tail):
    read = read_snapshot(memoryview(snapshot(rows, tail)))
    assert (read.entries, read.trailing_bytes) == (tuple(rows), len(tail))
