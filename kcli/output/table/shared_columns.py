"""What rows share: values for the title, partition directories, and the replicas of a partition."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from formats.names import LOG
from kcli.output.table.columns import KindName, ShownColumn
from kcli.output.units import counted
from kcli.rows.partitions import Where
from kcli.rows.startup import StartedWhere

OF_OFFSET = re.compile(r"([0-9]{20})(?:-([0-9]{10}))?(\..+)", re.ASCII)
"""Names of segments' files and of snapshots of metadata."""


class SharedColumn(NamedTuple):
    """A value that is in the title where all rows share it, and a column where they differ.

    `title`: the title's words of the shared value. `noun`: what different values are counted as in the title,
    with its plural; none where they are not. `are_paths`: the column shows what differs of the paths.
    `is_last`: the column comes after those of the view. Without a header there is no column.
    """

    header: str
    value: Callable[[Any], Any]
    title: str = "{}"
    noun: tuple[str, ...] = ()
    kind: KindName = "text"
    rank: int = 0
    are_paths: bool = False
    is_last: bool = False
    may_overflow: bool = False

    def fact(self, rows: Sequence[Any]) -> Iterator[str]:
        """Yield the words of the title."""
        values = dict.fromkeys(map(self.value, rows))
        if len(values) == 1:
            yield from (self.title.format(value) for value in values if value is not None)
        elif self.noun:
            values.pop(None, None)
            common = common_dir(values) if self.are_paths else ""
            yield counted(len(values), *self.noun) + (f" under {common}" if common else "")

    def column(self, rows: Sequence[Any]) -> Iterator[ShownColumn]:
        """Yield the column where rows differ."""
        values: dict[Any, None] = dict.fromkeys(map(self.value, rows))
        if len(values) > 1 and self.header:
            short = short_dirs(path for path in values if path is not None) if self.are_paths else {}
            value = (lambda row: short.get(self.value(row) or "")) if self.are_paths else self.value
            yield ShownColumn(self.header, value, self.kind, self.rank, may_overflow=self.may_overflow)


def where_of(row: Any) -> Where | None:
    """Return the partition directory that a row begins with, directly or with its file; None without one."""
    where = getattr(row, "where", None) or getattr(getattr(row, "source", None), "where", None)
    if isinstance(where, StartedWhere):
        return Where(where.dir or "", *where[1:])
    return where if isinstance(where, Where) else None


def name_of(where: Where | StartedWhere) -> str:
    """Return TOPIC-PARTITION, or the directory's name where that is none."""
    if where.topic is None:
        directory = where.dir or ""
        return os.path.basename(directory) or directory
    return f"{where.topic}-{where.partition}"


def log_dir_of(where: Where) -> str:
    """Return the directory that the partition is in; of a file in a log dir, that log dir."""
    if where.topic is None or not os.path.basename(where.dir).startswith(f"{where.topic}-{where.partition}"):
        return where.dir
    return os.path.dirname(where.dir) or "."


def common_dir(dirs: Iterable[str]) -> str:
    """Return the path that directories have in common; empty for none."""
    try:
        return os.path.commonpath(sorted(dirs))
    except ValueError:  # absolute and relative ones, or none at all
        return ""


def short_dirs(dirs: Iterable[str]) -> dict[str, str]:
    """Return for each directory the part in which it differs from the others."""
    paths = list(dirs)
    common = common_dir(paths)
    return {path: os.path.relpath(path, common) if common else path for path in paths}


def where_columns(rows: Sequence[Any]) -> list[SharedColumn]:
    """Return what rows share of their partition directories and files."""
    places = {id(row): where for row in rows if (where := where_of(row)) is not None}
    if len(places) < len(rows) or not rows:
        return []

    def column(header: str, field: Callable[[Where], Any], title: str = "{}", **fields: Any) -> SharedColumn:
        return SharedColumn(header, lambda row: field(places[id(row)]), title, **fields)

    are_partitions = any(where.topic is not None for where in places.values())
    dirs = ("log dir",) if are_partitions else ("directory", "directories")
    name = partial(column, "TOPIC-PARTITION", noun=("partition",), may_overflow=True)
    last = partial(column, is_last=True)
    return [
        *([name(lambda where: None if where.topic is None else name_of(where))] if are_partitions else []),
        *_file_columns(rows),
        last("BROKER", attrgetter("broker_id"), "broker {}", kind="number", rank=7),
        last("CLUSTER", attrgetter("cluster_id"), "cluster {}", rank=8),
        last("DIR", lambda where: log_dir_of(where) if where.dir else None, noun=dirs, are_paths=True),
    ]


def _file_columns(rows: Sequence[Any]) -> list[SharedColumn]:
    """Return the column of files: offsets alone without zeros, kinds where they are not the usual one."""
    names = {
        name for row in rows if (name := getattr(getattr(row, "source", None), "file", None)) is not None
    }
    if not names:
        return []
    parts = {name: match for name in names if (match := OF_OFFSET.fullmatch(name))}
    kinds = Counter(parts[name][3] for name in sorted(parts))
    usual = LOG if LOG in kinds else next((kind for kind, _ in kinds.most_common(1)), None)
    short = {name: name for name in names}
    if len(names) > 1:
        for name, match in parts.items():
            epoch = f"-{int(match[2])}" if match[2] else ""
            short[name] = f"{int(match[1])}{epoch}{'' if match[3] == usual else match[3]}"
    header = "SEGMENT" if len(parts) == len(names) else "FILE"
    return [SharedColumn(header, lambda row: short[row.source.file], kind="right text", may_overflow=True)]


def replica_names(places: Iterable[Where]) -> dict[str, str]:
    """Return a name for each replica of a partition: its broker, or its log dir where that says more."""
    replicas = {where.dir: where for where in places}
    brokers = {(name_of(where), where.broker_id) for where in replicas.values()}
    if len(brokers) == len(replicas) and all(broker is not None for _, broker in brokers):
        return {path: f"broker {where.broker_id}" for path, where in replicas.items()}
    dirs = {path: log_dir_of(where) for path, where in replicas.items()}
    short = short_dirs(dirs.values())
    return {path: short[directory] for path, directory in dirs.items()}


def by_partition(rows: Iterable[Any]) -> dict[str, dict[Where, list[Any]]]:
    """Return the rows of each replica of each partition."""
    partitions: dict[str, dict[Where, list[Any]]] = {}
    for row in rows:
        where = where_of(row)
        assert where is not None
        partitions.setdefault(name_of(where), {}).setdefault(where, []).append(row)
    return partitions


def merged_replicas(rows: Sequence[Any], key: Callable[[Any], Any]) -> tuple[list[Any], ShownColumn] | None:
    """Return the first of the rows that replicas have in common, by key, and their column; None for none."""
    partitions = by_partition(rows)
    if all(len(replicas) == 1 for replicas in partitions.values()):
        return None
    names = replica_names(where for replicas in partitions.values() for where in replicas)
    first_rows, holders = [], {}
    for replicas in partitions.values():
        lines: dict[Any, list[tuple[Where, Any]]] = {}
        for where, replica_rows in replicas.items():
            for row in replica_rows:
                lines.setdefault(key(row), []).append((where, row))
        for line in (lines[value] for value in sorted(lines)):
            first_rows.append(line[0][1])
            dirs = dict.fromkeys(names[where.dir] for where, _ in line)
            holders[id(line[0][1])] = "all" if len(dirs) == len(replicas) > 1 else ", ".join(dirs)
    return first_rows, ShownColumn("REPLICAS", lambda row: holders[id(row)], least=20)
