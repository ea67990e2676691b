"""What helper processes need before they start: a place for temporary files, and the fork server."""

import os
import signal
import tempfile
from collections.abc import Callable, Sequence
from multiprocessing import forkserver, resource_tracker
from typing import Any

from kcli.engine.errors import EngineMissingError

PLACES = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - never without a look at their rights
LONGEST = 70  # bytes of its name: a socket in a directory in it must have a name of at most 107
FOR_THE_OWNER = {signal.SIGINT, signal.SIGHUP, signal.SIGTERM}  # though a terminal sends them to all


def scratch_directory() -> str:
    """Return a directory for temporary files, never the working directory; EngineMissingError if none."""
    for place in filter(os.path.isabs, (os.environ.get("TMPDIR", ""), *PLACES)):
        if len(os.fsencode(place)) <= LONGEST and os.access(place, os.W_OK | os.X_OK):
            tempfile.tempdir = place
            return place
    raise EngineMissingError(f"no temporary directory is writable: {', '.join(('$TMPDIR', *PLACES))}")


def prepare(modules: Sequence[str] = ()) -> None:
    """Start the fork server, which imports modules at once, unless it runs. OSError, EngineMissingError."""
    scratch_directory()
    if modules:
        forkserver.set_forkserver_preload(["kcli.engine.pool", *modules])
    held(resource_tracker.ensure_running)
    held(forkserver.ensure_running)


def held(start: Callable[..., Any], *words: Any) -> Any:
    """Start a process with signals blocked: it is known before one of them ends this, and blocks them too."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, FOR_THE_OWNER)
    try:
        return start(*words)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
