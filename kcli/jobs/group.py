"""What `kcli group` runs: the groups of a partition of __consumer_offsets, their commits and members.

A unit is the copy of a coordinator's partition that counts, then the directories of all other partitions: the
logs that commits are about.
"""

import os
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from formats.checkpoint import EpochEntry
from formats.messages.decode import KEYS
from formats.names import CLUSTER_METADATA, CONSUMER_OFFSETS, SHARE_GROUP_STATE, PartitionDir
from kcli.engine.contract import Unit
from kcli.jobs.common import Yield, YieldAndReturn, partition_job, topic_id_of, unit_job
from kcli.jobs.copies import absent_partitions, counted_copies, refuse_without
from kcli.jobs.log_starts import bounded_start
from kcli.jobs.metadata_partitions import cluster_of, sole_cluster
from kcli.jobs.replica_pairs import as_running
from kcli.kafka.coordinator.commit_table import Commit, CommitKey
from kcli.kafka.coordinator.coordinator_log import Marker
from kcli.kafka.coordinator.group_fold import (
    GROUP_METADATA,
    Fields,
    FoldedGroup,
    GroupFold,
    RemovedCommit,
    Watch,
    by_group,
    commit_fields,
    group_of,
    topic_partition,
)
from kcli.kafka.coordinator.group_state import expiry_of, generation_of, members_of, state_of
from kcli.kafka.coordinator.loads import load_groups, load_share_groups, started
from kcli.kafka.coordinator.share_state import UNSET
from kcli.kafka.coordinator.storage_use import StorageUse
from kcli.kafka.findings.collector import collect_findings
from kcli.kafka.findings.findings import Finding, Reporting
from kcli.kafka.integrity.checkpoints import cleaner_point
from kcli.kafka.kraft.meta_properties import NEWEST, Version
from kcli.kafka.kraft.metadata_loader import image_in, state_of_replica
from kcli.kafka.replication.consumer_positions import (
    NO_RESET,
    OUT_OF_RANGE,
    RETRY,
    UNCHECKED,
    VALID,
    Bounds,
    Position,
    conclude,
)
from kcli.kafka.storage.leader_epochs import EpochCache, end_offset_for
from kcli.kafka.storage.loaded_log import HEADERS
from kcli.logdir.buffers import FileError, shown
from kcli.logdir.find import FileSet
from kcli.logdir.log_dirs import is_running
from kcli.logdir.partition import Partition
from kcli.logdir.targets import ALL_PARTITIONS, PARTITION, Selection, Target
from kcli.rows.groups import GroupCommitRow, GroupMemberRow, GroupOffsetRow, GroupRow, GroupStorageRow
from kcli.rows.partitions import OfDirectory

DIVERGED, UNKNOWN = "diverged", "unknown"
COMMITTED = itemgetter("offset", "leaderEpoch", "metadata", "commitTimestamp")
"""Returns the fields of a commit, in the order of columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupQuery:
    """Which groups, of which topics; up to which offset or time of the log; when `now` is for what expires.

    `groups` are names or globs, none for all. `version`: the release of the coordinator. `removed`: commits
    that tombstones removed, too; `resets`: only those that count, to set the offsets of another cluster.
    """

    now_ms: int
    groups: tuple[str, ...] = ()
    selection: Selection = ALL_PARTITIONS
    last_offset: int | None = None
    last_time_ms: int | None = None
    removed: bool = False
    version: Version = NEWEST
    resets: bool = False

    def wants(self, group_id: str) -> bool:
        """Whether a group is asked for."""
        return not self.groups or any(fnmatchcase(group_id, group) for group in self.groups)

    def wants_partition(self, topic: str, number: int) -> bool:
        """Whether the commits about a partition are asked for."""
        return not self.selection.names or self.selection.wants(PartitionDir(topic, number))

    def load(self, partition: Partition, watch: Watch | None = None) -> Reporting[GroupFold]:
        """Do as `load_groups`, up to the record that is asked for."""
        groups = GroupFold(keeps_removed=self.removed, watch=watch, version=self.version)
        return load_groups(partition, groups, self.last_offset, self.last_time_ms)


EVERY_GROUP = GroupQuery(now_ms=0)
OFFSET_TOPICS = (CONSUMER_OFFSETS, SHARE_GROUP_STATE)
"""The topics that say which offset a group reads next: share groups have theirs in the second."""

# The units


def expand(
    file_set: FileSet, topics: Iterable[str] = (CONSUMER_OFFSETS,), *, of_one: bool = False
) -> FileSet:
    """Return the same with the copies of partitions that count; refuse where none is of a coordinator.

    Notes say which partitions of some topics are not here. `of_one`: refuse coordinators of several clusters.
    """
    only = sole_cluster(file_set.log_dirs)
    clusters = {str(cluster_of(target) or only) for target in filter(is_of_coordinator, file_set.targets)}
    if of_one and len(clusters) > 1:
        ids = ", ".join(sorted(clusters))
        message = f"groups of {len(clusters)} clusters, {ids}: name the log dirs of one"
        return replace(
            file_set, targets=[], failures=[FileError(shown(file_set.log_dirs[0]), "wrong-kind", message)]
        )
    counted = counted_copies(file_set, lambda name: name.topic != CLUSTER_METADATA)
    result = refuse_without(CONSUMER_OFFSETS, counted, file_set)
    other_topics = (topic for topic in topics if topic != CONSUMER_OFFSETS)
    absence_notes = (note for topic in other_topics for note in absent_partitions(topic, file_set))
    return replace(result, notes=[*result.notes, *(absence_notes if result.targets else ())])


def is_of_coordinator(target: Target, topics: Container[str] = (CONSUMER_OFFSETS,)) -> bool:
    """Whether a target is a partition of __consumer_offsets, or of one of some topics."""
    return target.kind == PARTITION and target.name is not None and target.name.topic in topics


def split(units: list[Unit], topics: Container[str] = (CONSUMER_OFFSETS,)) -> list[Unit]:
    """Return a unit for each coordinator's partition, the other partitions of its cluster behind it."""
    only = sole_cluster(unit.target.log_dir for unit in units)
    logs: dict[str | None, list[Target]] = {}
    for target in (unit.target for unit in units if not is_of_coordinator(unit.target, OFFSET_TOPICS)):
        logs.setdefault(cluster_of(target) or only, []).append(target)
    return [
        replace(unit, number=number, targets=(unit.target, *logs.get(cluster_of(unit.target) or only, ())))
        for number, unit in enumerate(unit for unit in units if is_of_coordinator(unit.target, topics))
    ]


def topics(units: list[Unit]) -> Iterator[str]:
    """Yield the topics whose partitions are here."""
    yield from sorted({log.name.topic for unit in units for log in unit.targets[1:] if log.name is not None})


def _coordinator(partition: Partition) -> OfDirectory:
    facts = partition.directory
    return OfDirectory(partition.shown, facts.broker_id, facts.cluster_id)


# `group list`


@partition_job
def list_groups(partition: Partition, *, query: GroupQuery = EVERY_GROUP) -> Yield:
    """Yield a row for each group, by its id."""
    groups = yield from query.load(partition)
    counting = groups.commits
    commits = dict(by_group(counting))
    coordinator = _coordinator(partition)
    for group_id, group in groups.all_groups().items():
        entries = [entry for entry in commits.get(group_id, ()) if query.wants_partition(*entry[:2])]
        if query.wants(group_id) and (entries or not query.selection.names):
            fields = [commit_fields(counting[key]) for _, _, key in entries]
            classic, is_classic = group.fields(GROUP_METADATA), group.type == "classic"
            yield GroupRow(
                coordinator,
                group_id=group_id,
                group_type=group.type,
                state=state_of(group),
                protocol_type=classic.get("protocolType") or None if is_classic else group.type,
                protocol=classic.get("protocol") if is_classic else _assignor(group),
                generation=generation_of(group),
                leader=classic.get("leader") or None,
                members=sum(1 for _ in members_of(group, {})),
                coordinator_partition=partition.number,
                topics=tuple(dict.fromkeys(topic for topic, _, _ in entries)),
                committed_partitions=len(entries),
                last_commit_timestamp=max((field["commitTimestamp"] for field in fields), default=None),
            )


@partition_job
def storage(partition: Partition, *, query: GroupQuery) -> Yield:
    """Yield a row for each type of record of each group, the largest first."""
    use = StorageUse((yield from cleaner_point(partition)))
    _, log = yield from started(partition, query.last_offset, query.last_time_ms)
    for item in log:
        if not isinstance(item, Marker):
            use.take(item)
    yield from log.findings
    coordinator = _coordinator(partition)
    for usage in use.largest_first():
        if query.wants(usage.group_id):
            schema = KEYS[CONSUMER_OFFSETS].get(usage.record_type)
            kind = str(usage.record_type) if schema is None else schema.name.removesuffix("Key")
            yield GroupStorageRow(coordinator, usage.group_id, kind, *usage[2:])


def _assignor(group: FoldedGroup) -> str | None:
    assignors = {member.get("serverAssignor") for member in group.of_type(5).values()}
    return assignors.pop() if len(assignors) == 1 else None


# `group offsets`


@unit_job
def offsets(partition: Partition, unit: Unit, *, query: GroupQuery) -> Yield:
    """Yield a row for each commit that counts, by group, topic and partition."""
    logs = KnownLogs(unit.targets[1:])
    if is_of_coordinator(unit.target, (SHARE_GROUP_STATE,)):
        return _share_rows(partition, query, unit.targets, logs)
    return _offset_rows(partition, query, logs)


def _offset_rows(partition: Partition, query: GroupQuery, logs: "KnownLogs") -> Yield:
    folded = yield from query.load(partition)
    coordinator, groups = _coordinator(partition), folded.all_groups()
    pending = {
        key: (producer, commit) for producer, own in folded.pending.items() for key, commit in own.items()
    }
    commits = folded.commits
    keys = {**commits, **folded.removed, **dict.fromkeys(pending)}
    retention = partition.target.server.offsets_retention_ms
    for group_id, own in by_group(keys):
        if not query.wants(group_id):
            continue
        expiry = expiry_of(groups.get(group_id) or FoldedGroup("classic"))
        for topic, number, key in own:
            if not query.wants_partition(topic, number) or (query.resets and key not in commits):
                continue
            removal = folded.removed.get(key)
            counting = commits.get(key) if removal is None else removal.commit
            fields = None if counting is None else commit_fields(counting)
            producer, waiting = pending.get(key, (None, None))
            expires = None
            if fields is not None and removal is None and waiting is None:
                expires = expiry.of(topic, fields, retention)
            of_log = yield from logs.columns(topic, number, fields)
            committed: tuple[Any, Any, Any, Any] = (None,) * 4 if fields is None else COMMITTED(fields)
            yield GroupOffsetRow(
                coordinator,
                group_id,
                topic,
                number,
                *committed,
                expire_timestamp=expires,
                expired=expires is not None and expires <= query.now_ms,
                **of_log,
                pending_offset=None if waiting is None else commit_fields(waiting)["offset"],
                pending_producer_id=producer,
                removed_by=None if removal is None else removal.record_offset,
            )


def _share_rows(
    partition: Partition, query: GroupQuery, targets: tuple[Target, ...], logs: "KnownLogs"
) -> Yield:
    """Yield where share groups read on. An offset of __consumer_offsets says nothing of their state."""
    if query.last_offset is not None:
        return
    states = yield from load_share_groups(partition, query.last_time_ms)
    coordinator, names = _coordinator(partition), _topic_names(targets)
    for (group_id, topic_id, number), state in sorted(states.items()):
        topic = names.get(topic_id, topic_id)
        is_set = state.start_offset != UNSET
        is_wanted = query.wants(group_id) and query.wants_partition(topic, number)
        if not is_wanted or (query.resets and not is_set):
            continue
        start_offset = state.start_offset if is_set else None
        fields = {"offset": start_offset, "leaderEpoch": -1} if is_set else None
        of_log = yield from logs.columns(topic, number, fields, max(state.done, 0))
        yield GroupOffsetRow(
            *(coordinator, group_id, topic, number, start_offset, state.leader_epoch),
            metadata=None,
            commit_timestamp=state.timestamp,
            expire_timestamp=None,
            expired=False,
            **of_log,
        )


class KnownLogs:
    """The logs that commits are about, and of which it was said already that they cannot be read."""

    def __init__(self, targets: Iterable[Target]) -> None:
        self._targets = {(log.name.topic, log.name.partition): log for log in targets if log.name is not None}
        self._unread: set[Target] = set()

    def columns(
        self, topic: str, number: int, fields: Fields | None, done: int = 0
    ) -> Reporting[dict[str, Any]]:
        """Yield once why a log cannot be read; return the columns about it and about a commit in it.

        `done`: how many records were read after the commit. The lag is that to the high watermark, else to
        the log end.
        """
        target, log, problem = self._targets.get((topic, number)), None, None
        if target is not None:
            log, problem = _log_of(target, _version(target))
        if target is not None and problem is not None and target not in self._unread:
            self._unread.add(target)
            yield Finding("LOG-008", problem.message, target.shown, problem.path, problem.position)
        begin, end, watermark = (None,) * 3 if log is None else log[1:4]
        columns = {"log_start_offset": begin, "log_end_offset": end, "high_watermark": watermark}
        if log is None or fields is None:
            return {**columns, "lag": None, "position": UNKNOWN}
        committed = fields["offset"] + done
        until = end if watermark is None or watermark < committed else watermark
        lag = None if until is None else until - committed
        return {**columns, "lag": lag, "position": position_of(fields, log)}


class LogFacts(NamedTuple):
    """What a broker holds of the log of a partition; None where only a recovery knows it."""

    epochs: EpochCache
    log_start_offset: int
    log_end_offset: int | None
    high_watermark: int | None
    target: Target


@lru_cache(maxsize=1 << 16)
def _log_of(target: Target, _version: object) -> tuple[LogFacts | None, FileError | None]:
    """Return what a broker holds of a log, or why it is not known."""
    try:
        loaded = collect_findings(bounded_start(Partition(target)))
    except FileError as error:
        return None, error
    end = loaded.log_end_offset if loaded.source != HEADERS or is_running(target) else None
    epochs = as_running(loaded).epochs if is_running(target) else loaded.epochs
    return LogFacts(epochs, loaded.log_start_offset, end, loaded.known_high_watermark, target), None


def _version(target: Target) -> object:
    """Return what changes with the log of a partition."""
    partition = Partition(target)
    try:
        newest = partition.segments[-1].path("log") if partition.segments else target.path
        status = os.stat(newest)
    except (FileError, OSError):
        return None
    return status.st_size, status.st_mtime_ns


def position_of(fields: Fields, log: LogFacts) -> str:
    """Return what a consumer finds at a commit; a leader has its epoch without a record, by the metadata."""
    position, end, epochs = Position(fields["offset"], fields["leaderEpoch"]), log.log_end_offset, log.epochs
    if end is None:
        return OUT_OF_RANGE if position.offset < log.log_start_offset else UNKNOWN
    newest = epochs[-1].epoch if epochs else None
    if newest is not None and position.epoch > newest:
        state = state_of_replica(log.target)
        if state is not None and state.leader_epoch > newest:
            newest, epochs = state.leader_epoch, (*epochs, EpochEntry(state.leader_epoch, end))
    answer = None, end_offset_for(epochs, position.epoch, end)
    result = conclude(position, answer, NO_RESET, Bounds(log.log_start_offset, end), end, leader_epoch=newest)
    positions = {VALID: VALID, UNCHECKED: VALID, OUT_OF_RANGE: OUT_OF_RANGE, RETRY: UNKNOWN}
    is_past = position.offset > end and result.outcome != RETRY  # by the epoch it goes back to the log end
    return OUT_OF_RANGE if is_past else positions.get(result.outcome, DIVERGED)


# `group members`


@unit_job
def members(partition: Partition, unit: Unit, *, query: GroupQuery) -> YieldAndReturn:
    """Yield a row for each member, by group and member id; return whether the groups are here."""
    folded = yield from query.load(partition)
    coordinator, names = _coordinator(partition), _topic_names(unit.targets)
    groups = {key: group for key, group in folded.all_groups().items() if query.wants(key)}
    for group_id, group in groups.items():
        for member in members_of(group, names):
            yield GroupMemberRow(coordinator, group_id, *member)
    return bool(groups)


def _topic_names(targets: Iterable[Target]) -> dict[str, str]:
    """Return the topics that are known here by their ids: of the metadata, and of partition directories."""
    names: dict[str, str] = {}
    log_dirs = dict.fromkeys(path for log in targets for path in (log.log_dir, log.metadata_dir) if path)
    for image in filter(None, map(image_in, log_dirs)):
        names.update((topic_id, topic.name) for topic_id, topic in image.topics.items())
    for topic, target in {target.name.topic: target for target in targets if target.name is not None}.items():
        topic_id = topic_id_of(Partition(target))
        if topic_id is not None:
            names.setdefault(topic_id, topic)
    return names


# `group history`


@partition_job
def history(partition: Partition, *, query: GroupQuery) -> YieldAndReturn:
    """Yield a row for each commit or tombstone, then pending ones; return whether the groups are here."""
    coordinator, changes = _coordinator(partition), list[GroupCommitRow]()
    wants = lru_cache(lambda group: query.wants(group.decode(errors="replace")))
    before: dict[CommitKey, int] = {}

    def watch(key: CommitKey, commit: Commit | None, removal: RemovedCommit | None) -> None:
        topic, number = topic_partition(key)
        if not wants(group_of(key)) or not query.wants_partition(topic, number):
            return
        previous = before.pop(key, None)
        record = commit or removal
        assert record is not None
        offset = None if commit is None else commit_fields(commit)["offset"]
        if offset is not None:
            before[key] = offset
        group_id = group_of(key).decode(errors="replace")
        changes.append(
            GroupCommitRow(
                *(coordinator, group_id, record.record_offset, record.timestamp, topic, number),
                *(offset, previous, change_of(previous, offset)),
            )
        )

    groups = yield from query.load(partition, watch)
    yield from changes
    for key, commit in (item for pending in groups.pending.values() for item in pending.items()):
        topic, number = topic_partition(key)
        if wants(group_of(key)) and query.wants_partition(topic, number):
            group_id, offset = group_of(key).decode(errors="replace"), commit_fields(commit)["offset"]
            yield GroupCommitRow(
                *(coordinator, group_id, commit.record_offset, commit.timestamp, topic, number),
                *(offset, before.get(key), "pending"),
            )
    return any(map(query.wants, groups.all_groups()))


def change_of(previous: int | None, offset: int | None) -> str:
    """Return what a commit does to the offset before it, in a word."""
    if offset is None:
        return "removed"
    if previous is None:
        return "first"
    return "same" if offset == previous else "forward" if offset > previous else "back"
