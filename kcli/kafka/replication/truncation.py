"""What truncating a loaded partition to an offset would do.

Files, offsets, epochs, producer snapshots, records lost. The truth is `UnifiedLog.truncateTo` and what it
calls; then a clean stop and start with checkpoints that hold the new values.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Final, Literal, NamedTuple, TypeAlias

from formats.batch import LOG_APPEND_TIME, MAX_INT, BatchHeader
from formats.magic import is_legacy, record_count
from kcli.kafka.replication.follower import (
    FetchRounds,
    LoadedReplica,
    as_leader,
    below_start,
    follow_leader,
    replica_epochs,
)
from kcli.kafka.storage import log_segment
from kcli.kafka.storage.leader_epochs import EpochCache, truncate_from_end
from kcli.kafka.storage.loaded_log import LoadedLog, check_fits
from kcli.kafka.storage.log_segment import BrokerError, LoadedSegment
from kcli.kafka.storage.producer_state import rebuild
from kcli.kafka.storage.record_counts import data_count

NONE, PARTIAL, FULL = "none", "partial", "full"
KEEP: Final = "keep"
CUT: Final = "cut"
DELETE: Final = "delete"
CREATE: Final = "create"
SegmentAction: TypeAlias = Literal["keep", "cut", "delete", "create"]
SnapshotAction: TypeAlias = Literal["keep", "delete", "create"]


class SegmentChange(NamedTuple):
    """What happens to one segment, None for none: sizes in bytes, entries as the broker counts them."""

    base_offset: int
    action: SegmentAction
    before: LoadedSegment | None
    after: LoadedSegment | None


@dataclass(slots=True)
class Removed:
    """What is removed: batches, records (None: not countable), bytes of .log files, and its ends.

    `lost`: of data from `first_lost` on, None if not countable; `trouble`: why not all are counted.
    """

    first_lost: int
    batches: int = 0
    records: int | None = 0
    lost: int | None = 0
    size: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    first_timestamp: int | None = None
    max_timestamp: int | None = None
    trouble: BrokerError | None = None

    def add(self, batch: BatchHeader) -> None:
        """Count one more batch by its header, in the order of the log."""
        if not self.batches:
            self.first_offset = None if is_legacy(batch.magic) and batch.codec else batch.base_offset
            self.first_timestamp = _first_timestamp(batch)
            self.max_timestamp = batch.max_timestamp
        self.batches += 1
        self.records = _sum(self.records, record_count(batch))
        self.lost = _sum(self.lost, _from(batch, self.first_lost))
        self.last_offset = batch.last_offset
        self.max_timestamp = max(self.max_timestamp or 0, batch.max_timestamp)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What one truncation does: the log after it, and the differences from the log before.

    `after` can be truncated again. `log_end_offset_after_restart`: after a clean stop and start with its
    values, None where that would not load (`restart_error`); `restart_deletes_all`: below its log start.
    `snapshots`: offsets with keep, delete or create, of the files on disk now.
    """

    target: int
    kind: str
    after: LoadedLog
    segments: tuple[SegmentChange, ...]
    high_watermark_before: int | None
    high_watermark: int | None
    log_end_offset_after_restart: int | None
    restart_deletes_all: bool
    restart_error: BrokerError | None
    snapshots: tuple[tuple[int, SnapshotAction], ...]
    removed: Removed


def truncate(
    loaded: LoadedLog,
    target: int,
    high_watermark: int | None,
    *,
    fully: bool = False,
    kept_elsewhere: int = 0,
) -> Prediction:
    """Return what the broker would do to truncate to `target` (0 or more); BrokerError where it fails.

    `high_watermark`: as checkpointed, if known. `fully`: as `truncateFullyAndStartAt`. Records below
    `kept_elsewhere`, and the log start, are not lost.
    """
    first_lost = max(loaded.log_start_offset, kept_elsewhere)
    watermark = None if high_watermark is None else loaded.bounded(high_watermark)
    if target >= loaded.log_end_offset and not fully:
        after = loaded._replace(epochs=truncate_from_end(loaded.epochs, loaded.log_end_offset))
        return _prediction(loaded, after, target, NONE, (watermark, watermark), first_lost=first_lost)
    producers = loaded.producers.copy()
    if fully or target < loaded.segments[0].base_offset:
        producers.start_at(target)
        segments: tuple[LoadedSegment, ...] = (LoadedSegment(target),)
        epochs, log_start, lowered, kind = truncate_from_end(loaded.epochs, 0), target, target, FULL
    else:
        kept_segments = [segment for segment in loaded.segments if segment.base_offset <= target]
        segments = (*kept_segments[:-1], log_segment.truncate_segment(kept_segments[-1], target))
        check_fits(segments[-1], loaded.settings)
        for segment in loaded.segments[len(kept_segments) :]:
            producers.delete_snapshot(segment.base_offset)
        epochs, kind = truncate_from_end(loaded.epochs, target), PARTIAL
        log_start, lowered = min(target, loaded.log_start_offset), min(target, watermark or 0)
    rebuild(producers, segments, log_start, target, clean_start=False)
    after = loaded._replace(
        segments=segments,
        epochs=epochs,
        log_end_offset=target,
        log_start_offset=log_start,
        recovery_point=min(loaded.recovery_point, target),
        producers=producers,
    )
    watermarks = (watermark, None if watermark is None else lowered)
    return _prediction(loaded, after, target, kind, watermarks, first_lost=first_lost)


def with_remote_state(prediction: Prediction, epochs: EpochCache, log_start_offset: int) -> Prediction:
    """Return the prediction of a follower with a remote segment's state (`buildRemoteLogAuxState`)."""
    after = prediction.after._replace(epochs=epochs, log_start_offset=log_start_offset)
    snapshots = {**dict(prediction.snapshots), prediction.target: CREATE}
    return replace(prediction, after=after, snapshots=tuple(sorted(snapshots.items())))


def _prediction(
    loaded: LoadedLog,
    after: LoadedLog,
    target: int,
    kind: str,
    watermarks: tuple[int | None, int | None],
    *,
    first_lost: int,
) -> Prediction:
    restarted, error = None, None
    try:
        restarted = log_segment.read_next_offset(after.segments[-1])
    except BrokerError as raised:
        error = raised
    changes = _changes(loaded.segments, after.segments)
    return Prediction(
        target=target,
        kind=kind,
        after=after,
        segments=changes,
        high_watermark_before=watermarks[0],
        high_watermark=watermarks[1],
        log_end_offset_after_restart=None if restarted is None else max(restarted, after.log_start_offset),
        restart_deletes_all=restarted is not None and restarted < after.log_start_offset,
        restart_error=error,
        snapshots=_snapshot_actions(loaded.snapshots_before, after.producers.disk),
        removed=_removed(changes, first_lost),
    )


def _changes(before: Sequence[LoadedSegment], after: Sequence[LoadedSegment]) -> tuple[SegmentChange, ...]:
    old = {segment.base_offset: segment for segment in before}
    new = {segment.base_offset: segment for segment in after}
    changes = []
    for base in sorted(old.keys() | new.keys()):
        was, becomes = old.get(base), new.get(base)
        action: SegmentAction = KEEP if was == becomes else CUT
        action = CREATE if was is None else DELETE if becomes is None else action
        changes.append(SegmentChange(base, action, was, becomes))
    return tuple(changes)


def _snapshot_actions(before: Iterable[int], after: Iterable[int]) -> tuple[tuple[int, SnapshotAction], ...]:
    old, new = set(before), set(after)
    return tuple(
        (offset, DELETE if offset not in new else KEEP if offset in old else CREATE)
        for offset in sorted(old | new)
    )


def _removed(changes: Iterable[SegmentChange], first_lost: int) -> Removed:
    removed = Removed(first_lost)
    for change in changes:
        start = change.after.log_size if change.after else 0
        if change.before is not None and start < change.before.log_size:
            removed.size += change.before.log_size - start
            try:
                with change.before.log() as log:
                    for batch in log_segment.file_batches(log, start, change.before.log_size):
                        removed.add(log_segment.header(log, batch))
            except BrokerError as error:
                removed.trouble = removed.trouble or error
    if removed.trouble is not None:
        removed.records = removed.lost = None
    return removed


def _from(batch: BatchHeader, offset: int) -> int | None:
    """Return how many records of data of a batch are at or after an offset; None if unknown."""
    if batch.last_offset < offset:
        return 0
    records = data_count(batch)
    if not records or batch.base_offset >= offset:
        return records
    is_whole = batch.last_offset - batch.base_offset + 1 == records
    return batch.last_offset - offset + 1 if is_whole else None


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


def _first_timestamp(batch: BatchHeader) -> int | None:
    """Return a batch's first timestamp; None where a delete horizon or a wrapper hides it."""
    if batch.timestamp_type == LOG_APPEND_TIME:
        return batch.max_timestamp
    is_unknown = batch.codec if is_legacy(batch.magic) else batch.delete_horizon_ms is not None
    return None if is_unknown else batch.base_timestamp


# Each replica as a leader in a new epoch, from its log end on: what the others lose as its followers


class Loss(NamedTuple):
    """What a follower of a candidate loses; numbers are indexes of the replicas.

    `fetch_rounds` and `removed` are None where the follower truncates to its unknown high watermark.
    `committed`: those that are known to be committed; None where no high watermark says, or records cannot be
    counted. `below_start`: offsets below the candidate's log start, which the follower deletes as it fetches.
    """

    candidate: int
    follower: int
    fetch_rounds: FetchRounds | None
    removed: Removed | None
    committed: int | None
    below_start: int


def losses(replicas: Sequence[LoadedReplica]) -> Iterator[Loss]:
    """Yield for each replica as the leader what each other one loses, in their order."""
    sides = list(map(replica_epochs, replicas))
    epoch = min(max(side.last_epoch for side in sides) + 1, MAX_INT)
    fetches = {
        (candidate, follower): follow_leader(as_leader(sides[candidate], epoch), sides[follower])
        for candidate, follower in permutations(range(len(sides)), 2)
    }
    for (candidate, follower), fetch_rounds in fetches.items():
        log, watermark = replicas[follower]
        below = below_start(sides[candidate], sides[follower], fetch_rounds)
        has_records = log.log_end_offset > log.log_start_offset
        if fetch_rounds.needs_high_watermark and watermark is None and has_records:
            yield Loss(candidate, follower, None, None, None, below)
            continue
        removed = _cut(log, -1 if fetch_rounds.starts_over else fetch_rounds.truncate_to)
        if log.is_tiered and fetch_rounds.truncate_to < log.local_log_start_offset:
            removed = replace(removed, lost=None)  # what is in remote storage goes, too
        committed = _committed_end(follower, replicas, fetches)
        lost = removed.lost
        if lost and committed is None:
            lost = None
        elif lost and committed is not None and committed < log.log_end_offset:
            cut_from = committed if fetch_rounds.starts_over else max(committed, fetch_rounds.truncate_to)
            above = _cut(log, cut_from).lost
            lost = None if above is None else lost - above
        yield Loss(candidate, follower, fetch_rounds, removed, lost, below)


def _committed_end(
    replica: int, replicas: Sequence[LoadedReplica], fetches: Mapping[tuple[int, int], FetchRounds]
) -> int | None:
    """Return where a replica's committed records end: by its watermark, or one of a log that agrees."""
    watermarks = [None if own is None else log.bounded(own) for log, own in replicas]
    watermark = [] if watermarks[replica] is None else [watermarks[replica] or 0]
    for (leader, follower), fetch_rounds in fetches.items():
        own = watermarks[leader]
        if follower == replica and own is not None and not fetch_rounds.starts_over:
            watermark.append(min(own, fetch_rounds.truncate_to))
    return max(watermark, default=None)


def _cut(log: LoadedLog, offset: int) -> Removed:
    """Return what a truncation removes; of the whole log for an offset below it."""
    if offset < 0:
        offset = max(log.segments[0].base_offset - 1, 0)
    return truncate(log, offset, None).removed
