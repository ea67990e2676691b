"""How the start of each log ends, and what is to be said of it: also of those that were not asked for."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from formats.names import DELETE
from kcli.engine.contract import Unit
from kcli.jobs.common import Yield, answer
from kcli.kafka.findings.collector import collect_findings
from kcli.kafka.findings.findings import Finding, Reporting
from kcli.kafka.integrity.checkpoints import missing_records
from kcli.kafka.kraft.log_settings import NO_KNOWN_SETTINGS, KnownSettings
from kcli.kafka.kraft.meta_properties import NEWEST, TIERED, StartFailure, Version
from kcli.kafka.kraft.metadata_snapshot import damaged_snapshot
from kcli.kafka.kraft.partition_start import attempt, is_recovered, start, start_from, unflushed_bytes
from kcli.kafka.kraft.replica_fates import NO_FATES, OF_A_REPLICA, LogStart, ReplicaFates
from kcli.kafka.storage.load_findings import NOT_RECOVERED, checkpointed_epochs
from kcli.kafka.storage.loaded_log import HEADERS, Checkpoints, LoadedLog, Settings, checkpoints
from kcli.logdir.buffers import FileError
from kcli.logdir.find import FileSet, find, log_dir_targets
from kcli.logdir.log_dirs import PARTITION_METADATA_FILE, is_running
from kcli.logdir.partition import Partition
from kcli.logdir.targets import ALL_PARTITIONS, NO_PARTITIONS, PARTITION, Selection, Target
from kcli.rows import Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """What the broker's clock and configuration contribute.

    `shutdown` is `clean`, `unclean` or None (as the log dir's marker says), `version` the release of the
    broker. The settings are those of all topics, None where `known` says them. `fates`: what the metadata
    makes of each directory; `metadata_paths`: by log dir, which metadata log that is. `selection`: which
    partitions were asked for. `is_bounded`: logs are recovered as `ls` does.
    """

    now_ms: int = 0
    shutdown: str | None = None
    index_interval_bytes: int | None = None
    segment_index_bytes: int | None = None
    remote_storage: bool | None = None
    version: Version = NEWEST
    known: KnownSettings = NO_KNOWN_SETTINGS
    fates: ReplicaFates = NO_FATES
    metadata_paths: Mapping[str, str] = field(default_factory=dict)
    selection: Selection = ALL_PARTITIONS
    is_bounded: bool = False

    def settings(self, partition: Partition) -> Settings:
        """Return the settings of the start of a partition."""
        return self.known.of(
            partition,
            now_ms=self.now_ms,
            index_interval_bytes=self.index_interval_bytes,
            segment_index_bytes=self.segment_index_bytes,
            remote_storage=False if self.version < TIERED else self.remote_storage,
        )


def start_others(
    log_dir: Target, request: StartRequest
) -> tuple[list[Finding], list[LogStart], Failure | None]:
    """Return what the start makes of a log dir's other directories; the first that cannot be read."""
    findings, logs, failure = list[Finding](), dict[str, LogStart](), None
    if request.selection.include_leftovers and not request.selection.names:
        return findings, [], failure
    request = replace(request, is_bounded=request.is_bounded or is_running(log_dir))

    def start_other(partition: Partition) -> Yield:
        log_checkpoints = checkpoints(partition)
        log = yield from started_log(partition, log_checkpoints, request)
        logs[partition.shown] = log_start(partition, log)
        yield from log_findings(partition, log_checkpoints, log, request.fates)

    for target in find([log_dir.path], Selection(include_leftovers=True), log_dir.server).targets:
        if target.kind == PARTITION and not request.selection.takes(target.name):
            placed = replace(target, metadata_dir=log_dir.metadata_dir)
            outcome = answer(Unit(number=0, targets=(placed,)), start_other)
            findings += of_a_replica(outcome.findings)
            failure = failure or outcome.error
    return findings, [*logs.values()], failure


def log_starts(file_set: FileSet, request: StartRequest) -> list[LogStart]:
    """Return how the starts of all logs in log dirs end, each recovered as `ls` does."""
    request = replace(request, selection=NO_PARTITIONS, is_bounded=True)
    return [log for target in log_dir_targets(file_set) for log in start_others(target, request)[1]]


def of_a_replica(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that are said of a replica that was not asked for."""
    return [finding for finding in findings if finding.code in OF_A_REPLICA or finding.severity == "error"]


def started_log(
    partition: Partition, log_checkpoints: Checkpoints, request: StartRequest
) -> Reporting[LoadedLog | StartFailure]:
    """Yield what a start reports; return the log that it opens, or why it does not load."""
    settings = request.settings(partition)._replace(as_deleted=partition.state == DELETE)
    exact = not request.is_bounded or is_recovered(partition)
    work = start_from(partition, log_checkpoints, settings=settings, exact=exact)
    return (yield from attempt(partition, work))


def log_start(partition: Partition, log: LoadedLog | StartFailure) -> LogStart:
    """Return what the start of a log means to its broker."""
    start = LogStart(partition.shown, partition.target.log_dir)
    if isinstance(log, StartFailure):
        return start._replace(failure=log)
    unstable = None if partition.state == DELETE else log.producers.first_unstable_offset
    return start._replace(first_unstable_offset=unstable)


def log_findings(
    partition: Partition, log_checkpoints: Checkpoints, log: LoadedLog | StartFailure, fates: ReplicaFates
) -> Iterator[Finding]:
    """Yield what checkpoints, the snapshot of a metadata log, and the metadata say of a started log."""
    if isinstance(log, LoadedLog) and partition.state != DELETE:
        yield from missing_records(partition, log_checkpoints, log)
        yield from fates.findings(
            partition.target,
            has_topic_id=PARTITION_METADATA_FILE in partition.names,
            has_records=any(segment.log_size for segment in log.segments),
        )
    yield from damaged_snapshot(partition)


def bounded_start(partition: Partition, *, recover: bool = False) -> Reporting[LoadedLog]:
    """Yield what a start reports, also of the epochs; of RECOVERED_BYTES at most unless to `recover`."""
    findings: list[Finding] = []
    try:
        loaded = collect_findings(start(partition, exact=recover or is_recovered(partition)), findings)
    except FileError:
        yield from findings
        raise
    if loaded.source != HEADERS or is_running(partition.target):
        yield from findings
    else:
        yield from (finding for finding in findings if finding.code != NOT_RECOVERED)
        message = (
            f"running, or not stopped cleanly: the log end offset is at most {loaded.log_end_offset}, and "
            f"whether the log loads is not judged. A start verifies {unflushed_bytes(partition)} bytes "
            "behind the recovery point; --recover does the same"
        )
        yield Finding(NOT_RECOVERED, message, dir=partition.shown, found=loaded.log_end_offset)
    yield from checkpointed_epochs(partition, loaded, running=loaded.source == HEADERS)
    return loaded
