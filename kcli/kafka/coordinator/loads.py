"""What the load of a coordinator's partition comes to, and the records at which it ends."""

from collections import deque
from collections.abc import Callable, Iterator

from formats.magic import record_count
from formats.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from kcli.kafka.coordinator.coordinator_log import CoordinatorLog
from kcli.kafka.coordinator.group_fold import GroupFold, Trouble
from kcli.kafka.coordinator.share_state import SharePartition, ShareStart, fold_share_state
from kcli.kafka.coordinator.transactions import (
    KNOWS_NO_MORE,
    NEVER_ENDS,
    STOPS,
    UNENDING_BEFORE,
    TransactionStates,
)
from kcli.kafka.findings.findings import Finding, Reporting
from kcli.kafka.kraft.meta_properties import NEWEST, Version
from kcli.kafka.kraft.partition_start import start
from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.kafka.storage.log_segment import file_batches, header
from kcli.logdir.log_dirs import is_running
from kcli.logdir.partition import Partition

UNLOADABLE, PASSED_OVER = "COORD-002", "COORD-003"
ENDS_BADLY = frozenset({"LOG-001", "LOG-004"})
"""Findings of a log that may have been longer: it ends in an incomplete batch, or in zeros."""


def load_groups(
    partition: Partition, groups: GroupFold, last_offset: int | None = None, last_time_ms: int | None = None
) -> Reporting[GroupFold]:
    """Yield what is wrong with the log of a partition of __consumer_offsets; return what it comes to."""
    _, log = yield from started(partition, last_offset, last_time_ms)
    groups.fold(log)
    yield from _ends(partition, log, groups.troubles)
    if groups.unknown:
        message = f"passed over: {groups.unknown} of its records"
        yield Finding(PASSED_OVER, message, dir=partition.shown)
    return groups


def load_share_groups(
    partition: Partition, last_time_ms: int | None = None
) -> Reporting[dict[SharePartition, ShareStart]]:
    """Yield what is wrong with the log of a partition of __share_group_state; return what it comes to."""
    _, log = yield from started(partition, None, last_time_ms)
    states, troubles = fold_share_state(log)
    yield from _ends(partition, log, troubles)
    return states


def load_transactions(partition: Partition, version: Version = NEWEST) -> Reporting[TransactionStates]:
    """Yield what is wrong with the log of a partition of __transaction_state; return what it comes to."""
    states = TransactionStates(partition.shown, version)
    loaded, log = yield from started(partition)
    findings = [*states.take(log)]
    yield from (finding for finding in findings if finding.code != STOPS or not log.is_cut(states.stop or 0))
    if states.version < UNENDING_BEFORE and _ends_without_record(loaded):
        message = "the last batch holds no record: the coordinator reads it for ever, and serves nothing"
        yield Finding(NEVER_ENDS, message, dir=partition.shown)
    yield from log.findings
    if log.broken is not None:
        yield log.broken._replace(code=STOPS, message=f"{log.broken.message}: {KNOWS_NO_MORE}")
    states.is_whole = states.stop is None and not log.is_incomplete
    states.is_damaged = bool(log.findings) or any(finding.code in ENDS_BADLY for finding in loaded.findings)
    return states


LOAD_OF: dict[str, Callable[[Partition, Version], Reporting[object]]] = {
    TRANSACTION_STATE: load_transactions,
    CONSUMER_OFFSETS: lambda partition, version: load_groups(partition, GroupFold(version=version)),
    SHARE_GROUP_STATE: lambda partition, _: load_share_groups(partition),
}
"""What loads the partitions of an internal topic in a release."""


def started(
    partition: Partition, last_offset: int | None = None, last_time_ms: int | None = None
) -> Reporting[tuple[LoadedLog, CoordinatorLog]]:
    """Yield what a start reports; return the log, and its records up to an offset or a time, inclusive."""
    loaded = yield from start(partition, exact=not is_running(partition.target))
    return loaded, CoordinatorLog(partition, loaded, last_offset, last_time_ms)


def _ends(partition: Partition, log: CoordinatorLog, troubles: list[Trouble]) -> Iterator[Finding]:
    """Yield what is wrong with a log that was read, and at what the load of its partition ends."""
    yield from log.findings
    troubles = [trouble for trouble in troubles if not log.is_cut(trouble.offset)]
    for offset, path, position, reason in troubles[:1]:
        suffix = f"; and {len(troubles) - 1} later ones" if len(troubles) > 1 else ""
        message = f"offset {offset}: {reason}{suffix}"
        yield Finding(UNLOADABLE, message, partition.shown, path, position, found=offset)
    if not troubles and log.broken is not None:
        yield log.broken._replace(code=UNLOADABLE)


def _ends_without_record(loaded: LoadedLog) -> bool:
    """Whether the last batch of a log holds no record, as cleaning may leave it."""
    last = next((segment for segment in reversed(loaded.segments) if segment.log_size), None)
    if last is None:
        return False
    with last.log() as log:
        batches = deque(file_batches(log, 0, last.log_size), maxlen=1)
        return any(record_count(header(log, batch)) == 0 for batch in batches)
