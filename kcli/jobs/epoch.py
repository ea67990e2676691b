"""What `kcli epoch` runs: the leader epochs of a partition, and the answers that a broker gives from them."""

import os
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from formats.checkpoint import EpochEntry
from kcli.analysis import epochs
from kcli.analysis.epochs import EpochCache
from kcli.analysis.findings import Finding
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, answer, where
from kcli.jobs.ends import Ends, checkpointed_log_start, ends, log_start, stop_findings
from kcli.logdir.buffers import FileError, reading
from kcli.logdir.partition import LEADER_EPOCH_CHECKPOINT, Partition
from kcli.logdir.segment import Walk
from kcli.logdir.tree import PARTITION, partition_of
from kcli.rows import Row

ACCEPTS = frozenset({PARTITION, LEADER_EPOCH_CHECKPOINT})
"""A leader-epoch-checkpoint stands for the partition directory that it lies in."""

CHECKPOINT = "checkpoint"
BATCHES = "batches"
GIVEN = "given"
EARLIEST = "earliest"

Work: TypeAlias = Callable[[Partition, Ends], Yield]


def show(unit: Unit, *, source: str = CHECKPOINT) -> Outcome:
    """Return one row per leader epoch of the cache that a starting broker would hold."""
    return _answer(unit, partial(_show, source))


def end_offset(
    unit: Unit, *, asked: tuple[int, ...] | None, log_end_offset: int | None = None, source: str = CHECKPOINT
) -> Outcome:
    """Return one row per requested epoch (None: `requested_all`): the broker's answer, and the rule that gave it.

    With a `log_end_offset` and epochs from the checkpoint the log is not read.
    """
    return _answer(unit, partial(_end_offset, asked, source), log_end_offset)


def at(unit: Unit, *, offset: int | str, source: str = CHECKPOINT) -> Outcome:
    """Return one row: the leader epoch at an offset (or `earliest`, `latest`), null where the cache has none."""
    return _answer(unit, partial(_at, offset, source))


def _answer(unit: Unit, work: Work, log_end_offset: int | None = None) -> Outcome:
    is_file = unit.target.kind != PARTITION

    def job(partition: Partition) -> Yield:
        found = _ends(partition, log_end_offset, is_file=is_file)
        yield from found.findings
        yield from work(partition, found)

    return answer(replace(unit, target=partition_of(unit.target)) if is_file else unit, job)


def _ends(partition: Partition, log_end_offset: int | None, *, is_file: bool) -> Ends:
    if log_end_offset is not None:
        return Ends(checkpointed_log_start(partition), log_start(partition), log_end_offset, GIVEN, emptied=False, findings=())
    if is_file and not partition.segments:
        path = os.path.join(partition.path, LEADER_EPOCH_CHECKPOINT)
        advice = "no segment lies beside this file, so the log end offset is unknown; `epoch end-offset --log-end-offset N` needs none"
        raise FileError(path, "no-log", advice)
    return ends(partition)


def _show(source: str, partition: Partition, found: Ends) -> Yield:
    entries = yield from _cache(source, partition, found)
    place = where(partition)
    for entry, end in zip(entries, epochs.ends(entries, found.log_end_offset), strict=True):
        yield Row("epoch", (*place, entry.epoch, entry.start_offset, end, source))


def _end_offset(asked: tuple[int, ...] | None, source: str, partition: Partition, found: Ends) -> Yield:
    entries = yield from _cache(source, partition, found)
    place = where(partition)
    for requested in epochs.requested_all(entries) if asked is None else asked:
        epoch, end, rule = epochs.end_offset_for(entries, requested, found.log_end_offset)
        yield Row("end_offset", (*place, requested, epoch, end, found.log_end_offset, found.source, rule))


def _at(offset: int | str, source: str, partition: Partition, found: Ends) -> Yield:
    entries = yield from _cache(source, partition, found)
    number = resolve(offset, found)
    if not found.log_start_offset <= number <= found.log_end_offset:
        wanted = f"{found.log_start_offset} to {found.log_end_offset}"
        yield Finding("EPOCH-005", f"offset {number} lies outside the log", dir=partition.shown, expected=wanted, found=number)
    entry = epochs.epoch_for_offset(entries, number)
    answered = (entry.epoch, entry.start_offset) if entry else (None, None)
    yield Row("epoch_at", (*where(partition), number, *answered))


def resolve(offset: int | str, found: Ends) -> int:
    """Return the number that `earliest` (log start) or `latest` (log end) stands for; a number stands for itself."""
    if isinstance(offset, int):
        return offset
    return found.log_start_offset if offset == EARLIEST else found.log_end_offset


def _cache(source: str, partition: Partition, found: Ends) -> Generator[Finding, None, EpochCache]:
    """Yield what is to be told about the epochs; return the cache of a starting broker."""
    if source == BATCHES:
        stops: list[Finding] = []
        lines = epochs.epochs_of_batches(_batches(partition, stops))
        yield from stops
    else:
        lines = yield from _lines(partition)
    if found.emptied:
        return ()
    with reading(os.path.join(partition.path, LEADER_EPOCH_CHECKPOINT)):
        loaded = epochs.load(lines, found.log_end_offset, found.checkpointed_start)
    yield from _load_findings(partition, source, lines, loaded, found)
    return loaded.entries


def _lines(partition: Partition) -> Generator[Finding, None, tuple[EpochEntry, ...]]:
    lines = partition.epoch_entries()
    if lines is None:
        yield Finding("EPOCH-001", "no such file; the cache is empty", dir=partition.shown, file=LEADER_EPOCH_CHECKPOINT)
        return ()
    return tuple(lines)


def _load_findings(
    partition: Partition, source: str, lines: tuple[EpochEntry, ...], loaded: epochs.LoadedCache, found: Ends
) -> Iterator[Finding]:
    file = LEADER_EPOCH_CHECKPOINT if source == CHECKPOINT else None
    if epochs.contradicts(lines, loaded.replayed):
        message = f"{len(lines)} lines leave {len(loaded.replayed)} entries: {_listed(loaded.replayed) or 'none'}"
        yield Finding("EPOCH-002", message, dir=partition.shown, file=file, expected=len(lines), found=len(loaded.replayed))
    if loaded.past_end:
        message = f"dropped, at or past the log end offset {found.log_end_offset}: {_listed(loaded.past_end)}"
        yield Finding("EPOCH-003", message, dir=partition.shown, file=file)
    if loaded.below_start:
        message = f"below the log start offset {found.checkpointed_start}: {_listed(loaded.below_start)}"
        yield Finding("EPOCH-004", message, dir=partition.shown, file=file)


def _listed(entries: EpochCache) -> str:
    shown = [f"epoch {entry.epoch} from {entry.start_offset}" for entry in entries[:5]]
    return ", ".join(shown + [f"and {len(entries) - 5} more"] * (len(entries) > 5))


def _batches(partition: Partition, stops: list[Finding]) -> Iterator[tuple[int, int]]:
    for segment in partition.segments:
        with segment.open_log() as log:
            walk = Walk(log)
            for _, header in walk:
                yield header.partition_leader_epoch, header.base_offset
            if walk.stop is not None and segment is not partition.segments[-1]:
                stops.extend(stop_findings(partition, segment, walk.stop))
