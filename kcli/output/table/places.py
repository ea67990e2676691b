"""Where rows are from: what is the same in all of them in a title, the rest in columns."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kcli.output.screen import Screen
from kcli.output.table.grid import AT_RIGHT, NUMBER, Columns, Line, Lines, ShownColumn, ascii_only, length
from kcli.output.units import counted
from kcli.output.values import one_line
from kcli.rows.places import Where

OF_OFFSET = re.compile(r"([0-9]{20})(?:-([0-9]{10}))?(\..+)", re.ASCII)
"""Names of segments' files and of snapshots of metadata."""
MOST_FILES = 0.75
"""The share of names of files that have room beside their rows: the others have many rows each."""
BETWEEN = "   "
"""Between the parts of a title."""


def where_of(row: Any) -> Where | None:
    """Return the place that a row begins with, directly or with its file; None for a row without one."""
    found = getattr(row, "where", None)
    if found is None:
        found = getattr(getattr(row, "source", None), "where", None)
    return found if isinstance(found, Where) else None


def name_of(where: Where) -> str:
    """Return TOPIC-PARTITION, or the directory's name where that is none."""
    if where.topic is None:
        return os.path.basename(where.dir) or where.dir
    return f"{where.topic}-{where.partition}"


def log_dir_of(where: Where) -> str:
    """Return the directory that the partition is in; of a file in a log dir, that log dir."""
    if where.topic is None or not os.path.basename(where.dir).startswith(f"{where.topic}-{where.partition}"):
        return where.dir
    return os.path.dirname(where.dir) or "."


def common_dir(dirs: Iterable[str]) -> str:
    """Return the path that directories have in common; empty for none."""
    found = sorted(set(dirs))
    try:
        return os.path.commonpath(found)
    except ValueError:  # absolute and relative ones, or none at all
        return ""


def short_dirs(dirs: Iterable[str]) -> dict[str, str]:
    """Return for each directory the part in which it differs from the others."""
    found = list(dirs)
    common = common_dir(found)
    return {path: os.path.relpath(path, common) if common else path for path in found}


def log_dir_column(rows: Sequence[Any], of: Callable[[Any], str]) -> tuple[ShownColumn, list[str]]:
    """Return a column of log dirs, of several where they differ, and what a title then says of them."""
    dirs = list(dict.fromkeys(map(of, rows)))
    common = common_dir(dirs)
    if len(dirs) == 1 or not common:
        return ShownColumn("LOG DIR", lambda row: one_line(of(row))), []
    short = short_dirs(dirs)
    column = ShownColumn("LOG DIR", lambda row: one_line(short[of(row)]))
    return column, [f"{counted(len(dirs), 'log dir')} under {one_line(common)}"]


def is_one(values: Iterable[object]) -> bool:
    """Whether there is exactly one value, and no null."""
    found = set(values)
    return len(found) == 1 and None not in found


def title(parts: Sequence[str], screen: Screen) -> Lines:
    """Return the parts of a title, the first bold, on as few lines as they fit on."""
    lines: list[Line] = [[]]
    used = 0
    for place, part in enumerate(part if screen.is_utf8 else ascii_only(part) for part in parts):
        if lines[-1] and used + len(BETWEEN) + length(part) > screen.width:
            lines.append([])
            used = 0
        if lines[-1]:
            lines[-1].append((BETWEEN, ""))
            used += len(BETWEEN)
        lines[-1].append((part, "bold" if place == 0 else ""))
        used += length(part)
    return Lines(lines, screen.width)


def file_of(row: Any) -> str | None:
    """Return the name of the file that a row is from; None for a row of no file."""
    return getattr(getattr(row, "source", None), "file", None)


def file_columns(rows: Sequence[Any]) -> tuple[Columns, list[str]]:
    """Return the column of the file where there are several, and the part of the title where there is one.

    Files that are named by an offset have that alone, without zeros; the kind of those that are of another
    than most stays.
    """
    names = {name for row in rows if (name := file_of(row)) is not None}
    if len(names) < 2:
        return (), list(names)
    parted = {name: found for name in names if (found := OF_OFFSET.fullmatch(name))}
    usual = Counter(str(found[3]) for found in parted.values()).most_common(1)
    short = {name: name for name in names}
    for name, (base, epoch, kind) in ((name, found.groups()) for name, found in parted.items()):
        end = "" if kind == usual[0][0] else kind
        short[name] = f"{int(base)}{f'-{int(epoch)}' if epoch else ''}{end}"
    header = "SEGMENT" if len(parted) == len(names) else "FILE"
    column = ShownColumn(
        header, lambda row: short[row.source.file], AT_RIGHT, may_overflow=True, share=MOST_FILES
    )
    return (column,), []


def place_parts(places: Sequence[Where], *, with_dir: bool = True) -> list[str]:
    """Return what all places share: broker, cluster and directory; of several directories how many."""
    parts = []
    if is_one(place.broker_id for place in places):
        parts.append(f"broker {places[0].broker_id}")
    if is_one(place.cluster_id for place in places):
        parts.append(f"cluster {places[0].cluster_id}")
    dirs = set(map(log_dir_of, places))
    if with_dir and len(dirs) == 1:
        parts.append(one_line(dirs.pop()))
    elif len(dirs) > 1:
        common, are_named = common_dir(dirs), all(place.topic is not None for place in places)
        words = counted(len(dirs), "log dir") if are_named else counted(len(dirs), "directory", "directories")
        parts.append(words + (f" under {one_line(common)}" if common else ""))
    return parts


def subject(places: Sequence[Where]) -> list[str]:
    """Return the partition that all places name, or how many there are; nothing for files of no partition."""
    if all(place.topic is None for place in places):
        return []
    names = set(map(name_of, places))
    return [one_line(names.pop()) if len(names) == 1 else counted(len(set(places)), "partition")]


def place_columns(places: Sequence[Where], of: Callable[[Any], Where]) -> tuple[Columns, Columns]:
    """Return the columns that say where a row is from as far as rows differ: those before and those after."""
    before, after = [], []
    if len(set(map(name_of, places))) > 1:
        before.append(ShownColumn("TOPIC-PARTITION", lambda row: name_of(of(row)), may_overflow=True))
    dirs = short_dirs(map(log_dir_of, places))
    if len(dirs) > 1:
        after.append(ShownColumn("DIR", lambda row: dirs[log_dir_of(of(row))], rank=0))
    brokers = {place.broker_id for place in places}
    if len(brokers) > 1:
        after.append(ShownColumn("BROKER", lambda row: of(row).broker_id, NUMBER, rank=7))
    if len({place.cluster_id for place in places}) > 1:
        after.append(ShownColumn("CLUSTER", lambda row: of(row).cluster_id, rank=8))
    return before, after
