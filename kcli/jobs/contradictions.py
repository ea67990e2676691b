"""Where log dirs contradict each other, before any log is read: notes.

About meta.properties of one broker's log dirs, log dirs of different clusters side by side, partitions that
lie in two log dirs of one broker, and the quorum-state of the metadata log.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from formats.names import CLUSTER_METADATA, NORMAL
from kcli.kafka.kraft.meta_properties import BrokerConfig, StartFailure, brokers_of, release_of, verify
from kcli.logdir.buffers import shown
from kcli.logdir.find import FileSet, Note
from kcli.logdir.log_dirs import (
    META_PROPERTIES_FILE,
    QUORUM_STATE,
    LogDirState,
    lacks_quorum_state,
    quorum_state_error,
)
from kcli.logdir.targets import PARTITION, Target

TWICE, NOT_TOGETHER, CLUSTERS, QUORUM = "twice", "not-together", "clusters", "quorum-state"
"""Kinds of notes: a partition in two log dirs, log dirs that do not start together or are of different
clusters, and a damaged or missing file.
"""
LOST_STATE = "missing, and the metadata log has records: a voter has forgotten its vote"


def with_contradictions(file_set: FileSet) -> FileSet:
    """Return the same with a note about all that does not fit together."""
    file_set = with_duplicates(file_set)
    groups = _brokers(file_set)
    return with_damaged_states(replace(file_set, notes=[*file_set.notes, *_not_together(groups)]), groups)


def with_damaged_states(file_set: FileSet, groups: list[tuple[LogDirState, ...]] | None = None) -> FileSet:
    """Return the same with notes about what no start of a broker with these log dirs would tell."""
    groups = _brokers(file_set) if groups is None else groups
    return with_quorum_states(replace(file_set, notes=[*file_set.notes, *_clusters(groups)]))


def with_quorum_states(file_set: FileSet) -> FileSet:
    """Return the same with a note about each quorum-state that a broker cannot read, or has lost."""
    return replace(file_set, notes=[*file_set.notes, *_quorum_states(file_set.targets)])


def _brokers(file_set: FileSet) -> list[tuple[LogDirState, ...]]:
    """Return the log dirs among the inputs; one alone has nothing to contradict."""
    log_dirs = dict.fromkeys(target.log_dir for target in file_set.targets if target.log_dir is not None)
    return brokers_of(log_dirs) if len(log_dirs) > 1 else []


def _not_together(groups: Iterable[tuple[LogDirState, ...]]) -> Iterator[Note]:
    for dirs in groups:
        if len(dirs) == 1:
            continue
        without_ids = {
            log_dir.path
            for log_dir in dirs
            if log_dir.meta is not None and (log_dir.meta.node_id is None or log_dir.meta.cluster_id is None)
        }
        for stop in verify(dirs, BrokerConfig(version=release_of(dirs))).stops:
            directory, name = os.path.split(stop.path)
            if name == META_PROPERTIES_FILE and directory not in without_ids:  # findings of their own
                yield Note(NOT_TOGETHER, shown(stop.path), f"{stop.exception}: {stop.message}")


def _clusters(groups: Iterable[tuple[LogDirState, ...]]) -> Iterator[Note]:
    """Yield where log dirs in one directory are of the same node id, and of different clusters."""
    states: dict[tuple[str, int], LogDirState] = {}
    for state in (state for dirs in groups for state in dirs):
        if state.meta is None or state.meta.node_id is None or state.meta.cluster_id is None:
            continue
        first = states.setdefault((os.path.dirname(os.path.realpath(state.path)), state.meta.node_id), state)
        if first.meta is not None and first.meta.cluster_id != state.meta.cluster_id:
            ids = f"cluster.id is {state.meta.cluster_id}, {shown(first.path)} has {first.meta.cluster_id}"
            path = shown(os.path.join(state.path, META_PROPERTIES_FILE))
            yield Note(CLUSTERS, path, f"{ids}: a broker {state.meta.node_id} of both does not start")


def _quorum_states(targets: Iterable[Target]) -> Iterator[Note]:
    for target in targets:
        name = target.name
        if target.kind != PARTITION or name is None or (name.topic, name.kind) != (CLUSTER_METADATA, NORMAL):
            continue
        error, path = quorum_state_error(target.path), os.path.join(target.shown, QUORUM_STATE)
        if error is not None:
            yield Note(QUORUM, path, error.message)
        elif lacks_quorum_state(target.path):
            yield Note(QUORUM, path, LOST_STATE)


def partitions_twice(targets: Iterable[Target]) -> Mapping[str, StartFailure]:
    """Return what a start says of partitions that two log dirs (by directory.id) hold, by directory."""
    log_dirs = dict.fromkeys(target.log_dir for target in targets if target.log_dir is not None)
    return {
        shown(stop.path): stop
        for dirs in (brokers_of(log_dirs) if len(log_dirs) > 1 else ())
        if len(dirs) > 1
        for stop in verify(dirs, BrokerConfig()).duplicates()
    }


def with_duplicates(file_set: FileSet) -> FileSet:
    """Return the same with a note about each partition that lies in two log dirs of its broker."""
    stops = partitions_twice(target for target in file_set.targets if target.kind == PARTITION)
    notes = [
        Note(TWICE, target.shown, f"{stop.exception}: {stop.message}")
        for target in file_set.targets
        if target.kind == PARTITION and (stop := stops.get(target.shown)) is not None
    ]
    return replace(file_set, notes=[*file_set.notes, *notes]) if notes else file_set
