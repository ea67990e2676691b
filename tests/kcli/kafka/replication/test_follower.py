"""A follower meets a leader: recorded rounds of a real one, and rules by their names."""

import json
from pathlib import Path

import pytest

from formats.checkpoint import EpochEntry
from kcli.kafka.replication.follower import (
    CONVERGED,
    EPOCH_PROTOCOL,
    EPOCH_V0,
    ReplicaEpochs,
    as_leader,
    find_divergence,
    follow_leader,
    truncation_state,
)

RECORDED = json.loads((Path(__file__).parents[3] / "data" / "metadata" / "rounds.json").read_text())
NEW_EPOCH = 99


def side(fields):
    return ReplicaEpochs(**{**fields, "epochs": tuple(EpochEntry(*entry) for entry in fields["epochs"])})


@pytest.mark.parametrize("case", RECORDED, ids=[case["topic"] for case in RECORDED])
def test_recorded_rounds(case):
    fetch_rounds = follow_leader(as_leader(side(case["leader"]), NEW_EPOCH), side(case["follower"]))

    named = [step for step in fetch_rounds.rounds if step.end_offset is not None]
    assert [[step.leader_epoch, step.end_offset, step.truncate_to] for step in named] == case["rounds"]
    last = case["rounds"][-1][-1] if case["rounds"] else case["follower"]["log_end_offset"]
    assert (fetch_rounds.truncate_to, fetch_rounds.outcome) == (last, CONVERGED)


EPOCHS = (EpochEntry(0, 0), EpochEntry(2, 30), EpochEntry(4, 50))


@pytest.mark.parametrize(
    ("answered", "follower", "expected"),
    [
        pytest.param((-1, -1), ReplicaEpochs(EPOCHS, 70), (33, True, "undefined-end"), id="a"),
        pytest.param((-1, 80), ReplicaEpochs(EPOCHS, 70), (70, True, "unnamed-epoch"), id="b"),
        pytest.param((3, 60), ReplicaEpochs(EPOCHS, 70), (50, False, "unknown-epoch"), id="c"),
        pytest.param((2, 40), ReplicaEpochs(EPOCHS, 70), (40, True, "common-epoch"), id="d: the leader's"),
        pytest.param((2, 60), ReplicaEpochs(EPOCHS, 70), (50, True, "common-epoch"), id="d: its own"),
        pytest.param((4, 90), ReplicaEpochs(EPOCHS, 70), (70, True, "common-epoch"), id="d: its log end"),
        pytest.param((5, 90), ReplicaEpochs(EPOCHS, 70), (70, True, "untracked-epoch"), id="e: above all"),
        pytest.param((0, 9), ReplicaEpochs((), 70), (9, True, "untracked-epoch"), id="e: none"),
    ],
)
def test_truncation_states(answered, follower, expected):
    assert truncation_state(EpochEntry(*answered), follower, 33) == expected


def test_before_2_0_the_end_of_an_epoch_older_than_all_is_unknown():
    """KIP-101: such a follower truncates to its high watermark, and may stay diverged."""
    leader = ReplicaEpochs((EpochEntry(1, 0),), 2)
    follower = ReplicaEpochs((EpochEntry(0, 0),), 3, high_watermark=3)

    old = follow_leader(leader, follower, EPOCH_V0).rounds[0]
    assert (old.end_offset, old.truncate_to, old.rule) == (-1, 3, "undefined-end")
    new = follow_leader(leader, follower, EPOCH_PROTOCOL).rounds[0]
    assert (new.leader_epoch, new.end_offset, new.truncate_to) == (0, 0, 0)


def history(*entries):
    return tuple(EpochEntry(*entry) for entry in entries)


ONE = history((1, 0), (4, 10), (6, 20))


@pytest.mark.parametrize(
    ("other", "other_end", "expected"),
    [
        (ONE, 30, (None, 6, 0, 30)),
        (ONE, 15, (None, 4, 0, 15)),
        (history((1, 0), (5, 10)), 30, (10, 1, 0, 30)),
        (history((1, 0), (4, 10), (6, 22)), 30, (20, 4, 0, 30)),
        (history((2, 0)), 30, (0, None, 0, 30)),
        (history((4, 12), (7, 25)), 40, (20, 4, 12, 30)),
        (history((9, 50)), 60, (None, None, 50, 50)),
        ((), 0, (None, None, 0, 0)),
        ((), 20, (None, None, 0, 20)),
    ],
)
def test_histories_part_at_the_first_offset_of_different_epochs(other, other_end, expected):
    assert find_divergence(ONE, 30, other, other_end) == expected
    first, common, *bounds = find_divergence(other, other_end, ONE, 30)
    assert (first, common, *bounds) == expected
