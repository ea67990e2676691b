"""Where temporary files go, never the working directory."""

import os
import tempfile

from kcli.engine.errors import EngineMissingError

PLACES = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - never without a look at their rights
LONGEST = 70  # bytes of its name: a socket in a directory in it must have a name of at most 107


def scratch_directory() -> str:
    """Return a directory for temporary files, the choice of tempfile from now on; EngineMissingError if none.

    The module tempfile alone would fall back to the working directory.
    """
    for place in filter(os.path.isabs, (os.environ.get("TMPDIR", ""), *PLACES)):
        if len(os.fsencode(place)) <= LONGEST and os.access(place, os.W_OK | os.X_OK):
            tempfile.tempdir = place
            return place
    raise EngineMissingError(f"no temporary directory is writable: {', '.join(('$TMPDIR', *PLACES))}")
