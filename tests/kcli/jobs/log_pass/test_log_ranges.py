"""The reduce step of a log that several workers read in ranges."""

import random

import pytest

from kcli.engine.contract import Job, Outcome, Unit
from kcli.engine.inline import reduced
from kcli.jobs.log_pass.log_ranges import drop_after_end
from kcli.logdir.find import file_target
from kcli.rows import Failure
from tests.engine_suite import EpochRow

ERROR = Failure("0.log", "corrupt", 7, None, "byte 7")


def outcomes_of(*ends):
    """Return outcomes of ranges; an end is what becomes of the range."""
    return [
        Outcome(
            number=number,
            rows=[EpochRow(number)],
            ran_past_end=end == "past",
            error=ERROR if end == "error" else None,
        )
        for number, end in enumerate(ends)
    ]


@pytest.mark.parametrize(
    ("ends", "kept"),
    [
        (["fits"] * 4, [0, 1, 2, 3]),
        (["fits", "past", "fits", "fits"], [0, 1]),
        (["past", "past", "fits", "fits"], [0]),
        (["fits", "error", "past", "fits"], [0, 1]),
    ],
)
def test_ranges_after_one_that_ran_past_its_end_are_dropped(ends, kept):
    units = [Unit(number=number, targets=(file_target("/d/0.log"),)) for number in range(len(ends))]
    found = list(reduced(Job(len, drop_after_end), units, outcomes_of(*ends)))

    assert [row.unit for outcome in found for row in outcome.rows] == [*kept]
    assert [outcome.error for outcome in found if outcome.error] == [ERROR] * ends[: max(kept) + 1].count(
        "error"
    )
    for seed in range(5):
        chance, left = random.Random(seed), outcomes_of(*ends)
        while len(left) > 1:
            place = chance.randrange(len(left) - 1)
            left[place : place + 2] = [drop_after_end(left[place], left[place + 1])]
        assert [row.unit for row in left[0].rows] == [*kept]


def test_groups_are_reduced_apart():
    units = [
        Unit(number=number, group=number // 2, targets=(file_target("/d/0.log"),)) for number in range(4)
    ]
    found = list(reduced(Job(len, drop_after_end), units, outcomes_of("past", "fits", "fits", "fits")))

    assert [row.unit for outcome in found for row in outcome.rows] == [0, 2, 3]
    assert [outcome.continuation is None for outcome in found] == [False, True, False, True]
