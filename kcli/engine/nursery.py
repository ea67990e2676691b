"""Where workers come from: a process that has imported what they need, never has a second thread, and forks itself.

A fork of the process that runs a command would copy locks that its threads hold; a fresh interpreter for each worker
would import everything anew. A worker is held by a leash, a socket whose other end only its owner has: the worker ends
when that end is closed, whoever closed it. The nursery ends when its owner does.
"""

import gc
import os
import pickle
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from multiprocessing.connection import Connection, Pipe
from typing import NamedTuple, NoReturn, TypeAlias

Life: TypeAlias = Callable[[Connection], None]
"""What a worker does with its end of a pipe, picklable; it ends when this does."""
Obey: TypeAlias = Callable[[bytes], bytes]
"""What a worker replies to a word that comes over its leash, whatever its life is busy with; picklable."""
LONGEST_WORD = 16
"""Bytes."""

LEFT_TO_THE_OWNER = {signal.SIGINT, signal.SIGHUP, signal.SIGTERM}
"""Signals that a terminal, `timeout` or a supervisor sends to every process of a command."""
SECONDS_TO_END = 1.0
"""A worker that reads from a dead disk, or is stopped, ends later."""
LEAST_SECONDS = 0.001


class Worker(NamedTuple):
    """A worker as its owner has it: the pipe to talk, and the leash."""

    pipe: Connection
    leash: socket.socket


_nursery: socket.socket | None = None
"""Where this process asks for workers."""


def prepare(modules: Sequence[str]) -> None:
    """Make the nursery of this process, which has no threads yet, and let it import modules meanwhile.

    What goes wrong here is told when workers are asked for.
    """
    global _nursery  # noqa: PLW0603 - a process has one
    ours, theirs = socket.socketpair()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, LEFT_TO_THE_OWNER)
    try:
        with suppress(OSError):
            if not os.fork():
                ours.close()
                _live(partial(_tend, theirs, modules))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
    _nursery = ours


def start(life: Life, obey: Obey) -> Worker:
    """Start a worker; OSError when there is no nursery and none can be made. One that could not be forked has nothing to say."""
    ours, theirs = Pipe()
    leash, collar = socket.socketpair()
    try:
        with theirs, collar:
            _ask([theirs.fileno(), collar.fileno()])
        with suppress(OSError):  # it is dead already: reading from its pipe says so
            ours.send_bytes(pickle.dumps((life, obey)))
    except BaseException:
        end(Worker(ours, leash))
        raise
    return Worker(ours, leash)


def ask(worker: Worker, word: bytes) -> bytes | None:
    """Give a worker a word, once its life has begun, and return the reply; None if it has died."""
    try:
        worker.leash.sendall(word)
        return worker.leash.recv(LONGEST_WORD) or None
    except OSError:
        return None


def end(*workers: Worker) -> None:
    """End workers, whatever they do, and wait until they hold no file any more."""
    for worker in workers:
        worker.pipe.close()
        with suppress(OSError):
            worker.leash.shutdown(socket.SHUT_WR)
    late = time.monotonic() + SECONDS_TO_END
    for worker in workers:
        with worker.leash as leash, suppress(OSError):
            leash.settimeout(max(late - time.monotonic(), LEAST_SECONDS))
            while leash.recv(LONGEST_WORD):  # a reply that nobody has waited for
                pass


def _ask(files: list[int]) -> None:
    """Send the nursery the ends of a worker's pipe and leash; a nursery that has died is replaced."""
    if _nursery is not None:
        with suppress(OSError):
            socket.send_fds(_nursery, [b"\0"], files)
            return
    socket.send_fds(_another(), [b"\0"], files)


def _another() -> socket.socket:
    """Make a nursery in a fresh interpreter: this one may have threads by now."""
    global _nursery  # noqa: PLW0603 - as above
    ours, theirs = socket.socketpair()
    path = [place for place in sys.path if place]  # nothing is imported from the working directory
    with theirs:
        os.posix_spawn(
            sys.executable,
            [
                sys.executable,
                "-c",
                f"import sys; sys.path[:] = {path!r}; from kcli.engine.nursery import main; main()",
            ],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0)],
            setsigmask=LEFT_TO_THE_OWNER,
        )
    if _nursery is not None:
        _nursery.close()
    _nursery = ours
    return ours


def main() -> None:
    """Be a nursery whose owner is at the other end of stdin."""
    _tend(socket.socket(fileno=os.dup(0)), [])


def _tend(owner: socket.socket, modules: Sequence[str]) -> None:
    """Fork a worker for each message of the owner, until there is no owner."""
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for module in modules:
        with suppress(ImportError):
            import_module(module)
    workers: set[int] = set()
    gc.freeze()  # else every worker's first collection would copy all there is
    while True:
        told, files, *_ = socket.recv_fds(owner, 1, 2)
        if not told:
            for worker in workers:
                os.kill(worker, signal.SIGKILL)  # one may be too busy to notice, or stopped
            return
        with suppress(OSError):  # the files are closed, and the owner sees it
            worker = os.fork()
            if not worker:
                owner.close()
                _live(partial(_work, *files))
            workers.add(worker)
        for file in files:
            os.close(file)
        with suppress(ChildProcessError):  # there are none
            while ended := os.waitpid(-1, os.WNOHANG)[0]:
                workers.discard(ended)


def _work(pipe: int, leash: int) -> None:
    """Be a worker."""
    told: list[Obey] = []

    def follow() -> None:
        try:
            while word := os.read(leash, LONGEST_WORD):
                os.write(leash, told[0](word))
        finally:
            os._exit(1)

    try:
        threading.Thread(target=follow, daemon=True).start()
    except RuntimeError:  # no more threads, as there may be no more processes
        os._exit(1)
    talk = Connection(pipe)
    life, obey = pickle.loads(talk.recv_bytes())  # noqa: S301 - the owner wrote it
    told.append(obey)
    life(talk)


def _live(life: Callable[[], None]) -> NoReturn:
    """Spend the rest of a forked process; nothing of what was begun before the fork goes on in it."""
    try:
        life()
    except (EOFError, OSError):  # the owner has gone
        os._exit(1)
    except BaseException:  # noqa: BLE001 - there is nobody to raise it to
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)
