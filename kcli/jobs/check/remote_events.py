"""What `check` finds in a partition of __remote_log_metadata: what `rlmm check` finds in its events."""

from collections.abc import Iterator
from contextlib import suppress

from formats.names import LOG, REMOTE_LOG_METADATA, PartitionDir, parse_file, parse_partition_dir
from kcli.engine.contract import Unit
from kcli.jobs.common import answer
from kcli.jobs.event_checks import EventChecks
from kcli.jobs.metadata_partitions import RemoteEvents, fold_unit
from kcli.jobs.tiered_leader import cache_of, load_leader, misplaced_events, unreached
from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.kafka.kraft.partition_start import Inspected
from kcli.kafka.remote.events import EventQuery
from kcli.kafka.storage.leader_epochs import load
from kcli.logdir.buffers import FileError
from kcli.logdir.partition import Partition
from kcli.logdir.partition_names import listed_log
from kcli.logdir.targets import Target, entry_of

OF_THE_EVENTS = "RLMM-"
STUCK_AFTER_MS = 3_600_000
"""A copy or a deletion that was not finished so long before the last event is a finding."""


def is_remote_metadata(target: Target) -> bool:
    """Whether a target is a partition of __remote_log_metadata, or lies in one."""
    return target.name is not None and target.name.topic == REMOTE_LOG_METADATA


def user_partition(finding: Finding) -> PartitionDir | None:
    """Return the partition whose remote segments a finding above info is about, as its message begins."""
    if finding.severity == SEVERITIES[0] or not finding.code.startswith(OF_THE_EVENTS):
        return None
    return parse_partition_dir(finding.message.partition(": ")[0])


def unreachable_segments(
    target: Target, events: RemoteEvents, inspected: Inspected, log_end: int
) -> Iterator[Finding]:
    """Yield that no leader epoch leads to a partition's remote segments, or no broker sees their events."""
    yield from misplaced_events(target, events)
    partition, log_start = Partition(target), inspected.checkpoints.log_start_offset
    with suppress(FileError):
        cache = cache_of(partition, events, is_needed=False)
        epochs = load(inspected.epochs, log_end, log_start, running=True).entries
        if unreached(cache, epochs, log_start, log_end):  # but recovery may take epochs from batches
            started = answer(Unit(number=0, targets=(target,)), lambda log: load_leader(log, cache))
            yield from (finding for finding in started.findings if finding.code == "EPOCH-001")


def remote_findings(directory: Target) -> Iterator[Finding]:
    """Yield what is wrong with the events in a directory, nothing where one of its segments is unread."""
    names = (parse_file(name) for name in listed_log(directory.path)[0])
    logs = sorted(
        (name.base_offset, name.name) for name in names if name.kind == LOG and not name.is_inactive
    )
    if not logs:
        return
    unit = Unit(number=0, targets=tuple(entry_of(directory, name, LOG) for _, name in logs))
    checks = EventChecks(None, STUCK_AFTER_MS)
    outcome = fold_unit(unit, EventQuery(), checks.findings, checks.watch)
    if outcome.error is None:
        yield from (finding for finding in outcome.findings if finding.code.startswith(OF_THE_EVENTS))
