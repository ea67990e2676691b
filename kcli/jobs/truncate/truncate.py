"""`truncate --dry-run`: what the broker would do to each partition, by its log dir's checkpoints.

Nothing is written: the start of the broker, the truncation and the restart after it are worked out in memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from formats.names import DELETE, STRAY
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, answer, where
from kcli.jobs.replica_pairs import OtherReplicaError, answer_with_others
from kcli.jobs.truncate.follower import (
    FollowedLeader,
    Following,
    finding_of,
    kept_remotely,
    leader_of,
    rounds_of,
    rounds_with_leader,
    start_finding,
    warning_of,
    with_state_of,
    without_remote,
)
from kcli.jobs.truncate.truncation_warnings import input_warnings, rescue_command, warnings_of
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.log_settings import NO_KNOWN_SETTINGS, KnownSettings
from kcli.kafka.kraft.partition_start import lone_finding, start_from
from kcli.kafka.replication.follower import FetchRounds
from kcli.kafka.replication.truncation import NONE, Prediction, SegmentChange, truncate
from kcli.kafka.storage.leader_epochs import UNDEFINED_EPOCH_OFFSET, end_offset_for
from kcli.kafka.storage.loaded_log import Checkpoints, LoadedLog, checkpoints
from kcli.kafka.storage.log_segment import BrokerError, LoadedSegment
from kcli.logdir.buffers import FileError
from kcli.logdir.partition import Partition, shown_path
from kcli.rows.partitions import Where
from kcli.rows.truncation import TruncatedSegment, TruncatedSnapshot, TruncationRow

WOULD_FAIL = "would-fail"
CLEAN = "clean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One of the four targets, and values that replace those of checkpoint files (None: as in the file).

    `shutdown` is `clean`, `unclean` or None (as the log dir's marker says). `now_ms` decides which producers
    have expired. `is_saved`: the same run writes what will be lost to a file.
    """

    now_ms: int
    to_offset: int | None = None
    to_epoch: int | None = None
    to_high_watermark: bool = False
    following: Following | None = None
    high_watermark: int | None = None
    log_start_offset: int | None = None
    recovery_point: int | None = None
    shutdown: str | None = None
    index_interval_bytes: int | None = None
    segment_index_bytes: int | None = None
    known: KnownSettings = NO_KNOWN_SETTINGS
    is_saved: bool = False


def dry_run(unit: Unit, *, request: Request) -> Outcome:
    """Return one row and the start's findings, or the error that keeps a broker from loading the log.

    The unit's second target, if it has one, is the leader's replica; those after it are remote metadata's.
    """
    following = request.following
    if following is None:
        return answer(unit, lambda partition: _partition(partition, request, None))

    def work(partition: Partition) -> Yield:
        try:
            leader = yield from leader_of(following, unit)
        except FileError as error:
            if len(unit.targets) == 1:
                raise
            raise OtherReplicaError(unit.targets[1], error) from error
        for item in _partition(partition, request, leader):
            if isinstance(item, TruncationRow) and len(unit.targets) > 1:
                yield item._replace(leader_dir=unit.targets[1].shown)
            else:
                yield item

    return answer_with_others(unit, work)


def _partition(partition: Partition, request: Request, leader: FollowedLeader | None) -> Yield:
    _refuse_others(partition)
    given = _checkpoints(partition, request)
    if request.shutdown is None:
        yield from lone_finding(partition, given)
    settings = request.known.of(
        partition,
        now_ms=request.now_ms,
        index_interval_bytes=request.index_interval_bytes,
        segment_index_bytes=request.segment_index_bytes,
    )
    loaded = yield from start_from(partition, given, settings=settings)
    given = _with_high_watermark(given, loaded, request)
    fetch_rounds: FetchRounds | None = None
    if leader is not None and request.following is not None:
        fetch_rounds = rounds_with_leader(partition, loaded, given.high_watermark, leader, request.following)
    target = fetch_rounds.truncate_to if fetch_rounds else _target(partition, loaded, given, request)
    if target is None:
        yield Finding(
            "TRUNC-001",
            f"leader epoch {request.to_epoch} has no end offset in this replica",
            dir=partition.shown,
        )
        return
    fully = fetch_rounds is not None and fetch_rounds.starts_over
    kept = (kept_remotely(fetch_rounds) or 0) if fetch_rounds else 0
    prediction = _predicted(loaded, target, given.high_watermark, fully=fully, kept_elsewhere=kept)
    lost = _lost(loaded, prediction)
    if fetch_rounds is not None and leader is not None:
        prediction = with_state_of(leader, fetch_rounds, prediction)
        lost = without_remote(lost, fetch_rounds, loaded)
    warnings = (
        *input_warnings(partition, is_shutdown_given=request.shutdown is not None),
        *warnings_of(loaded, prediction, partition, None if request.is_saved else lost),
    )
    row = _row(where(partition), loaded, prediction, warnings)
    row = row._replace(lost_offsets=lost, rescue_command=rescue_command(partition, lost))
    if fetch_rounds is not None and request.following is not None:
        row = _with_rounds(row, fetch_rounds, request.following)
        finding = finding_of(partition, fetch_rounds)
        if finding is not None:
            yield finding
        if leader is not None:
            yield from start_finding(partition, leader.side, loaded, fetch_rounds)
    yield row
    yield from _findings(partition, prediction)


def _refuse_others(partition: Partition) -> None:
    """Raise FileError for a directory that a broker never truncates."""
    name = partition.target.name
    if name is None:
        raise FileError(
            partition.path, "not-a-partition", "the broker loads only directories named topic-partition"
        )
    if name.kind in {DELETE, STRAY}:
        raise FileError(partition.path, "leftover", f"the broker never truncates a -{name.kind} directory")


def _predicted(
    loaded: LoadedLog, target: int, high_watermark: int | None, *, fully: bool, kept_elsewhere: int
) -> Prediction:
    """Return what the truncation does; FileError `would-fail` where it fails in the broker."""
    try:
        return truncate(loaded, target, high_watermark, fully=fully, kept_elsewhere=kept_elsewhere)
    except BrokerError as error:
        message = f"the truncation would fail: {error}"
        raise FileError(error.path, WOULD_FAIL, message, error.position) from error


def _with_rounds(row: TruncationRow, fetch_rounds: FetchRounds, following: Following) -> TruncationRow:
    """Return a row with the rounds with its leader."""
    said = warning_of(fetch_rounds)
    return row._replace(
        protocol=following.protocol,
        rounds=rounds_of(fetch_rounds),
        outcome=fetch_rounds.outcome,
        warnings=(*row.warnings, *([said] if said else [])),
    )


def _checkpoints(partition: Partition, request: Request) -> Checkpoints:
    """Return what the log dir says about the partition, with what was asked in its place."""
    found = checkpoints(partition)
    return Checkpoints(
        found.clean if request.shutdown is None else request.shutdown == CLEAN,
        found.recovery_point if request.recovery_point is None else request.recovery_point,
        found.log_start_offset if request.log_start_offset is None else request.log_start_offset,
        found.high_watermark if request.high_watermark is None else request.high_watermark,
    )


def _with_high_watermark(given: Checkpoints, loaded: LoadedLog, request: Request) -> Checkpoints:
    """Return the same with the high watermark that the start itself sets, unless another was asked."""
    if loaded.high_watermark is None or request.high_watermark is not None:
        return given
    return given._replace(high_watermark=loaded.high_watermark)


def _target(partition: Partition, loaded: LoadedLog, given: Checkpoints, request: Request) -> int | None:
    """Return the offset to truncate to; None for an epoch without an end offset."""
    if request.to_high_watermark:
        if given.high_watermark is None:
            raise FileError(
                partition.path,
                "unknown-high-watermark",
                "no high watermark is known for this partition; name it with --high-watermark",
            )
        return loaded.bounded(given.high_watermark)
    if request.to_epoch is not None:
        end = end_offset_for(loaded.epochs, request.to_epoch, loaded.log_end_offset).end_offset
        return None if end == UNDEFINED_EPOCH_OFFSET else end
    return request.to_offset


def _row(place: Where, loaded: LoadedLog, prediction: Prediction, warnings: tuple[str, ...]) -> TruncationRow:
    removed, after = prediction.removed, prediction.after
    return TruncationRow(
        place,
        target_offset=prediction.target,
        kind=prediction.kind,
        log_end_offset_before=loaded.log_end_offset,
        log_end_offset_after=after.log_end_offset,
        log_end_offset_after_restart=prediction.log_end_offset_after_restart,
        log_start_offset_before=loaded.log_start_offset,
        log_start_offset_after=after.log_start_offset,
        high_watermark_before=prediction.high_watermark_before,
        high_watermark_after=prediction.high_watermark,
        recovery_point_before=loaded.recovery_point,
        recovery_point_after=after.recovery_point,
        batches_removed=removed.batches,
        records_removed=removed.records,
        bytes_removed=removed.size,
        first_removed_offset=removed.first_offset,
        last_removed_offset=removed.last_offset,
        first_removed_timestamp=removed.first_timestamp,
        max_removed_timestamp=removed.max_timestamp,
        segments=tuple(map(_segment, prediction.segments)),
        epochs_before=tuple(loaded.epochs),
        epochs_after=tuple(after.epochs),
        producer_snapshots=tuple(
            TruncatedSnapshot(offset, action) for offset, action in prediction.snapshots
        ),
        leader_dir=None,
        protocol=None,
        rounds=(),
        outcome=None,
        warnings=warnings,
        lost_offsets=None,
        rescue_command=None,
        records_lost=removed.lost,
    )


class _Counts(NamedTuple):
    """Bytes of a segment's log, and entries of its indexes; null without the segment."""

    size: int | None = None
    offset_index_entries: int | None = None
    time_index_entries: int | None = None
    txn_index_entries: int | None = None


def _segment(change: SegmentChange) -> TruncatedSegment:
    before, after = _counts(change.before), _counts(change.after)
    return TruncatedSegment(
        change.base_offset,
        change.action,
        size_before=before.size,
        size_after=after.size,
        offset_index_entries_before=before.offset_index_entries,
        offset_index_entries_after=after.offset_index_entries,
        time_index_entries_before=before.time_index_entries,
        time_index_entries_after=after.time_index_entries,
        txn_index_entries_before=before.txn_index_entries,
        txn_index_entries_after=after.txn_index_entries,
    )


def _counts(segment: LoadedSegment | None) -> _Counts:
    if segment is None:
        return _Counts()
    return _Counts(
        size=segment.log_size,
        offset_index_entries=segment.offset_index.entries,
        time_index_entries=segment.time_index.entries,
        txn_index_entries=len(segment.aborted),
    )


def _lost(loaded: LoadedLog, prediction: Prediction) -> str | None:
    """Return the offsets that are gone when all is done, as `kcli dump` takes them.

    Open where damage hides the end. What was below the log start offset is not lost: it was deleted before.
    What the start itself deletes is, wherever it lies.
    """
    removed, restarted = prediction.removed, prediction.log_end_offset_after_restart
    first = [removed.first_offset] if removed.first_offset is not None else []
    if restarted is not None and restarted < prediction.after.log_end_offset:
        first.append(loaded.log_start_offset if prediction.restart_deletes_all else restarted)
    first = [max(min(first), loaded.log_start_offset)] if first else []
    before = list(loaded.deleted)
    if any(finding.code == "START-001" for finding in loaded.findings):
        before.append(loaded.log_end_offset)
    if not first and not before:
        return None
    if before or removed.trouble is not None:
        return f"{min(first + before)}.."
    last = prediction.after.log_end_offset - 1 if removed.last_offset is None else removed.last_offset
    return f"{first[0]}..{last}" if first[0] <= last else None


def _findings(partition: Partition, prediction: Prediction) -> Iterator[Finding]:
    watermark = prediction.high_watermark_before
    if watermark is not None and prediction.target < watermark and prediction.kind != NONE:
        yield Finding(
            "TRUNC-002",
            f"truncating to {prediction.target} cuts below the high watermark {watermark}",
            dir=partition.shown,
            expected=watermark,
            found=prediction.target,
        )
    trouble = prediction.restart_error or prediction.removed.trouble
    if trouble is not None:
        path = shown_path(partition, trouble.path)
        yield Finding("TRUNC-003", str(trouble), dir=partition.shown, path=path, position=trouble.position)
