"""Whether a remote segment is within a leader's epochs: random histories against RemoteLogManager."""

import random

import pytest

from formats.remote_metadata import RemoteLogSegmentMetadata, SegmentLeaderEpoch
from kcli.kafka.remote.cache import CachedSegment
from kcli.kafka.remote.lineage import outside_lineage, with_records
from tests.oracle.oracle import Oracle
from tests.seeds import cases

pytestmark = pytest.mark.oracle
CASES = 3000


def history(choose: random.Random) -> list[list[int]]:
    """Return epochs and their first offsets; some without records."""
    epoch, offset, found = choose.randrange(3), choose.randrange(3) * 5, []
    for _ in range(choose.randint(1, 5)):
        found.append([epoch, offset])
        epoch += choose.choice((1, 1, 2))
        offset += choose.choice((0, 3, 5, 5, 10))
    return found


def case(choose: random.Random) -> dict[str, object]:
    leader = history(choose)
    log_end = leader[-1][1] + choose.randrange(12)
    if choose.random() < 0.75:  # a part of the leader's own history, sometimes changed
        start = choose.randrange(leader[0][1], log_end + 1)
        end = choose.randrange(start, log_end + 3)
        at = max((n for n, (_, first) in enumerate(leader) if first <= start), default=0)
        own = [list(entry) for n, entry in enumerate(leader) if n >= at and entry[1] <= end]
        own[0][1] = max(own[0][1], start)
        if choose.random() < 0.4:
            changed = choose.choice(own)
            changed[choose.randrange(2)] += choose.choice((-1, 1))
    else:
        own = history(choose)
        end = own[-1][1] + choose.randrange(12)
    own = [entry for entry in own if min(entry) >= 0] or [[0, 0]]
    end = max(end, min(offset for _, offset in own))
    if choose.random() < 0.3:
        leader = leader[choose.randrange(len(leader)) :]
    return {"segment_epochs": own, "end_offset": end, "leader_epochs": leader, "log_end_offset": log_end}


def segment(question: dict[str, object]) -> CachedSegment:
    epochs = dict(sorted(map(tuple, question["segment_epochs"])))
    start = epochs[min(epochs)]
    leader_epochs = tuple(SegmentLeaderEpoch(*each) for each in epochs.items())
    metadata = RemoteLogSegmentMetadata(
        "4.0",
        0,
        "t",
        "A" * 22,
        0,
        "B" * 22,
        start,
        question["end_offset"],
        1,
        0,
        0,
        leader_epochs,
        1,
        None,
        1,
        True,
        (),
    )
    return CachedSegment(metadata, tuple(epochs.items()), 0, [0, 0, None, None])


def test_lineage(oracle: Oracle, oracle_seed: int) -> None:
    choose = random.Random(oracle_seed)
    asked = [case(choose) for _ in range(cases(CASES))]
    kafka = oracle.ask("remote_lineage", cases=asked)["within"]
    mine = []
    for question in asked:
        leader = with_records(map(tuple, question["leader_epochs"]))
        mine.append(outside_lineage(segment(question), question["log_end_offset"], leader) is None)
    compared = [
        (a, b, question) for a, b, question in zip(mine, kafka, asked, strict=True) if isinstance(b, bool)
    ]

    assert [question for a, b, question in compared if a != b][:3] == [], f"KCLI_SEED={oracle_seed}"
