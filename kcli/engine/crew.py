"""Worker processes that answer messages: one after the other each, over a pipe of their own.

A pipe has one writer, so whatever kills a worker ends its pipe and nobody
else's: the message it was given is known, and a torn answer is never waited
for. There are no locks or semaphores between processes.

An answer is a stream of parcels: a worker goes no further ahead than its pipe holds while nobody reads it.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import NamedTuple, Self, TypeAlias

from formats.types import Buffer
from kcli.engine import nursery
from kcli.engine.away import write_all
from kcli.logdir.beside import Beside

Parts: TypeAlias = Sequence[Buffer]


class Parcel(NamedTuple):
    """A piece of an answer, in parts that are not copied together; the `last` piece ends the answer."""

    parts: Parts
    last: bool


Answer: TypeAlias = Callable[[bytes], Iterable[Parcel]]
SIZE = 8
READY = Parcel((), last=True)
BEGUN = Parcel((), last=False)
"""A worker has its message: if it dies now, that may be the reason."""
UNTOUCHED = Parcel((), last=True)
"""Stands for the answer to a message that a worker was given and did not have: it had died for another reason."""
SECONDS_TO_LISTEN = 0.0005
"""At most so long a worker's other thread has the interpreter's lock when its owner asks for something."""


class Crew:
    """Up to `size` workers; those that die are replaced, those that never become ready once each.

    A context manager: on leaving it the processes are gone, whatever they were doing.
    """

    def __init__(self, size: int, answer: Answer, obey: nursery.Obey) -> None:
        self._size = size
        self._is_crowded = size >= cores()
        self._answer = answer
        self._obey = obey
        self._spare_starts = size
        self._workers: dict[Connection, nursery.Worker] = {}
        self._starting: set[Connection] = set()
        self._begun: set[Connection] = set()
        self._given: dict[Connection, int] = {}
        """How many messages a worker that is ready was given and has not answered."""

    def __enter__(self) -> Self:
        try:
            for _ in range(self._size):
                self._start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        workers = [*self._workers.values()]
        self._workers.clear()
        nursery.end(*workers)

    @property
    def is_lost(self) -> bool:
        """Whether no worker is left, and none can be started."""
        return not self._workers

    @property
    def is_starting(self) -> bool:
        """Whether a worker is to become ready yet."""
        return bool(self._starting)

    def is_ready(self, ahead: int = 0) -> bool:
        """Return whether a worker waits for a message, or has no more than so many before it."""
        return any(count <= ahead for count in self._given.values())

    def give(self, message: bytes) -> Connection:
        """Give the worker that has the fewest a message; returns the pipe that its answer comes from, behind those to earlier ones."""
        pipe = min(self._given, key=self._given.__getitem__)
        self._given[pipe] += 1
        with suppress(OSError):  # it has died just now: reading from its pipe says so
            pipe.send_bytes(message)
        return pipe

    def parcels(
        self, wanted: Iterable[Connection], timeout: float | None
    ) -> Iterator[tuple[Connection, Parcel | None]]:
        """Wait for something to happen; yield what comes from the wanted pipes, of those that were given a message.

        None for a pipe from which nothing comes any more, before the last parcel; UNTOUCHED if nothing ever came.
        """
        for pipe in wait([*self._starting, *wanted], timeout):
            assert isinstance(pipe, Connection)
            was_busy = self._given.get(pipe, 0) > 0
            try:
                parcel = _received(pipe)
            except (EOFError, OSError):
                parcel = None
            if parcel is not None and not (parcel.parts or parcel.last):
                self._begun.add(pipe)
                continue
            had_begun = pipe in self._begun
            if parcel is None:
                self._replace(pipe, was_busy=was_busy)
            elif parcel.last:
                self._begun.discard(pipe)
                self._starting.discard(pipe)
                self._given[pipe] = self._given.get(pipe, 1) - 1
            if was_busy:
                yield pipe, parcel if parcel is not None or had_begun else UNTOUCHED

    def ask(self, pipe: Connection, word: bytes) -> bytes | None:
        """Give the worker at a pipe's end a word, whatever it does; return its reply, None if it has died."""
        worker = self._workers.get(pipe)
        return None if worker is None else nursery.ask(worker, word)

    def recall(self, pipe: Connection) -> None:
        """Take back the messages that were given to a pipe, whatever of the answers is there."""
        self._replace(pipe, was_busy=True)

    def _replace(self, pipe: Connection, *, was_busy: bool) -> None:
        self._begun.discard(pipe)
        self._starting.discard(pipe)
        self._given.pop(pipe, None)
        nursery.end(self._workers.pop(pipe))
        if not was_busy:
            self._spare_starts -= 1
        if self._spare_starts >= 0:
            self._start()

    def _start(self) -> None:
        try:
            worker = nursery.start(partial(_serve, self._answer, self._is_crowded), self._obey)
        except OSError:
            self._spare_starts -= 1
            return
        self._workers[worker.pipe] = worker
        self._starting.add(worker.pipe)


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _serve(answer: Answer, is_crowded: bool, pipe: Connection) -> None:  # noqa: FBT001 - as it travels
    """Answer messages until there are no more, or the answer is not wanted any more."""
    Beside.helps = not is_crowded
    sys.setswitchinterval(SECONDS_TO_LISTEN)
    with suppress(EOFError, OSError):
        _send(pipe, READY)
        while True:
            message = pipe.recv_bytes()
            _send(pipe, BEGUN)
            for parcel in answer(message):
                _send(pipe, parcel)


def _send(pipe: Connection, parcel: Parcel) -> None:
    """Send a parcel's parts, their sizes before them."""
    pipe.send_bytes(bytes([parcel.last]) + b"".join(len(part).to_bytes(SIZE) for part in parcel.parts))
    for part in parcel.parts:
        write_all(pipe.fileno(), part)


def _received(pipe: Connection) -> Parcel:
    """Return the parcel that was sent; EOFError or OSError if not all of it comes."""
    told = pipe.recv_bytes()
    parts = [bytearray(int.from_bytes(told[at : at + SIZE])) for at in range(1, len(told), SIZE)]
    for part in parts:
        view = memoryview(part)
        while view:
            count = os.readv(pipe.fileno(), [view])
            if not count:
                raise EOFError
            view = view[count:]
    return Parcel(parts, bool(told[0]))
