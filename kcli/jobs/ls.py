"""What `kcli ls` runs: one row per partition directory, with a null for each piece that cannot be read."""

import os
import stat
from collections import Counter
from collections.abc import Generator
from dataclasses import replace

from formats.names import LOG, OFFSET_INDEX, TIME_INDEX, TXN_INDEX, parse_file
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, answer_once, failure_of, moved, topic_id_of, undisturbed, where
from kcli.kafka.findings.collector import collect_findings
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.partition_start import RECOVERED_BYTES, start, unflushed_bytes
from kcli.kafka.kraft.start_findings import NO_FATES, ReplicaFates
from kcli.kafka.storage.load_findings import checkpointed_epochs
from kcli.kafka.storage.loaded_log import HEADERS, LoadedLog, checkpointed
from kcli.logdir.buffers import FileError, file_error
from kcli.logdir.log_dirs import is_running
from kcli.logdir.partition import PARTITION_METADATA_FILE, Partition, shown_error
from kcli.rows.partitions import PartitionRow

INDEXES = (OFFSET_INDEX, TIME_INDEX, TXN_INDEX)
BLOCK = 512
"""Bytes of a unit of `st_blocks` (POSIX)."""
NOT_RECOVERED = "START-005"


def ls(unit: Unit, *, recover: bool = False, fates: ReplicaFates = NO_FATES) -> Outcome:
    """Return the partition's row, and what the metadata makes of its directory at a start.

    The first piece that cannot be read is the error, any further one a finding. A log that was not stopped
    cleanly is recovered as a start does, with `recover` or where at most RECOVERED_BYTES are to be recovered.
    Of a larger one the log end is null, and START-005 has the largest that it can be. Of a running broker the
    log ends where its file does.
    """
    return undisturbed(unit.target, lambda: _ls(unit, recover=recover, fates=fates))


def _ls(unit: Unit, *, recover: bool, fates: ReplicaFates) -> Outcome:
    problems: list[FileError] = []
    outcome = answer_once(unit, lambda partition: _row(partition, problems, fates, recover=recover))
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


def _row(partition: Partition, problems: list[FileError], fates: ReplicaFates, *, recover: bool) -> Yield:
    sizes: Counter[str] = Counter()
    disk_bytes = leftovers = 0
    for name in partition.names:
        path = os.path.join(partition.path, name)
        try:
            status = os.lstat(path)
        except OSError as error:
            problems.append(file_error(path, error))
            continue
        if not stat.S_ISDIR(status.st_mode):
            file = parse_file(name)
            sizes[file.kind] += status.st_size
            disk_bytes += status.st_blocks * BLOCK
            leftovers += file.is_inactive
    index_bytes = sum(sizes[kind] for kind in INDEXES)
    loaded = None
    try:
        loaded = yield from bounded_start(partition, recover=recover)
    except FileError as error:
        problems.append(error)
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
    has_topic_id = PARTITION_METADATA_FILE in partition.names
    yield from fates.findings(partition.target, has_topic_id=has_topic_id, has_records=bool(sizes[LOG]))


def bounded_start(partition: Partition, *, recover: bool = False) -> Generator[Finding, None, LoadedLog]:
    """Yield what a start reports, also of the epochs; return what it holds.

    It recovers RECOVERED_BYTES at most, unless it is to `recover`: then the log end comes from headers alone.
    """
    is_live = is_running(partition.target)
    unflushed = 0 if recover else unflushed_bytes(partition)
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
            f"running, or not stopped cleanly: the log end offset is at most {loaded.log_end_offset}. "
            f"A start verifies {unflushed} bytes behind the recovery point; --recover does the same"
        )
        yield Finding(NOT_RECOVERED, message, dir=partition.shown, found=loaded.log_end_offset)
    yield from checkpointed_epochs(partition, loaded)
    return loaded
