"""What a file's name says about it, and its siblings of the same segment."""

import os

from formats.names import IN_PARTITION, LOG, FileName, parse_file
from kcli.logdir.tree import Target


def file_name(target: Target) -> FileName:
    """Return what the name of a target's file says."""
    return parse_file(os.path.basename(target.path))


def segment_base(target: Target) -> int | None:
    """Return the base offset of a segment of a log, None for any other file.

    Offsets of a leftover, a snapshot or a remote segment may be those of another.
    """
    name = file_name(target)
    is_segment = (name.kind, name.scheme, name.is_inactive) == (LOG, IN_PARTITION, False)
    return name.base_offset if is_segment else None


def sibling(target: Target, extension: str) -> str | None:
    """Return the path of another file of the same segment, with the same suffix; None if there is none."""
    directory, name = os.path.split(target.path)
    stem, _, rest = name.partition(".")
    suffix = rest.partition(".")[2]
    path = os.path.join(directory, f"{stem}.{extension}" + (f".{suffix}" if suffix else ""))
    return path if os.path.lexists(path) else None
