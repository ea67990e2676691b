"""The inline engine and the process pool."""

import os
import time

import pytest

from kcli.engine.contract import Outcome
from kcli.engine.local import UNITS_A_CHUNK, inline, pool
from kcli.rows import Row
from tests.engine_suite import EngineSuite, SpreadSuite, scan, units


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
    workers = {row.values[0] for outcome in pool(2)(who, units(*["answer"] * 40)) for row in outcome.rows}

    assert len(workers) == 2
    assert os.getpid() not in workers


def test_more_units_than_fit_the_window_stay_in_order():
    count = UNITS_A_CHUNK * 12 + 5

    assert [outcome.number for outcome in pool(2)(scan, units(*["answer"] * count))] == list(range(count))


def test_many_rows_come_back_early_and_in_order():
    from functools import partial

    outcomes = list(pool(2)(partial(scan, rows=6000), units(*["answer"] * 40)))

    assert [outcome.number for outcome in outcomes] == list(range(40))
    assert {len(outcome.rows) for outcome in outcomes} == {6000}


def test_only_what_is_in_flight_is_taken_from_the_units():
    outcomes = iter(pool(2)(scan, units(*["answer"] * 1000, *["die"] * 4)))

    assert [next(outcomes).number for _ in range(200)] == list(range(200))
    outcomes.close()
