"""The files of remote log metadata, by metadata partition, and what a broker's cache makes of their events.

All events of a user partition are in one metadata partition. So a unit is one metadata partition, with the
segments of all its copies: the partitions of a cluster are folded side by side, and nothing is left to
combine. The segments that are alive are in memory, not the events.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from formats.names import COMMITTED_OFFSETS, LOG, REMOTE_LOG_METADATA, REMOTE_LOG_SNAPSHOT
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import failed, log_dir_findings
from kcli.kafka.findings.findings import Finding, merged
from kcli.kafka.remote.cache import RemoteStore, UserPartition
from kcli.kafka.remote.coverage import EventCoverage
from kcli.kafka.remote.events import Event, EventLog, EventQuery
from kcli.kafka.remote.serde import CONSUMER_STOPS
from kcli.logdir.buffers import FileError, shown
from kcli.logdir.find import FileSet
from kcli.logdir.log_dirs import directory_facts
from kcli.logdir.partition import Partition
from kcli.logdir.targets import PARTITION, Target, entry_of
from kcli.rows import Failure, Item
from kcli.rows.remote_segments import RemotePartition

SNAPSHOT_NAME = "remote_log_snapshot"
COMMITTED_OFFSETS_NAME = "_rlmm_committed_offsets"


# The files


def expand(file_set: FileSet) -> FileSet:
    """Return the same with one target per file that holds remote log metadata, in the order found.

    Of a log dir: the segments of every partition of __remote_log_metadata, the remote_log_snapshot of every
    partition, then _rlmm_committed_offsets. A partition directory that was named itself must hold something
    of it, and a log that was named in a log dir be one of it.
    """
    result = replace(file_set, targets=[], failures=list(file_set.failures), notes=list(file_set.notes))
    for target in file_set.targets:
        if target.kind != PARTITION:
            is_of_others = target.name is not None and target.name.topic != REMOTE_LOG_METADATA
            if target.kind == LOG and target.log_dir is not None and is_of_others:
                message = f"this is a log of another topic than {REMOTE_LOG_METADATA}"
                result.failures.append(FileError(target.shown, "wrong-kind", message))
            else:
                result.targets.append(target)
            continue
        partition = Partition(target)
        may_hold_events = partition.topic in {REMOTE_LOG_METADATA, None}
        files: list[Target] = []
        try:
            if may_hold_events:
                files += [entry_of(target, f"{segment.stem}.log", LOG) for segment in partition.segments]
                result.notes.extend(partition.unexpected_names)
            if SNAPSHOT_NAME in partition.names:
                files.append(entry_of(target, SNAPSHOT_NAME, REMOTE_LOG_SNAPSHOT))
        except FileError as error:
            result.miss(target, error)
            continue
        if not files and (
            partition.topic == REMOTE_LOG_METADATA or target.log_dir not in file_set.named_log_dirs
        ):
            message = (
                f"neither segments of {REMOTE_LOG_METADATA} nor a {SNAPSHOT_NAME} in this partition directory"
            )
            result.failures.append(FileError(target.shown, "wrong-kind", message))
        result.targets.extend(files)
    for log_dir in file_set.named_log_dirs:
        path = os.path.join(log_dir, COMMITTED_OFFSETS_NAME)
        if os.path.lexists(path):
            target = Target(kind=COMMITTED_OFFSETS, path=path, shown=shown(path), name=None, log_dir=log_dir)
            result.targets.append(target)
    return result


def file_place(target: Target) -> tuple[str, str]:
    """Return the directory and the name of a file."""
    directory, name = os.path.split(target.shown)
    return directory or ".", name


def metadata_partition(target: Target) -> int | None:
    """Return the partition of __remote_log_metadata that a file is of; None for another directory."""
    name = target.name
    return name.partition if name is not None and name.topic == REMOTE_LOG_METADATA else None


def cluster_of(target: Target) -> str | None:
    """Return the cluster id of a target's log dir; None where it is not known."""
    return None if target.log_dir is None else directory_facts(target.log_dir).cluster_id


def sole_cluster(log_dirs: Iterable[str | None]) -> str | None:
    """Return the one cluster id that log dirs have: those without one are of it. None of several."""
    ids = {directory_facts(log_dir).cluster_id for log_dir in log_dirs if log_dir is not None} - {None}
    return ids.pop() if len(ids) == 1 else None


_Key: TypeAlias = tuple[int | str, str | None]


def by_metadata_partition(targets: Iterable[Target]) -> dict[_Key, list[Target]]:
    """Return the files of each metadata partition by number and cluster; others by their directory."""
    files = [(target, metadata_partition(target), cluster_of(target)) for target in targets]
    only = sole_cluster(target.log_dir for target, _, _ in files)
    groups: dict[_Key, list[Target]] = {}
    for target, number, cluster in files:
        key = file_place(target)[0] if number is None else number
        groups.setdefault((key, cluster or only), []).append(target)
    return groups


def partition_units(units: Iterable[Unit]) -> list[Unit]:
    """Return a unit for each metadata partition: its segments, by directory in the order of the log."""
    files: dict[str, Target] = {}
    for unit in units:
        files.setdefault(os.path.realpath(unit.target.path), unit.target)
    groups = by_metadata_partition(files.values())
    return [
        Unit(number=number, targets=_by_directory(targets)) for number, targets in enumerate(groups.values())
    ]


def _by_directory(files: Sequence[Target]) -> tuple[Target, ...]:
    order: dict[str, int] = {}
    keys = [(order.setdefault(directory, len(order)), name) for directory, name in map(file_place, files)]
    return tuple(file for _, file in sorted(zip(keys, files, strict=True), key=itemgetter(0)))


# The events


@dataclass(slots=True)
class MetadataPartition:
    """What the events of one metadata partition come to, and which of them are here.

    `dir`: the directory of its first copy. `error`: that of a copy that cannot be read, where no other copy
    has everything. `cluster_id`: None where it is not known. `is_stopped`: consumers stop at an event.
    """

    dir: str
    number: int | None
    store: RemoteStore
    coverage: EventCoverage = field(default_factory=EventCoverage)
    error: FileError | None = None
    cluster_id: str | None = None
    is_stopped: bool = False

    def remote_partition(self, key: UserPartition) -> RemotePartition:
        """Return the columns about a user partition."""
        topic_id, topic, partition = key
        return RemotePartition(self.dir, self.number, topic_id or None, topic, partition)


Answer: TypeAlias = Iterable[Item | Finding | Failure]
Watch: TypeAlias = Callable[[MetadataPartition, Event, str | None], None]
"""Sees every event with why the cache does not take it."""


def fold_unit(
    unit: Unit,
    query: EventQuery,
    answer: Callable[[MetadataPartition], Answer],
    watch: Watch | None = None,
    *,
    keeps_deleted: bool = False,
) -> Outcome:
    """Fold the events of a metadata partition that count; return the rows and findings of `answer`."""

    def items() -> Iterator[Item | Finding | Failure]:
        directory, number = file_place(unit.target)[0], metadata_partition(unit.target)
        partition = MetadataPartition(directory, number, RemoteStore(keeps_deleted=keeps_deleted))
        log = EventLog(unit.targets, query)
        fold(log, partition, watch)
        yield from read_findings(log)
        for target, error in log.errors:
            yield from unread(target, error)
        if log.has_all_segments:
            yield from log.missing(number, directory)
        yield from answer(partition)

    return collect(unit, items())


def fold(log: EventLog, partition: MetadataPartition, watch: Watch | None = None) -> None:
    """Take the events of a log in order."""
    apply = partition.store.apply
    for event in log:
        refused = apply(event[1], event[0])
        if watch is not None:
            watch(partition, event, refused)
    partition.coverage = log.coverage
    partition.is_stopped = any(finding.code in CONSUMER_STOPS for finding in log.findings)


def read_findings(log: EventLog) -> Iterator[Finding]:
    """Yield what is wrong with the log dirs and the files of a log that was read."""
    for file in log.first_files:
        yield from log_dir_findings(file)
    yield from log.findings


def unread(target: Target, error: FileError) -> Iterator[Finding | Failure]:
    """Yield that a file cannot be read: a finding where a running broker is the cause, else the error."""
    outcome = failed(Unit(number=0, targets=(target,)), error)
    yield from outcome.findings
    if outcome.error is not None:
        yield outcome.error


def collect(unit: Unit, items: Answer) -> Outcome:
    """Return the outcome of rows, findings and errors: the first error, which counts the others."""
    rows, findings, errors = list[Item](), list[Finding](), list[Failure]()
    for item in items:
        if isinstance(item, Finding):
            findings.append(item)
        elif isinstance(item, Failure):
            errors.append(item)
        else:
            rows.append(item)
    first = errors[0] if errors else None
    if first is not None and len(errors) > 1:
        first = first._replace(message=f"{first.message}; {len(errors) - 1} more files there cannot be read")
    return Outcome(number=unit.number, rows=rows, findings=findings, error=first)


# Several metadata partitions


class RemoteEvents(NamedTuple):
    """The remote segments by events, findings, and in which metadata partition events are (`places`)."""

    store: RemoteStore
    findings: tuple[Finding, ...]
    partitions: tuple[MetadataPartition, ...]
    places: dict[UserPartition, int]


def read_events(directories: tuple[Target, ...]) -> RemoteEvents:
    """Return the remote segments by the events of metadata partitions, copies of one among them.

    Unchanged files are read once. A partition that cannot be read says so itself. Each unit that reads the
    events yields the findings: a run lists what several units find once.
    """
    files = (file for directory in directories for file in expand(FileSet(targets=[directory])).targets)
    return _read_events(directories, tuple(map(_version, files)))


def _version(target: Target) -> tuple[str, int, int]:
    try:
        status = os.stat(target.path)
    except OSError:
        return target.path, -1, -1
    return target.path, status.st_mtime_ns, status.st_size


@lru_cache(maxsize=2)
def _read_events(
    directories: tuple[Target, ...],
    versions: tuple[tuple[str, int, int], ...],  # noqa: ARG001 - a key of the cache
) -> RemoteEvents:
    store, findings = RemoteStore(), list[Finding]()
    partitions, places = list[MetadataPartition](), dict[UserPartition, int]()
    for (_, cluster_id), targets in by_metadata_partition(directories).items():
        copies = [expand(FileSet(targets=[target])) for target in targets]
        log = EventLog(file for copy in copies for file in copy.targets)
        for target, copy in zip(targets, copies, strict=True):
            for error in copy.failures:
                log.add_unlisted(target, error)
        number, shown_dir = metadata_partition(targets[0]), targets[0].shown
        partition = MetadataPartition(shown_dir, number, store, cluster_id=cluster_id)
        fold(log, partition)
        if partition.coverage.lacks is not None:
            partition.error = next((error for _, error in log.errors), None)
        if number is not None:
            for key in store.caches:
                places.setdefault(key, number)
        findings += read_findings(log)
        findings += log.missing(number, shown_dir)
        partitions.append(partition)
    return RemoteEvents(store, tuple(merged(findings)), tuple(partitions), places)
