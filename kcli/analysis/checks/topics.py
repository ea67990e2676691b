"""The topic ids that a metadata log knows: of its newest snapshot, and of the records after it."""

import os
from collections.abc import Iterator

from formats.bounds import LARGEST_BATCH
from formats.errors import FormatError
from formats.messages.decode import decode_metadata
from formats.messages.message import Message
from formats.names import IN_PARTITION, KRAFT_SNAPSHOT, LOG, parse_file
from formats.primitives import short_varint
from formats.record import batch_records
from formats.types import Buffer
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.listing import listed
from kcli.logdir.segment import Walk

TOPIC_RECORD = 2
MOST_BYTES = 256 << 20
"""Of a metadata log; the ids of a larger one are not looked at."""


def topic_ids(directory: str) -> dict[str, str]:
    """Return the topic id of each topic by the metadata log in a directory; empty where it cannot be read.

    A topic that was deleted and created again has its newest id.
    """
    ids: dict[str, str] = {}
    try:
        for path in _files(directory):
            ids.update(_of_file(path))
    except FileError:
        return {}
    return ids


def _files(directory: str) -> list[str]:
    """Return the newest snapshot and the logs from there on; none of a log that is too large."""
    names = [parse_file(name) for name in listed(directory)[0]]
    snapshots = [
        name
        for name in names
        if name.kind == KRAFT_SNAPSHOT and not name.suffix and name.scheme == IN_PARTITION
    ]
    newest = max(snapshots, key=lambda name: (name.epoch or 0, name.base_offset or 0), default=None)
    logs = [name for name in names if name.kind == LOG and not name.is_inactive]
    paths = [os.path.join(directory, name.name) for name in (*([newest] if newest else []), *logs)]
    return paths if sum(map(_size, paths)) <= MOST_BYTES else []


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _of_file(path: str) -> Iterator[tuple[str, str]]:
    with DataFile(path) as log:
        for position, header in Walk(log):
            if header.is_control or header.size > LARGEST_BATCH:
                continue
            try:
                for record in batch_records(log.read(position, header.size), LARGEST_BATCH):
                    if record.value is not None and _is_topic(record.value):
                        message = decode_metadata(record.value)
                        if isinstance(message, Message):
                            yield str(message.fields["name"]), str(message.fields["topicId"])
            except FormatError:
                continue


def _is_topic(value: Buffer) -> bool:
    _, at = short_varint(value, 0)
    return short_varint(value, at)[0] == TOPIC_RECORD
