"""What coordinators of each release make of records of __transaction_state, and which markers they owe."""

import struct

import pytest

from formats.types import TopicPartition
from kcli.kafka.coordinator.transactions import TransactionStates, holds
from kcli.kafka.kraft.meta_properties import NEWEST
from tests.transactions import NOW, coordinator_records, key_of, value_of

A, B = key_of("a"), key_of("b")
EMPTY = value_of(1, 0, "Empty", None, start=-1)
ONGOING = value_of(2, 5, "Ongoing", [("t", 0), ("t", 3)])
ORDERS = TopicPartition("orders", 1)


def loaded(*records, version=NEWEST):
    states = TransactionStates("dir", version)
    findings = list(states.take(coordinator_records(*records)))
    return states, [(finding.code, finding.message.split(";")[0]) for finding in findings]


def test_the_last_record_of_an_id_counts_and_a_tombstone_removes_it():
    states, findings = loaded((A, EMPTY), (B, EMPTY), (A, ONGOING), (B, None))
    assert (findings, states.stop) == ([], None)
    assert {key: state[:8] for key, state in states.states.items()} == {
        "a": (2, 2, 5, -1, -1, "Ongoing", 60_000, NOW)
    }
    assert states.states["a"].partitions == (TopicPartition("t", 0), TopicPartition("t", 3))


def flexible(**tags):
    body = struct.pack(">hqhibB", 1, 2, 5, 60_000, 0, 0) + struct.pack(">qq", NOW, -1)
    return body + bytes([len(tags)]) + b"".join(tags.values())


TWO = (b"\x01\x08" + struct.pack(">q", 77), b"\x02\x02" + struct.pack(">h", 9))
UNKNOWN_KEY = struct.pack(">h", 7)
UNKNOWN_STATE = value_of(2, 5, "Ongoing", []).replace(b"\x01\0\0\0\0", b"\x0b\0\0\0\0", 1)


@pytest.mark.parametrize(
    ("record", "stops", "passes"),
    [
        ((UNKNOWN_KEY, EMPTY), ["3.3"], ["3.4.1", "4.4"]),
        ((B, struct.pack(">h", 2) + bytes(40)), ["3.3", "4.2"], ["4.3", "4.4"]),
        ((B, flexible()), ["3.4"], []),
        ((B, flexible(client=TWO[1])), ["4.0", "4.4"], []),
        ((B, UNKNOWN_STATE), ["3.3", "4.4"], []),
        ((B, value_of(2, 5, "Ongoing", None)), ["3.3", "4.4"], []),
        ((B, EMPTY[:9]), ["3.3", "4.4"], []),
        ((None, EMPTY), ["3.3", "4.4"], []),
        ((b"\0\0\0\x09x", None), ["3.3", "4.4"], []),
    ],
)
def test_a_record_ends_the_load_of_some_releases_and_others_pass_over_it(record, stops, passes):
    for release in (*stops, *passes):
        version = tuple(map(int, release.split(".")))
        states, findings = loaded((A, EMPTY), record, (A, ONGOING), version=version)
        is_stop = release in stops
        assert [code for code, _ in findings] == ["TXN-001" if is_stop else "TXN-002"], release
        assert states.stop == (1 if is_stop else None)
        assert states.states["a"].state == "Ongoing"  # what follows is folded


def test_tagged_fields_are_read_and_other_releases_know_them():
    states, findings = loaded((A, flexible(previous=b"\x00\x08" + struct.pack(">q", 76), following=TWO[0])))
    assert findings == []
    assert states.states["a"][3:5] == (76, 77)
    assert loaded((A, flexible(client=TWO[1])), version=(3, 9))[1] == []


def test_only_the_first_record_that_ends_the_load_is_reported():
    _, findings = loaded((None, None), (B, EMPTY[:9]), (UNKNOWN_KEY, None), (UNKNOWN_KEY, None))
    assert [code for code, _ in findings] == ["TXN-001", "TXN-002"]
    assert findings[0][1].startswith("offset 0: ")


@pytest.mark.parametrize(
    ("state", "epoch", "is_held"),
    [
        ("Ongoing", 5, True),
        ("Ongoing", 4, False),
        ("PrepareCommit", 5, True),
        ("PrepareCommit", 4, True),  # transactions of version 2 raise the epoch at their end
        ("PrepareAbort", 4, True),
        ("PrepareAbort", 6, False),
        ("PrepareEpochFence", 4, True),
        ("CompleteCommit", 5, False),
        ("Empty", 5, False),
    ],
)
def test_which_open_transactions_get_a_marker(state, epoch, is_held):
    states, _ = loaded((A, value_of(2, 5, state, [ORDERS])))
    assert holds(states.states["a"], ORDERS, 2, epoch) is is_held
    assert not holds(states.states["a"], ORDERS, 3, epoch)
    assert not holds(states.states["a"], TopicPartition("orders", 2), 2, epoch)
