"""Calls in another thread: made in order, one at a time; what goes wrong is raised, no thread stays."""

import threading
from functools import partial

import pytest

from kcli.logdir.beside import Beside


def test_calls_are_made_one_at_a_time_and_in_order():
    made = []
    with Beside() as beside:
        for number in range(50):
            beside.begin(partial(made.append, number))
            assert beside.is_busy
        beside.wait()
        assert (made, beside.is_busy) == (list(range(50)), False)
        beside.wait()


def test_what_a_call_raises_is_raised_once_where_it_is_waited_for():
    def fail():
        raise OSError(28, "no space left")

    with Beside() as beside:
        beside.begin(fail)
        with pytest.raises(OSError, match="no space"):
            beside.wait()
        beside.wait()
        beside.begin(fail)
        with pytest.raises(OSError, match="no space"):
            beside.begin(fail)
        beside.begin(int)


def test_leaving_waits_for_the_call_under_way():
    going, made = threading.Event(), []

    def call():
        going.wait(10)
        made.append(1)

    before = threading.active_count()
    with Beside() as beside:
        beside.begin(call)
        assert threading.active_count() == before + 1
        going.set()
    assert (made, threading.active_count()) == ([1], before)


def test_no_thread_without_a_call():
    before = threading.active_count()
    with Beside():
        assert threading.active_count() == before


def test_where_a_thread_does_not_help_calls_are_made_at_once(monkeypatch):
    monkeypatch.setattr(Beside, "helps", False)
    made = []
    before = threading.active_count()
    with Beside() as beside:
        beside.begin(lambda: made.append(threading.current_thread()))
        assert (made, beside.is_busy, threading.active_count()) == ([threading.main_thread()], False, before)
        with pytest.raises(ZeroDivisionError):
            beside.begin(lambda: 1 // 0)
        beside.wait()


def test_where_there_can_be_no_thread_calls_are_made_here(monkeypatch):
    def none(_thread):
        raise RuntimeError("can't start new thread")

    made = []
    monkeypatch.setattr(threading.Thread, "start", none)
    with Beside() as beside:
        for number in range(3):
            beside.begin(partial(made.append, number))
            assert (made, beside.is_busy) == (list(range(number + 1)), False)
