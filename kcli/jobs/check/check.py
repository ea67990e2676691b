"""`check`: whether log dirs and partitions are whole and would load; each byte of a log is read once.

It is `scan` with more judges: `CheckLog` maps a log, a partition directory or a log dir, `CheckReducer` joins
what was found from the first segment to the last and gives the row of each directory.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from formats.names import DELETE, LOG, parse_file
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.check.check_partition import DirectoryState, directory_state
from kcli.jobs.check.incremental import State
from kcli.jobs.check.log_dirs import Fleet, without_checkpoints, without_directory
from kcli.jobs.check.partition_start import REFUSED, log_end_now, start_leftovers, what_a_start_does
from kcli.jobs.check.remote_events import is_remote_metadata, remote_findings, without_epochs
from kcli.jobs.checkpoint import contradictions
from kcli.jobs.common import (
    failed,
    internal_failure,
    log_dir_findings,
    notes_as_findings,
    source_of,
    until_whole,
)
from kcli.jobs.scan import log_targets
from kcli.jobs.scan.scan import ScanLog, Scanned, ScannedRange, ScanReducer, inspected, is_segment, scanned
from kcli.jobs.startup.known_settings import KnownMetadata
from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.kafka.integrity.checks.partitions import PartitionJudge, log_end_of, needs_start, slim
from kcli.kafka.integrity.checks.seams import is_as_before
from kcli.kafka.integrity.checks.segments import SegmentFacts, SegmentJudge
from kcli.kafka.integrity.offset_invariants import violations
from kcli.kafka.kraft.broker_start import UNKNOWN_CONFIG, BrokerConfig, StartFailure
from kcli.kafka.kraft.start_settings import UNKNOWN, KnownSettings
from kcli.kafka.storage.metadata_log import behind_message, is_behind
from kcli.logdir.buffers import FileError, shown
from kcli.logdir.directory import directory_facts
from kcli.logdir.listing import listed
from kcli.logdir.once import each_once
from kcli.logdir.tree import LOG_DIR, PARTITION, Found, Target
from kcli.rows.check import CLEAN, DAMAGED, WARNING, WILL_NOT_LOAD, CheckRow
from kcli.rows.places import Where

ACCEPTS = log_targets.ACCEPTS | {LOG_DIR}
FAILS_TO_LOAD = frozenset({"START-008", "START-009", "START-010"})
"""Findings of a start: a log that does not load, what ends the process, what takes a log dir offline."""


class Checked(NamedTuple):
    """What is known of consecutive units of one directory: of a scan, of the directory, of its segments.

    `findings` and `failed`, a number of errors, are about the directory or what lies in it. `stops` are the
    failures of the start of it, or of a log dir's leftover directories.
    """

    scanned: Scanned | Unit
    target: Target | None = None
    state: DirectoryState | None = None
    segments: tuple[SegmentFacts, ...] = ()
    findings: tuple[Finding, ...] = ()
    failed: int = 0
    judge: PartitionJudge | None = None
    stops: tuple[StartFailure, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckLog:
    """The map, picklable. A unit is a log dir, a partition directory, or a log.

    `records`: the records of batches are read, too. `quick`: of closed segments headers alone are.
    `starts_leftovers`: the leftover directories of a log dir are no units, and a start loads them.
    """

    scan: ScanLog
    records: bool = False
    quick: bool = False
    starts_leftovers: bool = False
    known: KnownSettings = UNKNOWN

    def __call__(self, unit: Unit) -> Outcome:
        """Return what is in a unit, as the partial of a CheckReducer."""
        target = unit.target
        if target.kind == LOG_DIR:
            stops: list[StartFailure] = []
            findings = [
                *log_dir_findings(target),
                *without_directory(target),
                *without_checkpoints(target),
            ]
            findings += start_leftovers(target, self.known, stops) if self.starts_leftovers else ()
            partial = Checked(Scanned(()), target, stops=tuple(stops))
            return Outcome(number=unit.number, findings=findings, partial=partial)
        try:
            return self._read(unit)
        except FileError as error:
            outcome = failed(unit, error)
            found = ScannedRange(unit, findings=tuple(outcome.findings), error=outcome.error)
        except Exception as error:  # noqa: BLE001 - the boundary: a bug on one input stops no other
            found = ScannedRange(unit, error=internal_failure(target.shown, error))
        return Outcome(
            number=unit.number, partial=Checked(Scanned((found,)), log_targets.directory_of(target))
        )

    def _read(self, unit: Unit) -> Outcome:
        """Return what is in a partition directory or a log; FileError where it cannot be read."""
        target = unit.target
        if target.kind == PARTITION:
            states: list[DirectoryState] = []
            stops: list[StartFailure] = []
            found = inspected(unit, lambda partition: directory_state(partition, self.known, states, stops))
            state = states[-1] if states and not stops else None
            partial = Checked(Scanned((found,)), target, state, stops=tuple(stops[-1:]))
            findings = list(remote_findings(target)) if state and is_remote_metadata(target) else []
            return Outcome(number=unit.number, findings=findings, partial=partial)
        found, segments, findings = until_whole(unit, lambda: self._log(unit), lambda one: one[0].error)
        directory = log_targets.directory_of(target)
        partial = Checked(Scanned((found,)), directory, segments=segments)
        return Outcome(number=unit.number, findings=findings, partial=partial)

    def _log(self, unit: Unit) -> tuple[ScannedRange, tuple[SegmentFacts, ...], list[Finding]]:
        """Return what a scan finds in a log, and of a segment what the judges find besides."""
        if not is_segment(unit.target):
            return self.scan.read(unit), (), []
        limit = self.scan.options.max_batch_bytes if self.records else None
        is_quick = self.quick and _is_closed(unit.target)
        before = unit.known if isinstance(unit.known, SegmentFacts) else None
        if before is not None and not (before.seam and is_as_before(unit.target.path, before.seam)):
            unit, before = replace(unit, start=0), None  # a broker has truncated it since
        judge = SegmentJudge(unit.target, None if is_quick else limit, headers_alone=is_quick, before=before)
        scan = ScanLog(replace(self.scan.options, verify=False)) if is_quick else self.scan
        found = scan.read(unit, judge.observe)
        if found.piece is None:
            return found, (), []
        facts = judge.end(found.piece)
        return found, (facts,), judge.take()


def _is_closed(target: Target) -> bool:
    """Whether a segment is not the last of its directory."""
    directory, name = os.path.split(target.path)
    logs = [other for other in listed(directory or ".")[0] if parse_file(other).kind == LOG]
    return any(other > name for other in logs if is_segment(replace(target, path=other)))


@dataclass(frozen=True, slots=True)
class CheckReducer:
    """Joins what was found in a directory, from left to right, and gives its row at the end.

    `notes`: the findings about directory entries that are not read, by directory. `since`: what is
    not read again.
    """

    scan: ScanReducer
    notes: Mapping[str, Sequence[Finding]]
    fleet: Fleet
    since: State | None = None
    known: KnownSettings = UNKNOWN

    def __call__(self, left: Outcome | None, right: Outcome | None) -> Outcome:
        """Return two neighbours as one; at the end of a directory with its row."""
        a, b = _checked(left), _checked(right)
        number = max(each.number for each in (left, right) if each is not None)
        joined = self.scan.joined(
            None if left is None else scanned(a.scanned, left.error),
            None if right is None else scanned(b.scanned, right.error),
            number,
        )
        findings = joined.findings + ([] if right is None else right.findings)
        error, failed = joined.error, a.failed + b.failed
        judge = a.judge
        if b.state is not None and b.target is not None:
            judge = b.state.judge(b.target)
        elif a.state is not None and a.target is not None and judge is not None:
            gone = log_targets.removed_segment(findings)
            if gone is not None:  # retention did it, and took all before: the log begins after it
                judge = a.state.judge(a.target)
                _ = self.since and self.since.passed_over(a.target.shown, gone)
        target, segments = a.target or b.target, [*a.segments]
        for one in self._parts(target, b.segments, is_last=right is None):
            findings += one.of_indexes if judge is None else judge.add(one)
            segments.append(slim(one))
            if self.since is not None and target is not None:
                self.since.follow(target, one, judge, (*a.findings, *findings))
        if error is not None:
            judge = None  # a segment is missing: what follows cannot be held against it
        assert isinstance(joined.partial, Scanned)
        known = Checked(
            joined.partial,
            target,
            a.state or b.state,
            tuple(segments),
            (*a.findings, *findings),
            failed + (error is not None),
            judge,
            (*a.stops, *b.stops),
        )
        rows = [] if left is None else [*left.rows]
        if right is None and known.target is not None:
            last, log_end = self._at_the_end(known.target, known)
            findings = [*findings, *last]
            rows.append(self._row(known.target, known._replace(findings=(*known.findings, *last)), log_end))
        kept = [] if left is None else left.findings
        return Outcome(
            number=joined.number, rows=rows, findings=[*kept, *findings], error=error, partial=known
        )

    def _parts(
        self, target: Target | None, read: Sequence[SegmentFacts], *, is_last: bool
    ) -> Iterator[SegmentFacts]:
        """Yield the segments that were read, and before them, or at the end, those that were passed over."""
        for one in read:
            if self.since is not None and target is not None:
                yield from self.since.passed_over(target.shown, one.base)
            yield one if self.since is None else self.since.known(one)
        if is_last and self.since is not None and target is not None:
            yield from self.since.passed_over(target.shown)

    def _at_the_end(self, target: Target, known: Checked) -> tuple[list[Finding], int | None]:
        """Return what is known of a directory once all of it is read, and its log end offset."""
        stops = list(known.stops)
        if target.kind == LOG_DIR:
            return list(self.fleet.of_log_dir(target, stops)), None
        findings, log_end = _at_the_end(known, self.known, stops)
        if self.since is not None:
            self.since.end(target, (*known.findings, *findings))
        self.fleet.add(target, stops, known.findings)
        if known.state is not None:
            has_records = any(one.size for one in known.segments)
            findings += self.fleet.findings(target, known.state.topic_id, has_records=has_records)
            metadata, is_tiered = self.fleet.remote, known.state.is_tiered is not False
            is_said = any(one.code == "EPOCH-001" for one in (*known.findings, *findings))
            if metadata and is_tiered and log_end is not None and not is_said:
                findings += without_epochs(target, metadata, known.state.inspected, log_end)
        return findings, log_end

    def _row(self, target: Target, known: Checked, log_end: int | None) -> CheckRow:
        """Return the row of a directory; of several findings that are the same it counts one."""
        scanned = known.scanned if isinstance(known.scanned, Scanned) else Scanned(())
        notes = self.notes.get(target.shown, ())
        about = {one for one in (*known.findings, *notes) if _is_about(one, target)}
        errors = sum(one.severity == "error" for one in about) + known.failed
        warnings = sum(one.severity == "warning" for one in about)
        result = DAMAGED if errors else WARNING if warnings else CLEAN
        if any(one.code in FAILS_TO_LOAD for one in about):
            result = WILL_NOT_LOAD
        place, total = scanned.where or _place(target), scanned.total
        row = CheckRow(place, result, len(about) + known.failed, errors, warnings, None, None, None, None)
        if target.kind == LOG_DIR:
            return row
        if target.name is not None and target.name.kind == DELETE:
            log_end = None  # a start gives 0, and deletes the directory
        return row._replace(
            segments=total.segments,
            batches=total.summary.batches,
            log_bytes=total.size,
            log_end_offset=log_end,
        )


def _checked(outcome: Outcome | None) -> Checked:
    """Return what an outcome knows; the engine gives the unit that ended a worker."""
    if outcome is None:
        return Checked(Scanned(()))
    if isinstance(outcome.partial, Unit):
        return Checked(outcome.partial, log_targets.directory_of(outcome.partial.target))
    assert isinstance(outcome.partial, Checked)
    return outcome.partial


def _at_the_end(
    known: Checked, settings: KnownSettings, stops: list[StartFailure]
) -> tuple[list[Finding], int | None]:
    """Return what only all segments of a partition show together, and the log end offset after a start.

    That is None where it is not known; `stops` gets why a start fails.
    """
    state, target = known.state, known.target
    of_last = list(known.judge.finish()) if known.judge is not None else []
    if state is None or target is None or known.failed:
        return of_last, None
    given = state.inspected.given
    is_damaged = any(one.severity != SEVERITIES[0] for one in (*known.findings, *of_last))
    lacks_index = given.clean and state.inspected.log_end is None and bool(known.segments)
    if (
        state.needs_start
        or lacks_index
        or needs_start(known.segments, given, state.settings, is_damaged=is_damaged)
    ):
        found, log_end = what_a_start_does(target, settings, stops)
        return [*of_last, *(one for one in found if one not in known.findings)], log_end
    log_end = state.inspected.log_end
    if log_end is None:
        log_end = log_end_of(known.segments, given)
        if any(violations(state.offsets._replace(log_end=log_end))):
            log_end = log_end_now(target, log_end)
    of_last += contradictions(target, state.offsets._replace(log_end=log_end))
    if state.metadata_snapshot is not None and log_end is not None:
        epoch, end = state.metadata_snapshot
        latest = known.judge.epoch if known.judge is not None else 0
        if is_behind(latest, log_end, epoch, end):
            words = behind_message(latest, log_end, epoch, end)
            of_last.append(Finding("START-007", words, dir=target.shown, expected=end, found=log_end))
            log_end = end
    return of_last, log_end


def _is_about(finding: Finding, target: Target) -> bool:
    """Whether a finding is about a directory or what lies in it, and not about one around it."""
    if finding.code in FAILS_TO_LOAD and finding.dir == target.shown:
        return True
    if finding.path is not None and target.kind == LOG_DIR:
        place = finding.dir if finding.code == REFUSED and finding.dir != target.shown else finding.path
        return os.path.dirname(place or "") == target.shown
    return finding.dir == target.shown or (finding.dir is None and finding.path == target.shown)


def _place(target: Target) -> Where:
    if target.kind != LOG_DIR:
        return source_of(replace(target, shown=os.path.join(target.shown, "-"))).where
    facts = directory_facts(target.path)
    return Where(target.shown, facts.broker_id, facts.cluster_id, None, None)


def expand(found: Found) -> Found:
    """Return the same with every log, and each log dir that was named after its partitions."""
    found = each_once(found)
    result = log_targets.expand(found, starts=True)
    inputs = sorted(result.targets, key=lambda one: not is_remote_metadata(one))  # before what they are about
    last = {target.log_dir: number for number, target in enumerate(inputs)}
    log_dirs = {path: _log_dir(path) for path in found.named_log_dirs}
    targets: list[Target] = []
    for number, target in enumerate(inputs):
        targets.append(target)
        if target.log_dir in log_dirs and last[target.log_dir] == number:
            targets.append(log_dirs.pop(target.log_dir))
    return replace(result, targets=[*targets, *log_dirs.values()])


def _log_dir(path: str) -> Target:
    return Target(kind=LOG_DIR, path=path, shown=shown(path), name=None, log_dir=path)


def reducer(
    scan: ScanLog,
    found: Found,
    since: State | None = None,
    config: BrokerConfig = UNKNOWN_CONFIG,
    *,
    known: KnownSettings = UNKNOWN,
    metadata: Sequence[KnownMetadata] = (),
) -> CheckReducer:
    """Return the reduce step of what was found; `config` is of the broker whose log dirs they are."""
    notes: dict[str, list[Finding]] = {}
    for one in notes_as_findings(found.notes):
        for directory in {one.dir, one.path, os.path.dirname(one.path or "")} - {None}:
            notes.setdefault(str(directory), []).append(one)
    fleet = Fleet(found, config, metadata)
    return CheckReducer(ScanReducer(scan, log_targets.unread(found)), notes, fleet, since, known)
