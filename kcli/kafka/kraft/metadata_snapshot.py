"""The checkpoint files that a KRaft node reads at every start: its newest snapshot, and bootstrap.checkpoint.

The truth is `KRaftControlRecordStateMachine.maybeLoadSnapshot` and `RecordsSnapshotReader`, which verify
checksums and do not look for a footer, and `MetadataLoader`, which loads no snapshot without a record. Of
bootstrap.checkpoint, the metadata.version that a new log begins with, `BootstrapDirectory.read`,
`BatchFileReader` and `BootstrapMetadata.fromRecords`: a node whose log has long begun reads it, too.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from formats import control
from formats.batch import HEADER_UP_TO_MAGIC, LENGTH_POSITION, LOG_OVERHEAD, SMALLEST_LENGTH
from formats.bounds import LARGEST_BATCH
from formats.errors import FormatError
from formats.magic import is_above_latest, is_legacy, is_valid, magic_of, read_header
from formats.messages.metadata import decode_metadata
from formats.messages.reader import Unknown
from formats.names import CLUSTER_METADATA
from formats.record import batch_records
from kcli.kafka.findings.findings import Finding, checksum_message
from kcli.kafka.kraft.meta_properties import RUNTIME, StartFailure
from kcli.kafka.kraft.releases import METADATA_VERSION
from kcli.kafka.storage.loaded_log import checkpoints
from kcli.kafka.storage.log_loader import LogLoader
from kcli.kafka.storage.log_segment import CORRUPT_RECORD, ILLEGAL_STATE, BrokerError, file_batches, header
from kcli.kafka.storage.metadata_log import metadata_partition, snapshots
from kcli.logdir.buffers import NO_PERMISSION, DataFile, FileError, after_a_crash, file_error
from kcli.logdir.log_dirs import BOOTSTRAP
from kcli.logdir.partition import Partition, shown_path
from kcli.logdir.partition_names import first_base, listed

FORMATTED = (0, 0)
"""Epoch and end offset of the snapshot that a format writes."""
NO_SUCH_ELEMENT, UNCHECKED_IO = "NoSuchElementException", "UncheckedIOException"
NULL_POINTER = "NullPointerException"
OUT_OF_RANGE = "OffsetOutOfRangeException"
NO_SNAPSHOT_FILE = "not-found"
UNREADABLE_SNAPSHOT = frozenset({"read-failed", "is-a-directory", "symlink-loop"})
NO_FOOTER = "the snapshot has no footer: its end is lost, as after a full disk"


class SnapshotTrouble(NamedTuple):
    """What is wrong with a snapshot; `exception` is the one that ends the process, None where it goes on."""

    path: str
    exception: str | None
    message: str
    position: int | None


def newest_snapshot_trouble(metadata_log: str) -> SnapshotTrouble | None:
    """Return what is wrong with the newest snapshot in a directory of the metadata log; None for nothing.

    One without a file is passed over by `KafkaRaftLog.latestSnapshot`, and the log is read from offset 0.
    FileError for one that kcli may not read: a broker writes it for its own user alone (mode 0400).
    """
    try:
        files, entries = listed(metadata_log)
    except FileError:
        return None
    by_offset = snapshots([*files, *entries], first_base(files))
    if not by_offset:
        return None
    path = os.path.join(metadata_log, by_offset[max(by_offset)])
    try:
        trouble = snapshot_trouble(path)
    except FileError as error:
        trouble = None
        if error.code == NO_PERMISSION:
            raise
        if error.code in UNREADABLE_SNAPSHOT:
            trouble = SnapshotTrouble(path, UNCHECKED_IO, error.message, error.position)
        elif error.code == NO_SNAPSHOT_FILE and (log_start := _log_start(metadata_log, max(by_offset))) > 0:
            message = f"there is no file of it, and the log begins at offset {log_start}"
            trouble = SnapshotTrouble(path, OUT_OF_RANGE, message, None)
    if trouble is not None and max(by_offset) == FORMATTED and trouble.exception == NO_SUCH_ELEMENT:
        return trouble._replace(exception=None)  # the one that a format writes is given to no listener
    return trouble


def snapshot_trouble(path: str) -> SnapshotTrouble | None:
    """Return what is wrong with a snapshot, the newest or not, None for nothing; FileError."""
    with DataFile(path) as file:
        return _trouble(file)


def _log_start(metadata_log: str, newest: tuple[int, int]) -> int:
    """Return where a start lets the metadata log begin; 0, too, if it does not load or lost the snapshot."""
    partition = metadata_partition(metadata_log)
    with suppress(BrokerError, FileError):
        if newest in snapshots(partition.entries, 0):
            return LogLoader(partition, checkpoints(partition), exact=False).load().log_start_offset
    return 0


def _trouble(file: DataFile) -> SnapshotTrouble | None:
    number, footer, after = -1, None, 0
    try:
        for number, (position, size) in enumerate(_batches(file)):
            records = None
            if size <= LARGEST_BATCH:
                records = _control_types(file.path, position, file.read(position, size))
            if number == 0 and size <= LARGEST_BATCH:
                _check_header(file.path, records)
            if footer is None and records and control.SNAPSHOT_FOOTER in records:
                footer = position + size
            elif footer is not None and records is None:
                after += 1
    except BrokerError as error:
        message = after_a_crash(file.path, error.message)
        return SnapshotTrouble(file.path, error.exception, message, error.position)
    if number < 0:
        message = after_a_crash(file.path, "there is no batch in the snapshot")
        return SnapshotTrouble(file.path, NO_SUCH_ELEMENT, message, 0)
    if footer is None:
        return SnapshotTrouble(file.path, None, NO_FOOTER, file.size)
    if after:
        many = "a batch follows" if after == 1 else f"{after} batches follow"
        return SnapshotTrouble(file.path, None, f"{many} the footer, and the broker reads on", footer)
    return None


def _batches(file: DataFile) -> Iterator[tuple[int, int]]:
    """Yield position and size of each batch as `ByteBufferLogInputStream` finds them in a snapshot.

    BrokerError where it throws: unlike `FileLogInputStream` it looks at magics, and at a cut batch.
    """
    position = 0
    if 0 < file.size < HEADER_UP_TO_MAGIC:
        message = f"{file.size} bytes, fewer than a batch needs to begin"
        raise BrokerError(NULL_POINTER, file.path, 0, message)
    while (remaining_bytes := file.size - position) >= LOG_OVERHEAD:
        head = file.read(position, HEADER_UP_TO_MAGIC)
        length = int.from_bytes(head[LENGTH_POSITION:LOG_OVERHEAD], "big", signed=True)
        if length < SMALLEST_LENGTH:
            message = f"a batch of {length} bytes, the smallest has {SMALLEST_LENGTH}"
            raise BrokerError(CORRUPT_RECORD, file.path, position, message)
        if remaining_bytes < HEADER_UP_TO_MAGIC:
            return
        magic = magic_of(head)
        if magic < 0 or is_above_latest(magic):
            raise BrokerError(CORRUPT_RECORD, file.path, position, f"no batch has magic {magic}")
        if LOG_OVERHEAD + length > remaining_bytes:
            return
        if is_legacy(magic):
            message = f"a batch of magic {magic}, where a record batch is due"
            raise BrokerError(ILLEGAL_STATE, file.path, position, message)
        yield position, LOG_OVERHEAD + length
        position += LOG_OVERHEAD + length


def _control_types(path: str, position: int, batch: bytes) -> list[int] | None:
    """Return the types of the records of a control batch, None of another; BrokerError for a bad checksum."""
    if not is_valid(batch):
        base = int.from_bytes(batch[:LENGTH_POSITION], "big", signed=True)
        raise BrokerError(CORRUPT_RECORD, path, position, checksum_message(base))
    if not read_header(batch).is_control:
        return None
    with suppress(FormatError):
        records = batch_records(batch, LARGEST_BATCH)
        return [control.control_record(record.key, record.value).type for record in records]
    return []


def _check_header(path: str, records: list[int] | None) -> None:
    """Raise the BrokerError of `RecordsSnapshotReader` for a first batch that is no header of a snapshot."""
    if not records:
        raise BrokerError(ILLEGAL_STATE, path, 0, "the first batch is no control batch with a record")
    if records[0] != control.SNAPSHOT_HEADER:
        name = control.CONTROL_NAMES.get(records[0], control.UNKNOWN_NAME)
        raise BrokerError(ILLEGAL_STATE, path, 0, f"the first record is {name}, not SNAPSHOT_HEADER")


def damaged_snapshot(partition: Partition, copy: str | None = None) -> Iterator[Finding]:
    """Yield what is wrong with the newest snapshot of a metadata log, or of a `copy` of it; FileError."""
    trouble = newest_snapshot_trouble(copy or partition.path) if partition.topic == CLUSTER_METADATA else None
    if trouble is not None:
        path = shown_path(partition, os.path.join(partition.path, os.path.basename(trouble.path)))
        yield Finding("META-008", trouble.message, partition.shown, path, trouble.position)


CONTROL_NAMES_READ = frozenset(
    control.CONTROL_NAMES[number]
    for number in (control.LEADER_CHANGE, control.SNAPSHOT_HEADER, control.SNAPSHOT_FOOTER)
)


def bootstrap_level(log_dir: str) -> int | StartFailure | FileError | None:
    """Return the level of metadata.version in a log dir's bootstrap.checkpoint, None without the file.

    Or why `BootstrapDirectory.read` fails, or kcli may not read it. A batch past the end is none; checksums
    are not looked at.
    """
    path = os.path.join(log_dir, BOOTSTRAP)
    if not os.path.exists(path):
        return None
    try:
        with DataFile(path) as file:
            level = _metadata_version(file)
    except BrokerError as error:
        return StartFailure(error.exception, after_a_crash(path, error.message), path)
    except FormatError as error:
        return StartFailure(RUNTIME, file_error(path, error).message, path)
    except FileError as error:
        return error if error.code == NO_PERMISSION else StartFailure(RUNTIME, error.message, path)
    if level is None:
        message = after_a_crash(path, f"no FeatureLevelRecord for {METADATA_VERSION} in it")
        return StartFailure(RUNTIME, message, path)
    return level


def _metadata_version(file: DataFile) -> int | None:
    """Return the last level of metadata.version in a file; FormatError where a record cannot be read."""
    level = None
    for batch in file_batches(file, 0, file.size):
        is_control = header(file, batch).is_control
        if batch.size > LARGEST_BATCH:
            raise FileError(file.path, "limit", f"a batch of {batch.size} bytes", batch.position)
        records = [*batch_records(file.read(batch.position, batch.size), LARGEST_BATCH)]
        if not records:
            raise FileError(file.path, "corrupt", "a batch without a record", batch.position)
        for record in records:
            if is_control:
                kind = control.control_record(record.key, record.value).name
                if kind not in CONTROL_NAMES_READ:
                    text = f"a control record of type {kind}"
                    raise FileError(file.path, "unsupported", text, batch.position)
                continue
            message = decode_metadata(record.value, nearest=True, replace_invalid_utf8=True)
            if isinstance(message, Unknown):
                text = f"a metadata record of type {message.api_key}"
                raise FileError(file.path, "unsupported", f"{text}, which no broker knows", batch.position)
            if message.name == "FeatureLevelRecord" and message.fields["name"] == METADATA_VERSION:
                level = int(str(message.fields["featureLevel"]))
    return level
