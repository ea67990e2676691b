"""The `bootstrap.checkpoint` of the metadata log dir: the metadata.version that a new log begins with.

Every KRaft node reads it at its start, also one whose metadata log has long begun, and does not start if it
cannot. The truth is `BootstrapDirectory.read`, `BatchFileReader` and `BootstrapMetadata.fromRecords`.
"""

import os

from formats.bounds import LARGEST_BATCH
from formats.control import CONTROL_NAMES, LEADER_CHANGE, SNAPSHOT_FOOTER, SNAPSHOT_HEADER, control_record
from formats.errors import FormatError
from formats.messages.message import Unknown
from formats.messages.metadata import decode_metadata
from formats.record import batch_records
from kcli.kafka.storage.log_segment import BrokerError, file_batches, header
from kcli.logdir.buffers import DataFile, FileError, file_error

BOOTSTRAP = "bootstrap.checkpoint"
METADATA_VERSION = "metadata.version"
LEVELS = range(7, 32)
"""Levels of metadata.version that a broker starts with: from 3.3-IV3 on, up to the newest of 4.3."""
CONTROL_NAMES_READ = frozenset(
    CONTROL_NAMES[number] for number in (LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER)
)


def bootstrap_error(log_dir: str) -> FileError | None:
    """Return why a log dir's bootstrap.checkpoint stops the start; None for a good one, or without one.

    A batch that runs past the end of the file is none, as everywhere; checksums are not looked at.
    """
    path = os.path.join(log_dir, BOOTSTRAP)
    if not os.path.exists(path):
        return None
    try:
        with DataFile(path) as file:
            _check(path, _metadata_version(file))
    except BrokerError as error:
        return FileError(path, "corrupt", error.message, error.position)
    except FormatError as error:
        return file_error(path, error)
    except FileError as error:
        return error
    return None


def _check(path: str, level: int | None) -> None:
    if level is None:
        raise FileError(path, "corrupt", f"no FeatureLevelRecord for {METADATA_VERSION} in it")
    if level not in LEVELS:
        message = f"{METADATA_VERSION} {level}, a broker knows {LEVELS[0]} to {LEVELS[-1]}"
        raise FileError(path, "unsupported", message)


def _metadata_version(file: DataFile) -> int | None:
    """Return the last level of metadata.version in a file; FormatError where a record cannot be read."""
    level = None
    for batch in file_batches(file, 0, file.size):
        is_control = getattr(header(file, batch), "is_control", False)
        if batch.size > LARGEST_BATCH:
            raise FileError(file.path, "limit", f"a batch of {batch.size} bytes", batch.position)
        records = [*batch_records(file.read(batch.position, batch.size), LARGEST_BATCH)]
        if not records:
            raise FileError(file.path, "corrupt", "a batch without a record", batch.position)
        for record in records:
            if is_control:
                kind = control_record(record.key, record.value).name
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
