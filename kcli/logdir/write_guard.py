"""Where kcli writes temporary files, and never: in a log dir or a partition directory, at any depth."""

import os
from collections.abc import Iterator

from formats.names import LOCK, LOG_DIR_FILES, WELL_KNOWN_KINDS, parse_file, parse_partition_dir
from kcli.logdir.classify import is_of_a_partition

PLACES = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - never without a look at their rights
LONGEST_DIRECTORY = 70  # bytes of its name: a socket in a directory in it must have a name of at most 107
TELLING = tuple(name for name in LOG_DIR_FILES if WELL_KNOWN_KINDS.get(name) != LOCK)
"""Names that only log dirs have; others, too, have a .lock."""


def log_dir_around(path: str) -> str | None:
    """Return the nearest log dir or partition directory, by what it holds, at or above a path, or None."""
    return next(filter(_is_of_a_broker, upwards(os.path.realpath(path))), None)


def upwards(directory: str) -> Iterator[str]:
    """Yield an absolute path and all directories around it."""
    yield directory
    while directory != os.path.dirname(directory):
        directory = os.path.dirname(directory)
        yield directory


def _is_of_a_broker(directory: str) -> bool:
    if any(os.path.lexists(os.path.join(directory, name)) for name in TELLING):
        return True
    if parse_partition_dir(os.path.basename(directory)) is None:
        return False
    try:
        return any(is_of_a_partition(parse_file(name)) for name in os.listdir(directory))
    except OSError:
        return False


def scratch_directory() -> str:
    """Return $TMPDIR or the first fit one of PLACES, for `tempfile` from now on. FileNotFoundError."""
    import tempfile

    tmpdir = os.environ.get("TMPDIR", "")
    for directory in filter(os.path.isabs, (tmpdir, *PLACES)):
        if len(os.fsencode(directory)) <= LONGEST_DIRECTORY and os.access(directory, os.W_OK | os.X_OK):
            if directory is tmpdir and log_dir_around(directory) is not None:
                continue  # a broker would find the file, and not start
            tempfile.tempdir = directory
            return directory
    raise FileNotFoundError(f"no temporary directory is writable: {', '.join(('$TMPDIR', *PLACES))}")
