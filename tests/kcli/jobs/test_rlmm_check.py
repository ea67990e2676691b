"""`rlmm check`: each thing that can be wrong with remote segments is found by its own code."""

import pytest

from formats.remote_metadata import RemotePartitionDeleteMetadata
from kcli.engine.contract import Outcome
from kcli.jobs.rlmm_check import RemoteCheckReducer
from kcli.jobs.rlmm_state import Events
from tests.kcli.analysis.test_remote_cache import (
    COPIED,
    DELETED,
    DELETING,
    PLACE,
    STARTED,
    segment,
    update,
)
from tests.rows import named

HOUR = 3_600_000
MARKED = RemotePartitionDeleteMetadata(**PLACE, broker_id=1, event_timestamp_ms=0, state=0)
COPY = [segment("a", 0, 9), update("a", COPIED)]


def checked(*events, now=2 * HOUR):
    reduce = RemoteCheckReducer(now, HOUR)
    numbered = list(enumerate(events))
    half = len(numbered) // 2
    left = reduce(None, Outcome(number=0, partial=Events("d", 3, numbered[:half])))
    left = reduce(left, Outcome(number=1, partial=Events("d", 3, numbered[half:])))
    done = reduce(left, None)
    (row,) = done.rows
    return named(row), [finding.code for finding in done.findings]


@pytest.mark.parametrize(
    ("events", "code", "result"),
    [
        ([segment("a", 0, 9)], "RLMM-009", "warning"),
        ([*COPY, update("a", DELETING)], "RLMM-010", "warning"),
        ([*COPY, update("a", DELETED)], "RLMM-011", "damaged"),
        ([*COPY, update("b", COPIED)], "RLMM-012", "warning"),
        ([*COPY, segment("b", 10, 19, state=COPIED)], "RLMM-013", "damaged"),
        ([*COPY, segment("b", 10, 19), update("b", STARTED), update("b", COPIED)], "RLMM-013", "damaged"),
        ([*COPY, segment("b", 12, 19), update("b", COPIED)], "RLMM-014", "warning"),
        ([segment("a", 0, 9, epochs=((0, 1),)), update("a", COPIED)], "RLMM-015", "damaged"),
        ([segment("a", 0, 9, epochs=((0, 0), (2, 20))), update("a", COPIED)], "RLMM-015", "damaged"),
        ([segment("a", 0, 9, epochs=((2, 0), (1, 5))), update("a", COPIED)], "RLMM-015", "damaged"),
        ([*COPY, MARKED], "RLMM-016", "warning"),
        ([*COPY, segment("b", 0, 19), update("b", COPIED)], "RLMM-017", "clean"),
    ],
)
def test_each_defect_has_its_code(events, code, result):
    row, codes = checked(*events)

    assert codes == [code]
    assert (row["result"], row["findings"], row["events"]) == (result, 1, len(events))


def test_what_was_begun_a_moment_ago_is_under_way():
    assert checked(segment("a", 0, 9), now=HOUR - 1)[1] == []
    assert checked(*COPY, update("a", DELETING), now=HOUR - 1)[1] == []


def test_segments_that_follow_each_other_are_clean():
    row, codes = checked(
        *COPY, segment("b", 10, 19), update("b", COPIED), update("a", DELETING), update("a", DELETED)
    )

    assert (codes, row["result"], row["copied"], row["remote_bytes"]) == ([], "clean", 1, 1)
