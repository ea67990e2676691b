"""Replicas of a partition: short names for them, and the rows that they have in common."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kcli.output.table.columns import ShownColumn
from kcli.output.table.shared_columns import log_dir_of, name_of, short_dirs, where_of
from kcli.rows.partitions import Where


def replica_names(places: Iterable[Where]) -> dict[str, str]:
    """Return for each partition directory a name that no other replica of its partition has.

    That is its broker, or its log dir where brokers are not known or not different.
    """
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
    """Return the first of the rows that replicas of a partition have in common, and the replicas' column.

    Lines of a partition are in the order of their keys. None where no partition has several replicas.
    """
    partitions = by_partition(rows)
    if all(len(replicas) == 1 for replicas in partitions.values()):
        return None
    names = replica_names(where for replicas in partitions.values() for where in replicas)
    listed, having = [], {}
    for replicas in partitions.values():
        lines: dict[Any, list[tuple[Where, Any]]] = {}
        for where, replica_rows in replicas.items():
            for row in replica_rows:
                lines.setdefault(key(row), []).append((where, row))
        for line in (lines[value] for value in sorted(lines)):
            listed.append(line[0][1])
            own = dict.fromkeys(names[where.dir] for where, _ in line)
            having[id(line[0][1])] = "all" if len(own) == len(replicas) > 1 else ", ".join(own)
    return listed, ShownColumn("REPLICAS", lambda row: having[id(row)], least=20)
