"""`rlmm state` and `rlmm check` of remote_log_snapshot files: what they hold, what a replay of events adds.

A broker of 3.1 to 3.7 loads the file (`FileBasedRemoteLogMetadataCache`), then reads the metadata partition
from the offset after the covered one on; up to 3.5 after the one of `_rlmm_committed_offsets`. A unit is the
files that one metadata partition covers, and the segments of that partition as far as they are here.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import NamedTuple, TypeAlias

from formats.checkpoint import read_committed_offsets
from formats.names import LOG, REMOTE_LOG_SNAPSHOT
from formats.remote_metadata import (
    RemoteLogSegmentMetadata,
    RemoteLogSegmentMetadataSnapshot,
    RemoteLogSegmentMetadataUpdate,
    RemotePartitionDeleteMetadata,
)
from formats.remote_snapshot import SNAPSHOT_HEADER, RemoteLogSnapshotHeader, read_entries, read_header
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.rlmm import dump as rlmm
from kcli.jobs.rlmm.locate import without_events
from kcli.jobs.rlmm.read import Asked, FoldedDirectory, Watch, by_directory, reading_all
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.findings import Finding
from kcli.kafka.remote.cache import RemoteCache, RemoteStore, UserPartition
from kcli.kafka.remote.coverage import EventsHere
from kcli.kafka.remote.events import events, log_end, read_entry
from kcli.kafka.remote.serde import has_whole_header
from kcli.logdir.buffers import DataFile, FileError, read_optional, reading
from kcli.logdir.partition import Partition
from kcli.logdir.tree import PARTITION, Found, Selection, Target
from kcli.rows import Item
from kcli.rows.remote_state import RemoteReplayRow

MOST_DIFFERENCES = 3
"""Segments that a finding about a file names; more are counted."""
NO_TOPIC_ID = ""
"""Of a file without a partition.metadata beside it."""


@dataclass(slots=True)
class Here:
    """Which offsets of a metadata partition are here: the first and the last; None before one is read."""

    first: int | None = None
    last: int | None = None

    def takes(self, offset: int) -> bool:
        """Whether an offset is new, and not of another replica that was read before."""
        if self.last is not None and offset <= self.last:
            return False
        self.first = offset if self.first is None else self.first
        self.last = offset
        return True


@dataclass(slots=True)
class SnapshotFile:
    """A remote_log_snapshot, the cache that a broker makes of it, and what the events here add.

    `loaded`: segments by id before the replay. `covered`: what events up to the covered offset come to.
    `after`: events that are replayed, of which a start leaves out `skipped`.
    """

    target: Target
    header: RemoteLogSnapshotHeader
    folded: FoldedDirectory
    key: UserPartition
    committed: int | None
    loaded: dict[str, RemoteLogSegmentMetadata]
    covered: RemoteStore
    here: Here
    after: int = 0
    skipped: int = 0

    def segments(self, store: RemoteStore) -> dict[str, RemoteLogSegmentMetadata]:
        """Return the segments of the user partition in a store."""
        cache = store.caches.get(self.key)
        return {} if cache is None else {key: one.metadata for key, one in cache.segments.items()}


class FileWork(NamedTuple):
    """What is done with one file: what gives its rows and findings, and what sees the events replayed."""

    answer: Callable[[SnapshotFile], Iterable[Item | Finding | FileError]]
    watch: Watch | None = None


AboutPartition: TypeAlias = (
    RemoteLogSegmentMetadata | RemoteLogSegmentMetadataUpdate | RemotePartitionDeleteMetadata
)
Make: TypeAlias = Callable[[], FileWork]


def by_metadata_partition(units: list[Unit]) -> list[Unit]:
    """Return a unit for each metadata partition that a remote_log_snapshot names.

    First its files, then its segments. A file without a header that can be read is a unit of its own.
    """
    files: dict[int | None, list[Target]] = {}
    alone: list[Target] = []
    for target in (unit.target for unit in units if unit.target.kind == REMOTE_LOG_SNAPSHOT):
        number = _metadata_partition(target)
        (alone if number is None else files.setdefault(number, [])).append(target)
    logs = [unit.target for unit in units if unit.target.kind != REMOTE_LOG_SNAPSHOT]
    groups = [
        (*snapshots, *(log for log in logs if rlmm.metadata_partition(log) == number))
        for number, snapshots in files.items()
    ]
    groups += [(target,) for target in alone]
    return [Unit(number=number, targets=targets) for number, targets in enumerate(groups)]


EVENTS, SNAPSHOTS = "events", "snapshots"
ACCEPTS = frozenset({LOG, REMOTE_LOG_SNAPSHOT})


def expand(source: str | None, found: Found, *, selection: Selection) -> Found:
    """Return the same with the segments of __remote_log_metadata as targets, for SNAPSHOTS its files too.

    Without a source these count only where there are no segments. Where segments are the source, a selected
    partition without its events among them is a failure.
    """
    expanded = rlmm.expand(found)
    targets = [target for target in expanded.targets if target.kind in ACCEPTS]
    has_events = any(target.kind == LOG for target in targets)
    if source is None:
        source = EVENTS if has_events else SNAPSHOTS
    if source == EVENTS:
        targets = [target for target in targets if target.kind == LOG]
        expanded.failures.extend(without_events(found.targets, selection))
    elif not any(target.kind == REMOTE_LOG_SNAPSHOT for target in targets):
        targets = []
    return replace(expanded, targets=targets)


def grouped(units: list[Unit], _: bool) -> list[Unit]:  # noqa: FBT001 - as every split
    """Return a unit for each metadata partition: its segments, with the snapshot files that it covers."""
    has_files = any(unit.target.kind == REMOTE_LOG_SNAPSHOT for unit in units)
    return by_metadata_partition(units) if has_files else by_directory(units)


def _metadata_partition(target: Target) -> int | None:
    try:
        with DataFile(target.path) as file, reading(target.path):
            header = read_header(file.read(0, SNAPSHOT_HEADER.size))
    except FileError:
        return None
    return None if header is None else header.metadata_partition


def replaying(unit: Unit, asked: Asked, make: Make) -> Outcome:
    """Load the snapshot files of a unit and replay the events that count; return rows and findings of each.

    Errors as of `reading_all`.
    """
    files: dict[tuple[str, int], list[tuple[SnapshotFile, FileWork]]] = {}
    here = Here()
    logs: dict[str, EventsHere] = {}

    def read(target: Target, findings: FindingCollector) -> None:
        if target.kind != REMOTE_LOG_SNAPSHOT:
            with DataFile(target.path) as file, reading(target.path):
                unread = EventsHere(log_end=cache(partial(log_end, target)))
                log = logs.setdefault(os.path.dirname(target.path), unread)
                for event in asked.of(events(file, findings, log), log):
                    record = event[1]
                    if here.takes(event[0]) and not isinstance(record, RemoteLogSegmentMetadataSnapshot):
                        for each, work in files.get((record.topic, record.partition), ()):
                            _replay(each, event[0], record, work.watch)
        elif asked.selection.wants(target.name):
            found = _loaded(target, here, findings)
            if found is not None:
                files.setdefault(found.key[1:], []).append((found, make()))

    def found() -> Iterator[Item | Finding | FileError]:
        for each, work in (one for some in files.values() for one in some):
            yield from work.answer(each)
            yield from _compared(each)

    return reading_all(unit, read, found)


def _loaded(target: Target, here: Here, findings: FindingCollector) -> SnapshotFile | None:
    """Return a file as a broker loads it; None for one that counts as absent."""
    with DataFile(target.path) as file, reading(target.path):
        raw = file.read(0, SNAPSHOT_HEADER.size)
        header = read_header(raw) if has_whole_header(raw, findings) else None
        if header is None:
            return None
        directory = os.path.dirname(target.shown) or "."
        name = target.name
        partition = Partition(
            replace(target, kind=PARTITION, path=os.path.dirname(target.path), shown=directory)
        )
        if name is None:
            message = "its directory does not say which partition it is of"
            raise FileError(target.path, "no-partition", message)
        key = (partition.topic_id() or NO_TOPIC_ID, name.topic, name.partition)
        cache, store = RemoteCache(), RemoteStore()
        for entry in read_entries(file.read, file.size, header):
            metadata, refused = read_entry(entry, findings)
            if metadata is not None and refused is None:
                cache.load(metadata, key)
    store.caches[key] = cache
    folded = FoldedDirectory(directory, header.metadata_partition, store)
    committed = _committed(target, header.metadata_partition)
    found = SnapshotFile(target, header, folded, key, committed, {}, RemoteStore(), here)
    found.loaded = found.segments(store)
    return found


def _committed(target: Target, metadata_partition: int) -> int | None:
    """Return the offset that _rlmm_committed_offsets of the log dir has; None for none."""
    if target.log_dir is None:
        return None
    path = os.path.join(target.log_dir, rlmm.COMMITTED_OFFSETS_NAME)
    data = read_optional(path)
    if data is None:
        return None
    with reading(path):
        return read_committed_offsets(data).get(metadata_partition)


def _replay(each: SnapshotFile, offset: int, record: AboutPartition, watch: Watch | None) -> None:
    """Take an event: up to the covered offset to compare, after it as a broker that starts does."""
    topic_id = each.key[0]
    if topic_id not in {NO_TOPIC_ID, record.topic_id}:
        return
    record = record._replace(topic_id=topic_id)
    if offset <= each.header.metadata_partition_offset:
        each.covered.apply(record, offset)
        return
    each.after += 1
    each.skipped += each.committed is not None and offset <= each.committed
    refused = each.folded.store.apply(record, offset)
    if watch is not None:
        watch(each.folded, (offset, record), refused)


def _is_as_events(each: SnapshotFile) -> bool | None:
    """Whether a file holds what the events up to its offset come to; None where these are not all here."""
    if (
        each.here.first != 0
        or each.here.last is None
        or each.here.last < each.header.metadata_partition_offset
    ):
        return None
    return next(_differences(each), None) is None


def _differences(each: SnapshotFile) -> Iterator[str]:
    """Yield for each segment how a file differs from what the events up to its offset come to."""
    covered, loaded = each.segments(each.covered), each.loaded
    for key, segment in sorted((loaded | covered).items(), key=lambda item: (item[1].start_offset, item[0])):
        name = f"segment {key} of offsets {segment.start_offset}..{segment.end_offset}"
        if key not in covered:
            yield f"the events have no {name}"
        elif key not in loaded:
            yield f"the file has no {name}"
        else:
            mine, theirs = _said(loaded[key])._asdict(), _said(covered[key])._asdict()
            fields = [field for field in mine if mine[field] != theirs[field]]
            if fields:
                yield f"{name} has another {', '.join(fields)}"


def _said(segment: RemoteLogSegmentMetadata) -> RemoteLogSegmentMetadata:
    """Return a segment without what only some releases write."""
    epochs = tuple(sorted(segment.segment_leader_epochs))
    return segment._replace(layout="", txn_index_empty=None, unknown_tags=(), segment_leader_epochs=epochs)


def _compared(each: SnapshotFile) -> Iterator[Finding]:
    place = partial(
        Finding, dir=each.folded.dir, path=each.target.shown, position=SNAPSHOT_HEADER.span("entries")[0]
    )
    covered, committed = each.header.metadata_partition_offset, each.committed
    if _is_as_events(each) is False:
        differences = list(_differences(each))
        more = len(differences) - MOST_DIFFERENCES
        said = "; ".join(differences[:MOST_DIFFERENCES]) + (f"; and {more} more" if more > 0 else "")
        yield place("RLMM-026", f"not as the events up to offset {covered}: {said}")
    if committed is not None and committed > covered:
        lost = f", {each.skipped} events about it among them" if each.here.last is not None else ""
        yield place(
            "RLMM-027",
            f"it covers offset {covered}, and {committed} is committed: not replayed between{lost}",
        )


def replay_row(each: SnapshotFile) -> Iterator[Item]:
    """Yield what a file covers, and what a replay of the events here adds."""
    after = each.segments(each.folded.store)
    both = after.keys() & each.loaded.keys()
    yield RemoteReplayRow(
        each.folded.place(each.key),
        file=os.path.basename(each.target.shown),
        covered_offset=each.header.metadata_partition_offset,
        committed_offset=each.committed,
        segments=len(each.loaded),
        is_as_events=_is_as_events(each),
        last_offset=each.here.last,
        events_after=each.after,
        segments_added=len(after.keys() - both),
        segments_changed=sum(after[key] != each.loaded[key] for key in both),
        segments_removed=len(each.loaded.keys() - both),
    )
