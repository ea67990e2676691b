"""What `kcli epoch` runs on a replica: its leader epochs, and what brokers and consumers make of them."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import wraps
from typing import NamedTuple

from formats.checkpoint import EpochEntry
from formats.errors import CorruptError
from formats.magic import record_count
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, answer, other_identity, unit_job, where
from kcli.kafka.findings.findings import Finding, Reporting
from kcli.kafka.kraft.partition_start import start
from kcli.kafka.replication.consumer_positions import (
    CACHE,
    FENCED,
    METADATA,
    UNFENCED,
    Bounds,
    Leadership,
    Position,
    conclude,
    request_error,
)
from kcli.kafka.storage import leader_epochs, load_findings
from kcli.kafka.storage.file_actions import epoch_bytes
from kcli.kafka.storage.leader_epochs import EndOffset, EpochCache, ends
from kcli.kafka.storage.loaded_log import GIVEN, LoadedLog, checkpoints
from kcli.kafka.storage.log_segment import BrokerError, LoadedSegment, file_batches, header
from kcli.logdir.buffers import FileError
from kcli.logdir.partition import LEADER_EPOCH_CHECKPOINT, Partition
from kcli.logdir.segment import Walk
from kcli.logdir.targets import PARTITION, partition_of
from kcli.rows import Item
from kcli.rows.epochs import EndOffsetRow, EpochAtRow, EpochDiffRow, EpochRow, EpochSpan, PositionRow
from kcli.words import resolve_offset

EPOCH_CACHE_KINDS = frozenset({PARTITION, LEADER_EPOCH_CHECKPOINT})
"""A leader-epoch-checkpoint is read as the partition directory that it lies in."""

FROM_CHECKPOINT = "checkpoint"
FROM_BATCHES = "batches"


class LogBounds(NamedTuple):
    """The log of an epoch cache (of a checkpoint or batches): its bounds, and what a start loaded.

    `loaded` is None where the log end offset was given, and the log is not read. `log_start_offset` is the
    checkpointed one there.
    """

    epoch_source: str
    running: bool
    log_start_offset: int
    log_end_offset: int
    source: str
    checkpointed_start: int
    loaded: LoadedLog | None


class Fence(NamedTuple):
    """The current leader epoch that a request names, -1 for none, and the metadata to compare it with."""

    current: int = UNFENCED
    metadata: str | None = None


NO_FENCE = Fence()


def job(work: Callable[..., Yield]) -> Callable[..., Outcome]:
    """Make a job of `work`, which takes a partition, its epoch cache, its log, and options by their names.

    The job answers about a unit's partition, or about the one around a leader-epoch-checkpoint. With a
    `log_end_offset` and epochs from the checkpoint the log is not read.
    """

    @wraps(work)
    def run(
        unit: Unit,
        *,
        source: str = FROM_CHECKPOINT,
        running: bool = False,
        log_end_offset: int | None = None,
        **options: object,
    ) -> Outcome:
        is_file = unit.target.kind != PARTITION

        def rows(partition: Partition) -> Yield:
            log = yield from _log(partition, source, log_end_offset, running=running, is_file=is_file)
            entries = yield from entries_of(partition, log)
            yield from work(partition, entries, log, **options)

        return answer(replace(unit, targets=(partition_of(unit.target),)) if is_file else unit, rows)

    return run


@job
def show(partition: Partition, entries: EpochCache, log: LogBounds) -> Yield:
    """Yield one row per leader epoch of the cache that a starting (or `running`) broker would hold."""
    origin, epoch_ends = where(partition), leader_epochs.ends(entries, log.log_end_offset)
    for entry, end in zip(entries, epoch_ends, strict=True):
        yield EpochRow(origin, entry.epoch, entry.start_offset, end_offset=end, source=log.epoch_source)


def checkpoint_lines(rows: Iterable[Item]) -> Iterator[str]:
    """Yield the lines of a leader-epoch-checkpoint with the entries of a partition; none without entries."""
    entries = tuple(EpochEntry(row.epoch, row.start_offset) for row in rows if isinstance(row, EpochRow))
    if entries:
        yield from epoch_bytes(entries).decode().splitlines()


def _log(
    partition: Partition, epoch_source: str, log_end_offset: int | None, *, running: bool, is_file: bool
) -> Reporting[LogBounds]:
    if log_end_offset is not None and epoch_source == FROM_CHECKPOINT:
        log_start = checkpoints(partition).log_start_offset
        return LogBounds(epoch_source, running, log_start, log_end_offset, GIVEN, log_start, None)
    # A broker that runs has recovered its log: the log ends where the file does.
    loaded = yield from start(partition, exact=not running)
    if is_file and not loaded.has_log and log_end_offset is None:
        path = os.path.join(partition.path, LEADER_EPOCH_CHECKPOINT)
        missing = "there is no segment in this directory, so the log end offset is unknown"
        raise FileError(path, "no-log", f"{missing}; `epoch end-offset --log-end-offset N` needs none")
    loaded_end = loaded.log_end_offset, loaded.source
    end, source = loaded_end if log_end_offset is None else (log_end_offset, GIVEN)
    start_offset, checkpointed_start = loaded.log_start_offset, loaded.checkpoints.log_start_offset
    return LogBounds(epoch_source, running, start_offset, end, source, checkpointed_start, loaded)


@job
def end_offset(
    partition: Partition,
    entries: EpochCache,
    log: LogBounds,
    *,
    epochs: tuple[int, ...] | None,
    fence: Fence = NO_FENCE,
) -> Yield:
    """Yield one row per requested epoch (None: `requested_all`): the broker's answer, and its rule."""
    origin = where(partition)
    leadership = yield from leadership_of(partition, fence, entries)
    for requested in leader_epochs.requested_all(entries) if epochs is None else epochs:
        error, end = answer_to(requested, entries, log, fence, leadership)
        yield EndOffsetRow(
            origin,
            requested_epoch=requested,
            leader_epoch=end.epoch,
            end_offset=end.end_offset,
            log_end_offset=log.log_end_offset,
            log_end_offset_source=log.source,
            rule=end.rule,
            current_leader_epoch=None if fence.current == UNFENCED else fence.current,
            partition_leader_epoch=None if leadership is None else leadership.epoch,
            partition_leader_epoch_source=None if leadership is None else leadership.source,
            error=error,
        )


@job
def at(partition: Partition, entries: EpochCache, log: LogBounds, *, offset: int | str) -> Yield:
    """Yield one row: the leader epoch at an offset (or `earliest`, `latest`); null if there is none."""
    number = resolve_offset(offset, log.log_start_offset, log.log_end_offset)
    yield from _outside("offset", number, partition, log)
    epoch, start_offset = leader_epochs.epoch_for_offset(entries, number) or (None, None)
    yield EpochAtRow(where(partition), number, epoch, start_offset)


def _outside(name: str, offset: int, partition: Partition, log: LogBounds) -> Iterator[Finding]:
    """Yield that an offset lies outside the log, if it does."""
    if not log.log_start_offset <= offset <= log.log_end_offset:
        yield Finding(
            "EPOCH-005",
            f"{name} {offset} lies outside the log",
            dir=partition.shown,
            expected=f"{log.log_start_offset} to {log.log_end_offset}",
            found=offset,
        )


def entries_of(partition: Partition, log: LogBounds) -> Reporting[EpochCache]:
    """Yield what there is to report about the epochs; return the cache of the broker."""
    if log.epoch_source == FROM_BATCHES and log.loaded is not None:
        before = yield from epochs_of_batches(partition, log.loaded)
    else:
        before = yield from load_findings.checkpointed_epochs(partition, log.loaded, running=log.running)
    if log.loaded is not None and (log.loaded.emptied or log.loaded.high_watermark is not None):
        return ()
    cut = leader_epochs.load(before, log.log_end_offset, log.checkpointed_start, running=log.running)
    yield from load_findings.dropped_epochs(partition, cut.past_end, log.log_end_offset)
    if cut.below_start:
        path = os.path.join(partition.shown, LEADER_EPOCH_CHECKPOINT)
        epochs = load_findings.list_epochs(cut.below_start)
        message = f"below the log start offset {log.checkpointed_start}: {epochs}"
        is_file = log.epoch_source == FROM_CHECKPOINT
        yield Finding("EPOCH-003", message, dir=partition.shown, path=path if is_file else None)
    return cut.entries


def epochs_of_batches(partition: Partition, loaded: LoadedLog) -> Reporting[EpochCache]:
    """Yield where a segment but the last breaks off; return the cache that the batches tell."""
    stops: list[Finding] = []
    last = (partition.path, 0)

    def batches() -> Iterator[tuple[int, int]]:
        nonlocal last
        for segment in loaded.segments:
            if segment.log_path is None:
                continue
            with segment.log() as log:
                walk = Walk(log, 0, segment.log_size)
                for position, header in walk:
                    last = segment.log_path, position
                    yield header.partition_leader_epoch, header.base_offset
                if walk.stop is not None and segment != loaded.segments[-1]:
                    stops.extend(load_findings.stop_finding(partition, segment.log_path, walk.stop))

    try:
        entries = leader_epochs.epochs_of_batches(batches())
    except CorruptError as error:
        raise FileError(last[0], "corrupt", f"a batch: {error}", last[1]) from error
    yield from stops
    return entries


def leadership_of(partition: Partition, fence: Fence, entries: EpochCache) -> Reporting[Leadership | None]:
    """Return what the broker knows of the leader; None without a fence, FileError where none is known."""
    if fence == NO_FENCE:
        return None
    if fence.metadata is not None:
        from kcli.jobs.cluster_metadata import state_in

        leadership = yield from state_in(fence.metadata, partition)
        if leadership is None:
            return Leadership(None, METADATA, is_known=False)
        state, broker = leadership[1], partition.directory.broker_id
        is_here = broker is None or broker in state.replicas
        return Leadership(state.leader_epoch, METADATA, True, is_here, broker in {None, state.leader})
    newest = [
        cache[-1].epoch for cache in (entries, leader_epochs.replay(partition.epoch_entries() or ())) if cache
    ]
    if not newest:
        message = "no leader epoch of this partition is known: its cache is empty; name --metadata"
        raise FileError(partition.path, "unknown-leader-epoch", message)
    newest_epoch = Leadership(max(newest), CACHE)
    if request_error(fence.current, newest_epoch) != FENCED:
        yield Finding(
            "EPOCH-011",
            f"the newest epoch of the cache, {newest_epoch.epoch}, is taken for the partition's leader epoch",
            dir=partition.shown,
        )
    return newest_epoch


def answer_to(
    requested: int, entries: EpochCache, log: LogBounds, fence: Fence, leadership: Leadership | None
) -> tuple[str | None, EndOffset]:
    """Return what a broker answers to OffsetForLeaderEpoch: an error, or the end of the epoch."""
    error = None if leadership is None else request_error(fence.current, leadership)
    if error is not None:
        return error, leader_epochs.NO_END_OFFSET
    return None, leader_epochs.end_offset_for(entries, requested, log.log_end_offset)


@job
def validate_positions(
    partition: Partition,
    entries: EpochCache,
    log: LogBounds,
    *,
    positions: tuple[Position, ...],
    reset: str,
    fence: Fence = NO_FENCE,
) -> Yield:
    """Yield a row for each position of a consumer; `reset`: its auto.offset.reset."""
    leadership = yield from leadership_of(partition, fence, entries)
    loaded = log.loaded
    watermark = checkpoints(partition).high_watermark if loaded is None else loaded.known_high_watermark
    bounds = Bounds(log.log_start_offset, watermark)
    origin = where(partition)
    leader_epoch = None if leadership is None or leadership.source != METADATA else leadership.epoch
    for position in positions:
        answer = answer_to(position.epoch, entries, log, fence, leadership)
        checked = conclude(position, answer, reset, bounds, log.log_end_offset, leader_epoch=leader_epoch)
        end = answer[1]
        yield PositionRow(
            origin,
            position.offset,
            position.epoch,
            outcome=checked.outcome,
            error=checked.error or answer[0],
            leader_epoch=end.epoch,
            end_offset=end.end_offset,
            reset=reset,
            next_offset=checked.next_offset,
            next_offset_epoch=checked.next_epoch,
            exception=checked.exception,
            log_start_offset=log.log_start_offset,
            high_watermark=watermark,
            log_end_offset=log.log_end_offset,
            log_end_offset_source=log.source,
        )
        yield from _outside("position", position.offset, partition, log)


# `epoch diff`: where the epochs of two replicas part, and what each has alone from there on


@unit_job
def diff(partition: Partition, unit: Unit, *, running: bool = False) -> Yield:
    """Yield a row about two replicas, the unit's targets, which start or are `running`; of one a finding."""
    from kcli.jobs.replica_pairs import dropped_by_start, load_replica, report_alone
    from kcli.kafka.replication.follower import find_divergence

    if len(unit.targets) == 1:
        yield report_alone(partition)
        return
    log = yield from load_replica(partition, running=running)
    other_partition = Partition(unit.targets[1])
    other_log = yield from load_replica(other_partition, running=running)
    yield from other_identity(partition, other_partition)
    for replica, loaded in ((partition, log), (other_partition, other_log)):
        if load_findings.lacks_epochs(loaded):
            yield load_findings.no_epochs(replica)
        if not running:
            yield from dropped_by_start(replica, loaded)
    divergence = find_divergence(log.epochs, log.log_end_offset, other_log.epochs, other_log.log_end_offset)
    other_origin = where(other_partition)
    alone_from = divergence.end if divergence.offset is None else divergence.offset
    yield EpochDiffRow(
        where(partition),
        other_origin.dir,
        other_origin.broker_id,
        divergence_offset=divergence.offset,
        last_common_epoch=divergence.last_common_epoch,
        records_only_here=records_from(log.segments, alone_from),
        records_only_there=records_from(other_log.segments, alone_from),
        log_end_offset=log.log_end_offset,
        other_log_end_offset=other_log.log_end_offset,
        epochs=_spans(log),
        other_epochs=_spans(other_log),
    )


def _spans(log: LoadedLog) -> tuple[EpochSpan, ...]:
    pairs = zip(log.epochs, ends(log.epochs, log.log_end_offset), strict=True)
    return tuple(EpochSpan(entry.epoch, entry.start_offset, end) for entry, end in pairs)


def records_from(segments: Sequence[LoadedSegment], offset: int) -> int | None:
    """Return how many records lie at or past an offset, at most by headers; None where they hide it."""
    count = 0
    bases = [segment.base_offset for segment in segments[1:]]
    for segment, end in zip(segments, [*bases, None], strict=True):
        if segment.log_path is None or (end is not None and end <= offset):
            continue
        try:
            with segment.log() as log:
                for in_file in file_batches(log, 0, segment.log_size):
                    batch = header(log, in_file)
                    if batch.last_offset < offset:
                        continue
                    records = record_count(batch)
                    if records is None:
                        return None
                    count += min(records, batch.last_offset - offset + 1)
        except BrokerError:
            return None
    return count
