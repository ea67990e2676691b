"""The newest snapshot of the metadata log, which every start of a KRaft node reads from its beginning.

The truth is `KRaftControlRecordStateMachine.maybeLoadSnapshot` and `RecordsSnapshotReader`, which verify
checksums and do not look for a footer, and `MetadataLoader`, which loads no snapshot without a record.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from formats.bounds import LARGEST_BATCH
from formats.control import SNAPSHOT_FOOTER, control_record
from formats.errors import FormatError
from formats.magic import is_valid, read_header
from formats.names import CLUSTER_METADATA
from formats.record import batch_records
from kcli.analysis.findings import Finding
from kcli.analysis.log_findings import checksum_message
from kcli.analysis.log_segment import CORRUPT_RECORD, BrokerError, file_batches
from kcli.analysis.metadata_log import snapshots
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.files import first_base
from kcli.logdir.listing import listed
from kcli.logdir.partition import Partition, shown_path

NO_SUCH_ELEMENT, UNCHECKED_IO = "NoSuchElementException", "UncheckedIOException"
UNREADABLE = frozenset({"no-permission", "read-failed"})
NO_FOOTER = "the snapshot has no footer: its end is lost"


class SnapshotTrouble(NamedTuple):
    """What is wrong with a snapshot; `exception` is the one that ends the process, None where it goes on."""

    path: str
    exception: str | None
    message: str
    position: int | None


def newest_snapshot_trouble(metadata_log: str) -> SnapshotTrouble | None:
    """Return what is wrong with the newest snapshot in a directory of the metadata log.

    None for nothing, or without a snapshot.
    """
    try:
        names = listed(metadata_log)[0]
        found = snapshots(names, first_base(names))
        if not found:
            return None
        with DataFile(os.path.join(metadata_log, found[max(found)])) as file:
            return _trouble(file)
    except FileError as error:
        if error.code in UNREADABLE:
            return SnapshotTrouble(error.path, UNCHECKED_IO, error.message, error.position)
        return None  # no metadata log, or a broker that runs has removed the snapshot


def _trouble(file: DataFile) -> SnapshotTrouble | None:
    batches, last = 0, b""
    try:
        for batch in file_batches(file, 0, file.size):
            batches, last = batches + 1, b""
            if batch.size <= LARGEST_BATCH:
                last = file.read(batch.position, batch.size)
                if not is_valid(last):
                    words = checksum_message(read_header(last).base_offset)
                    return SnapshotTrouble(file.path, CORRUPT_RECORD, words, batch.position)
    except BrokerError as error:
        return SnapshotTrouble(file.path, error.exception, error.message, error.position)
    if not batches:
        return SnapshotTrouble(file.path, NO_SUCH_ELEMENT, "there is no batch in the snapshot", 0)
    return None if _is_footer(last) else SnapshotTrouble(file.path, None, NO_FOOTER, file.size)


def _is_footer(batch: bytes) -> bool:
    with suppress(FormatError):
        if batch and read_header(batch).is_control:
            records = [*batch_records(batch, LARGEST_BATCH)]
            return any(control_record(one.key, one.value).type == SNAPSHOT_FOOTER for one in records)
    return False


def damaged_snapshot(partition: Partition) -> Iterator[Finding]:
    """Yield what is wrong with the newest snapshot of a metadata log; nothing of another log."""
    found = newest_snapshot_trouble(partition.path) if partition.topic == CLUSTER_METADATA else None
    if found is not None:
        path = shown_path(partition, found.path)
        yield Finding("META-008", found.message, partition.shown, path, found.position)
