"""What a file's name says about it, and its siblings of the same segment."""

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from formats.names import IN_PARTITION, LOG, FileName, parse_file
from kcli.logdir.buffers import FileError
from kcli.logdir.leftovers import SWAP
from kcli.logdir.listing import listed, opened_names
from kcli.logdir.targets import Target


def file_name(target: Target) -> FileName:
    """Return what the name of a target's file says."""
    return parse_file(os.path.basename(target.path))


def segment_base(target: Target) -> int | None:
    """Return the base offset of a segment of a log, or of a .swap that becomes one; None for any other file.

    Offsets of another leftover, a snapshot or a remote segment may be those of another.
    """
    name = parse_file(os.path.basename(target.path).removesuffix(SWAP))
    is_segment = (name.kind, name.scheme, name.is_inactive) == (LOG, IN_PARTITION, False)
    return name.base_offset if is_segment else None


def first_base(names: Iterable[str], *others: str) -> int:
    """Return the base offset of the first segment that a start finds among files; 0 without any.

    `others` are suffixes of logs that count as well.
    """
    logs = (one for one in map(parse_file, names) if one.kind == LOG and one.suffix in ("", SWAP, *others))
    return min((one.base_offset for one in logs if one.base_offset is not None), default=0)


def sibling(target: Target, extension: str) -> str | None:
    """Return the path of another file of the same segment, with the same suffix; None if there is none."""
    directory, name = os.path.split(target.path)
    stem, _, rest = name.partition(".")
    suffix = rest.partition(".")[2]
    path = os.path.join(directory, f"{stem}.{extension}" + (f".{suffix}" if suffix else ""))
    return path if os.path.lexists(path) else None


def is_swap(target: Target) -> bool:
    """Whether a file waits to take the place of others."""
    return target.path.endswith(SWAP)


def index_file(log: Target, extension: str) -> Target:
    """Return the file of a segment that a start takes for its index, whether it is there or not.

    A .swap takes the name of another; of a .log.swap only such indexes stay.
    """
    path, shown = (word.removesuffix(SWAP).removesuffix("log") + extension for word in (log.path, log.shown))
    suffix = SWAP if is_swap(log) or _is_replaced(path) else ""
    return replace(log, kind=extension, path=path + suffix, shown=shown + suffix)


def _is_replaced(path: str) -> bool:
    """Whether a start gives the name of a file to its .swap."""
    if not os.path.lexists(path + SWAP):
        return False
    directory, name = os.path.split(path + SWAP)
    with suppress(FileError):
        return name in opened_names(listed(directory or ".")[0])
    return False  # the directory has been removed since
