"""The process pool: what every engine does, and what becomes of the units of workers that die."""

import os
import re
import signal
import sys
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest

from kcli.engine import pool as engine
from kcli.engine.contract import EngineMissingError, Job, Outcome
from kcli.engine.inline import inline
from kcli.engine.pool import CALLS_A_WORKER, MOST_UNITS, pool
from kcli.rows import TextBlock
from tests.engine_suite import LARGE, LONG, EpochRow, SpreadSuite, long_units, scan, units
from tests.processes import run_program
from tests.unprivileged import as_unprivileged

pytestmark = pytest.mark.slow


class TestPool(SpreadSuite):
    @pytest.fixture
    def engine(self):
        return pool(2)


def who(unit):
    time.sleep(0.01)
    return Outcome(number=unit.number, rows=[EpochRow(os.getpid())])


def test_the_pool_works_in_other_processes_and_in_several():
    workers = {row.unit for outcome in pool(2)(Job(who), units(*["answer"] * 200)) for row in outcome.rows}

    assert len(workers) == 2
    assert os.getpid() not in workers


def test_more_units_than_fit_the_window_stay_in_order():
    count = MOST_UNITS * 12 + 5

    outcomes = pool(2)(Job(scan), units(*["answer"] * count))
    assert [outcome.number for outcome in outcomes] == [*range(count)]


def test_answers_under_way_are_bounded_and_a_call_ends_with_its_share(monkeypatch):
    monkeypatch.setattr(engine, "MOST_BYTES", 4 * LARGE)
    answered, sizes = engine._answered, []

    def counted(*call):
        outcomes, rest = answered(*call)
        sizes.append(sum(len(row.data) for outcome in outcomes for row in outcome.rows))
        return outcomes, rest

    monkeypatch.setattr(engine, "_answered", counted)
    outcomes = list(pool(2)(Job(long_units), units(*["answer"] * 3)))

    assert [outcome.number for outcome in outcomes] == [n for n in range(3) for _ in range(LONG + 1)]
    assert max(sizes) <= 2 * LARGE


def large(unit):
    return Outcome(number=unit.number, rows=[TextBlock((bytes([unit.number]) * 100_000,))])


def ranges(count):
    return [replace(unit, end=1) for unit in units(*["answer"] * count)]


def test_outcomes_that_are_kept_stay_as_they_are_while_others_come():
    outcomes = list(pool(2)(Job(large), ranges(60)))

    kept = [bytes(outcome.rows[0].buffers[0]) for outcome in outcomes]
    assert kept == [bytes([number]) * 100_000 for number in range(60)]


def test_files_whose_answers_are_used_take_the_next_calls(monkeypatch):
    made = []

    def make(**more):
        made.append(1)
        return NamedTemporaryFile(**more)

    monkeypatch.setattr(engine, "NamedTemporaryFile", make)
    for outcome in pool(2)(Job(large), ranges(60)):
        assert bytes(outcome.rows[0].buffers[0]) == bytes([outcome.number]) * 100_000

    assert len(made) <= 2 * CALLS_A_WORKER + 2  # the consumer still has an outcome while it asks for the next


def test_files_whose_answers_are_used_are_not_mapped_any_more(monkeypatch):
    maps = []

    def make(*args, **kwargs):
        maps.append(real(*args, **kwargs))
        return maps[-1]

    real = engine.mmap.mmap
    monkeypatch.setattr(engine.mmap, "mmap", make)
    mapped = [sum(not map_.closed for map_ in maps) for _ in pool(2)(Job(large), ranges(60))]

    assert len(maps) == 60
    assert max(mapped) <= 2  # of the outcome that the consumer has, and of the one before


SMALL = """
import resource
from kcli.engine.contract import Job
from kcli.engine.pool import pool
from tests.kcli.engine.test_pool import ranges, small
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
print(len({outcome.number for outcome in list(pool(2)(Job(small), ranges(200)))}))
"""


def small(unit):
    return Outcome(number=unit.number, rows=[TextBlock((bytes(1000),))])


def test_small_outcomes_that_are_kept_keep_no_file_open():
    done = run_program([sys.executable, "-c", SMALL])

    assert done.stdout == "200\n", done.stderr


def test_only_what_is_in_flight_is_taken_from_the_units():
    outcomes = iter(pool(2)(Job(scan), units(*["answer"] * 1000, *["die"] * 4)))

    assert [next(outcomes).number for _ in range(200)] == list(range(200))
    outcomes.close()


def test_where_workers_die_before_they_begin_the_engine_refuses(monkeypatch):
    monkeypatch.setattr(engine, "_set_up", partial(os._exit, 1))

    with pytest.raises(EngineMissingError, match=r"^--jobs cannot work here, use --jobs 1 \(a worker ended"):
        list(pool(2)(Job(scan), units("answer", "answer")))


def test_where_a_worker_does_not_begin_in_time_the_engine_refuses(monkeypatch):
    monkeypatch.setattr(engine, "_set_up", partial(time.sleep, 60))
    monkeypatch.setattr(engine, "START_SECONDS", 0.2)

    with pytest.raises(EngineMissingError, match="no worker began within"):
        list(pool(2)(Job(scan), units("answer")))


REFUSED = """
try:
    print(*(outcome.number for outcome in pool(2)(Job(scan), units("answer", "long", "answer"))))
except EngineMissingError as error:
    print(error)
"""
IMPORTED = """
import resource
from kcli.engine.contract import Job
from kcli.engine.contract import EngineMissingError
from kcli.engine import pool as engine
from kcli.engine.pool import pool
from tests.engine_suite import scan, units
engine.START_SECONDS = 5
"""


@pytest.mark.parametrize("processes", range(12))
def test_a_user_who_may_have_few_processes_and_threads_gets_the_answers_or_one_refusal(processes):
    most = f"resource.setrlimit(resource.RLIMIT_NPROC, ({processes}, {processes}))"
    printed = as_unprivileged(IMPORTED, f"{most}\n{REFUSED}")

    refusal = r"--jobs cannot work here, use --jobs 1 \(.*\)\n"
    assert printed == "0 1 1 1 1 2\n" or re.fullmatch(refusal, printed)


def test_files_that_may_not_be_long_enough_are_a_refusal():
    program = (
        f"{IMPORTED.replace('= 5', '= 120')}\nresource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
    )
    program += REFUSED.replace("Job(scan)", "Job(partial(scan, rows=6000))")
    done = run_program([sys.executable, "-c", f"from functools import partial\n{program}"], timeout=300)

    assert done.stdout == "--jobs cannot work here, use --jobs 1 (File too large)\n"


def all_die_once(unit, *, marker):
    """End every worker at once, but only once."""
    if unit.number == 1 and not os.path.exists(marker):
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
    return Outcome(number=unit.number, rows=[EpochRow(unit.number)])


@pytest.mark.parametrize("jobs", [2, 3])
def test_workers_that_die_while_they_wait_are_no_fault_of_a_unit(tmp_path, jobs):
    work = units(*["answer"] * 3)
    outcomes = list(pool(jobs)(Job(partial(all_die_once, marker=str(tmp_path / "died"))), work))

    answers = [(outcome.rows, outcome.error) for outcome in outcomes]
    assert answers == [([EpochRow(n)], None) for n in range(3)]


@pytest.mark.parametrize("at", [0, 1, LONG // 2, LONG])
def test_a_worker_that_dies_in_the_middle_of_a_unit_costs_no_row_and_repeats_none(tmp_path, at):
    def reported(engine, marker=None):
        outcomes = engine(Job(partial(long_units, marker=marker, at=at)), units(*["answer"] * 5))
        return [
            (outcome.number, row[:3], outcome.continuation is None)
            for outcome in outcomes
            for row in outcome.rows
        ]

    marker = str(tmp_path / "died")
    assert reported(pool(2), marker) == reported(inline)
    assert os.path.exists(marker)
