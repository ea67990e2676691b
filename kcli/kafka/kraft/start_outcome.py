"""What a starting broker does to a partition directory, as one value: loads it or fails, and what is lost.

The start itself is `kcli.kafka.kraft.partition_start`; this counts what it removes and says what its failure
stops (`LogManager.loadLogs`).
"""

import os
from collections.abc import Generator, Iterable
from itertools import islice
from typing import Final, Literal, NamedTuple, TypeAlias

from formats.batch import NO_PRODUCER_ID
from formats.magic import record_count
from formats.names import CLUSTER_METADATA, NORMAL
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.broker_start import StartFailure
from kcli.kafka.kraft.partition_start import LOAD_FAILED, start_from
from kcli.kafka.storage.file_actions import FileChange, file_changes
from kcli.kafka.storage.loaded_log import UNKNOWN_SETTINGS, Checkpoints, LoadedLog, LostBytes, Settings
from kcli.kafka.storage.log_segment import KAFKA_STORAGE, BrokerError, file_batches, header
from kcli.logdir.buffers import FileError, shown
from kcli.logdir.log_dirs import metadata_log
from kcli.logdir.partition import Partition, shown_path
from kcli.logdir.segment import Walk, only_zeros

LOADS: Final = "loads"
FAILS: Final = "fails"
Outcome: TypeAlias = Literal["loads", "fails"]

LOOKED_AT = 1000
"""Batches of a segment in which producers are looked for."""
GOES_OFFLINE, PROCESS_ENDS = "the log dir goes offline", "the broker's process ends"
"""What a failure stops."""


class Startup(NamedTuple):
    """What the start makes of a partition: the log that it holds then, or the exception where it fails.

    `bytes_read` of logs, also by a start that fails. `records_lost` are those that recovery removes, as the
    headers count them; None where they do not tell. `files` is empty where the start fails.
    """

    log: LoadedLog | None
    error: BrokerError | None
    records_lost: int | None
    files: tuple[FileChange, ...]

    @property
    def outcome(self) -> Outcome:
        """Whether the broker loads the log."""
        return LOADS if self.error is None else FAILS


def predict(
    partition: Partition, given: Checkpoints, *, settings: Settings = UNKNOWN_SETTINGS
) -> Generator[Finding, None, Startup]:
    """Yield what the start reports of a partition directory; return what it makes of it.

    `given` is what its log dir says of it. FileError where a file cannot be read, or where the answer is not
    foreseen.
    """
    try:
        loaded = yield from start_from(partition, given, settings=settings)
    except FileError as failure:
        error = failure.__cause__
        if failure.code != LOAD_FAILED or not isinstance(error, BrokerError):
            raise
        yield refusal(partition, error)
        return Startup(None, error, None, ())
    return Startup(loaded, None, records_in(loaded.lost), file_changes(partition, loaded))


def forgets_producers(log: LoadedLog) -> bool:
    """Whether a clean start without a producer snapshot passes over batches of producers.

    `UnifiedLog.rebuildProducerState` then writes empty snapshots. Some batches of each segment are looked at.
    """
    is_empty = log.log_start_offset >= log.log_end_offset  # then none is written when the log is closed
    if not log.clean or log.snapshots_before or log.recovered or is_empty:
        return False
    for segment in reversed(log.segments):
        if not segment.log_size:
            continue
        with segment.log() as file:
            for _, batch in islice(Walk(file, end=segment.log_size), LOOKED_AT):
                if batch.producer_id > NO_PRODUCER_ID:
                    return True
    return False


def refusal(partition: Partition, error: BrokerError) -> Finding:
    """Return the finding about a log that the broker would not load."""
    message = f"{error}: {_stopped(partition, error)}"
    path = shown_path(partition, error.path)
    return Finding("START-008", message, dir=partition.shown, path=path, position=error.position)


def _stopped(partition: Partition, error: BrokerError) -> str:
    """Return what a failure stops: that of a log in the metadata log dir the process, always.

    `KafkaRaftManager` opens the metadata log, before `LogManager` all others.
    """
    if not is_of_disk(error) or (partition.topic, partition.state) == (CLUSTER_METADATA, NORMAL):
        return PROCESS_ENDS
    log_dir = partition.target.log_dir
    if log_dir is None or metadata_log(log_dir) is None:
        return GOES_OFFLINE
    return f"{GOES_OFFLINE}, and {PROCESS_ENDS}: the metadata log lies there"


def failure(partition: Partition, error: BrokerError) -> StartFailure:
    """Return the failure of a log: the exception, the file and place, and the partition directory."""
    place = shown(os.path.basename(error.path))
    if error.position is not None and not error.message.startswith("byte "):
        place += f" at byte {error.position}"
    return StartFailure(error.exception, f"{place}: {error.message}", partition.shown)


def is_of_disk(error: BrokerError) -> bool:
    """Whether a failure takes the log dir offline; any other ends the process.

    `LogManager.loadLogs` catches an IOException, and a KafkaStorageException caused by one.
    """
    return error.exception == KAFKA_STORAGE


def records_in(lost: Iterable[LostBytes]) -> int | None:
    """Return how many records the whole batches of some bytes hold, by their headers.

    None where the batches make no chain, or where a header does not tell.
    """
    total = 0
    for segment, position in lost:
        with segment.log() as log:
            try:
                for batch in file_batches(log, position, segment.log_size):
                    count = record_count(header(log, batch))
                    if count is None:
                        return None
                    total += count
            except BrokerError as error:
                if error.position is None or not only_zeros(log, error.position, segment.log_size):
                    return None
    return total
