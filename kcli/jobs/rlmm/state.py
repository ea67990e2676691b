"""`rlmm state`: the events of remote log metadata, folded as a broker's cache folds them.

Of remote_log_snapshot files: what they hold, what a replay of events adds. A broker of 3.1 to 3.7 loads the
file (`FileBasedRemoteLogMetadataCache`), then reads the metadata partition from the offset after the covered
one on; up to 3.5 after the one of `_rlmm_committed_offsets`. A unit is the files that one metadata partition
covers, and the segments of that partition as far as they are here.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeAlias

from formats.checkpoint import EpochEntry, read_committed_offsets
from formats.names import LOG, REMOTE_LOG_SNAPSHOT
from formats.remote_metadata import (
    SEGMENT_STATES,
    RemoteLogSegmentMetadata,
    RemoteLogSegmentMetadataSnapshot,
    RemoteLogSegmentMetadataUpdate,
)
from formats.remote_snapshot import SNAPSHOT_HEADER, RemoteLogSnapshotHeader, read_entries, read_header
from kcli.engine.contract import Outcome, Unit
from kcli.jobs import metadata_partitions
from kcli.jobs.common import log_dir_findings
from kcli.jobs.tiered_leader import without_events
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.findings import Finding
from kcli.kafka.remote.cache import CachedSegment, RemoteCache, RemoteStore, UserPartition
from kcli.kafka.remote.coverage import OffsetRange
from kcli.kafka.remote.events import Event, EventLog, EventQuery, user_partition
from kcli.kafka.remote.serde import has_whole_header, read_entry
from kcli.logdir.buffers import DataFile, FileError, read_optional, reading
from kcli.logdir.find import FileSet
from kcli.logdir.partition import Partition
from kcli.logdir.targets import PARTITION, Selection, Target
from kcli.rows import Failure, Item
from kcli.rows.remote_segments import (
    RemoteHighestRow,
    RemoteHistoryRow,
    RemotePartition,
    RemoteReplayRow,
    RemoteSegmentRow,
)

CacheAnswer: TypeAlias = Callable[[RemotePartition, RemoteCache], Iterable[Item]]
"""Returns the rows of one user partition."""


def state(unit: Unit, *, query: EventQuery, answer: CacheAnswer, keeps_deleted: bool = False) -> Outcome:
    """Return what `answer` gives for each user partition of a metadata partition, or of snapshot files."""

    def rows(partition: metadata_partitions.MetadataPartition) -> Iterator[Item]:
        for key, cache in partition.store:
            yield from answer(partition.remote_partition(key), cache)

    if unit.target.kind == REMOTE_LOG_SNAPSHOT:
        return replay(unit, query, lambda: SnapshotVisitor(lambda file: rows(file.partition)))
    return metadata_partitions.fold_unit(unit, query, rows, keeps_deleted=keeps_deleted)


def replays(unit: Unit, *, query: EventQuery) -> Outcome:
    """Return a row for each remote_log_snapshot of the unit."""
    return replay(unit, query, lambda: SnapshotVisitor(replay_row))


def history(unit: Unit, *, query: EventQuery, segment_id: str) -> Outcome:
    """Return a row for every event of one segment."""
    rows: list[RemoteHistoryRow] = []

    def watch(partition: metadata_partitions.MetadataPartition, event: Event, refused: str | None) -> None:
        offset, record = event
        if not isinstance(record, (RemoteLogSegmentMetadata, RemoteLogSegmentMetadataUpdate)):
            return
        if record.segment_id != segment_id:
            return
        time = record.event_timestamp_ms
        previous = rows[-1].event_timestamp_ms if rows else None
        rows.append(
            RemoteHistoryRow(
                partition.remote_partition((record.topic_id, record.topic, record.partition)),
                segment_id=record.segment_id,
                metadata_offset=offset,
                event_timestamp_ms=time,
                since_previous_ms=None if previous is None else time - previous,
                broker_id=record.broker_id,
                state=SEGMENT_STATES[record.state],
                refused=refused,
            )
        )

    return metadata_partitions.fold_unit(unit, query, lambda _: rows, watch)


def segment_rows(
    user: RemotePartition, cache: RemoteCache, segments: Iterable[CachedSegment]
) -> Iterator[Item]:
    """Yield the rows of segments of a cache."""
    referenced = cache.referenced()
    for segment in segments:
        metadata = segment.metadata
        yield RemoteSegmentRow(
            user,
            segment_id=metadata.segment_id,
            start_offset=metadata.start_offset,
            end_offset=metadata.end_offset,
            state=SEGMENT_STATES[metadata.state],
            referenced=metadata.segment_id in referenced,
            segment_leader_epochs=tuple(EpochEntry(*entry) for entry in segment.epochs.items()),
            max_timestamp_ms=metadata.max_timestamp_ms,
            segment_size_bytes=metadata.segment_size_in_bytes,
            custom_metadata=metadata.custom_metadata,
            event_timestamp_ms=metadata.event_timestamp_ms,
            copy_started_ms=segment.times[0],
            copy_finished_ms=segment.times[1],
            delete_started_ms=segment.times[2],
            delete_finished_ms=segment.times[3],
            metadata_offset=segment.metadata_offset,
            broker_id=metadata.broker_id,
            txn_index_empty=metadata.txn_index_empty,
        )


def every_segment(user: RemotePartition, cache: RemoteCache) -> Iterator[Item]:
    """Yield a row for each segment by start offset, deleted ones too where the cache keeps them."""
    segments = [*cache.segments.values(), *cache.deleted]
    segments.sort(key=lambda segment: (segment.metadata.start_offset, segment.times[0] or 0))
    return segment_rows(user, cache, segments)


def listed(user: RemotePartition, cache: RemoteCache, *, epoch: int) -> Iterator[Item]:
    """Yield what `listRemoteLogSegments` gives for a leader epoch."""
    return segment_rows(user, cache, cache.listed(epoch))


def looked_up(user: RemotePartition, cache: RemoteCache, *, at: tuple[int, int]) -> Iterator[Item]:
    """Yield what `remoteLogSegmentMetadata` gives for an offset of a leader epoch."""
    segment = cache.find(*at)
    return segment_rows(user, cache, [] if segment is None else [segment])


def next_with_txn_index(user: RemotePartition, cache: RemoteCache, *, at: tuple[int, int]) -> Iterator[Item]:
    """Yield what `nextSegmentWithTxnIndex` gives for an offset of a leader epoch."""
    segment = cache.next_with_txn_index(*at)
    return segment_rows(user, cache, [] if segment is None else [segment])


def highest(user: RemotePartition, cache: RemoteCache, *, epoch: int) -> Iterator[Item]:
    """Yield what `highestOffsetForEpoch` gives."""
    yield RemoteHighestRow(user, epoch, cache.highest_offset(epoch))


# Files of releases 3.1 to 3.7, and a replay of the events after them


MOST_DIFFERENCES = 3  # segments that a finding about a file names; more are counted
NO_TOPIC_ID = ""  # of a file in a directory without partition.metadata
FROM_EVENTS, FROM_SNAPSHOTS = "events", "snapshots"
EVENT_SOURCE_KINDS = frozenset({LOG, REMOTE_LOG_SNAPSHOT})


@dataclass(slots=True)
class SnapshotFile:
    """A remote_log_snapshot, the cache that a broker makes of it, and what the events here add.

    `loaded`: segments by id before the replay. `covered`: what events up to the covered offset come to.
    `after`: events that are replayed, of which a start leaves out `skipped`. `consumed`: what was read.
    """

    target: Target
    header: RemoteLogSnapshotHeader
    partition: metadata_partitions.MetadataPartition
    key: UserPartition
    committed: int | None
    loaded: dict[str, RemoteLogSegmentMetadata]
    covered: RemoteStore
    consumed: OffsetRange
    after: int = 0
    skipped: int = 0

    def segments(self, store: RemoteStore) -> dict[str, RemoteLogSegmentMetadata]:
        """Return the segments of the user partition in a store."""
        cache = store.caches.get(self.key)
        return {} if cache is None else {key: segment.metadata for key, segment in cache.segments.items()}

    def replay(self, event: Event, watch: metadata_partitions.Watch | None) -> None:
        """Take an event: up to the covered offset to compare, after it as a broker that starts does."""
        offset, record = event
        topic_id = self.key[0]
        assert not isinstance(record, RemoteLogSegmentMetadataSnapshot), "the topic has none that can be used"
        if topic_id not in {NO_TOPIC_ID, record.topic_id}:
            return
        record = record._replace(topic_id=topic_id)
        if offset <= self.header.metadata_partition_offset:
            self.covered.apply(record, offset)
            return
        self.after += 1
        self.skipped += self.committed is not None and offset <= self.committed
        refused = self.partition.store.apply(record, offset)
        if watch is not None:
            watch(self.partition, (offset, record), refused)

    def is_as_events(self) -> bool | None:
        """Whether it holds what the events up to its offset come to; None where these are not all here."""
        last = self.consumed.last
        if self.consumed.first != 0 or last is None or last < self.header.metadata_partition_offset:
            return None
        return next(self.differences(), None) is None

    def differences(self) -> Iterator[str]:
        """Yield for each segment how the file differs from what the events up to its offset come to."""
        covered, loaded = self.segments(self.covered), self.loaded
        every = sorted((loaded | covered).items(), key=lambda item: (item[1].start_offset, item[0]))
        for key, segment in every:
            name = f"segment {key} of offsets {segment.start_offset}..{segment.end_offset}"
            if key not in covered:
                yield f"the events have no {name}"
            elif key not in loaded:
                yield f"the file has no {name}"
            else:
                own, expected = _normalized(loaded[key])._asdict(), _normalized(covered[key])._asdict()
                fields = [field for field in own if own[field] != expected[field]]
                if fields:
                    yield f"{name} has another {', '.join(fields)}"


class SnapshotVisitor(NamedTuple):
    """What is done with one file: what gives its rows and findings, and what sees the events replayed."""

    answer: Callable[[SnapshotFile], metadata_partitions.Answer]
    watch: metadata_partitions.Watch | None = None


def expand_source(source: str | None, file_set: FileSet, *, selection: Selection) -> FileSet:
    """Return the same with the segments of __remote_log_metadata as targets, for FROM_SNAPSHOTS files too.

    Without a source these count only where there are no segments. Where segments are the source, a selected
    partition without its events among them is a failure.
    """
    expanded = metadata_partitions.expand(file_set)
    targets = [
        target
        for target in expanded.targets
        if target.kind in EVENT_SOURCE_KINDS or target in file_set.targets  # a file of no use that was named
    ]
    has_events = any(target.kind == LOG for target in targets)
    if source is None:
        source = FROM_EVENTS if has_events else FROM_SNAPSHOTS
    if source == FROM_EVENTS:
        targets = [target for target in targets if target.kind != REMOTE_LOG_SNAPSHOT]
        expanded.failures.extend(without_events(file_set.targets, selection))
    elif not any(target.kind == REMOTE_LOG_SNAPSHOT for target in targets):
        targets = [target for target in targets if target.kind != LOG]
    return replace(expanded, targets=targets)


def grouped(units: list[Unit]) -> list[Unit]:
    """Return a unit for each metadata partition: the snapshots that it covers, then its segments."""
    files: dict[int | None, list[Target]] = {}
    alone: list[Target] = []
    for target in (unit.target for unit in units if unit.target.kind == REMOTE_LOG_SNAPSHOT):
        number = _covering_partition(target)
        (alone if number is None else files.setdefault(number, [])).append(target)
    if not files and not alone:
        return metadata_partitions.partition_units(units)
    logs = [unit.target for unit in units if unit.target.kind != REMOTE_LOG_SNAPSHOT]
    groups = [
        (*snapshots, *(log for log in logs if metadata_partitions.metadata_partition(log) == number))
        for number, snapshots in files.items()
    ]
    groups += [(target,) for target in alone]
    return [Unit(number=number, targets=targets) for number, targets in enumerate(groups)]


def _covering_partition(target: Target) -> int | None:
    try:
        with DataFile(target.path) as file, reading(target.path):
            header = read_header(file.read(0, SNAPSHOT_HEADER.size))
    except FileError:
        return None
    return None if header is None else header.metadata_partition


def replay(unit: Unit, query: EventQuery, visitor: Callable[[], SnapshotVisitor]) -> Outcome:
    """Load the snapshot files of a unit, replay the events that count; return rows and findings of each."""

    def items() -> Iterator[Item | Finding | Failure]:
        yield from log_dir_findings(unit.target)
        log = EventLog((target for target in unit.targets if target.kind != REMOTE_LOG_SNAPSHOT), query)
        files: dict[tuple[str, int], list[tuple[SnapshotFile, SnapshotVisitor]]] = {}
        for target in unit.targets:
            if target.kind == REMOTE_LOG_SNAPSHOT and query.selection.wants(target.name):
                collector = FindingCollector(target)
                try:
                    file = load_snapshot(target, log.consumed, collector)
                except FileError as error:
                    yield from (*collector.take(), *metadata_partitions.unread(target, error))
                    continue
                yield from collector.take()
                if file is not None:
                    files.setdefault(file.key[1:], []).append((file, visitor()))
        for event in log:
            for file, (_, watch) in files.get(user_partition(event[1]), ()):
                file.replay(event, watch)
        yield from log.findings
        for unread_file in log.errors:
            yield from metadata_partitions.unread(*unread_file)
        for file, (answer, _) in chain.from_iterable(files.values()):
            yield from answer(file)
            yield from _comparison(file)

    return metadata_partitions.collect(unit, items())


def load_snapshot(target: Target, consumed: OffsetRange, findings: FindingCollector) -> SnapshotFile | None:
    """Return a file as a broker loads it; None for one that counts as absent."""
    with DataFile(target.path) as file, reading(target.path):
        raw = file.read(0, SNAPSHOT_HEADER.size)
        header = read_header(raw) if has_whole_header(raw, findings) else None
        if header is None:
            return None
        directory = os.path.dirname(target.shown) or "."
        if target.name is None:
            message = "its directory does not say which partition it is of"
            raise FileError(target.path, "no-partition", message)
        partition = Partition(
            replace(target, kind=PARTITION, path=os.path.dirname(target.path), shown=directory)
        )
        key = (partition.topic_id() or NO_TOPIC_ID, target.name.topic, target.name.partition)
        cache, store = RemoteCache(), RemoteStore()
        for entry in read_entries(file.read, file.size, header):
            metadata, refused = read_entry(entry, findings)
            if metadata is not None and refused is None:
                cache.load(metadata, key)
    store.caches[key] = cache
    loaded = {segment_id: segment.metadata for segment_id, segment in cache.segments.items()}
    committed = _committed_offset(target, header.metadata_partition)
    events = metadata_partitions.MetadataPartition(directory, header.metadata_partition, store)
    return SnapshotFile(target, header, events, key, committed, loaded, RemoteStore(), consumed)


def _committed_offset(target: Target, number: int) -> int | None:
    """Return the offset that _rlmm_committed_offsets of the log dir has; None for none."""
    if target.log_dir is None:
        return None
    path = os.path.join(target.log_dir, metadata_partitions.COMMITTED_OFFSETS_NAME)
    data = read_optional(path)
    if data is None:
        return None
    with reading(path):
        return read_committed_offsets(data).get(number)


def _normalized(segment: RemoteLogSegmentMetadata) -> RemoteLogSegmentMetadata:
    """Return a segment without what only some releases write."""
    epochs = tuple(sorted(segment.segment_leader_epochs))
    return segment._replace(layout="", txn_index_empty=None, unknown_tags=(), segment_leader_epochs=epochs)


def _comparison(file: SnapshotFile) -> Iterator[Finding]:
    finding = partial(
        Finding, dir=file.partition.dir, path=file.target.shown, position=SNAPSHOT_HEADER.span("entries")[0]
    )
    covered, committed = file.header.metadata_partition_offset, file.committed
    if file.is_as_events() is False:
        differences = list(file.differences())
        unlisted = len(differences) - MOST_DIFFERENCES
        text = "; ".join(differences[:MOST_DIFFERENCES]) + (f"; and {unlisted} more" if unlisted > 0 else "")
        yield finding("RLMM-026", f"not as the events up to offset {covered}: {text}")
    if committed is not None and committed > covered:
        lost = f", {file.skipped} events about it among them" if file.consumed.last is not None else ""
        text = f"it covers offset {covered}, and {committed} is committed: not replayed between{lost}"
        yield finding("RLMM-026", text)


def replay_row(file: SnapshotFile) -> Iterator[Item]:
    """Yield what a file covers, and what a replay of the events here adds."""
    after = file.segments(file.partition.store)
    common_ids = after.keys() & file.loaded.keys()
    yield RemoteReplayRow(
        file.partition.remote_partition(file.key),
        file=os.path.basename(file.target.shown),
        covered_offset=file.header.metadata_partition_offset,
        committed_offset=file.committed,
        segments=len(file.loaded),
        is_as_events=file.is_as_events(),
        last_offset=file.consumed.last,
        events_after=file.after,
        segments_added=len(after.keys() - common_ids),
        segments_changed=sum(after[key] != file.loaded[key] for key in common_ids),
        segments_removed=len(file.loaded.keys() - common_ids),
    )
