"""What every engine must do alike, to inherit; units do what the name of their target says."""

import os
import random
import signal
import time
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Annotated, NamedTuple

from kcli.engine.contract import Job, Outcome, Unit
from kcli.kafka.findings.findings import Finding
from kcli.logdir.targets import Target
from kcli.rows import Failure
from kcli.rows.declare import declared_type


def unit(number, does="answer"):
    shown = f"shown/{does}-{number}"
    target = Target(kind="partition", path=f"dir/{does}", shown=shown, name=None, log_dir="dir")
    return Unit(number=number, targets=(target,))


def units(*does):
    return [unit(number, what) for number, what in enumerate(does)]


class EpochRow(NamedTuple):
    """A row as an engine sees it: a tuple of a declared type that can be pickled."""

    unit: Annotated[int, "number of the unit, or what else identifies it"]
    row: Annotated[int | None, "number of the row"] = None
    data: Annotated[bytes | None, "some bytes"] = None
    more: Annotated[int | None, "what else there is"] = None


EPOCH = declared_type(EpochRow)


class AwkwardError(Exception):
    """Cannot be unpickled: its __init__ wants two arguments."""

    def __init__(self, one, two):
        super().__init__(f"{one} {two}")


def scan(unit, *, rows=2):
    does = os.path.basename(unit.target.path)
    if does == "die":
        os._exit(9)
    if does == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if does == "raise":
        raise AwkwardError("an", "accident")
    if does == "fail":
        failure = Failure(unit.target.shown, "corrupt", 12, "crc", "byte 12: crc")
        return Outcome(number=unit.number, error=failure)
    if does == "unpicklable":
        return Outcome(number=unit.number, rows=[EpochRow(lambda: None)])
    if unit.start < {"long": 3, "longest": 70}.get(does, 0):
        tail = replace(unit, start=unit.start + 1)
        return Outcome(number=unit.number, rows=[EpochRow(unit.number, unit.start)], continuation=tail)
    if does == "long":
        row, finding = EpochRow(unit.number, unit.start), Finding("LOG-005", "end", "d", "f")
        return Outcome(number=unit.number, rows=[row], findings=[finding])
    answer = [EpochRow(unit.number, n, b"\0\xff", None) for n in range(rows)]
    return Outcome(number=unit.number, rows=answer)


def dies_once(unit, *, marker):
    """Answer, but end the process at the first unit whose name says so, once."""
    if os.path.basename(unit.target.path) == "die" and not os.path.exists(marker):
        open(marker, "w").close()
        os._exit(9)
    return Outcome(number=unit.number, rows=[EpochRow(unit.number, n) for n in range(2)])


def sleeps(unit):
    """Take longer than any test waits."""
    time.sleep(600)
    return Outcome(number=unit.number)


def wide(unit):
    """Answer with a row of 10,000 bytes that cannot be made fewer."""
    data = random.Random(unit.number).randbytes(10_000)
    return Outcome(number=unit.number, rows=[EpochRow(unit.number, data)])


def compare(unit):
    """Answer with the names of both targets."""
    names = [os.path.basename(target.path) for target in unit.targets]
    return Outcome(number=unit.number, rows=[EpochRow(unit.number, *names)])


def count(unit):
    """Give the unit's number as the partial."""
    if os.path.basename(unit.target.path) == "raise":
        raise AwkwardError("an", "accident")
    return Outcome(number=unit.number, partial=unit.number)


def add(left, right):
    """Add the numbers of neighbours; the sum is a row once the group is complete."""
    partials = [each.partial for each in (left, right) if each is not None]
    total = sum(partial for partial in partials if not isinstance(partial, Unit))
    rows = [EpochRow(total)] if right is None else []
    return replace(right or left, rows=rows, partial=total)


def paths(unit):
    row = EpochRow(unit.target.path, unit.target.log_dir, unit.target.shown)
    return Outcome(number=unit.number, rows=[row])


def shape(outcomes):
    """What must be equal on every engine: everything but the words of accidents."""
    return [
        (o.number, o.rows, o.findings, o.error and o.error[:4], o.continuation is not None) for o in outcomes
    ]


class EngineSuite:
    """Inherit, and give an `engine` fixture."""

    def test_outcomes_come_in_unit_order(self, engine):
        outcomes = list(engine(Job(scan), units(*["answer"] * 200)))

        assert [outcome.number for outcome in outcomes] == list(range(200))
        assert outcomes[7].rows == [EpochRow(7, 0, b"\0\xff", None), EpochRow(7, 1, b"\0\xff", None)]

    def test_options_bound_to_the_scan_arrive(self, engine):
        (outcome,) = engine(Job(partial(scan, rows=5)), units("answer"))

        assert len(outcome.rows) == 5

    def test_no_units_give_no_outcomes(self, engine):
        assert list(engine(Job(scan), [])) == []

    def test_a_unit_that_stopped_is_continued_before_the_next(self, engine):
        outcomes = list(engine(Job(scan), units("answer", "long", "answer", "long", "answer")))

        assert [outcome.number for outcome in outcomes] == [0, 1, 1, 1, 1, 2, 3, 3, 3, 3, 4]
        assert [row[:2] for outcome in outcomes[1:5] for row in outcome.rows] == [(1, n) for n in range(4)]
        assert outcomes[4].findings == [Finding("LOG-005", "end", "d", "f")]

    def test_a_very_long_unit_is_continued_call_after_call(self, engine):
        outcomes = list(engine(Job(scan), units("longest", "answer", "longest")))

        assert [outcome.number for outcome in outcomes] == [0] * 71 + [1] + [2] * 71
        rows = [row[:2] for outcome in outcomes[72:] if outcome.continuation for row in outcome.rows]
        assert rows == [(2, start) for start in range(70)]

    def test_a_bad_unit_is_an_error_between_the_others(self, engine):
        outcomes = list(engine(Job(scan), units("answer", "fail", "answer")))

        assert [outcome.error is None for outcome in outcomes] == [True, False, True]
        assert outcomes[1].error == Failure("shown/fail-1", "corrupt", 12, "crc", "byte 12: crc")

    def test_an_exception_is_that_units_error(self, engine):
        outcomes = list(engine(Job(scan), units("answer", "raise", "answer")))

        assert [outcome.error is None for outcome in outcomes] == [True, False, True]
        assert outcomes[1].error[:2] == ("shown/raise-1", "internal")
        assert "AwkwardError: an accident (engine_suite.py:" in outcomes[1].error.message

    def test_equal_to_inline(self, engine):
        from kcli.engine.inline import inline

        work = units("answer", "long", "fail", "raise", "answer", "long")

        assert shape(engine(Job(scan), work)) == shape(inline(Job(scan), work))

    def test_what_is_shown_stays_as_given(self, engine):
        (outcome,) = engine(Job(paths), units("answer"))
        path, log_dir, shown, _ = outcome.rows[0]

        assert shown == "shown/answer-0"
        assert os.path.abspath(path) == os.path.abspath("dir/answer")
        assert os.path.abspath(log_dir) == os.path.abspath("dir")

    def test_stopping_early_leaves_nothing(self, engine):
        outcomes = iter(engine(Job(scan), units(*["answer"] * 50)))

        assert next(outcomes).number == 0
        outcomes.close()
        assert [outcome.number for outcome in engine(Job(scan), units("answer"))] == [0]

    def test_a_unit_may_have_several_targets(self, engine):
        work = [replace(one, targets=(one.target, other.target)) for one, other in pairwise(units(*"abcd"))]
        outcomes = list(engine(Job(compare), work))

        assert [row[1:3] for outcome in outcomes for row in outcome.rows] == [*pairwise("abcd")]

    def test_outcomes_of_a_group_are_reduced_to_one_answer(self, engine):
        work = [replace(unit, group=unit.number // 70) for unit in units(*["answer"] * 150)]
        outcomes = list(engine(Job(count, add), work))

        sums = [sum(range(70)), sum(range(70, 140)), sum(range(140, 150))]
        assert [row.unit for outcome in outcomes for row in outcome.rows] == sums
        assert all(outcome.partial is None for outcome in outcomes)

    def test_an_error_in_a_group_is_reported_and_the_others_are_reduced(self, engine):
        outcomes = list(engine(Job(count, add), units("answer", "raise", "answer", "answer")))

        assert [row.unit for outcome in outcomes for row in outcome.rows] == [0 + 2 + 3]
        assert [o.error.path for o in outcomes if o.error] == ["shown/raise-1"]


class SpreadSuite(EngineSuite):
    """For engines whose scans run in other processes, which survive a death or an unpicklable value."""

    def test_a_dead_worker_costs_its_unit_alone(self, engine):
        outcomes = list(engine(Job(scan), units(*["answer"] * 3, "die", *["answer"] * 3, "killed", "long")))

        assert [outcome.number for outcome in outcomes] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8]
        assert {o.number: o.error.error for o in outcomes if o.error} == {3: "worker-died", 7: "worker-died"}
        assert outcomes[3].error.path == "shown/die-3"

    def test_a_value_that_cannot_travel_is_that_units_error(self, engine):
        outcomes = list(engine(Job(scan), units("answer", "unpicklable", "answer")))

        assert [outcome.error is None for outcome in outcomes] == [True, False, True]
        assert outcomes[1].error[:2] == ("shown/unpicklable-1", "internal")
        assert outcomes[1].rows == []


LONG, LARGE = 40, 50_000


def long_units(unit, *, marker=None, at=0):
    """Answer in many large pieces that name their process; end it `at` a piece of the second unit, once."""
    if marker is not None and (unit.number, unit.start) == (1, at) and not os.path.exists(marker):
        open(marker, "w").close()
        os._exit(9)
    tail = replace(unit, start=unit.start + 1) if unit.start < LONG else None
    values = (unit.number, unit.start, bytes([unit.number]) * LARGE, os.getpid())
    return Outcome(number=unit.number, rows=[EpochRow(*values)], continuation=tail)
