"""The process pool: what every engine does, and what becomes of the units of workers that die."""

import errno
import os
import signal
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from kcli.engine import pool as engine
from kcli.engine.contract import Job, Outcome
from kcli.engine.inline import inline
from kcli.engine.pool import FEW_WORKERS, UNITS_A_CALL, pool, shares
from tests.engine_suite import LARGE, LONG, Row, SpreadSuite, long_units, scan, shape, units
from tests.nobody import as_nobody

pytestmark = pytest.mark.slow


class TestPool(SpreadSuite):
    @pytest.fixture
    def engine(self):
        return pool(2)


def who(unit):
    time.sleep(0.01)
    return Outcome(number=unit.number, rows=[Row("epoch", (os.getpid(),))])


def test_the_pool_works_in_other_processes_and_in_several():
    workers = {
        row.values[0] for outcome in pool(2)(Job(who), units(*["answer"] * 200)) for row in outcome.rows
    }

    assert len(workers) == 2
    assert os.getpid() not in workers


def test_more_units_than_fit_the_window_stay_in_order():
    count = UNITS_A_CALL * 12 + 5

    assert [outcome.number for outcome in pool(2)(Job(scan), units(*["answer"] * count))] == list(
        range(count)
    )


def test_many_rows_come_back_early_and_in_order():

    outcomes = list(pool(2)(Job(partial(scan, rows=6000)), units(*["answer"] * 40)))

    assert [outcome.number for outcome in outcomes] == list(range(40))
    assert {len(outcome.rows) for outcome in outcomes} == {6000}


def test_answers_under_way_are_bounded_and_a_call_ends_with_its_share(monkeypatch):
    monkeypatch.setattr(engine, "BYTES_UNDER_WAY", 4 * LARGE)
    answer, sizes = engine.Workers.answer, []

    def counted(workers, call):
        outcomes = answer(workers, call)
        sizes.append(sum(len(row.values[2]) for outcome in outcomes for row in outcome.rows))
        return outcomes

    monkeypatch.setattr(engine.Workers, "answer", counted)
    outcomes = list(pool(2)(Job(long_units), units(*["answer"] * 3)))

    assert [outcome.number for outcome in outcomes] == [
        number for number in range(3) for _ in range(LONG + 1)
    ]
    assert max(sizes) <= 2 * LARGE


def test_only_what_is_in_flight_is_taken_from_the_units():
    outcomes = iter(pool(2)(Job(scan), units(*["answer"] * 1000, *["die"] * 4)))

    assert [next(outcomes).number for _ in range(200)] == list(range(200))
    outcomes.close()


def test_where_workers_die_before_they_begin_this_process_does_the_work(monkeypatch):
    monkeypatch.setattr(engine, "_set_up", os._exit)
    work = units("answer", "long", "fail", *["answer"] * 20)

    assert shape(pool(2)(Job(who_works), work)) == shape(inline(Job(who_works), work))


def who_works(unit):
    return Outcome(number=unit.number, rows=[Row("epoch", (os.getpid(),))])


@pytest.mark.parametrize(
    "error", [OSError(errno.EAGAIN, "no process"), RuntimeError("can't start new thread")]
)
def test_where_no_worker_can_be_had_this_process_does_the_work(monkeypatch, error):
    def fails(*_):
        raise error

    monkeypatch.setattr(engine, "prepare", fails)
    work = units("answer", "long", "fail", *["answer"] * 20)

    assert shape(pool(2)(Job(who_works), work)) == shape(inline(Job(who_works), work))


def test_a_user_who_may_have_no_other_process_gets_the_answers():
    printed = as_nobody(
        """
import resource
import concurrent.futures.process, multiprocessing.forkserver
from kcli.engine.contract import Job
from kcli.engine.pool import pool
from tests.engine_suite import scan, units
""",
        """
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
print(*(outcome.number for outcome in pool(2)(Job(scan), units("answer", "long", "answer"))))
""",
    )

    assert printed == "0 1 1 1 1 2\n"


@pytest.mark.parametrize(
    ("count", "jobs", "chunk", "workers"),
    [(1, 8, 1, 1), (3, 1000, 1, 3), (40, 2, 5, 2), (10_000, 2, UNITS_A_CALL, 2), (65, 1, 16, 1)],
)
def test_no_more_workers_than_chunks(count, jobs, chunk, workers):
    assert shares(units(*["answer"] * count), jobs) == (chunk, workers)


def test_no_more_workers_than_cores_have_use_for():
    assert shares(units(*["answer"] * 10_000), 1000)[1] == max(FEW_WORKERS, 4 * len(os.sched_getaffinity(0)))


def all_die_once(given, *, marker):
    """End every worker at once, but only once."""
    if given.number == 1 and not os.path.exists(marker):
        open(marker, "w").close()
        time.sleep(0.3)  # until the others wait
        server = os.getppid()
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                if (
                    int(path.read_text().rpartition(")")[2].split()[1]) == server
                    and int(path.parts[2]) != os.getpid()
                ):
                    os.kill(int(path.parts[2]), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    return Outcome(number=given.number, rows=[Row("epoch", (given.number,))])


@pytest.mark.parametrize("jobs", [2, 3])
def test_workers_that_die_while_they_wait_are_no_fault_of_a_unit(tmp_path, jobs):
    work = units(*["answer"] * 3)
    outcomes = list(pool(jobs)(Job(partial(all_die_once, marker=str(tmp_path / "died"))), work))

    assert [(outcome.rows, outcome.error) for outcome in outcomes] == [
        ([("epoch", (number,))], None) for number in range(3)
    ]


@pytest.mark.parametrize("at", [0, 1, LONG // 2, LONG])
def test_a_worker_that_dies_in_the_middle_of_a_unit_costs_no_row_and_repeats_none(tmp_path, at):
    def told(engine, marker=None):
        outcomes = engine(Job(partial(long_units, marker=marker, at=at)), units(*["answer"] * 5))
        return [
            (outcome.number, row.values[:3], outcome.continuation is None)
            for outcome in outcomes
            for row in outcome.rows
        ]

    marker = str(tmp_path / "died")
    assert told(pool(2), marker) == told(inline)
    assert os.path.exists(marker)
