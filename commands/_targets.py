"""Files and directories that kcli writes: never in a log dir, and never half of one."""

import os
import tempfile
from collections.abc import Iterator

from commands._out import OF_A_LOG_DIR
from commands._status import MissingError, RefusedError, UsageError
from formats.names import parse_partition_dir
from kcli.logdir.buffers import FileError
from kcli.logdir.tree import PARTITION, directory_kind


def refuse_log_dirs(option: str, path: str) -> None:
    """Raise RefusedError for a path that is, or lies anywhere below, a log dir or a partition directory."""
    for place in _upwards(os.path.realpath(path)):
        if _is_of_kafka(place):
            raise RefusedError(
                f"{option} {path}: {place} is a log dir or a partition directory, and kcli never writes there"
            )


def _upwards(place: str) -> Iterator[str]:
    yield place
    while place != os.path.dirname(place):
        place = os.path.dirname(place)
        yield place


def _is_of_kafka(place: str) -> bool:
    if any(os.path.lexists(os.path.join(place, name)) for name in OF_A_LOG_DIR):
        return True
    if parse_partition_dir(os.path.basename(place)) is None or not os.path.isdir(place):
        return False
    try:
        return bool(os.listdir(place)) and directory_kind(place) == PARTITION
    except (OSError, FileError):
        return False


def replace_file(option: str, path: str, text: str) -> None:
    """Write a file at once: it has all of the text, or what it had before."""
    directory, name = os.path.split(os.path.abspath(path))
    try:
        with tempfile.NamedTemporaryFile("w", dir=directory, prefix=f".{name}.", delete=False) as file:
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise MissingError(f"{option} {path}: cannot write: {reason}") from error


def read_text(option: str, path: str, most: int) -> str | None:
    """Return the text of a file of kcli's own; None where there is none yet."""
    try:
        if os.stat(path).st_size > most:
            raise UsageError(f"{option} {path}: more than {most} bytes")
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "this is no text"
        raise UsageError(f"{option} {path}: {(reason or str(error)).lower()}") from error
