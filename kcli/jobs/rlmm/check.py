"""`rlmm check`: what is wrong with the remote segments of each partition, by their events.

With `--storage` against the objects that remote storage holds: each metadata partition knows its own
segments, and only together they know which objects are of none: that is the reduce. With `--leader` against
the leader's epochs and offsets, as KIP-405 demands of a leader: remote storage ends below its last stable
offset, every offset from its log start on is in a tier, and what is copied is of its own history.
"""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NamedTuple

from formats.names import REMOTE_LOG_METADATA, REMOTE_LOG_SNAPSHOT, PartitionDir
from formats.remote_metadata import (
    DELETE_SEGMENT_FINISHED,
    RemoteLogSegmentMetadataSnapshot,
    RemotePartitionDeleteMetadata,
)
from kcli.engine.contract import Outcome, Reduce, Unit, at_end
from kcli.jobs.common import failure_of
from kcli.jobs.event_checks import MOST_FINDINGS, EventChecks, counted_segments, named
from kcli.jobs.metadata_partitions import MetadataPartition, fold_unit, metadata_partition
from kcli.jobs.rlmm.state import SnapshotVisitor, replay
from kcli.jobs.rlmm.storage import (
    WRONG_OBJECTS,
    Storage,
    StoredObjects,
    absent_segments,
    describe_objects,
    objects_of,
    storage_defects,
)
from kcli.jobs.tiered_leader import (
    ABSENT,
    MISPLACED,
    lacks,
    leading,
    load_leader,
    metadata_partition_of,
    metadata_targets,
    misplaced,
    topic_size,
)
from kcli.kafka.findings.collector import collect_findings
from kcli.kafka.findings.findings import Finding
from kcli.kafka.remote import lineage
from kcli.kafka.remote.cache import (
    COPY_SEGMENT_FINISHED,
    COPY_SEGMENT_STARTED,
    DELETE_SEGMENT_STARTED,
    CachedSegment,
    RemoteCache,
    UserPartition,
)
from kcli.kafka.remote.coverage import CUT_BY_AT, UNREADABLE_COPY
from kcli.kafka.remote.events import Event, EventQuery
from kcli.logdir.buffers import FileError
from kcli.logdir.find import FileSet
from kcli.logdir.log_dirs import is_running
from kcli.logdir.partition import Partition
from kcli.logdir.targets import Selection, Target
from kcli.rows import Failure, Item
from kcli.rows.remote_segments import RemoteCheckRow

RESULT_OF_SEVERITY = {"error": "damaged", "warning": "warning", "info": "clean"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteCheck:
    """What is checked against what.

    `now_ms`: the time of the check, None for that of the last event. A copy or deletion that began
    `stuck_after_ms` before that is taken for one that will not be finished. Compared with `storage` and the
    `leaders`, partition directories. `metadata_partitions`: the numbers of those that are here; of none,
    where a broker looks for events is not asked.
    """

    now_ms: int | None
    stuck_after_ms: int
    storage: Storage | None = None
    leaders: tuple[Target, ...] = ()
    metadata_partitions: frozenset[int | None] = frozenset()

    def within(self, file_set: FileSet) -> "RemoteCheck":
        """Return the same with what was found: replicas that lead, unless others are named, and numbers."""
        leaders = {target.name: target for target in (*leading(file_set.targets), *self.leaders)}
        numbers = frozenset(map(metadata_partition, file_set.targets)) - {None}
        return replace(self, leaders=tuple(leaders.values()), metadata_partitions=numbers)


class KnownSegments(NamedTuple):
    """Ids of segments that have objects, user partitions, metadata partitions (what lacks) and sizes."""

    segments: frozenset[str] = frozenset()
    partitions: frozenset[tuple[UserPartition, int | None]] = frozenset()
    metadata_partitions: frozenset[tuple[int | None, str | None]] = frozenset()
    sizes: frozenset[int] = frozenset()


class RemoteChecks:
    """What is found about the user partitions of one metadata partition; `stored`: remote storage's."""

    def __init__(self, options: RemoteCheck, stored: StoredObjects | None = None) -> None:
        self._events = EventChecks(options.now_ms, options.stuck_after_ms)
        self._stored = stored
        self._leaders = {target.name: target for target in options.leaders}
        self._numbers = options.metadata_partitions
        self._owners: dict[str, UserPartition] = {}
        """Segments that have objects, and an event."""
        self._unread: list[FileError] = []
        self._deleted: dict[str, None] = {}
        """Those whose deletion is finished by an event."""
        self._lacks: str | None = UNREADABLE_COPY

    def known_segments(self, target: Target) -> KnownSegments:
        """Return what is known of the metadata partition that a file is of."""
        number, size = metadata_partition(target), topic_size(target)
        partitions = frozenset((key, number) for key in self._events.checked)
        sizes = frozenset[int]() if size is None else frozenset({size})
        return KnownSegments(frozenset(self._owners), partitions, frozenset({(number, self._lacks)}), sizes)

    def results(
        self, partition: MetadataPartition, segments: tuple[Target, ...] = ()
    ) -> Iterator[Item | Finding | Failure]:
        """Yield the rows, then the findings; `segments` are those of the metadata partition."""
        self._lacks = partition.coverage.lacks
        if segments and self._numbers:
            self._report_misplaced(partition, segments[0])
        self._events.judge_remnants(partition)
        for segment_id in self._deleted:
            key = self._owners[segment_id]
            owner_cache = partition.store.caches.get(key)
            if self._stored is not None and (owner_cache is None or segment_id not in owner_cache.segments):
                objects = describe_objects(self._stored.objects[segment_id])
                message = f"segment {segment_id} is deleted, and has {objects}"
                self._events.of(partition, key).add("RLMM-020", message)
        is_whole = bool(self._leaders) and not (
            partition.coverage.lacks and segments and not is_running(segments[0])
        )
        directories = dict.fromkeys(os.path.dirname(segment.path) for segment in segments if is_whole)
        metadata = tuple(metadata_targets(directories).targets)
        for key, cache in partition.store:
            leader_dir = None
            try:
                leader_dir = self._against_leader(partition, key, cache, metadata)
            except FileError as error:
                yield failure_of(error)
            yield self._row(partition, key, cache, leader_dir)
        for key, checked in self._events.checked.items():
            if key not in partition.store.caches and checked.listed:
                yield self._row(partition, key, RemoteCache(), None)
        for checked in self._events.checked.values():
            yield from checked.listed
        yield from map(failure_of, self._unread)

    def _report_misplaced(self, partition: MetadataPartition, target: Target) -> None:
        for key, checked in self._events.checked.items():
            for message in misplaced(key, partition.number, target, self._numbers):
                checked.add(MISPLACED, message)

    def watch(self, partition: MetadataPartition, event: Event, refused: str | None) -> None:
        """Take an event; report what is wrong with it."""
        self._events.watch(partition, event, refused)
        record = event[1]
        if (
            self._stored is not None
            and not isinstance(record, RemoteLogSegmentMetadataSnapshot | RemotePartitionDeleteMetadata)
            and record.segment_id in self._stored.objects
        ):
            self._owners[record.segment_id] = (record.topic_id, record.topic, record.partition)
            if record.state == DELETE_SEGMENT_FINISHED:
                self._deleted[record.segment_id] = None

    def _against_leader(
        self,
        partition: MetadataPartition,
        key: UserPartition,
        cache: RemoteCache,
        metadata: tuple[Target, ...],
    ) -> str | None:
        """Report what does not go together with the leader's log; return its directory, None without one."""
        topic_id, topic, number = key
        target = self._leaders.get(PartitionDir(topic, number))
        if target is None:
            return None
        replica = Partition(target)
        own_id = replica.topic_id()
        if own_id not in {topic_id, None}:
            return None
        leader = collect_findings(load_leader(replica, cache, metadata))  # other commands report them
        for code, message in leader_defects(leader):
            self._events.of(partition, key).add(code, message)
        return replica.shown

    def _row(
        self, partition: MetadataPartition, key: UserPartition, cache: RemoteCache, leader_dir: str | None
    ) -> RemoteCheckRow:
        lacks, referenced = partition.coverage.lacks, cache.referenced()
        defects = self._against_storage(cache, lacks)
        checked = self._events.judge(partition, key, cache, self._objects_of, defects)
        states = Counter(segment.metadata.state for segment in cache.segments.values())
        superseded = sum(
            segment.metadata.state == COPY_SEGMENT_FINISHED and name not in referenced
            for name, segment in cache.segments.items()
        )
        worst = next((level for level in ("error", "warning", "info") if checked.counted[level]), "info")
        if partition.is_stopped:
            worst = "error"
        elif worst == "info" and lacks not in {CUT_BY_AT, None}:
            worst = "warning"
        stored = None if self._stored is None else self._stored.objects
        return RemoteCheckRow(
            checked.user,
            result=RESULT_OF_SEVERITY[worst],
            events=checked.events,
            copied=states[COPY_SEGMENT_FINISHED] - superseded,
            superseded=superseded,
            unfinished_copies=states[COPY_SEGMENT_STARTED],
            unfinished_deletions=states[DELETE_SEGMENT_STARTED],
            remote_bytes=sum(segment.metadata.segment_size_in_bytes for segment in cache.segments.values()),
            findings=checked.counted.total(),
            leader_dir=leader_dir,
            objects=None if stored is None else sum(len(stored.get(name, ())) for name in cache.segments),
        )

    def _against_storage(self, cache: RemoteCache, lacks: str | None) -> Iterator[tuple[str, str]]:
        """Yield what copied segments lack in remote storage; where events lack, they may be deleted ones."""
        if self._stored is None:
            return
        absent, unjudged = absent_segments(cache, self._stored), 0
        if absent > 1 and lacks is None:
            yield WRONG_OBJECTS, f"none of its {absent} copied segments has an object in remote storage"
            return
        for segment in cache.segments.values():
            try:
                for is_absent, message in storage_defects(segment.metadata, self._stored):
                    if is_absent and lacks is not None:
                        unjudged += 1
                    else:
                        yield WRONG_OBJECTS, f"{named(segment)}: {message}"
            except FileError as error:
                self._unread.append(error)
        if unjudged:
            subject = f"copied segments without all objects in remote storage: {unjudged}"
            yield "RLMM-025", f"{subject}; not all events about them are here: {lacks}"

    def _objects_of(self, segment: CachedSegment) -> str:
        """Return in words what of a segment is in remote storage; nothing where that is not known."""
        if self._stored is None:
            return ""
        objects = self._stored.objects.get(segment.begun.segment_id)
        return f"; {describe_objects(objects)}" if objects else "; no object of it in remote storage"


# Against the leader


def leader_defects(leader: lineage.Leader) -> Iterator[tuple[str, str]]:
    """Yield code and message of what does not go together."""
    epochs, end = lineage.with_records(leader.epochs), leader.log.log_end_offset
    copied = [each for each in leader.remote.segments.values() if each.state == COPY_SEGMENT_FINISHED]
    stable = min(leader.log.producers.ongoing, default=end)
    for segment in sorted(copied, key=lambda segment: segment.begun.start_offset):
        reason = lineage.outside_lineage(segment, end, epochs)
        if reason is not None:
            yield "RLMM-028", f"{named(segment)}: {reason}"
        elif segment.begun.end_offset >= stable:
            yield "RLMM-029", f"{named(segment)}: the leader's last stable offset is {stable}"
    for first, end in leader.lacking() if leader.is_tiered else ():
        yield "RLMM-030", f"offsets {first}..{end - 1} are in no remote segment and not on the leader's disk"


# The job, and the reduce against remote storage


def check(unit: Unit, *, query: EventQuery, options: RemoteCheck) -> Outcome:
    """Return a row for each user partition of the unit's metadata partition, and what is wrong with it."""
    objects = objects_of(options.storage) if options.storage else None

    def visitor() -> SnapshotVisitor:
        checks = RemoteChecks(options, objects)
        return SnapshotVisitor(lambda file: checks.results(file.partition), checks.watch)

    if unit.target.kind == REMOTE_LOG_SNAPSHOT:
        return replay(unit, query, visitor)
    checks = RemoteChecks(options, objects)
    outcome = fold_unit(unit, query, lambda partition: checks.results(partition, unit.targets), checks.watch)
    return replace(outcome, partial=checks.known_segments(unit.target))


def objects_without_events(storage: Storage, selection: Selection) -> Reduce:
    """Return a reduce step that gives the objects of which no metadata partition knows an event."""

    def finish(parts: list[KnownSegments]) -> tuple[list[Item], Iterator[Finding]]:
        segments = KnownSegments(*(frozenset().union(*sets) for sets in zip(*parts, strict=True)))
        return [], _unknown(storage, selection, segments)

    return at_end(finish)


def _unknown(storage: Storage, selection: Selection, known: KnownSegments) -> Iterator[Finding]:
    """Yield findings about objects of segments that no event names."""
    listed, unjudged = 0, Counter[str]()
    lacking = lru_cache(partial(_lacks, known))
    for segment_id, objects in objects_of(storage).objects.items():
        owner = objects[0].owner
        name = None if owner is None else PartitionDir(owner[1], owner[2])
        if segment_id in known.segments or (selection.names and not (name and selection.wants(name))):
            continue
        reason = lacking(owner)
        if reason is not None:
            unjudged[reason] += 1
            continue
        listed += 1
        if listed <= MOST_FINDINGS:
            prefix = "" if owner is None else f"{owner[1]}-{owner[2]}: "
            description = describe_objects(objects, named=False)
            message = f"{prefix}segment {segment_id}: no event names it; {description}"
            yield Finding("RLMM-020", message, path=objects[0].name)
    if listed > MOST_FINDINGS:
        yield Finding("RLMM-020", f"{listed - MOST_FINDINGS} more segments that no event names")
    for reason, count in sorted(unjudged.items()):
        message = f"{counted_segments(count)} in remote storage: {reason}"
        yield Finding("RLMM-025", message, path=storage.paths[0])


def _lacks(known: KnownSegments, owner: UserPartition | None) -> str | None:
    """Return why not all events about a user partition, None: of any, are here; None where they are."""
    if owner is None:
        numbers = {number for number, _ in known.metadata_partitions}
        reasons = [lacks(number, known.metadata_partitions) for number in numbers]
        cause = next((reason for reason in reasons if reason is not None), None)
        return None if cause is None else f"not all events are here: {cause}"
    size = next(iter(known.sizes), None)
    number = metadata_partition_of(owner, [(key, at) for key, at in known.partitions if at is not None], size)
    if number is None and all(key != owner for key, _ in known.partitions):
        cause = ABSENT
    else:
        cause = lacks(number, known.metadata_partitions)
    if cause is None or cause == ABSENT:
        return None if cause is None else "their events are in partitions that are not here"
    of = "" if number is None else f"{REMOTE_LOG_METADATA}-{number}: "
    return f"not all events about them are here: {of}{cause}"
