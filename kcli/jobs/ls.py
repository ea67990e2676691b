"""What `kcli ls` runs: one row per partition directory, with a null for each piece that cannot be read."""

import os
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import zip_longest
from typing import TypeVar

from formats.names import parse_file
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import (
    directory_findings,
    failed,
    failure_of,
    internal_failure,
    moved,
    undisturbed,
    where,
)
from kcli.kafka.findings.collector import collect_findings
from kcli.kafka.findings.findings import Finding
from kcli.kafka.integrity import directory_sizes
from kcli.kafka.kraft.partition_start import start
from kcli.kafka.storage.epoch_findings import checkpointed_epochs
from kcli.kafka.storage.loaded_log import HEADERS, LoadedLog, checkpoints
from kcli.logdir.buffers import FileError, file_error
from kcli.logdir.log_dirs import is_running
from kcli.logdir.partition import Partition, shown_error
from kcli.rows.partitions import PartitionRow

RECOVERED_BYTES = 64 << 20
"""The most bytes of a log that `ls` recovers without being asked."""
NOT_RECOVERED = "START-005"

T = TypeVar("T")


def ls(unit: Unit, *, recover: bool = False) -> Outcome:
    """Return the partition's row.

    The first piece that cannot be read is the error, any further one a finding. A log that was not stopped
    cleanly is recovered as a start does, with `recover` or where at most RECOVERED_BYTES are to be recovered.
    Of a larger one the log end is null, and START-005 has the largest that it can be. Of a running broker the
    log ends where its file does.
    """
    return undisturbed(unit.target, lambda: _ls(unit, recover=recover))


def _ls(unit: Unit, *, recover: bool) -> Outcome:
    partition = Partition(unit.target)
    problems: list[FileError] = []
    try:
        row, findings = _row(partition, problems, recover=recover)
        findings.extend(directory_findings(partition))
    except FileError as error:
        outcome = failed(unit, error)
        return replace(outcome, findings=[*directory_findings(partition), *outcome.findings])
    except Exception as error:  # noqa: BLE001 - the one boundary: a bug on one input must not stop the others
        return Outcome(number=unit.number, error=internal_failure(unit.target.shown, error))
    errors: list[FileError] = []
    for problem in problems:
        finding = moved(unit.target, problem)
        if finding is None:
            errors.append(shown_error(partition, problem))
        else:
            findings.append(finding)
    findings.extend(
        Finding("LOG-008", problem.message, dir=partition.shown, path=problem.path, position=problem.position)
        for problem in errors[1:]
    )
    return Outcome(
        number=unit.number, rows=[row], findings=findings, error=failure_of(errors[0]) if errors else None
    )


def _row(
    partition: Partition, problems: list[FileError], *, recover: bool
) -> tuple[PartitionRow, list[Finding]]:
    findings: list[Finding] = []

    def read(piece: Callable[[], T]) -> T | None:
        try:
            return piece()
        except FileError as error:
            problems.append(error)
            return None

    totals = directory_sizes.totals(_files(partition, problems))
    loaded = read(lambda: collect_findings(_start(partition, recover=recover), findings))
    is_unknown = loaded is not None and loaded.source == HEADERS and not is_running(partition.target)
    facts = partition.directory
    high_watermark = directory_sizes.checkpointed(facts.high_watermarks, partition.topic, partition.number)
    row = PartitionRow(
        where(partition),
        segments=len(partition.segments),
        log_bytes=totals.log_bytes,
        index_bytes=totals.index_bytes,
        other_bytes=totals.other_bytes,
        disk_bytes=totals.disk_bytes,
        log_start_offset=loaded.log_start_offset if loaded else None,
        log_end_offset=loaded.log_end_offset if loaded and not is_unknown else None,
        log_end_offset_source=loaded.source if loaded else None,
        latest_epoch=loaded.epochs[-1].epoch if loaded and loaded.epochs and not is_unknown else None,
        high_watermark=loaded.high_watermark
        if loaded and loaded.high_watermark is not None
        else high_watermark,
        recovery_point=directory_sizes.checkpointed(facts.recovery_points, partition.topic, partition.number),
        topic_id=_topic_id(partition),
        leftovers=totals.leftovers,
        state=partition.state,
    )
    return row, findings


def _start(partition: Partition, *, recover: bool) -> Generator[Finding, None, LoadedLog]:
    """Yield what a start reports, also of the epochs; return what it holds."""
    is_live = is_running(partition.target)
    unflushed = 0 if recover else _unflushed_bytes(partition)
    findings: list[Finding] = []
    try:
        loaded = collect_findings(
            start(partition, exact=recover or (unflushed <= RECOVERED_BYTES and not is_live)), findings
        )
    except FileError:
        yield from findings
        raise
    if loaded.source != HEADERS or is_live:
        yield from findings
    else:
        yield from (finding for finding in findings if finding.code != NOT_RECOVERED)
        message = (
            f"not stopped cleanly: the log end offset is at most {loaded.log_end_offset}. A start verifies "
            f"{unflushed} bytes behind the recovery point; --recover does the same"
        )
        yield Finding(NOT_RECOVERED, message, dir=partition.shown, found=loaded.log_end_offset)
    yield from checkpointed_epochs(partition, loaded)
    return loaded


def _unflushed_bytes(partition: Partition) -> int:
    """Return the bytes of the segments that a start recovers."""
    given = checkpoints(partition)
    unflushed = 0
    for segment, following in zip_longest(partition.segments, partition.segments[1:]):
        if given.recovers(None if following is None else following.base_offset):
            with suppress(OSError):  # the start says what is wrong with the file
                unflushed += os.stat(segment.path("log")).st_size
    return unflushed


def _topic_id(partition: Partition) -> str | None:
    """Return the topic id, None without one: a file that cannot be read has stopped the start."""
    try:
        return partition.topic_id()
    except FileError:
        return None


def _files(partition: Partition, problems: list[FileError]) -> Iterator[directory_sizes.EntrySize]:
    for name in partition.names:
        path = os.path.join(partition.path, name)
        try:
            status = os.lstat(path)
        except OSError as error:
            problems.append(file_error(path, error))
            continue
        if not stat.S_ISDIR(status.st_mode):
            yield directory_sizes.entry_size(parse_file(name), status)
