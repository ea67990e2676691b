"""What `check` finds about log dirs: whether they start, checkpoint lines, duplicates, topic ids."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property

from formats.names import CLUSTER_METADATA, NORMAL, PartitionDir, parse_partition_dir
from formats.types import TopicPartition
from kcli.jobs.check.remote_events import is_remote_metadata, unreachable_segments, user_partition
from kcli.jobs.cluster_metadata import KnownMetadata, newest_of
from kcli.jobs.contradictions import partitions_twice
from kcli.jobs.held_log import CLEANER_STOPPED
from kcli.jobs.log_starts import StartRequest, start_others
from kcli.jobs.metadata_partitions import RemoteEvents, read_events
from kcli.kafka.findings.findings import Finding
from kcli.kafka.integrity.checkpoints import CLEANER, cleaner_points
from kcli.kafka.kraft.meta_properties import StartFailure
from kcli.kafka.kraft.partition_start import Inspected
from kcli.kafka.kraft.remedies import with_remedy
from kcli.kafka.kraft.replica_fates import LogStart, ReplicaFates
from kcli.kafka.kraft.start_findings import (
    empty_findings,
    findings_of_logs,
    of_plan,
    offline_log_dirs,
    replica_fates,
    stop_findings,
    why_not_started,
)
from kcli.kafka.kraft.start_plan import StartPlan, plans_at_rest
from kcli.kafka.remote.serde import NOT_ALL_READ
from kcli.logdir.buffers import FileError, shown
from kcli.logdir.classify import LOG_DIR
from kcli.logdir.find import FileSet
from kcli.logdir.log_dirs import (
    HIGH_WATERMARK,
    LOG_START,
    METADATA_DIRECTORY,
    PARTITION_METADATA_FILE,
    RECOVERY_POINT,
    directory_facts,
    is_running,
    version_of,
)
from kcli.logdir.targets import NO_PARTITIONS, PARTITION, Target
from kcli.rows.checks import CLEAN, WARNING, WILL_NOT_LOAD, CheckRow
from kcli.rows.partitions import Where


def missing_directories(target: Target) -> Iterator[Finding]:
    """Yield a finding for each checkpoint file of a log dir with lines of partitions that are not there."""
    partitions = _partition_dirs(target)
    if partitions is None:
        return
    there = {(name.topic, name.partition) for name in partitions}
    facts, cleaner, cleaned = directory_facts(target.path), os.path.join(target.path, CLEANER), None
    with suppress(FileError):  # a finding of its own
        cleaned = cleaner_points(cleaner, version_of(cleaner))
    for name, lines in (
        (RECOVERY_POINT, facts.recovery_points),
        (LOG_START, facts.log_start_offsets),
        (HIGH_WATERMARK, facts.high_watermarks),
        (CLEANER, cleaned),
    ):
        missing = [str(log) for log in sorted(lines or ()) if (log.topic, log.partition) not in there]
        if missing:
            message = f"{missing[0]}: there is no such directory"
            if name == RECOVERY_POINT and facts.clean_shutdown:
                message += "; it was removed after the clean stop"
            path = shown(os.path.join(target.path, name))
            yield Finding("CKPT-002", message, dir=target.shown, path=path, more=len(missing) - 1)


def lost_checkpoints(target: Target) -> Iterator[Finding]:
    """Yield a finding for each checkpoint file that the clean stop of a log dir wrote, and that says nothing.

    `LogManager.shutdown` writes recovery points, with a line for each log, and log starts, in no release
    before 0.11; `ReplicaManager.shutdown` the high watermarks. A directory that was never formatted may be a
    copy without these files.
    """
    facts = directory_facts(target.path)
    logs = [
        log for log in _partition_dirs(target) or () if log.kind == NORMAL and log.topic != CLUSTER_METADATA
    ]
    if not (logs and facts.clean_shutdown and facts.cluster_id is not None):
        return
    for name in (RECOVERY_POINT, *([LOG_START] if facts.is_kraft else []), HIGH_WATERMARK):
        path = os.path.join(target.path, name)
        message = None
        if not os.path.lexists(path):
            message = "the file is missing"
        elif name == RECOVERY_POINT and facts.recovery_points is not None:
            absent = sorted(
                f"{log.topic}-{log.partition}"
                for log in logs
                if TopicPartition(log.topic, log.partition) not in facts.recovery_points
            )
            if absent:
                suffix = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
                message = f"no line of {absent[0]}{suffix} in it"
        if message is not None:
            message = f"the log dir was stopped cleanly, and {message}"
            yield Finding("DIR-011", message, dir=target.shown, path=shown(path))


def _partition_dirs(target: Target) -> set[PartitionDir] | None:
    """Return the names of partitions in a log dir; None where it cannot be listed."""
    try:
        names = {parse_partition_dir(name) for name in os.listdir(target.path)}
    except OSError:
        return None
    return {name for name in names if name is not None}


def where_of_log_dir(target: Target) -> Where:
    """Return the columns that say which log dir a row is about."""
    facts = directory_facts(target.path)
    return Where(target.shown, facts.broker_id, facts.cluster_id, None, None)


class BrokerLogDirs:
    """What all inputs together show: partitions that are there twice, and the topic ids of the metadata."""

    def __init__(
        self, file_set: FileSet, plans: Sequence[StartPlan], metadata: Sequence[KnownMetadata] = ()
    ) -> None:
        self._targets = [
            target
            for target in file_set.targets
            if target.kind == PARTITION and target.name and target.name.kind == NORMAL
        ]
        self._log_dirs = {target.path: target for target in file_set.targets if target.kind == LOG_DIR}
        self._plans = plans
        self._unread = {*self._log_dirs}
        self._logs: list[LogStart] = []
        newest = newest_of(metadata)
        self._ids = {
            cluster_id: {topic.name: topic_id for topic_id, topic in log.image.topics.items()}
            for cluster_id, log in newest.items()
        }
        self._metadata_logs = {
            cluster_id: shown(os.path.join(log.log_dir, METADATA_DIRECTORY))
            for cluster_id, log in newest.items()
        }
        self._held_rows: dict[str | None, list[tuple[Target, CheckRow]]] = {}
        self._topic_ids: dict[tuple[object, ...], str] = {}
        self._uncleaned: dict[str | None, list[Finding]] = {}
        """By log dir the logs that are due, and that its cleaner does not come to since it stopped."""
        self._remote: dict[tuple[str | None, str, int], dict[tuple[str, str], Finding]] = {}
        """What events show of a partition's remote segments: replicas of their log show the same."""
        self._facts = cache(directory_facts)
        """As they were at first: a run asks for each partition."""

    def add(self, target: Target, logs: Iterable[LogStart], findings: Sequence[Finding] = ()) -> None:
        """Keep how starts of logs end, and what is wrong with the remote segments of others."""
        self._logs += logs
        uncleaned = [finding for finding in findings if finding.found == CLEANER_STOPPED]
        self._uncleaned.setdefault(target.log_dir, []).extend(uncleaned)
        if is_remote_metadata(target) and target.log_dir is not None:
            cluster = self._facts(target.log_dir).cluster_id
            if any(finding.code in NOT_ALL_READ for finding in findings) and self._has_replica(target):
                return  # that one has events which contradict what this one shows
            for finding in findings:
                if (name := user_partition(finding)) is not None:
                    segments = self._remote.setdefault((cluster, name.topic, name.partition), {})
                    segments.setdefault((finding.code, finding.message), finding)

    def _has_replica(self, target: Target) -> bool:
        """Whether another log dir of the cluster has a replica of a partition."""
        copies = (copy for copy in self._targets if copy.name == target.name and copy.path != target.path)
        clusters = {self._facts(copy.log_dir).cluster_id for copy in copies if copy.log_dir is not None}
        return target.log_dir is not None and self._facts(target.log_dir).cluster_id in clusters

    @cached_property
    def _remote_events(self) -> RemoteEvents | None:
        """What the partitions of __remote_log_metadata among the inputs come to; None for none."""
        metadata = tuple(target for target in self._targets if is_remote_metadata(target))
        return read_events(metadata) if metadata else None

    def without_epochs(self, target: Target, files: Inspected, log_end: int) -> Iterator[Finding]:
        """Yield that no leader epoch leads to the remote segments of a partition."""
        if self._remote_events is not None:
            yield from unreachable_segments(target, self._remote_events, files, log_end)

    def of_log_dir(self, target: Target, logs: Iterable[LogStart]) -> Iterator[Finding]:
        """Yield what stops the start of a log dir; of the last one of a broker what ends the process, too."""
        self.add(target, logs)
        self._unread.discard(target.path)
        yield from self._starts.get(shown(target.path), ())
        for plan in self._plans:
            dirs = {log_dir.path for log_dir in plan.log_dirs}
            if target.path in dirs:
                is_last = dirs.isdisjoint(self._unread)
                starts = of_plan(plan, self._logs)
                starts = [*starts, *self._offline(plan, starts)] if is_last else starts
                for finding in findings_of_logs(plan, starts):
                    if finding.dir == target.shown if finding.code == "START-010" else is_last:
                        yield finding
        uncleaned = self._uncleaned.get(target.path)
        if uncleaned:
            message = f"{os.path.basename(uncleaned[0].dir or '')} is {uncleaned[0].message}"
            path = os.path.join(target.shown, CLEANER)
            yield Finding("DIR-012", message, target.shown, path, more=len(uncleaned) - 1)

    def holds(self, target: Target, row: CheckRow) -> bool:
        """Whether the row of a partition waits for that of its log dir: a later log may take that offline."""
        is_held = bool(self._plans) and target.log_dir in self._unread
        if is_held:
            self._held_rows.setdefault(target.log_dir, []).append((target, row))
        return is_held

    def rows_of(self, target: Target) -> Iterator[CheckRow]:
        """Yield the rows that were held for a log dir: of one that goes offline no whole log loads."""
        plans = (plan for plan in self._plans if target.path in {log_dir.path for log_dir in plan.log_dirs})
        plan = next(plans, None)
        offline = {} if plan is None else offline_log_dirs(plan, of_plan(plan, self._logs))
        for directory, row in self._held_rows.pop(target.path, ()):
            is_left = False
            if plan is not None and target.path in offline and row.result in {CLEAN, WARNING}:
                log = LogStart(directory.shown, directory.log_dir)
                is_left = why_not_started(plan, log, offline, self._fates.of(directory).outcome) is not None
            yield row._replace(result=WILL_NOT_LOAD) if is_left else row

    def _offline(self, plan: StartPlan, starts: Sequence[LogStart]) -> Iterator[LogStart]:
        """Yield the starts of logs that load, and whose log dir is offline by then: one may read there."""
        failed = {start.directory for start in starts}
        request = StartRequest(selection=NO_PARTITIONS)
        for path in offline_log_dirs(plan, starts):
            if path in self._log_dirs:
                _, logs, _ = start_others(self._log_dirs[path], request)
                yield from (log for log in logs if log.directory not in failed)

    @cached_property
    def _starts(self) -> Mapping[str, Sequence[Finding]]:
        """What stops the process, takes a log dir offline, or begins empty, by the log dir as shown."""
        by_dir: dict[str, list[Finding]] = {}
        rows = {shown(path) for path in self._log_dirs}
        for plan in self._plans:
            for finding in stop_findings(plan):
                if finding.path not in self._twice:
                    first = finding._replace(dir=shown(plan.log_dirs[0].path), path=finding.place)
                    of_row = finding if finding.dir in rows else first  # of an argument that is no log dir
                    by_dir.setdefault(of_row.dir or "", []).append(of_row)
            for finding in empty_findings(plan):
                by_dir.setdefault(finding.dir or "", []).append(finding)
        return by_dir

    @cached_property
    def _fates(self) -> ReplicaFates:
        """What the metadata makes of the directories of brokers at rest."""
        planned = {log_dir.path for plan in self._plans for log_dir in plan.log_dirs}
        log_dirs = {target.log_dir for target in self._targets if target.log_dir is not None} - planned
        return replica_fates([*self._plans, *plans_at_rest(sorted(log_dirs))])

    @cached_property
    def _twice(self) -> Mapping[str, StartFailure]:
        inputs = {target.shown for target in self._targets}
        return {path: stop for path, stop in partitions_twice(self._targets).items() if path in inputs}

    def findings(
        self, target: Target, topic_id: str | None, *, has_records: bool | None
    ) -> Iterator[Finding]:
        """Yield what the other inputs show about a directory; `has_records`: None where it does not load."""
        name = target.name
        stop = self._twice.get(target.shown)
        if stop is not None:
            message = f"{stop.exception}: {with_remedy(stop, [*self._log_dirs])}"
            yield Finding("START-009", message, dir=target.shown)
        if has_records is not None:
            yield from self._fates.findings(
                target, has_topic_id=topic_id is not None, has_records=has_records
            )
        if name is None or name.kind != NORMAL or target.log_dir is None or name.topic == CLUSTER_METADATA:
            return
        facts = self._facts(target.log_dir)
        for finding in self._remote.get((facts.cluster_id, name.topic, name.partition), {}).values():
            yield finding._replace(dir=target.shown)
        if topic_id is None:
            return
        expected = self._ids.get(facts.cluster_id, {}).get(name.topic)
        holder = "another partition of the topic"
        if expected is not None:
            holder = self._metadata_logs[facts.cluster_id]
        elif facts.cluster_id is not None:
            expected = self._topic_ids.setdefault((facts.cluster_id, name.topic), topic_id)
        if expected not in {topic_id, None} and not is_running(target):
            message = f"topic id {topic_id}, {holder} has {expected}"
            path = os.path.join(target.shown, PARTITION_METADATA_FILE)
            yield Finding("TOPIC-001", message, target.shown, path, None, expected, topic_id)
