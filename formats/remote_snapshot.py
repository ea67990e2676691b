"""The file `remote_log_snapshot`: a partition's remote log metadata as last flushed, releases 3.1 to 3.7.

Lives in the user partition's own directory; written by the topic-based metadata manager's file-based cache.
The truth is `org.apache.kafka.server.log.remote.metadata.storage.RemoteLogMetadataSnapshotFile`.

    0       2                  6                         14      18
    +-------+------------------+-------------------------+-------+--------+---------- ... --+
    |version|metadata partition|metadata partition offset|entries| length | entry           | ...
    | 0     |                  |                         |       | int32  | remote_metadata |
    +-------+------------------+-------------------------+-------+--------+---------- ... --+

An empty file counts as none. There is no checksum. A segment that spans several
leader epochs is in the file once per epoch.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, NamedTuple

from formats.errors import CorruptError, FormatError, LimitError, TruncatedError, UnsupportedError
from formats.layout import INT16, INT32, INT64, Layout
from formats.primitives import int32
from formats.remote_metadata import RemoteLogSegmentMetadataSnapshot, decode
from formats.types import Buffer

REMOTE_SNAPSHOT_VERSION = 0
LENGTH_SIZE = 4
LONGEST_ENTRY = 64 * 1024 * 1024
"""Bound on one entry: far beyond what a broker writes, far below what a damaged length could ask for."""


class RemoteLogSnapshotHeader(NamedTuple):
    """The first 18 bytes of the file."""

    version: Annotated[int, INT16, "0"]
    metadata_partition: Annotated[
        int, INT32, "partition of __remote_log_metadata that the content comes from"
    ]
    metadata_partition_offset: Annotated[int, INT64, "offset in it up to which the content is covered"]
    entries: Annotated[int, INT32, "entries that follow"]


class SnapshotEntry(NamedTuple):
    """One entry: its number, where its value begins, where the next length begins, and the value's bytes."""

    number: int
    position: int
    next_position: int
    value: bytes


SNAPSHOT_HEADER = Layout(RemoteLogSnapshotHeader, "remote log snapshot header")


def read_header(buffer: Buffer) -> RemoteLogSnapshotHeader | None:
    """Return the header, or None for an empty file, which counts as no snapshot.

    TruncatedError for 1 to 17 bytes (brokers take what is missing for zeros), UnsupportedError, CorruptError.
    """
    if not len(buffer):
        return None
    header = SNAPSHOT_HEADER.read(buffer)
    if header.version != REMOTE_SNAPSHOT_VERSION:
        raise UnsupportedError(0, "version", REMOTE_SNAPSHOT_VERSION, header.version)
    if header.entries < 0:
        raise CorruptError(SNAPSHOT_HEADER.span("entries")[0], "entries", "0 or more", header.entries)
    return header


def read_entries(
    read: Callable[[int, int], bytes],
    size: int,
    header: RemoteLogSnapshotHeader,
    *,
    position: int = SNAPSHOT_HEADER.size,
    number: int = 0,
) -> Iterator[SnapshotEntry]:
    """Yield the entries of a file of `size` bytes from `position` on, the first of them with that number.

    `read(position, length)` returns bytes. CorruptError after the last if the header counts others.
    """
    while position < size:
        length = _entry_length(read(position, LENGTH_SIZE), position, size)
        start = position + LENGTH_SIZE
        position = start + length
        yield SnapshotEntry(number, start, position, read(start, length))
        number += 1
    if number != header.entries:
        raise CorruptError(SNAPSHOT_HEADER.span("entries")[0], "entries", header.entries, number)


def decode_entry(entry: SnapshotEntry) -> RemoteLogSegmentMetadataSnapshot:
    """Return the record in an entry; errors as `remote_metadata.decode`, positions from the file's start."""
    try:
        record = decode(entry.value)
    except FormatError as error:
        raise error.moved(entry.position) from error
    if not isinstance(record, RemoteLogSegmentMetadataSnapshot):
        name = RemoteLogSegmentMetadataSnapshot.__name__
        raise CorruptError(entry.position, "record type", name, type(record).__name__)
    return record


def _entry_length(raw: bytes, position: int, size: int) -> int:
    if len(raw) < LENGTH_SIZE:
        raise TruncatedError(position, "entry length", f"{LENGTH_SIZE} bytes", len(raw))
    length, _ = int32(raw, 0)
    if length < 0:
        raise CorruptError(position, "entry length", "0 or more", length)
    remaining_bytes = size - position - LENGTH_SIZE
    if length > remaining_bytes:
        raise TruncatedError(position, "entry", f"{length} bytes", remaining_bytes)
    if length > LONGEST_ENTRY:
        raise LimitError(position, "entry length", f"at most {LONGEST_ENTRY}", length)
    return length
