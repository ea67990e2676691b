"""Signals that end a command (Ctrl-C, SIGTERM, SIGHUP): recorded at once, delivered where no output is cut.

While a command starts, and while output is written, a signal stays pending until inputs are searched or the
next rows are computed. So there is always a whole document. A second signal ends kcli at once, unless it
follows within SAME_MOMENT: a terminal that closes sends several.
"""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn, TypeVar

T = TypeVar("T")

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SAME_MOMENT = 0.1
"""Seconds within which several signals count as one."""
BY_SIGNAL = 128
"""The exit status of a run that a signal ended, less the number of the signal."""


class Interrupted(BaseException):
    """A signal ends the command; a BaseException, so that no `except Exception` handles it."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(number)
        self.status = BY_SIGNAL + number


@dataclass(slots=True)
class _State:
    deferred: bool = False
    received: int | None = None
    moment: float = 0.0
    """When, by time.monotonic()."""
    acknowledged: bool = False


_state = _State()


def install() -> None:
    """Handle the signals that end a command, but for ignored ones (nohup); they wait for `delivered`."""
    _state.deferred = True
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _receive)


def ignore() -> None:
    """Ignore further signals while the interpreter shuts down: the output is complete."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def _receive(number: int, _frame: FrameType | None) -> None:
    now = time.monotonic()
    if _state.received is not None:
        if now - _state.moment > SAME_MOMENT:
            leave(BY_SIGNAL + number)  # worker processes follow
        return
    _state.received, _state.moment = number, now
    if not _state.deferred:
        raise Interrupted(number)


def leave(status: int) -> NoReturn:
    """End the process at once; unpacked archives go with it."""
    archives = sys.modules.get("kcli.logdir.archives")
    if archives is not None:
        archives.remove_unpacked()
    os._exit(status)


def acknowledge() -> None:
    """Record that the command ends because of the signal: it is not raised again."""
    _state.acknowledged = True


def forget() -> None:
    """Let the next signal count as the first: it has ended one query of many."""
    _state.received, _state.acknowledged = None, False


@contextmanager
def deferred() -> Iterator[None]:
    """Keep signals pending in this block, except where `interruptible` delivers them."""
    _state.deferred = True
    try:
        yield
    finally:
        _state.deferred = False


@contextmanager
def delivered() -> Iterator[None]:
    """Raise Interrupted in this block if a signal is pending or arrives; afterwards signals stay pending."""
    try:
        deliver_pending()
        yield
    finally:
        _state.deferred = True


def deliver_pending() -> None:
    """Stop deferring: raise Interrupted if a signal is pending, and wherever the next one arrives."""
    _state.deferred = False
    if _state.received is not None and not _state.acknowledged:
        raise Interrupted(_state.received)


def interruptible(values: Iterator[T]) -> Iterator[T]:
    """Yield the values; Interrupted comes while the next one is computed, never while one is used."""
    before = _state.deferred
    while True:
        try:
            deliver_pending()
            value = next(values)
        except StopIteration:
            return
        finally:
            _state.deferred = before
        yield value
