"""What `kcli epoch` runs: the leader epochs of a partition, and the answers that a broker gives from them."""

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeAlias

from kcli.analysis import epochs
from kcli.analysis.ends import (
    Ends,
    Recovery,
    checkpointed_log_start,
    ends,
    loaded_segments,
    log_start,
    stop_findings,
)
from kcli.analysis.epochs import EpochCache
from kcli.analysis.findings import Finding
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, answer, where
from kcli.logdir.buffers import FileError
from kcli.logdir.partition import LEADER_EPOCH_CHECKPOINT, Partition
from kcli.logdir.segment import Segment, Walk
from kcli.logdir.tree import PARTITION, partition_of
from kcli.rows.epochs import EndOffsetRow, EpochAtRow, EpochRow

ACCEPTS = frozenset({PARTITION, LEADER_EPOCH_CHECKPOINT})
"""A leader-epoch-checkpoint stands for the partition directory that it lies in."""

CHECKPOINT = "checkpoint"
BATCHES = "batches"
GIVEN = "given"
EARLIEST = "earliest"


class Cache(NamedTuple):
    """Which epoch cache is wanted: `source` (checkpoint or batches), of a starting or a `running` broker."""

    source: str
    running: bool


Work: TypeAlias = Callable[[Partition, Ends], Yield]


def show(unit: Unit, *, source: str = CHECKPOINT, running: bool = False) -> Outcome:
    """Return one row per leader epoch of the cache that a starting (or `running`) broker would hold."""
    return _answer(unit, partial(_show, Cache(source, running)))


def end_offset(
    unit: Unit,
    *,
    asked: tuple[int, ...] | None,
    log_end_offset: int | None = None,
    source: str = CHECKPOINT,
    running: bool = False,
) -> Outcome:
    """Return one row per requested epoch (None: `requested_all`): the broker's answer, and the rule that gave it.

    With a `log_end_offset` and epochs from the checkpoint the log is not read.
    """
    return _answer(unit, partial(_end_offset, asked, Cache(source, running)), log_end_offset)


def at(unit: Unit, *, offset: int | str, source: str = CHECKPOINT, running: bool = False) -> Outcome:
    """Return one row: the leader epoch at an offset (or `earliest`, `latest`), null where the cache has none."""
    return _answer(unit, partial(_at, offset, Cache(source, running)))


def _answer(unit: Unit, work: Work, log_end_offset: int | None = None) -> Outcome:
    is_file = unit.target.kind != PARTITION

    def job(partition: Partition) -> Yield:
        found = _ends(partition, log_end_offset, is_file=is_file)
        yield from found.findings
        yield from work(partition, found)

    return answer(replace(unit, target=partition_of(unit.target)) if is_file else unit, job)


def _ends(partition: Partition, log_end_offset: int | None, *, is_file: bool) -> Ends:
    if log_end_offset is not None:
        return Ends(
            checkpointed_log_start(partition),
            log_start(partition),
            log_end_offset,
            GIVEN,
            emptied=False,
            last_base_offset=-1,
            last_leader_epoch=-1,
            findings=(),
        )
    if is_file and not loaded_segments(partition):
        path = os.path.join(partition.path, LEADER_EPOCH_CHECKPOINT)
        advice = "no segment lies beside this file, so the log end offset is unknown; `epoch end-offset --log-end-offset N` needs none"
        raise FileError(path, "no-log", advice)
    return ends(partition)


def _show(cache: Cache, partition: Partition, found: Ends) -> Yield:
    entries = yield from _entries(cache, partition, found)
    place = where(partition)
    for entry, end in zip(entries, epochs.ends(entries, found.log_end_offset), strict=True):
        yield EpochRow(place, entry.epoch, entry.start_offset, end_offset=end, source=cache.source)


def _end_offset(asked: tuple[int, ...] | None, cache: Cache, partition: Partition, found: Ends) -> Yield:
    entries = yield from _entries(cache, partition, found)
    place = where(partition)
    for requested in epochs.requested_all(entries) if asked is None else asked:
        answer = epochs.end_offset_for(entries, requested, found.log_end_offset)
        yield EndOffsetRow(
            place,
            requested_epoch=requested,
            leader_epoch=answer.epoch,
            end_offset=answer.end_offset,
            log_end_offset=found.log_end_offset,
            log_end_offset_source=found.source,
            rule=answer.rule,
        )


def _at(offset: int | str, cache: Cache, partition: Partition, found: Ends) -> Yield:
    entries = yield from _entries(cache, partition, found)
    number = resolve(offset, found)
    if not found.log_start_offset <= number <= found.log_end_offset:
        wanted = f"{found.log_start_offset} to {found.log_end_offset}"
        yield Finding(
            "EPOCH-005",
            f"offset {number} lies outside the log",
            dir=partition.shown,
            expected=wanted,
            found=number,
        )
    entry = epochs.epoch_for_offset(entries, number)
    epoch, start_offset = entry or (None, None)
    yield EpochAtRow(where(partition), number, epoch, start_offset)


def resolve(offset: int | str, found: Ends) -> int:
    """Return the number that `earliest` (log start) or `latest` (log end) stands for; a number stands for itself."""
    if isinstance(offset, int):
        return offset
    return found.log_start_offset if offset == EARLIEST else found.log_end_offset


def _entries(cache: Cache, partition: Partition, found: Ends) -> Generator[Finding, None, EpochCache]:
    """Yield what is to be told about the epochs; return the cache of the broker."""
    if cache.source == BATCHES:
        stops: list[Finding] = []
        before = epochs.epochs_of_batches(_batches(partition, loaded_segments(partition), stops))
        yield from stops
    else:
        before = yield from checkpointed_epochs(partition, found, running=cache.running)
    if found.emptied:
        return ()
    loaded = epochs.load(before, found.log_end_offset, found.checkpointed_start, running=cache.running)
    file = LEADER_EPOCH_CHECKPOINT if cache.source == CHECKPOINT else None
    if loaded.past_end:
        told = (
            "; a broker that runs still holds it (--broker running)"
            if loaded.past_end[0].start_offset == found.log_end_offset
            else ""
        )
        message = (
            f"dropped, at or past the log end offset {found.log_end_offset}: {_listed(loaded.past_end)}{told}"
        )
        yield Finding("EPOCH-003", message, dir=partition.shown, file=file)
    if loaded.below_start:
        message = f"below the log start offset {found.checkpointed_start}: {_listed(loaded.below_start)}"
        yield Finding("EPOCH-004", message, dir=partition.shown, file=file)
    return loaded.entries


def checkpointed_epochs(
    partition: Partition, found: Ends, *, running: bool = False
) -> Generator[Finding, None, EpochCache]:
    """Yield what is to be told about leader-epoch-checkpoint; return its lines replayed, with what recovery adds.

    Recovery is followed only where a recovered segment ends in a batch that is newer than the cache: epochs rise in a log.
    """
    file = LEADER_EPOCH_CHECKPOINT
    lines = partition.epoch_entries()
    if lines is None:
        yield Finding("EPOCH-001", "no such file; the cache starts empty", dir=partition.shown, file=file)
    before = epochs.replay(lines or ())
    if lines is not None and epochs.contradicts(lines, before):
        message = f"{len(lines)} lines leave {len(before)} entries: {_listed(before)}"
        yield Finding(
            "EPOCH-002", message, dir=partition.shown, file=file, expected=len(lines), found=len(before)
        )
    newest, segments = (
        before[-1].epoch if before else epochs.UNDEFINED_EPOCH,
        [] if running else Recovery(partition).segments(),
    )
    if not any(_may_add_epochs(segment, newest, found) for segment in segments):
        return before
    recovered = epochs.recover(before, _batches(partition, segments, []))
    if recovered != before:
        yield Finding(
            "EPOCH-006",
            f"from the batches of recovered segments: {_listed(recovered)}",
            dir=partition.shown,
            file=file,
        )
    return recovered


def _may_add_epochs(segment: Segment, newest: int, found: Ends) -> bool:
    """Whether recovery could learn an epoch from this segment, by its last batch; one without an epoch tells nothing."""
    if segment.base_offset == found.last_base_offset and found.last_leader_epoch >= 0:
        return found.last_leader_epoch > newest
    end = segment.log_end()
    return end.next_offset > segment.base_offset and not 0 <= end.leader_epoch <= newest


def _listed(entries: EpochCache) -> str:
    shown = [f"epoch {entry.epoch} from {entry.start_offset}" for entry in entries[:5]]
    return ", ".join(shown + [f"and {len(entries) - 5} more"] * (len(entries) > 5))


def _batches(
    partition: Partition, segments: Sequence[Segment], stops: list[Finding]
) -> Iterator[tuple[int, int]]:
    for segment in segments:
        with segment.open_log() as log:
            walk = Walk(log)
            for _, header in walk:
                yield header.partition_leader_epoch, header.base_offset
            if walk.stop is not None and segment != loaded_segments(partition)[-1]:
                stops.extend(stop_findings(partition, segment, walk.stop))
