"""What `kcli ls` runs: one row per partition directory, with a null for each piece that cannot be read."""

import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from formats.names import LOG, OFFSET_INDEX, TIME_INDEX, TXN_INDEX, FileName
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import YieldAndReturn, answer_once, failure_of, moved, topic_id_of, undisturbed, where
from kcli.jobs.log_starts import StartRequest, bounded_start, log_findings, log_start, start_others
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.meta_properties import StartFailure
from kcli.kafka.kraft.partition_start import attempt
from kcli.kafka.storage.loaded_log import HEADERS, LoadedLog, checkpointed, checkpoints
from kcli.logdir.buffers import FileError, file_error
from kcli.logdir.classify import LOG_DIR
from kcli.logdir.log_dirs import is_running
from kcli.logdir.partition import Partition, shown_error
from kcli.logdir.targets import PARTITION
from kcli.rows.partitions import PartitionRow

INDEXES = (OFFSET_INDEX, TIME_INDEX, TXN_INDEX)
BLOCK = 512  # bytes of a unit of `st_blocks` (POSIX)
LS_KINDS = frozenset({PARTITION, LOG_DIR})
AS_LISTED = StartRequest(is_bounded=True)
"""Asks for no more of a start than its log: what the metadata makes of it is not known."""


def ls(unit: Unit, *, request: StartRequest = AS_LISTED) -> Outcome:
    """Return the partition's row, and what a start makes of its directory; of a log dir what of all others.

    The first piece that cannot be read is the error, any further one a finding. A log that was not stopped
    cleanly is recovered as a start does; where the request `is_bounded`, one of at most RECOVERED_BYTES. Of a
    larger one the log end is null, and START-005 has the largest that it can be. Of a running broker the log
    ends where its file does. The partial says how the start of each log ends.
    """
    if unit.target.kind == LOG_DIR:
        findings, logs, failure = start_others(unit.target, request)
        return Outcome(number=unit.number, findings=findings, error=failure, partial=logs)
    return undisturbed(unit.target, lambda: _ls(unit, request))


def _ls(unit: Unit, request: StartRequest) -> Outcome:
    problems: list[FileError] = []
    outcome = answer_once(unit, lambda partition: _row(partition, problems, request))
    if not outcome.rows:
        return outcome
    partition, findings, errors = Partition(unit.target), outcome.findings, []
    for problem in problems:
        finding = moved(unit.target, problem)
        if finding is None:
            errors.append(shown_error(partition, problem))
        else:
            findings.append(finding)
    for error in errors[1:]:
        findings.append(Finding("LOG-008", error.message, partition.shown, error.path, error.position))
    return replace(outcome, error=failure_of(errors[0]) if errors else None)


def _row(partition: Partition, problems: list[FileError], request: StartRequest) -> YieldAndReturn:
    """Yield the row and what a start finds; return how the start of the log ends, nothing for `problems`."""
    sizes: Counter[str] = Counter()
    disk_bytes = leftovers = 0
    for file, status in files_of(partition, problems):
        sizes[file.kind] += status.st_size
        disk_bytes += status.st_blocks * BLOCK
        leftovers += file.is_inactive
    index_bytes = sum(sizes[kind] for kind in INDEXES)
    log_checkpoints = checkpoints(partition)
    started: LoadedLog | StartFailure | None = None
    try:
        started = yield from attempt(partition, bounded_start(partition, recover=not request.is_bounded))
    except FileError as error:
        problems.append(error)
    loaded = started if isinstance(started, LoadedLog) else None
    is_unknown = loaded is not None and loaded.source == HEADERS and not is_running(partition.target)
    high_watermark = loaded.high_watermark if loaded else None
    if high_watermark is None:
        high_watermark = checkpointed(partition.directory.high_watermarks, partition)
    yield PartitionRow(
        where(partition),
        segments=len(partition.segments),
        log_bytes=sizes[LOG],
        index_bytes=index_bytes,
        other_bytes=sizes.total() - sizes[LOG] - index_bytes,
        disk_bytes=disk_bytes,
        log_start_offset=loaded.log_start_offset if loaded else None,
        log_end_offset=loaded.log_end_offset if loaded and not is_unknown else None,
        log_end_offset_source=loaded.source if loaded else None,
        latest_epoch=loaded.epochs[-1].epoch if loaded and loaded.epochs and not is_unknown else None,
        high_watermark=high_watermark,
        recovery_point=checkpointed(partition.directory.recovery_points, partition),
        topic_id=topic_id_of(partition),
        leftovers=leftovers,
        state=partition.state,
    )
    if started is None:
        return []
    try:
        yield from log_findings(partition, log_checkpoints, started, request.fates)
    except FileError as error:
        problems.append(error)
    return [log_start(partition, started)]


def files_of(partition: Partition, problems: list[FileError]) -> Iterator[tuple[FileName, os.stat_result]]:
    """Yield each file of a partition directory; one that cannot be looked at becomes a problem."""
    for name, file in partition.files:
        path = os.path.join(partition.path, name)
        try:
            status = os.lstat(path)
        except OSError as error:
            problems.append(file_error(path, error))
            continue
        if not stat.S_ISDIR(status.st_mode):
            yield file, status
