"""What a file's name says about it, and its siblings of the same segment."""

import os

from formats.names import FileName, parse_file
from kcli.logdir.tree import Target


def file_name(target: Target) -> FileName:
    """Return what the name of a target's file says."""
    return parse_file(os.path.basename(target.path))


def sibling(target: Target, extension: str) -> str | None:
    """Return the path of another file of the same segment, with the same suffix; None if there is none."""
    directory, name = os.path.split(target.path)
    stem, _, rest = name.partition(".")
    suffix = rest.partition(".")[2]
    path = os.path.join(directory, f"{stem}.{extension}" + (f".{suffix}" if suffix else ""))
    return path if os.path.lexists(path) else None
