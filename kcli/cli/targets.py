"""Files and directories that kcli writes: never in a log dir, and never half of one."""

import os
import stat
from collections.abc import Collection

from kcli.cli.status import RefusedError, UsageError, writing
from kcli.logdir.buffers import irregular
from kcli.logdir.write_guard import log_dir_around, upwards


def refuse_log_dirs(argument: str, path: str, log_dirs: Collection[str] = ()) -> None:
    """Raise RefusedError for a path, given as `argument`, in a log dir, a partition or one of `log_dirs`."""
    around = upwards(os.path.realpath(path))
    log_dir = next((parent for parent in around if parent in log_dirs), None) or log_dir_around(path)
    if log_dir is not None:
        raise RefusedError(
            f"{argument}: {log_dir} is a log dir or a partition directory, and kcli never writes there"
        )


def replace_file(option: str, path: str, text: str) -> None:
    """Write a file at once: it has all of the text, or what it had before."""
    from kcli.output.files import new_file

    with writing(f"{option} {path}"), new_file(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
        file.flush()
        os.fsync(file.fileno())


def read_text(option: str, path: str, most: int) -> str | None:
    """Return the text of a file of kcli's own, None where there is none yet; UsageError where none can be."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):  # a pipe would be waited for, and a device has no end
            raise UsageError(f"{option} {path}: {irregular(path)}")
        if status.st_size > most:
            raise UsageError(f"{option} {path}: more than {most} bytes")
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        directory = os.path.dirname(path) or "."
        if not os.path.isdir(directory):
            raise UsageError(f"{option} {path}: {directory}: no such directory; make it first") from None
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "this is no text"
        raise UsageError(f"{option} {path}: {(reason or str(error)).lower()}") from error
