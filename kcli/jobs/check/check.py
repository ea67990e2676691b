"""`check`: whether log dirs and partitions are whole and would load; each byte of a log is read once.

It is the pass of `scan` with more in it: `CheckLog` maps a log, a partition directory or a log dir,
`DirectoryCheck` judges the segments of a directory from the first to the last and gives its row.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from formats import names
from kcli.engine.contract import Outcome, Reduce, Unit
from kcli.jobs import common
from kcli.jobs.check.incremental import IncrementalState
from kcli.jobs.check.log_dirs import BrokerLogDirs, lost_checkpoints, missing_directories, where_of_log_dir
from kcli.jobs.check.remote_events import is_remote_metadata, remote_findings
from kcli.jobs.cluster_metadata import with_undecodable
from kcli.jobs.contradictions import with_damaged_states
from kcli.jobs.held_log import RetentionQuery
from kcli.jobs.held_log import findings as retention_findings
from kcli.jobs.log_pass import log_targets
from kcli.jobs.log_pass.log_targets import directory_of
from kcli.jobs.log_pass.scan import (
    DirectoryScan,
    ScanLog,
    ScannedUnit,
    fold_directories,
    inspected,
    is_segment,
)
from kcli.jobs.log_starts import StartRequest, start_others
from kcli.jobs.open_transactions import hanging_transactions
from kcli.kafka.coordinator.loads import LOAD_OF, UNLOADABLE
from kcli.kafka.findings.findings import SEVERITIES, Finding, Reporting
from kcli.kafka.integrity.checkpoints import beginning_findings, contradictions, stored_offsets, violations
from kcli.kafka.integrity.checks.partitions import (
    PartitionFiles,
    PartitionJudge,
    log_end_of,
    needs_start,
    without_details,
)
from kcli.kafka.integrity.checks.producers import producer_snapshots
from kcli.kafka.integrity.checks.segments import SegmentFacts, SegmentJudge
from kcli.kafka.integrity.compacted import is_cleaned
from kcli.kafka.kraft.log_settings import KnownSettings
from kcli.kafka.kraft.meta_properties import StartFailure
from kcli.kafka.kraft.metadata_snapshot import damaged_snapshot
from kcli.kafka.kraft.partition_start import attempt, inspect, start
from kcli.kafka.kraft.replica_fates import LogStart
from kcli.kafka.storage.load_findings import contradicting_lines
from kcli.kafka.storage.loaded_log import LoadedLog, Settings
from kcli.kafka.storage.metadata_log import behind_message, is_behind, snapshots
from kcli.kafka.storage.metadata_log import needs_start as needs_metadata_start
from kcli.logdir.buffers import FileError
from kcli.logdir.classify import LOG_DIR
from kcli.logdir.find import FileSet, each_once
from kcli.logdir.partition import Partition
from kcli.logdir.partition_names import SWAP, first_base, listed
from kcli.logdir.targets import PARTITION, Target
from kcli.rows import Item
from kcli.rows.checks import CLEAN, DAMAGED, WARNING, WILL_NOT_LOAD, CheckRow, EpochCheckRow
from kcli.rows.transactions import OpenTransactionRow

REFUSED = "START-008"
OF_A_RECOVERY = frozenset(
    {
        *("START-001", "START-007", "START-015", REFUSED),
        *("LOG-006", "LOG-009", "LOG-025", "CKPT-001", "DIR-005"),
    }
)
"""Findings of a start that a walk over the batches does not make itself."""
USUAL_START = StartRequest()
CHECK_ACCEPTS = log_targets.LOG_ACCEPTS | {LOG_DIR}
FAILS_TO_LOAD = frozenset({REFUSED, "START-009", "START-010"})
"""Findings of a start: a log that does not load, what ends the process, what takes a log dir offline."""
NO_EPOCHS, LOST_METADATA = "EPOCH-001", "START-014"


class CheckedUnit(NamedTuple):
    """What the map found in a log dir, a partition directory or a log.

    `findings`: those that a scan of it does not make. `logs`: how the start of it ends, where it fails, and
    of a log dir that of all directories that were not asked for. A partition directory that loads has
    `files`, a segment that was read `segment`.
    """

    scanned: ScannedUnit
    findings: tuple[Finding, ...] = ()
    files: PartitionFiles | None = None
    segment: SegmentFacts | None = None
    logs: tuple[LogStart, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckLog:
    """The map, picklable. A unit is a log dir, a partition directory, or a log.

    `records`: the records of batches are read, too. `quick`: of closed segments headers alone are.
    `request`: what is known of the start, and of which partitions units are. `query`:
    what keeps the cleaner, or segments, is looked for, too.
    """

    scan: ScanLog
    records: bool = False
    quick: bool = False
    request: StartRequest = USUAL_START
    query: RetentionQuery | None = None

    def __call__(self, unit: Unit) -> Outcome:
        """Return what is in a unit, a CheckedUnit, as the partial of a DirectoryCheck."""
        try:
            checked = self._check(unit)
        except FileError as error:
            outcome = common.failed(unit, error)
            checked = CheckedUnit(ScannedUnit(unit, findings=tuple(outcome.findings), error=outcome.error))
        return Outcome(number=unit.number, partial=checked)

    def _check(self, unit: Unit) -> CheckedUnit:
        if unit.target.kind == LOG_DIR:
            return self._log_dir(unit)
        if unit.target.kind == PARTITION:
            return self._partition(unit)
        if isinstance(unit.facts, SegmentFacts):
            return CheckedUnit(ScannedUnit(unit), segment=unit.facts)
        if not is_segment(unit.target):
            scanned = common.until_whole(unit, lambda: self.scan.read(unit), lambda scan: scan.error)
            return CheckedUnit(scanned)
        return common.until_whole(unit, lambda: self._segment(unit), lambda checked: checked.scanned.error)

    def _log_dir(self, unit: Unit) -> CheckedUnit:
        target = unit.target
        start_findings, logs, error = start_others(target, self.request)
        findings = (
            *common.log_dir_findings(target),
            *missing_directories(target),
            *lost_checkpoints(target),
            *start_findings,
        )
        return CheckedUnit(ScannedUnit(unit, error=error), findings, logs=tuple(logs))

    def _partition(self, unit: Unit) -> CheckedUnit:
        scanned, result = inspected(unit, lambda partition: inspect_files(partition, self.request.known))
        if isinstance(result, StartFailure):
            return CheckedUnit(scanned, logs=(LogStart(unit.target.shown, unit.target.log_dir, result),))
        if not isinstance(result, PartitionFiles):
            return CheckedUnit(scanned)
        findings = tuple(remote_findings(unit.target)) if is_remote_metadata(unit.target) else ()
        load = LOAD_OF.get(unit.target.name.topic) if unit.target.name is not None else None
        if load is not None:
            loaded = common.answer(unit, lambda partition: load(partition, self.request.version))
            of_load = (UNLOADABLE, "TXN-")  # at what the load of a coordinator ends
            findings = tuple(finding for finding in loaded.findings if finding.code.startswith(of_load))
        if self.query is not None:
            findings += tuple(retention_findings(unit, self.query, of_compacted=True))
        return CheckedUnit(scanned, findings, result)

    def _segment(self, unit: Unit) -> CheckedUnit:
        is_quick = self.quick and _is_closed(unit.target)
        limit = self.scan.options.max_batch_bytes if self.records and not is_quick else None
        judge = SegmentJudge(unit.target, limit, headers_alone=is_quick)
        scan = ScanLog(replace(self.scan.options, verify=False)) if is_quick else self.scan
        scanned = scan.read(unit, judge)
        if scanned.log is None:
            return CheckedUnit(scanned)
        facts = judge.end(scanned.log)
        return CheckedUnit(scanned, tuple(judge.take()), segment=facts)


def _is_closed(target: Target) -> bool:
    """Whether a segment is not the last of its directory."""
    directory, name = os.path.split(target.path)
    logs = [log for log in listed(directory or ".")[0] if names.parse_file(log).kind == names.LOG]
    return any(log > name for log in logs if is_segment(replace(target, path=log)))


def inspect_files(partition: Partition, known: KnownSettings) -> Reporting[PartitionFiles | StartFailure]:
    """Yield what a start finds; return what the files of the directory say, or why the log does not load."""
    settings = start_settings(partition, known)
    inspected = yield from attempt(partition, inspect(partition, settings))
    if isinstance(inspected, StartFailure):
        return inspected
    lines = inspected.epoch_lines or ()
    yield from contradicting_lines(partition, lines)
    is_tiered = known.is_tiered(partition)
    yield from beginning_findings(partition, lines, is_tiered=is_tiered)
    yield from damaged_snapshot(partition)
    offsets = yield from stored_offsets(partition, inspected.epoch_lines)
    newest = None
    needs_start = any(name.endswith(".log" + SWAP) for name in partition.names)
    if partition.topic == names.CLUSTER_METADATA:
        log_start = first_base(partition.names)
        newest = max(snapshots(partition.entries, log_start), default=None)
        needs_start |= needs_metadata_start(partition.entries, log_start)
    return PartitionFiles(
        inspected=inspected,
        offsets=offsets,
        snapshots=producer_snapshots(partition.names),
        topic_id=inspected.topic_id,
        metadata_snapshot=newest,
        needs_start=needs_start,
        is_compacted=is_cleaned(partition, offsets.cleaner_point, known),
        is_tiered=is_tiered,
        settings=settings,
    )


def start_settings(partition: Partition, known: KnownSettings) -> Settings:
    """Return the settings of the start of a directory: a -delete one is not recovered."""
    return known.of(partition)._replace(as_deleted=partition.state == names.DELETE)


def start_log(partition: Partition, known: KnownSettings) -> Reporting[LoadedLog | StartFailure]:
    """Yield what a start does, and what contradicts the log that it leaves; return it, or why it fails."""
    loaded = yield from attempt(partition, start(partition, settings=start_settings(partition, known)))
    if isinstance(loaded, LoadedLog):
        offsets = yield from stored_offsets(partition, loaded.epoch_lines)
        yield from contradictions(partition.target, offsets._replace(log_end=loaded.log_end_offset))
    return loaded


class CheckRun(NamedTuple):
    """What all directories of a run share.

    `notes`: the findings about directory entries that are not read, by directory. `state`: that of --since.
    `hanging`: returns what says which transactions of a partition hang. `codes`: what the codes of the
    findings that are shown begin with; none: all are shown. `query` as in CheckLog.
    """

    unread: frozenset[str]
    notes: dict[str, list[Finding]]
    log_dirs: BrokerLogDirs
    state: IncrementalState | None
    known: KnownSettings
    hanging: Callable[[], Callable[[Target], list[OpenTransactionRow]]]
    query: RetentionQuery | None
    codes: tuple[str, ...] = ()


class DirectoryCheck(DirectoryScan):
    """Judges the segments of a directory, in order, and gives its row at the end; changed in place."""

    def __init__(self, run: CheckRun) -> None:
        super().__init__(frozenset(), run.unread)
        self._run = run
        self._target: Target | None = None
        self._files: PartitionFiles | None = None
        self._judge: PartitionJudge | None = None
        self._segments: list[SegmentFacts] = []
        self._findings: list[Finding] = []
        self._logs: list[LogStart] = []
        self._failures = 0
        self._has_records: bool | None = None

    def add(self, outcome: Outcome) -> Outcome:
        """Take in the next unit of the directory; return what is found with it."""
        checked = outcome.partial
        if isinstance(checked, Unit):
            checked = CheckedUnit(ScannedUnit(checked, error=outcome.error))
        assert isinstance(checked, CheckedUnit)
        scanned = self.add_unit(outcome.number, checked.scanned)
        removed_base = log_targets.removed_segment(scanned.findings)
        scanned.findings.extend(checked.findings)
        self._target = self._target or directory_of(checked.scanned.unit.target)
        if checked.files is not None:
            self._files, self._judge = checked.files, PartitionJudge(self._target, checked.files)
        self._logs += checked.logs
        if removed_base is not None and self._judge is not None and self._files is not None:
            self._judge = PartitionJudge(self._target, self._files)  # retention took it and all before it
        if checked.segment is not None and checked.segment.base != removed_base:
            segment = checked.segment
            judged = segment.of_indexes if self._judge is None else self._judge.add(segment)
            scanned.findings.extend(judged)
            self._segments.append(without_details(segment))
        if scanned.error is not None:
            self._failures += 1
            self._judge = None  # a segment is missing: what follows cannot be held against it
        self._findings += scanned.findings
        return replace(scanned, findings=self._shown(scanned.findings))

    def finish(self, number: int) -> Outcome:
        """Return the row of the directory, and what only all of it shows."""
        target = self._target
        assert target is not None
        if target.kind == LOG_DIR:
            findings = list(self._run.log_dirs.of_log_dir(target, self._logs))
            self._findings += findings
            rows: list[Item] = [*self._run.log_dirs.rows_of(target), self._row(target, None)]
            return Outcome(number=number, rows=rows, findings=findings)
        findings, log_end = self._of_whole_log(target)
        if self._run.state is not None:
            self._run.state.remember(target, self._segments, [*self._findings, *findings])
        self._run.log_dirs.add(target, self._logs, self._findings)
        if self._files is not None:
            findings += self._of_others(target, self._files, findings, log_end)
            findings += self._hanging(target)
            query = self._run.query
            if query is not None and any((segment.newest or 0) > query.now_ms for segment in self._segments):
                findings += retention_findings(Unit(number=0, targets=(target,)), query, of_compacted=False)
        self._findings += findings
        row = self._row(target, log_end)
        is_held = isinstance(row, CheckRow) and self._run.log_dirs.holds(target, row)
        return Outcome(number=number, rows=[] if is_held else [row], findings=self._shown(findings))

    def _shown(self, findings: Iterable[Finding]) -> list[Finding]:
        codes = self._run.codes
        return [finding for finding in findings if not codes or finding.code.startswith(codes)]

    def _of_whole_log(self, target: Target) -> tuple[list[Finding], int | None]:
        """Return what only the whole log shows, and the log end offset after a start, None for unknown."""
        findings = list(self._judge.finish()) if self._judge is not None else []
        files = self._files
        if files is None or self._failures:
            return findings, None
        self._has_records = any(segment.size for segment in self._segments)
        if self._needs_start(files, findings):
            started, log_end = self._started(target)
            return findings + started, log_end
        log_end = files.inspected.log_end
        if log_end is None:
            log_end = log_end_of(self._segments, files.inspected.checkpoints)
            if any(violations(files.offsets._replace(log_end=log_end))):
                unit = Unit(number=0, targets=(target,))
                loaded = common.answer(unit, lambda partition: start(partition, exact=False)).partial
                if isinstance(loaded, LoadedLog):  # a broker may have begun segments since
                    log_end = loaded.log_end_offset
        findings += contradictions(target, files.offsets._replace(log_end=log_end))
        if files.metadata_snapshot is not None and log_end is not None:
            epoch, end = files.metadata_snapshot
            latest = self._judge.epoch if self._judge is not None else 0
            if is_behind(latest, log_end, epoch, end):
                if any(segment.size for segment in self._segments):
                    message = behind_message(latest, log_end, epoch, end)
                    behind = Finding("START-007", message, dir=target.shown, expected=end, found=log_end)
                    findings.append(behind)
                log_end = end
        return findings, log_end

    def _started(self, target: Target) -> tuple[list[Finding], int | None]:
        """Return what a start of the log finds, too, and its log end offset; None where it does not load."""
        unit, known = Unit(number=0, targets=(target,)), self._run.known
        outcome = common.answer(unit, lambda partition: start_log(partition, known))
        findings = [
            finding
            for finding in outcome.findings
            if finding.code in OF_A_RECOVERY and finding not in self._findings
        ]
        loaded, self._has_records = outcome.partial, None
        if isinstance(loaded, StartFailure):
            self._logs.append(LogStart(target.shown, target.log_dir, loaded))
        if not isinstance(loaded, LoadedLog):
            return findings, None
        self._has_records = any(segment.log_size for segment in loaded.segments)
        return findings, loaded.log_end_offset

    def _needs_start(self, files: PartitionFiles, of_whole_log: Sequence[Finding]) -> bool:
        """Whether only a start says what becomes of the log."""
        checkpoints = files.inspected.checkpoints
        is_damaged = any(finding.severity != SEVERITIES[0] for finding in (*self._findings, *of_whole_log))
        lacks_index = checkpoints.clean and files.inspected.log_end is None and bool(self._segments)
        return (
            files.needs_start
            or lacks_index
            or needs_start(self._segments, checkpoints, files.settings, is_damaged=is_damaged)
        )

    def _of_others(
        self, target: Target, files: PartitionFiles, of_whole_log: Sequence[Finding], log_end: int | None
    ) -> Iterator[Finding]:
        """Yield what the other inputs show about a partition."""
        log_dirs = self._run.log_dirs
        findings = list(log_dirs.findings(target, files.topic_id, has_records=self._has_records))
        yield from findings
        if files.is_tiered is not False and log_end is not None:
            codes = {finding.code for finding in (*self._findings, *of_whole_log, *findings)}
            if NO_EPOCHS not in codes:
                yield from log_dirs.without_epochs(target, files.inspected, log_end)

    def _hanging(self, target: Target) -> Iterator[Finding]:
        """Yield which open transactions of a partition hang, by what their coordinators here know."""
        if self._judge is None or not self._judge.has_open_transactions:
            return
        for row in self._run.hanging()(target):
            producer = f"producer {row.producer_id}/{row.producer_epoch}"
            since = f"from offset {row.start_offset} since {row.start_timestamp}"
            waiting = f"{row.records_waiting} records wait"
            message = f"{producer}, {since}: {row.reason}; {waiting}; {row.abort_command}"
            yield Finding("TXN-004", message, dir=target.shown)

    def _row(self, target: Target, log_end: int | None) -> CheckRow | EpochCheckRow:
        """Return the row of a directory; of several findings that are the same it counts one."""
        notes = self._run.notes.get(target.shown, ())
        about = {finding for finding in self._shown((*self._findings, *notes)) if _is_about(finding, target)}
        errors = sum(finding.severity == "error" for finding in about) + self._failures
        warnings = sum(finding.severity == "warning" for finding in about)
        result = DAMAGED if errors else WARNING if warnings else CLEAN
        if any(finding.code in FAILS_TO_LOAD for finding in about):
            result = WILL_NOT_LOAD
        counts = len(about) + self._failures, errors, warnings
        if target.kind == LOG_DIR:
            return CheckRow(where_of_log_dir(target), result, *counts, None, None, None, None)
        where = self.where or common.source_of(replace(target, shown=os.path.join(target.shown, "-"))).where
        if self._run.codes:
            return EpochCheckRow(where, result, *counts)
        if target.name is not None and target.name.kind == names.DELETE:
            log_end = None  # a start gives 0, and deletes the directory
        total = self.total
        assert total is not None
        return CheckRow(where, result, *counts, total.segments, total.summary.batches, total.size, log_end)


def _is_about(finding: Finding, target: Target) -> bool:
    """Whether a finding is about a directory or what lies in it, and not about one around it."""
    if finding.code in {*FAILS_TO_LOAD, LOST_METADATA} and finding.dir == target.shown:
        return True
    if target.kind == LOG_DIR and os.path.dirname(finding.dir or "") == target.shown:
        return True  # of a directory that was not asked for
    if finding.path is not None and target.kind == LOG_DIR:
        return os.path.dirname(finding.path) == target.shown
    return finding.dir == target.shown or (finding.dir is None and finding.path == target.shown)


def expand(file_set: FileSet) -> FileSet:
    """Return the same with every log; each log dir after its partitions."""
    readable = file_set if file_set.named_log_dirs else with_undecodable(file_set)
    file_set = each_once(with_damaged_states(readable))
    result = log_targets.expand(file_set, starts=True)
    log_dirs = {
        target.path: target
        for target in result.targets
        if target.kind == LOG_DIR and target.path in file_set.named_log_dirs
    }
    inputs = [target for target in result.targets if target.kind != LOG_DIR]
    inputs.sort(key=lambda target: not is_remote_metadata(target))  # before what they are about
    last = {target.log_dir: number for number, target in enumerate(inputs)}
    targets: list[Target] = []
    for number, target in enumerate(inputs):
        targets.append(target)
        if target.log_dir in log_dirs and last[target.log_dir] == number:
            targets.append(log_dirs.pop(target.log_dir))
    return replace(result, targets=[*targets, *log_dirs.values()])


def reducer(
    file_set: FileSet,
    log_dirs: BrokerLogDirs,
    state: IncrementalState | None,
    known: KnownSettings,
    query: RetentionQuery | None,
    *,
    codes: tuple[str, ...] = (),
) -> Reduce:
    """Return the reduce step over the directories that were found; `query` and `codes` as in CheckRun."""
    notes: dict[str, list[Finding]] = {}
    for finding in common.notes_as_findings(file_set.notes):
        for directory in {finding.dir, finding.path, os.path.dirname(finding.path or "")} - {None}:
            notes.setdefault(str(directory), []).append(finding)
    hanging = cache(lambda: hanging_transactions(file_set))
    run = CheckRun(log_targets.unread(file_set), notes, log_dirs, state, known, hanging, query, codes)
    return fold_directories(lambda: DirectoryCheck(run))
