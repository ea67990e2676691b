"""`rlmm check`: what is wrong with the remote segments of each partition, by their events.

With `--storage` against the objects that remote storage holds: each metadata partition knows its own
segments, and only together they know which objects are of none: that is the reduce. With `--leader` against
the leader's epochs and offsets, as KIP-405 demands of a leader: remote storage ends below its last stable
offset, every offset from its log start on is in a tier, and what is copied is of its own history.
"""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import NamedTuple

from formats.names import REMOTE_LOG_METADATA, REMOTE_LOG_SNAPSHOT, PartitionDir
from formats.remote_metadata import (
    DELETE_SEGMENT_FINISHED,
    SEGMENT_STATES,
    RemoteLogSegmentMetadata,
    RemoteLogSegmentMetadataSnapshot,
    RemotePartitionDeleteMetadata,
    state_name,
)
from kcli.engine.contract import Outcome, Reduce, Unit, at_end
from kcli.jobs.common import failure_of
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
    INVALID_TRANSITION,
    NOT_STARTED,
    UNKNOWN_SEGMENT,
    UPDATE_TO_STARTED,
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
from kcli.rows.remote_segments import RemoteCheckRow, RemotePartition
from kcli.words import duration

CODE_OF_REFUSAL = {
    INVALID_TRANSITION: "RLMM-011",
    UNKNOWN_SEGMENT: "RLMM-012",
    NOT_STARTED: "RLMM-013",
    UPDATE_TO_STARTED: "RLMM-013",
}
MOST_FINDINGS = 1000  # findings of one partition that are listed; more are counted
RESULT_OF_SEVERITY = {"error": "damaged", "warning": "warning", "info": "clean"}


@dataclass(slots=True)
class CheckedPartition:
    """What is found about one partition; `counted` are all findings, listed or not."""

    place: RemotePartition
    events: int = 0
    counted: Counter[str] = field(default_factory=Counter)
    listed: list[Finding] = field(default_factory=list)

    def add(self, code: str, message: str) -> None:
        """Count a finding, and list it if there is room."""
        place = self.place
        finding = Finding(code, f"{place.topic}-{place.partition}: {message}", dir=place.dir)
        self.counted[finding.severity] += 1
        if len(self.listed) < MOST_FINDINGS:
            self.listed.append(finding)


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


class EventChecks:
    """What is found about the user partitions of one metadata partition; `stored`: remote storage's."""

    def __init__(self, options: RemoteCheck, stored: StoredObjects | None = None) -> None:
        self._now_ms = options.now_ms
        self._stuck_after_ms = options.stuck_after_ms
        self._stored = stored
        self._leaders = {target.name: target for target in options.leaders}
        self._numbers = options.metadata_partitions
        self._checked: dict[UserPartition, CheckedPartition] = {}
        self._latest = 0
        self._seen: dict[str, UserPartition] = {}
        """Segments that have objects, and an event."""
        self._unread: list[FileError] = []
        self._deleted: dict[str, None] = {}
        """Those whose deletion is finished by an event."""
        self._lacks: str | None = UNREADABLE_COPY

    def known(self, target: Target) -> KnownSegments:
        """Return what is known of the metadata partition that a file is of."""
        number, size = metadata_partition(target), topic_size(target)
        places = frozenset((key, number) for key in self._checked)
        sizes = frozenset[int]() if size is None else frozenset({size})
        return KnownSegments(frozenset(self._seen), places, frozenset({(number, self._lacks)}), sizes)

    def results(
        self, partition: MetadataPartition, segments: tuple[Target, ...] = ()
    ) -> Iterator[Item | Finding | Failure]:
        """Yield the rows, then the findings; `segments` are those of the metadata partition."""
        self._lacks = partition.coverage.lacks
        if segments and self._numbers:
            self._report_misplaced(partition, segments[0])
        for key, count in partition.store.remnants.items():
            self._of(partition, key).add(
                "RLMM-020", f"DELETE_PARTITION_FINISHED, and {_segments(count)} left"
            )
        for segment_id in self._deleted:
            key = self._seen[segment_id]
            left = partition.store.caches.get(key)
            if self._stored is not None and (left is None or segment_id not in left.segments):
                what = describe_objects(self._stored.objects[segment_id])
                self._of(partition, key).add("RLMM-020", f"segment {segment_id} is deleted, and has {what}")
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
        for key, checked in self._checked.items():
            if key not in partition.store.caches and checked.listed:
                yield self._row(partition, key, RemoteCache(), None)
        for checked in self._checked.values():
            yield from checked.listed
        yield from map(failure_of, self._unread)

    def _report_misplaced(self, partition: MetadataPartition, target: Target) -> None:
        for key, checked in self._checked.items():
            for message in misplaced(key, partition.number, target, self._numbers):
                checked.add(MISPLACED, message)

    def _of(self, partition: MetadataPartition, key: UserPartition) -> CheckedPartition:
        if key not in self._checked:
            self._checked[key] = CheckedPartition(partition.place(key))
        return self._checked[key]

    def watch(self, partition: MetadataPartition, event: Event, refused: str | None) -> None:
        """Count an event, and report what is wrong with it."""
        offset, record = event
        if isinstance(record, RemoteLogSegmentMetadataSnapshot):
            return
        key = (record.topic_id, record.topic, record.partition)
        checked = self._of(partition, key)
        checked.events += 1
        self._latest = max(self._latest, record.event_timestamp_ms)
        if (
            self._stored is not None
            and not isinstance(record, RemotePartitionDeleteMetadata)
            and record.segment_id in self._stored.objects
        ):
            self._seen[record.segment_id] = key
            if record.state == DELETE_SEGMENT_FINISHED:
                self._deleted[record.segment_id] = None
        if isinstance(record, RemoteLogSegmentMetadata):
            for reason in contradictions(record):
                checked.add("RLMM-015", f"segment {record.segment_id}: {reason}")
        if refused is not None and not isinstance(record, RemotePartitionDeleteMetadata):
            what = f"segment {record.segment_id}: {state_name(record)} at offset {offset}"
            if refused == INVALID_TRANSITION:
                what += f" after {state_name(partition.store.caches[key].segments[record.segment_id].last)}"
            checked.add(CODE_OF_REFUSAL[refused], what)

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
        own = replica.topic_id()
        if own not in {topic_id, None}:
            return None
        leader = collect_findings(load_leader(replica, cache, metadata))  # other commands report them
        for code, message in leader_defects(leader):
            self._of(partition, key).add(code, message)
        return replica.shown

    def _row(
        self, partition: MetadataPartition, key: UserPartition, cache: RemoteCache, leader_dir: str | None
    ) -> RemoteCheckRow:
        checked = self._of(partition, key)
        referenced = cache.referenced()
        now = self._latest if self._now_ms is None else self._now_ms
        states: Counter[str] = Counter()
        for segment in cache.segments.values():
            metadata = segment.metadata
            is_copied = metadata.state == COPY_SEGMENT_FINISHED
            superseded = is_copied and metadata.segment_id not in referenced
            states["superseded" if superseded else SEGMENT_STATES[metadata.state]] += 1
            if superseded:
                checked.add("RLMM-017", f"{_named(segment)}: no offset leads to it")
            elif not is_copied and metadata.event_timestamp_ms <= now - self._stuck_after_ms:
                age = duration(now - metadata.event_timestamp_ms)
                since = f"{state_name(metadata)} by broker {metadata.broker_id}, nothing for {age} after it"
                checked.add("RLMM-009", f"{_named(segment)}: {since}{self._objects_of(segment)}")
        self._against_storage(checked, cache, partition.coverage.lacks)
        _check_histories(checked, cache)
        marked = partition.store.deletions.get(key)
        if cache.segments and marked is not None:
            checked.add("RLMM-020", f"{state_name(marked)}, and {_segments(len(cache.segments))} left")
        worst = next((each for each in ("error", "warning", "info") if checked.counted[each]), "info")
        if partition.is_stopped:
            worst = "error"
        elif worst == "info" and partition.coverage.lacks not in {CUT_BY_AT, None}:
            worst = "warning"
        stored = None if self._stored is None else self._stored.objects
        return RemoteCheckRow(
            checked.place,
            result=RESULT_OF_SEVERITY[worst],
            events=checked.events,
            copied=states[SEGMENT_STATES[COPY_SEGMENT_FINISHED]],
            superseded=states["superseded"],
            unfinished_copies=states[SEGMENT_STATES[COPY_SEGMENT_STARTED]],
            unfinished_deletions=states[SEGMENT_STATES[DELETE_SEGMENT_STARTED]],
            remote_bytes=sum(each.metadata.segment_size_in_bytes for each in cache.segments.values()),
            findings=checked.counted.total(),
            leader_dir=leader_dir,
            objects=None if stored is None else sum(len(stored.get(each, ())) for each in cache.segments),
        )

    def _against_storage(self, checked: CheckedPartition, cache: RemoteCache, lacks: str | None) -> None:
        """Report what copied segments lack in remote storage; where events lack, they may be deleted ones."""
        if self._stored is None:
            return
        absent, unjudged = absent_segments(cache, self._stored), 0
        if absent > 1 and lacks is None:
            words = f"none of its {absent} copied segments has an object in remote storage"
            checked.add(WRONG_OBJECTS, words)
            return
        for segment in cache.segments.values():
            try:
                for is_absent, message in storage_defects(segment.metadata, self._stored):
                    if is_absent and lacks is not None:
                        unjudged += 1
                    else:
                        checked.add(WRONG_OBJECTS, f"{_named(segment)}: {message}")
            except FileError as error:
                self._unread.append(error)
        if unjudged:
            what = f"copied segments without all objects in remote storage: {unjudged}"
            checked.add("RLMM-025", f"{what}; not all events about them are here: {lacks}")

    def _objects_of(self, segment: CachedSegment) -> str:
        """Return in words what of a segment is in remote storage; nothing where that is not known."""
        if self._stored is None:
            return ""
        objects = self._stored.objects.get(segment.begun.segment_id)
        return f"; {describe_objects(objects)}" if objects else "; no object of it in remote storage"


def _segments(count: int) -> str:
    return "1 segment" if count == 1 else f"{count} segments"


def _check_histories(checked: CheckedPartition, cache: RemoteCache) -> None:
    """Report what does not go together about the offsets and leader epochs of several segments."""
    for first, last, before, after in lineage.gaps(cache):
        sides = f"after leader epoch {max(before.epochs)}, before {min(after.epochs)}"
        checked.add("RLMM-014", f"no remote segment holds offsets {first}..{last}, {sides}")
    for segment, message in lineage.overlaps(cache):
        checked.add("RLMM-017", f"{_named(segment)}: {message}")
    for message in lineage.contradicting_starts(cache):
        checked.add("RLMM-028", message)
    for segment, reason in lineage.written_again(cache):
        checked.add("RLMM-017", f"{_named(segment)}: {reason}")


def contradictions(record: RemoteLogSegmentMetadata) -> Iterator[str]:
    """Yield what about a segment's offsets and leader epochs contradicts KIP-405."""
    entries = record.segment_leader_epochs
    if entries and entries[0].offset != record.start_offset:
        yield f"its first leader epoch begins at {entries[0].offset}, the segment at {record.start_offset}"
    for (epoch, start), (next_epoch, next_start) in pairwise(entries):
        if next_epoch <= epoch or next_start <= start:
            yield f"leader epoch {next_epoch} at {next_start} follows {epoch} at {start}"
    if entries and entries[-1].offset > record.end_offset:
        last = entries[-1]
        yield f"leader epoch {last.leader_epoch} begins at {last.offset}, after its end {record.end_offset}"


# Against the leader


def leader_defects(leader: lineage.Leader) -> Iterator[tuple[str, str]]:
    """Yield code and message of what does not go together."""
    epochs, end = lineage.with_records(leader.epochs), leader.log.log_end_offset
    copied = [each for each in leader.remote.segments.values() if each.state == COPY_SEGMENT_FINISHED]
    stable = min(leader.log.producers.ongoing, default=end)
    for segment in sorted(copied, key=lambda segment: segment.begun.start_offset):
        reason = lineage.outside_lineage(segment, end, epochs)
        if reason is not None:
            yield "RLMM-028", f"{_named(segment)}: {reason}"
        elif segment.begun.end_offset >= stable:
            yield "RLMM-029", f"{_named(segment)}: the leader's last stable offset is {stable}"
    for first, end in leader.lacking() if leader.is_tiered else ():
        yield "RLMM-030", f"offsets {first}..{end - 1} are in no remote segment and not on the leader's disk"


def _named(segment: CachedSegment) -> str:
    """Return a segment by its id and its offsets."""
    begun = segment.begun
    return f"segment {begun.segment_id} of offsets {begun.start_offset}..{begun.end_offset}"


# The job, and the reduce against remote storage


def check(unit: Unit, *, query: EventQuery, options: RemoteCheck) -> Outcome:
    """Return a row for each user partition of the unit's metadata partition, and what is wrong with it."""
    objects = objects_of(options.storage) if options.storage else None

    def visitor() -> SnapshotVisitor:
        checks = EventChecks(options, objects)
        return SnapshotVisitor(lambda file: checks.results(file.partition), checks.watch)

    if unit.target.kind == REMOTE_LOG_SNAPSHOT:
        return replay(unit, query, visitor)
    checks = EventChecks(options, objects)
    outcome = fold_unit(unit, query, lambda one: checks.results(one, unit.targets), checks.watch)
    return replace(outcome, partial=checks.known(unit.target))


def objects_without_events(storage: Storage, selection: Selection) -> Reduce:
    """Return a reduce step that gives the objects of which no metadata partition knows an event."""

    def finish(parts: list[KnownSegments]) -> tuple[list[Item], Iterator[Finding]]:
        whole = KnownSegments(*(frozenset().union(*sets) for sets in zip(*parts, strict=True)))
        return [], _unknown(storage, selection, whole)

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
        why = lacking(owner)
        if why is not None:
            unjudged[why] += 1
            continue
        listed += 1
        if listed <= MOST_FINDINGS:
            place = "" if owner is None else f"{owner[1]}-{owner[2]}: "
            there = describe_objects(objects, named=False)
            what = f"{place}segment {segment_id}: no event names it; {there}"
            yield Finding("RLMM-020", what, path=objects[0].name)
    if listed > MOST_FINDINGS:
        yield Finding("RLMM-020", f"{listed - MOST_FINDINGS} more segments that no event names")
    for why, count in sorted(unjudged.items()):
        message = f"{_segments(count)} in remote storage: {why}"
        yield Finding("RLMM-025", message, path=storage.paths[0])


def _lacks(known: KnownSegments, owner: UserPartition | None) -> str | None:
    """Return why not all events about a user partition, None: of any, are here; None where they are."""
    if owner is None:
        numbers = {number for number, _ in known.metadata_partitions}
        reasons = [lacks(number, known.metadata_partitions) for number in numbers]
        why = next((each for each in reasons if each is not None), None)
        return None if why is None else f"not all events are here: {why}"
    size = next(iter(known.sizes), None)
    number = metadata_partition_of(owner, [(key, at) for key, at in known.partitions if at is not None], size)
    if number is None and all(key != owner for key, _ in known.partitions):
        why = ABSENT
    else:
        why = lacks(number, known.metadata_partitions)
    if why is None or why == ABSENT:
        return None if why is None else "their events are in partitions that are not here"
    of = "" if number is None else f"{REMOTE_LOG_METADATA}-{number}: "
    return f"not all events about them are here: {of}{why}"
