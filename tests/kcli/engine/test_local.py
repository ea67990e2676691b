"""The inline engine and the process pool."""

import os
import signal
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from kcli.engine import local
from kcli.engine.contract import Outcome
from kcli.engine.errors import EngineMissingError
from kcli.engine.local import FEW_WORKERS, UNITS_A_CHUNK, inline, pool
from kcli.engine.scratch import scratch_directory
from kcli.rows import Row, TextBlock
from tests.engine_suite import LONG, DeadlyOnArrival, EngineSuite, SpreadSuite, long_units, scan, shape, units

pytestmark = pytest.mark.slow


class TestInline(EngineSuite):
    @pytest.fixture
    def engine(self):
        return inline


class TestPool(SpreadSuite):
    @pytest.fixture
    def engine(self):
        return pool(2)


def who(unit):
    time.sleep(0.01)
    return Outcome(number=unit.number, rows=[Row("epoch", (os.getpid(),))])


def test_the_pool_works_in_other_processes_and_in_several():
    workers = {row.values[0] for outcome in pool(2)(who, units(*["answer"] * 200)) for row in outcome.rows}

    assert len(workers) == 2
    assert os.getpid() not in workers


def test_more_units_than_fit_the_window_stay_in_order():
    count = UNITS_A_CHUNK * 12 + 5

    assert [outcome.number for outcome in pool(2)(scan, units(*["answer"] * count))] == list(range(count))


def test_many_rows_come_back_early_and_in_order():

    outcomes = list(pool(2)(partial(scan, rows=6000), units(*["answer"] * 40)))

    assert [outcome.number for outcome in outcomes] == list(range(40))
    assert {len(outcome.rows) for outcome in outcomes} == {6000}


def megabyte(unit):
    if unit.number == 0:
        time.sleep(1)
    return Outcome(number=unit.number, rows=[TextBlock("text", (bytes(1 << 20),))])


def test_what_waits_for_its_turn_is_bounded_however_many_workers_there_are(monkeypatch):
    receive, held = local._receive, []

    def seen(crew, line, timeout):
        receive(crew, line, timeout)
        held.append(sum(len(part) for piece in line for parcel in piece.parcels for part in parcel.parts))

    monkeypatch.setattr(local, "_receive", seen)
    monkeypatch.setattr(local, "HELD", 3 << 20)
    work = units(*["answer"] * 24)

    assert [outcome.number for outcome in pool(8)(megabyte, work)] == list(range(24))
    # as much, one more that was begun, and the first
    assert 3 << 20 <= max(held) < (5 << 20) + 10_000


def test_only_what_is_in_flight_is_taken_from_the_units():
    outcomes = iter(pool(2)(scan, units(*["answer"] * 1000, *["die"] * 4)))

    assert [next(outcomes).number for _ in range(200)] == list(range(200))
    outcomes.close()


def test_a_worker_killed_before_it_is_ready_is_started_again(monkeypatch, tmp_path):
    monkeypatch.setattr(local, "_answer", DeadlyOnArrival(str(tmp_path / "died")))
    outcomes = list(pool(2)(who, units(*["answer"] * 20)))

    assert (tmp_path / "died").exists()
    assert [outcome.number for outcome in outcomes] == list(range(20))
    assert os.getpid() not in {row.values[0] for outcome in outcomes for row in outcome.rows}


def test_without_any_worker_the_work_is_done_here(monkeypatch):
    monkeypatch.setattr(local, "_answer", DeadlyOnArrival())
    work = units("answer", "long", "fail", *["answer"] * 20)

    assert shape(pool(2)(scan, work)) == shape(inline(scan, work))


@pytest.mark.parametrize(
    ("count", "jobs", "chunk", "workers"),
    [(1, 8, 1, 1), (3, 1000, 1, 3), (40, 2, 5, 2), (100_000, 2, UNITS_A_CHUNK, 2), (65, 1, 16, 1)],
)
def test_no_more_workers_than_chunks(count, jobs, chunk, workers):
    assert local._shares(count, jobs) == (chunk, workers)


def test_no_more_workers_than_cores_have_use_for():
    assert local._shares(1_000_000, 1000)[1] == max(FEW_WORKERS, 4 * len(os.sched_getaffinity(0)))


class TestTemporaryFiles:
    @pytest.fixture(autouse=True)
    def nowhere(self, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(tempfile, "tempdir", None)
        monkeypatch.setattr("kcli.engine.scratch.PLACES", ("/proc", "/no/such/place"))

    @pytest.mark.parametrize("chosen", ["", ".", "/proc/self", "/tmp/" + "x" * 100])
    def test_never_go_to_the_working_directory(self, monkeypatch, tmp_path, chosen):
        monkeypatch.setenv("TMPDIR", chosen)

        with pytest.raises(EngineMissingError, match="no temporary directory is writable"):
            scratch_directory()
        assert os.listdir(tmp_path) == []

    def test_are_none_of_the_pool(self, monkeypatch, tmp_path):
        monkeypatch.setenv("TMPDIR", "/proc")

        assert len(list(pool(2)(scan, units("answer")))) == 1
        assert os.listdir(tmp_path) == []

    def test_go_where_there_is_room(self, monkeypatch):
        with tempfile.TemporaryDirectory(dir="/tmp") as room:
            monkeypatch.setenv("TMPDIR", room)

            assert scratch_directory() == tempfile.gettempdir() == room

    def test_a_command_says_so(self, monkeypatch, tmp_path, kcli):
        monkeypatch.setenv("TMPDIR", "/proc")
        result = kcli("demo")

        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (4, "", 1)
        assert "no temporary directory is writable" in result.stderr
        assert os.listdir(tmp_path) == []


def all_die_once(given, *, marker):
    """End every worker at once, but only once: this one is told from none of those that wait."""
    if given.number == 1 and not os.path.exists(marker):
        open(marker, "w").close()
        time.sleep(0.3)  # until the others wait
        nursery = os.getppid()
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                if (
                    int(path.read_text().rpartition(")")[2].split()[1]) == nursery
                    and int(path.parts[2]) != os.getpid()
                ):
                    os.kill(int(path.parts[2]), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    return Outcome(number=given.number, rows=[Row("epoch", (given.number,))])


@pytest.mark.parametrize("jobs", [2, 3])
def test_workers_that_die_while_they_wait_are_no_fault_of_a_unit(tmp_path, jobs):
    work = units(*["answer"] * 3)
    outcomes = list(pool(jobs)(partial(all_die_once, marker=str(tmp_path / "died")), work))

    assert [(outcome.rows, outcome.error) for outcome in outcomes] == [
        ([("epoch", (number,))], None) for number in range(3)
    ]


def test_a_unit_that_goes_on_stays_where_it_is():
    rows = [row.values for outcome in pool(2)(long_units, units(*["answer"] * 6)) for row in outcome.rows]

    assert [row[:2] for row in rows] == [(number, start) for number in range(6) for start in range(LONG + 1)]
    assert len({(row[0], row[3]) for row in rows}) == 6


@pytest.mark.parametrize("at", [0, 1, LONG // 2, LONG])
def test_a_worker_that_dies_in_the_middle_of_a_unit_costs_no_row_and_repeats_none(tmp_path, at):
    def told(engine, marker=None):
        outcomes = engine(partial(long_units, marker=marker, at=at), units(*["answer"] * 5))
        return [
            (outcome.number, row.values[:3], outcome.rest is None)
            for outcome in outcomes
            for row in outcome.rows
        ]

    marker = str(tmp_path / "died")
    assert told(pool(2), marker) == told(inline)
    assert os.path.exists(marker)
