"""What the checkpoint files of a log dir say of a partition, held against each other and its log.

Each is written at another time: log start and recovery point every minute, the high watermark every five
seconds, all of them at a clean stop. After a crash some of these orders may not hold. The truth is what a
start does about it: `UnifiedLog`, `LogLoader`, `LogCleanerManager`.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from formats.checkpoint import EpochEntry, read_offset_checkpoint
from formats.names import CLUSTER_METADATA, DELETE, NORMAL, STRAY
from formats.types import TopicPartition
from kcli.kafka.findings.collector import collect_findings
from kcli.kafka.findings.findings import Finding, Reporting
from kcli.kafka.storage.loaded_log import Checkpoints, LoadedLog, checkpointed
from kcli.logdir.buffers import FileError, decode_optional, shown
from kcli.logdir.log_dirs import is_running, version_of
from kcli.logdir.partition import Partition
from kcli.logdir.partition_names import DELETED, first_base
from kcli.logdir.targets import Target

CLEANER, LOST_END = "cleaner-offset-checkpoint", "LOG-025"
START_ABOVE_END = "log-start-above-log-end"
"""The name of the one that a start itself finds: it then deletes every segment."""
FLUSHED_ABOVE_END = "recovery-point-above-log-end"
"""The name of the one that a crash may leave, and a clean stop never does."""


class Offsets(NamedTuple):
    """Offsets of a partition as stored, None for unknown; `log_end`: as started, `clean`: the log dir."""

    log_start: int | None
    recovery_point: int | None
    high_watermark: int | None
    cleaner_point: int | None
    epoch_start: int | None
    log_end: int | None
    clean: bool = False


class Violation(NamedTuple):
    """An invariant that does not hold: its name, an offset, the one that it may not exceed, the effect."""

    name: str
    offset: int
    limit: int
    effect: str


_LOWERED = "a start lowers the high watermark to the log end: committed records are missing here"
_INVARIANTS = (
    ("log_start", "high_watermark", "a start raises the high watermark to the log start"),
    ("high_watermark", "log_end", _LOWERED),
    ("recovery_point", "log_end", "the log that a start opens lacks records that were flushed"),
    ("cleaner_point", "log_end", "the cleaner begins anew at the log start"),
    ("epoch_start", "log_end", "a start drops the epoch"),
)
"""The first offset of each may not be above the second; its name says so, as START_ABOVE_END."""


def violations(offsets: Offsets) -> Iterator[Violation]:
    """Yield the invariants that do not hold, in a fixed order; what is unknown violates none."""
    values = offsets._asdict()
    for lower, upper, effect in _INVARIANTS:
        value, limit = values[lower], values[upper]
        if value is not None and limit is not None and value > limit:
            yield Violation(f"{lower}-above-{upper}".replace("_", "-"), value, limit, effect)


def stored_offsets(partition: Partition, lines: Sequence[EpochEntry] | None) -> Reporting[Offsets]:
    """Yield which checkpoints cannot be used; return a partition's offsets; `lines` of its epochs."""
    facts = partition.directory
    return Offsets(
        log_start=checkpointed(facts.log_start_offsets, partition),
        recovery_point=checkpointed(facts.recovery_points, partition),
        high_watermark=checkpointed(facts.high_watermarks, partition),
        cleaner_point=(yield from cleaner_point(partition)),
        epoch_start=lines[-1].start_offset if lines else None,
        log_end=None,
        clean=facts.clean_shutdown,
    )


def contradictions(target: Target, offsets: Offsets) -> Iterator[Finding]:
    """Yield a finding for each invariant that does not hold in a partition directory.

    Beside a running broker there is none: it writes each file at another time, and the lines of a topic that
    is created again are those of the deleted one until then. A clean stop flushes each log up to its end, and
    checkpoints that as its recovery point: a log that ends below it has lost records since
    (`LogManager.shutdown`). So has one that is empty after a kill: a crash loses what was not flushed.
    """
    is_empty = offsets.log_end is not None and offsets.log_end <= (offsets.log_start or 0)
    violated = broken_invariants(target, offsets)
    if violated and is_running(target):
        return
    for name, offset, limit, effect in violated:
        is_lost = (offsets.clean or is_empty) and name == FLUSHED_ABOVE_END
        message = f"{name}: {offset}, {limit} at most; {effect}"
        if is_lost:
            message = f"the log was flushed up to offset {offset}, and a start opens it with the log end "
            message += f"{limit}: at most {offset - limit} records are missing there"
        code = LOST_END if is_lost else "CKPT-001"
        yield Finding(code, message, dir=target.shown, expected=limit, found=offset)


def missing_records(partition: Partition, checkpoints: Checkpoints, log: LoadedLog) -> Iterator[Finding]:
    """Yield what checkpoint files know that the log which a start opens does not hold."""
    offsets = collect_findings(stored_offsets(partition, log.epoch_lines))
    offsets = offsets._replace(clean=checkpoints.clean, recovery_point=checkpoints.recovery_point)
    offsets = offsets._replace(high_watermark=checkpoints.high_watermark, log_end=log.log_end_offset)
    yield from contradictions(partition.target, offsets)


def lost_end(partition: Partition, log: LoadedLog) -> Iterator[Finding]:
    """Yield that a log ends below what was flushed: answers from its records lack those behind its end."""
    findings = missing_records(partition, log.checkpoints, log)
    yield from (finding for finding in findings if finding.code == LOST_END)


def broken_invariants(target: Target, offsets: Offsets) -> list[Violation]:
    """Return the invariants that do not hold: none of a -delete or -stray one, whose lines are not its."""
    if target.name is not None and target.name.kind in {DELETE, STRAY}:
        return []
    return list(violations(offsets))


def beginning_findings(
    partition: Partition, lines: Sequence[EpochEntry], *, is_tiered: bool | None
) -> Iterator[Finding]:
    """Yield that the first segments are gone from a log that was stopped cleanly; `lines` are its epochs.

    A broker that deletes segments cuts the leader epochs at the new log start
    (`LeaderEpochFileCache.truncateFromStartAsyncFlush`). It checkpoints a log start below the first segment
    of tiered logs alone (`LogManager.checkpointLogStartOffsets`): of one nothing is said.
    """
    name, facts = partition.target.name, partition.directory
    if name is None or name.kind != NORMAL or name.topic == CLUSTER_METADATA:
        return
    if not facts.clean_shutdown or facts.log_start_offsets is None or is_tiered:
        return
    first = first_base(partition.names, DELETED)  # these were left out on purpose
    log_start = checkpointed(facts.log_start_offsets, partition)
    begin, message = first, ""
    if log_start is not None and log_start < first:
        if is_tiered is None:
            return
        begin, message = log_start, f"the log start is {log_start}"
    if lines and lines[0].start_offset < begin:
        begin = lines[0].start_offset
        message = f"leader epoch {lines[0].epoch} begins at {begin}"
    if message:
        message += f", the first segment at {first}"
        yield Finding("LOG-022", message, dir=partition.shown, expected=first, found=begin)


def cleaner_point(partition: Partition) -> Reporting[int | None]:
    """Yield why the cleaner's checkpoint cannot be used; return the partition's line of it, None without."""
    log_dir = partition.target.log_dir
    if log_dir is None or partition.topic is None or partition.number is None:
        return None
    path = os.path.join(log_dir, CLEANER)
    try:
        points = cleaner_points(path, version_of(path))
    except FileError as error:
        yield Finding("DIR-005", error.message, dir=shown(log_dir), path=shown(path), position=error.position)
        return None
    return points.get(TopicPartition(partition.topic, partition.number))


@lru_cache(maxsize=64)
def cleaner_points(path: str, _version: tuple[int, int, int] | None) -> Mapping[TopicPartition, int]:
    """Return the offsets of a checkpoint file; a file that did not change is read once."""
    return decode_optional(path, read_offset_checkpoint) or {}
