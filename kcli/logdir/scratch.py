"""Where temporary files go: never to the working directory, never to a log dir."""

import os
import tempfile

PLACES = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - never without a look at their rights
LONGEST = 70  # bytes of its name: a socket in a directory in it must have a name of at most 107


def scratch_directory() -> str:
    """Return a directory for temporary files, where `tempfile` makes them from now on.

    $TMPDIR, or the first of PLACES that will do. FileNotFoundError if there is none.
    """
    chosen = os.environ.get("TMPDIR", "")
    for place in filter(os.path.isabs, (chosen, *PLACES)):
        if len(os.fsencode(place)) <= LONGEST and os.access(place, os.W_OK | os.X_OK):
            if place is chosen and _is_in_a_log_dir(place):
                continue
            tempfile.tempdir = place
            return place
    raise FileNotFoundError(f"no temporary directory is writable: {', '.join(('$TMPDIR', *PLACES))}")


def _is_in_a_log_dir(place: str) -> bool:
    """Whether a broker may find a temporary file there; it would not start."""
    from kcli.logdir.guard import log_dir_around

    return log_dir_around(place) is not None
