"""What a starting broker makes of a partition directory.

Segments, offsets, epochs, producer snapshots, and what it cuts. This is the one start: every command asks
here. The truth is `LogLoader`, then the constructor of `UnifiedLog`; for the metadata log
`KafkaRaftLog.createLog`. Nothing is changed on disk: every deletion, rename and rebuilt index is a value.

A clean start trusts the files: an index holds as many entries as its length says, and only the tail of the
last segment is read. After an unclean stop every segment from the recovery point on is checked and rebuilt;
`exact=False` reads headers alone there.
"""

import os
from collections.abc import Generator, Iterator
from contextlib import suppress
from itertools import zip_longest
from typing import NamedTuple, TypeVar

from formats.checkpoint import EpochEntry
from formats.names import CLUSTER_METADATA, NORMAL, parse_partition_dir
from kcli.kafka.findings.collector import collect_findings
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.meta_properties import StartFailure
from kcli.kafka.storage import loaded_log
from kcli.kafka.storage.leader_epochs import EpochCache
from kcli.kafka.storage.loaded_log import UNKNOWN_SETTINGS, Checkpoints, LoadedLog, Settings
from kcli.kafka.storage.log_loader import LogLoader
from kcli.kafka.storage.log_segment import CORRUPT_RECORD, KAFKA_STORAGE, BrokerError
from kcli.kafka.storage.producer_state import rebuild
from kcli.logdir.buffers import DataFile, FileError, shown
from kcli.logdir.log_dirs import has_own_files, is_running, metadata_log
from kcli.logdir.partition import Partition, shown_path
from kcli.logdir.segment import only_zeros
from kcli.logdir.targets import PARTITION, Target, partition_of

T = TypeVar("T")

GOES_OFFLINE, PROCESS_ENDS = "the log dir goes offline", "the broker's process ends"
"""What a failure stops."""
ZEROS_CUT, ZEROS_REFUSED = "LOG-004", "LOG-009"
LEFT_NULS = "; NUL bytes up to the end, as a power cut or log.preallocate leaves them"
RECOVERED_BYTES = 64 << 20
"""The most bytes of a log that a command recovers without being asked."""
LOAD_FAILED = "load-failed"
"""The code of the error for a log that the broker would not load."""


class Inspected(NamedTuple):
    """What the files of a partition say without its batches.

    `epoch_lines`: of leader-epoch-checkpoint (None: no file), `epochs`: their cache. `log_end`: of a clean
    log, None where only batches show it. `topic_id`: of partition.metadata, if any.
    """

    checkpoints: Checkpoints
    epoch_lines: tuple[EpochEntry, ...] | None
    epochs: EpochCache
    log_end: int | None
    topic_id: str | None


def start(
    partition: Partition, *, settings: Settings = UNKNOWN_SETTINGS, exact: bool = True
) -> Generator[Finding, None, LoadedLog]:
    """Yield what the start changes; return the log that a broker would hold after opening this directory.

    By the log dir around it; what `settings` leaves open is asked for where a segment is recovered: the
    topic's, then the broker's. Without `exact` an unclean log is read by headers alone. FileError,
    `load-failed` where the broker would not load the log.
    """
    checkpoints = loaded_log.checkpoints(partition)
    yield from lone_finding(partition, checkpoints)
    return (yield from start_from(partition, checkpoints, settings=settings, exact=exact))


def lone_finding(
    partition: Partition, checkpoints: Checkpoints, shutdown: str | None = None
) -> Iterator[Finding]:
    """Yield how the log was stopped by assumption, where its log dir, if any, has no file that says it.

    `shutdown` says how, but not which recovery point an unclean stop left.
    """
    log_dir = partition.target.log_dir
    is_known = log_dir is not None and (checkpoints.clean or has_own_files(log_dir))
    is_said = shutdown is not None
    if is_known or partition.topic == CLUSTER_METADATA or (is_said and checkpoints.clean):
        return
    what = "no log dir around" if log_dir is None else "no file of a log dir beside"
    how = "stopped cleanly"
    if not checkpoints.clean:
        how = f"not {how}, with recovery point {checkpoints.recovery_point}"
        how += ": its last indexes are preallocated" if log_dir is None and not is_said else ""
    yield Finding("START-006", f"{what} this directory: taken as {how}", dir=partition.shown)


def log_end_in(directory: str) -> int | None:
    """Return the log end offset of the log in a partition directory after a start; None if it fails."""
    name, log_dir = parse_partition_dir(os.path.basename(directory)), os.path.dirname(directory)
    target = Target(kind=PARTITION, path=directory, shown=shown(directory), name=name, log_dir=log_dir)
    try:
        return collect_findings(start(Partition(target))).log_end_offset
    except FileError:
        return None


def unflushed_bytes(partition: Partition) -> int:
    """Return the bytes of the segments that a start recovers."""
    checkpoints = loaded_log.checkpoints(partition)
    unflushed = 0
    for segment, following in zip_longest(partition.segments, partition.segments[1:]):
        if checkpoints.recovers(None if following is None else following.base_offset):
            with suppress(OSError):  # the start says what is wrong with the file
                unflushed += os.stat(segment.path("log")).st_size
    return unflushed


def is_recovered(partition: Partition) -> bool:
    """Whether a command recovers a log without being asked: RECOVERED_BYTES at most, of no running broker."""
    return unflushed_bytes(partition) <= RECOVERED_BYTES and not is_running(partition.target)


def start_from(
    partition: Partition,
    checkpoints: Checkpoints,
    *,
    settings: Settings = UNKNOWN_SETTINGS,
    exact: bool = True,
) -> Generator[Finding, None, LoadedLog]:
    """Do as `start`, with other checkpoints than those of the log dir.

    Where headers do not load, checksums decide: recovery may cut the log before, or fail earlier.
    """
    is_exact = exact or checkpoints.clean
    try:
        loaded = LogLoader(partition, checkpoints, settings, _configured, exact=is_exact).load()
    except BrokerError as error:
        if not is_exact:
            return (yield from start_from(partition, checkpoints, settings=settings))
        yield from _damage_findings(partition, error, clean=checkpoints.clean)
        raise load_failed(error) from error
    yield from loaded.findings
    return loaded


def follow_producers(loaded: LoadedLog) -> None:
    """Follow a log read by headers for what its batches say of producers; FileError `load-failed`."""
    producers, end = loaded.producers, loaded.log_end_offset
    if producers.map_end >= end:
        return
    try:
        rebuild(producers, loaded.segments, loaded.log_start_offset, end, clean_start=False)
    except BrokerError as error:
        raise load_failed(error) from error


def _configured(partition: Partition) -> loaded_log.TopicConfig | None:
    if metadata_log(partition.target.log_dir, partition.target.metadata_dir) is None:
        return None
    from kcli.kafka.kraft.metadata_loader import configuration_of

    return configuration_of(partition)


def inspect(
    partition: Partition, settings: Settings = UNKNOWN_SETTINGS
) -> Generator[Finding, None, Inspected]:
    """Yield what a start reports of the files of a directory, and of the tail of a cleanly stopped log.

    Nothing is recovered, no other batch is read: for who reads all anyway. FileError as of `start`.
    """
    checkpoints = loaded_log.checkpoints(partition)
    try:
        loader = LogLoader(partition, checkpoints, settings, _configured, exact=False)
        yield from loader.inspect()
        return Inspected(checkpoints, loader.epoch_lines, loader.epochs, loader.log_end, loader.topic_id)
    except (BrokerError, FileError) as error:
        yield from start_from(partition, checkpoints, settings=settings)  # it may fail in a batch before
        if isinstance(error, FileError):
            raise
        yield from _damage_findings(partition, error, clean=checkpoints.clean)
        raise load_failed(error) from error


def zeros_as_started(target: Target, findings: list[Finding]) -> list[Finding]:
    """Return the findings of a log file, zeros at its end as a start finds them."""
    if target.log_dir is None or all(finding.code != ZEROS_CUT for finding in findings):
        return findings
    by_path = {}
    with suppress(FileError):
        for finding in inspect(Partition(partition_of(target))):
            if finding.code == ZEROS_REFUSED:
                by_path[finding.path] = finding
    return [
        by_path.get(finding.path, finding) if finding.code == ZEROS_CUT else finding for finding in findings
    ]


def load_failed(error: BrokerError) -> FileError:
    """Return the error of a log that the broker would not load; the message names Kafka's exception."""
    return FileError(error.path, LOAD_FAILED, f"the broker would not load this log: {error}", error.position)


def _damage_findings(
    partition: Partition, error: BrokerError, *, clean: bool
) -> Generator[Finding, None, None]:
    """Yield what lies at the place of a log at which the start fails."""
    if error.exception != CORRUPT_RECORD or error.position is None or not error.path.endswith(".log"):
        return
    code, message = ("LOG-002", error.message)
    if clean and _only_zeros(error):
        message = (
            "zeros after the last batch, and a clean shutdown: the broker reads them and refuses the log"
        )
        code = ZEROS_REFUSED
    path = shown_path(partition, error.path)
    yield Finding(code, message, dir=partition.shown, path=path, position=error.position)


def _only_zeros(error: BrokerError) -> bool:
    """Whether nothing but zeros lies from the place of an error in a log on."""
    if error.exception != CORRUPT_RECORD or error.position is None or not error.path.endswith(".log"):
        return False
    with DataFile(error.path) as log:
        return only_zeros(log, error.position, log.size)


def load(
    partition: Partition,
    *,
    clean: bool,
    recovery_point: int,
    log_start_offset: int,
    settings: Settings = UNKNOWN_SETTINGS,
    exact: bool = True,
) -> LoadedLog:
    """Return the log that the broker would hold after opening this directory, by checkpointed offsets.

    BrokerError where the broker would not load the log; FileError where a file cannot be read.
    """
    checkpoints = Checkpoints(clean, recovery_point, log_start_offset, None)
    return LogLoader(partition, checkpoints, settings, exact=exact or clean).load()


def attempt(
    partition: Partition, steps: Generator[Finding, None, T]
) -> Generator[Finding, None, T | StartFailure]:
    """Yield what the steps of a start report; return their result, or why the log does not load."""
    try:
        return (yield from steps)
    except FileError as error:
        if error.code != LOAD_FAILED or not isinstance(error.__cause__, BrokerError):
            raise
        yield refusal(partition, error.__cause__)
        return failure(partition, error.__cause__)


def refusal(partition: Partition, error: BrokerError) -> Finding:
    """Return the finding about a log that the broker would not load."""
    from kcli.kafka.kraft.remedies import remedy

    around = [each for each in (partition.target.log_dir, partition.target.metadata_dir) if each is not None]
    todo = remedy(StartFailure(error.exception, error.message, error.path), around)
    why = f"{error}{LEFT_NULS if _only_zeros(error) else ''}: {_stopped(partition, error)}"
    message = f"{why}; to do: {todo}" if todo else why
    path = shown_path(partition, error.path)
    return Finding("START-008", message, dir=partition.shown, path=path, position=error.position)


def _stopped(partition: Partition, error: BrokerError) -> str:
    """Return what a failure stops: that of a log in the metadata log dir the process, always.

    `LogManager.loadLogs` catches IOExceptions of other logs; `KafkaRaftManager` opens that one before.
    """
    if error.exception != KAFKA_STORAGE or (partition.topic, partition.state) == (CLUSTER_METADATA, NORMAL):
        return PROCESS_ENDS
    log_dir = partition.target.log_dir
    if log_dir is None or metadata_log(log_dir) is None:
        return GOES_OFFLINE
    return f"{GOES_OFFLINE}, and {PROCESS_ENDS}: the metadata log lies there"


def failure(partition: Partition, error: BrokerError) -> StartFailure:
    """Return the failure of a log: the exception, the file and place, and the path of the file."""
    location = shown(os.path.basename(error.path))
    if error.position is not None and f"byte {error.position}" not in error.message:
        location += f" at byte {error.position}"
    message = f"{location}: {error.message}{LEFT_NULS if _only_zeros(error) else ''}"
    return StartFailure(error.exception, message, shown_path(partition, error.path))
