"""Partitions that lie in two log dirs of one broker, which does not start with them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kcli.jobs.startup.brokers import brokers_of, stops_at_rest
from kcli.kafka.kraft.broker_start import BrokerConfig, StartFailure, broker_start, is_duplicate
from kcli.logdir.buffers import shown
from kcli.logdir.find import Found, Note
from kcli.logdir.targets import PARTITION, Target

TWICE = "twice"
"""The kind of a note about such a directory."""


def partitions_twice(targets: Iterable[Target]) -> Mapping[str, StartFailure]:
    """Return what a start says of partitions that two log dirs of a broker hold, by directory.

    Log dirs of one directory.id are copies of one, wherever they lie.
    """
    log_dirs = dict.fromkeys(one.log_dir for one in targets if one.log_dir is not None)
    return {
        shown(stop.path): stop
        for dirs in (brokers_of(log_dirs) if len(log_dirs) > 1 else ())
        if len(dirs) > 1
        for stop in stops_at_rest(dirs, broker_start(dirs, BrokerConfig()))
        if is_duplicate(stop)
    }


def with_duplicates(found: Found) -> Found:
    """Return the same with a note about each partition that lies in two log dirs of its broker."""
    stops = partitions_twice(one for one in found.targets if one.kind == PARTITION)
    notes = [
        Note(TWICE, target.shown, f"{stop.exception}: {stop.message}")
        for target in found.targets
        if target.kind == PARTITION and (stop := stops.get(target.shown)) is not None
    ]
    return replace(found, notes=[*found.notes, *notes]) if notes else found
