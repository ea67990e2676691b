"""Where temporary files go: never into the working directory, which may be a log dir."""

import os
import tempfile

from kcli.engine.errors import EngineMissingError

PLACES = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - the usual ones, tried for writing before they are used
LONGEST = 70
"""Bytes of a directory's name: a socket in a directory in it must have a name of at most 107."""


def scratch_directory() -> str:
    """Return a directory for temporary files and make it Python's own choice; EngineMissingError if there is none.

    The module tempfile alone would fall back to the working directory.
    """
    for place in (os.environ.get("TMPDIR", ""), *PLACES):
        if os.path.isabs(place) and len(os.fsencode(place)) <= LONGEST and _is_writable(place):
            tempfile.tempdir = place
            return place
    raise EngineMissingError(
        f"no temporary directory is writable: $TMPDIR (a short, absolute name), {', '.join(PLACES)}"
    )


def _is_writable(place: str) -> bool:
    try:
        with tempfile.TemporaryFile(dir=place):
            return True
    except OSError:
        return False
