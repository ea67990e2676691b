"""Where kcli never writes: in a log dir or a partition directory, at any depth."""

import os
from collections.abc import Iterator

from formats.names import LOCK, LOG_DIR_FILES, WELL_KNOWN_KINDS, parse_file, parse_partition_dir
from kcli.logdir.classify import is_of_a_partition

TELLING = tuple(name for name in LOG_DIR_FILES if WELL_KNOWN_KINDS.get(name) != LOCK)
"""Names that only log dirs have; others, too, have a .lock."""


def log_dir_around(path: str) -> str | None:
    """Return the nearest directory at or above a path that is a log dir or a partition directory.

    None where there is none. By the names of what it holds: a directory that merely is named like a partition
    (build-7), or that cannot be listed, is none.
    """
    return next(filter(_is_of_a_broker, upwards(os.path.realpath(path))), None)


def upwards(place: str) -> Iterator[str]:
    """Yield an absolute path and all directories around it."""
    yield place
    while place != os.path.dirname(place):
        place = os.path.dirname(place)
        yield place


def _is_of_a_broker(place: str) -> bool:
    if any(os.path.lexists(os.path.join(place, name)) for name in TELLING):
        return True
    if parse_partition_dir(os.path.basename(place)) is None:
        return False
    try:
        return any(is_of_a_partition(parse_file(name)) for name in os.listdir(place))
    except OSError:
        return False
