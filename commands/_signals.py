"""Ctrl-C and its kin: noted at once, obeyed where nothing is torn.

While a document is written a signal waits until rows are worked for again:
so the document is always closed. A second signal ends kcli at once, but for
one in the same moment: a terminal that closes sends several.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SAME_MOMENT = 0.1
"""Seconds."""


class Interrupted(BaseException):
    """A signal ends the command; no Exception, so that nothing takes it for a fault of its own."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(number)
        self.status = 128 + number


@dataclass(slots=True)
class _State:
    shielded: bool = False
    received: int | None = None
    at: float = 0.0
    """When, by time.monotonic()."""
    obeyed: bool = False


_state = _State()


def install() -> None:
    """Take the signals that end a command, but for those that whoever started it wants ignored (nohup)."""
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _receive)


def ignore() -> None:
    """Let no signal disturb the last moments of the interpreter: all has been said."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def _receive(number: int, _frame: FrameType | None) -> None:
    now = time.monotonic()
    if _state.received is not None:
        if now - _state.at > SAME_MOMENT:
            os._exit(128 + number)  # worker processes follow
        return
    _state.received, _state.at = number, now
    if not _state.shielded:
        raise Interrupted(number)


def obey() -> None:
    """Note that the command ends because of the signal: it is raised no more."""
    _state.obeyed = True


@contextmanager
def shielded() -> Iterator[None]:
    """Let signals wait, but for the moments that `exposed` gives them."""
    _state.shielded = True
    try:
        yield
    finally:
        _state.shielded = False


def expose() -> None:
    """End the shield: Interrupted is raised here if a signal came meanwhile, and wherever the next one comes."""
    _state.shielded = False
    if _state.received is not None and not _state.obeyed:
        raise Interrupted(_state.received)


def exposed(values: Iterator[T]) -> Iterator[T]:
    """Yield the values; Interrupted is raised while the next one is worked for, never while one is used."""
    before = _state.shielded
    while True:
        try:
            expose()
            value = next(values)
        except StopIteration:
            return
        finally:
            _state.shielded = before
        yield value
