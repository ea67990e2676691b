"""What helper processes need before they start: a place for temporary files, and the fork server."""

import signal
from collections.abc import Callable, Sequence
from multiprocessing import forkserver, resource_tracker
from typing import Any

from kcli.logdir.write_guard import scratch_directory

FOR_THE_OWNER = {signal.SIGINT, signal.SIGHUP, signal.SIGTERM}  # though a terminal sends them to all


def prepare(modules: Sequence[str] = ()) -> None:
    """Start the fork server, which imports modules at once, unless it runs. OSError."""
    scratch_directory()
    if modules:
        forkserver.set_forkserver_preload(["kcli.engine.pool", *modules])
    start_masked(resource_tracker.ensure_running)
    start_masked(forkserver.ensure_running)


def start_masked(start: Callable[..., Any], *arguments: Any) -> Any:
    """Start a process with signals blocked: it is known before one of them ends this, and blocks them too."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, FOR_THE_OWNER)
    try:
        return start(*arguments)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
