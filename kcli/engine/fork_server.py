"""The process that the workers are forked from: it imports what they need while the command line is read."""

import signal
from collections.abc import Callable, Sequence
from multiprocessing import forkserver, resource_tracker
from typing import TypeVar

from kcli.engine.scratch import scratch_directory

T = TypeVar("T")

FOR_THE_OWNER = {signal.SIGINT, signal.SIGHUP, signal.SIGTERM}  # though a terminal sends them to all
FIRST = ("kcli.engine.few_collections", "kcli.engine.pool")


def prepare(modules: Sequence[str] = ()) -> None:
    """Start the fork server, which imports modules at once, unless it runs. OSError, EngineMissingError."""
    scratch_directory()
    if modules:
        forkserver.set_forkserver_preload([*FIRST, *modules])
    held(resource_tracker.ensure_running)
    held(forkserver.ensure_running)


def held(start: Callable[..., T], *arguments: object) -> T:
    """Start a process with signals blocked: it is known before one of them ends this, and blocks them too."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, FOR_THE_OWNER)
    try:
        return start(*arguments)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
