"""Calls in another thread: made in order, one at a time; what goes wrong is raised, no thread stays."""

import threading
from functools import partial

import pytest

from kcli.logdir.background import BackgroundCall


def test_calls_are_made_one_at_a_time_and_in_order():
    made = []
    with BackgroundCall() as background:
        for number in range(50):
            background.begin(partial(made.append, number))
            assert background.is_running
        background.wait()
        assert (made, background.is_running) == (list(range(50)), False)
        background.wait()


def test_what_a_call_raises_is_raised_once_where_it_is_waited_for():
    def fail():
        raise OSError(28, "no space left")

    with BackgroundCall() as background:
        background.begin(fail)
        with pytest.raises(OSError, match="no space"):
            background.wait()
        background.wait()
        background.begin(fail)
        with pytest.raises(OSError, match="no space"):
            background.begin(fail)
        background.begin(int)


def test_leaving_waits_for_the_call_under_way():
    going, made = threading.Event(), []

    def call():
        going.wait(10)
        made.append(1)

    before = threading.active_count()
    with BackgroundCall() as background:
        background.begin(call)
        assert threading.active_count() == before + 1
        going.set()
    assert (made, threading.active_count()) == ([1], before)


def test_no_thread_without_a_call():
    before = threading.active_count()
    with BackgroundCall():
        assert threading.active_count() == before


def test_where_a_thread_does_not_help_calls_are_made_at_once(monkeypatch):
    monkeypatch.setattr(BackgroundCall, "enabled", False)
    made = []
    before = threading.active_count()
    with BackgroundCall() as background:
        background.begin(lambda: made.append(threading.current_thread()))
        assert (made, background.is_running, threading.active_count()) == (
            [threading.main_thread()],
            False,
            before,
        )
        with pytest.raises(ZeroDivisionError):
            background.begin(lambda: 1 // 0)
        background.wait()
