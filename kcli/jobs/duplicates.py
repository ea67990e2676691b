"""Partitions that lie in two log dirs of one broker, which does not start with them."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

from kcli.analysis.broker_start import ILLEGAL_STATE, BrokerConfig, StartFailure, broker_start
from kcli.logdir.buffers import shown
from kcli.logdir.directory import directory_facts
from kcli.logdir.log_dirs import LogDirState, log_dir_state
from kcli.logdir.tree import PARTITION, Found, Note, Target

TWICE = "twice"
"""The kind of a note about such a directory."""


def partitions_twice(targets: Iterable[Target]) -> Mapping[str, StartFailure]:
    """Return what a start says of partitions that two log dirs of a broker hold, by directory.

    Log dirs with the same directory.id in different places are copies of one, and no two of a broker. Of
    those of a broker that runs nothing is said: it moves partitions from one to the other.
    """
    brokers: dict[tuple[object, ...], dict[str, str]] = {}
    for log_dir in dict.fromkeys(one.log_dir for one in targets if one.log_dir is not None):
        facts = directory_facts(log_dir)
        if facts.broker_id is not None:
            known = brokers.setdefault((facts.cluster_id, facts.broker_id), {})
            known.setdefault(os.path.realpath(log_dir), log_dir)
    return {
        shown(stop.path): stop
        for paths in brokers.values()
        if len(paths) > 1 and _are_of_one_broker(dirs := tuple(map(log_dir_state, paths.values())))
        for stop in broker_start(dirs, BrokerConfig()).stops
        if stop.exception == ILLEGAL_STATE
    }


def _are_of_one_broker(dirs: tuple[LogDirState, ...]) -> bool:
    ids = [one.meta.directory_id for one in dirs if one.meta is not None and one.meta.directory_id]
    parents = {os.path.dirname(os.path.realpath(one.path)) for one in dirs}
    if any(one.locked_by is not None for one in dirs):
        return False
    return len(set(ids)) == len(ids) or len(parents) == 1


def with_duplicates(found: Found) -> Found:
    """Return the same with a note about each partition that lies in two log dirs of its broker."""
    stops = partitions_twice(one for one in found.targets if one.kind == PARTITION)
    notes = [
        Note(TWICE, target.shown, f"{stop.exception}: {stop.message}")
        for target in found.targets
        if target.kind == PARTITION and (stop := stops.get(target.shown)) is not None
    ]
    return replace(found, notes=[*found.notes, *notes]) if notes else found
