"""Producer state snapshots: what the broker knew of every idempotent producer at an offset.

`<offset>.snapshot` lies in a partition's directory, and with each tiered segment; the number in the name is
the exclusive end offset that it covers. The broker writes it in place, so a crash can leave a short one. The
truth is `org.apache.kafka.storage.internals.log.ProducerStateManager.readSnapshot`; a broker that cannot read
one deletes it and takes the next older.

    0        2        6       10             10 + 46 * count
    +--------+--------+-------+--------------+----------------
    |version | crc    | count | entries      | trailing bytes
    +--------+--------+-------+--------------+----------------
             the CRC-32C covers byte 6 to the end of the file, trailing bytes included
"""

from typing import Annotated, NamedTuple

from formats.crc import crc32c
from formats.errors import CorruptError, TruncatedError, UnsupportedError
from formats.layout import INT16, INT32, INT64, UINT32, Layout
from formats.types import Buffer

PRODUCER_SNAPSHOT_VERSION = 1
SNAPSHOT_CRC_FROM = 6
SHOWN_CRC = "0x{:08x}"


class SnapshotVersion(NamedTuple):
    """The version alone, which is judged before anything else is read."""

    version: Annotated[int, INT16, "1"]


class ProducerSnapshotHeader(NamedTuple):
    """The 10 bytes before the entries."""

    version: Annotated[int, INT16, "1"]
    crc: Annotated[int, UINT32, "CRC-32C from the count to the end of the file"]
    entries_count: Annotated[int, INT32, "entries that follow"]


class ProducerEntry(NamedTuple):
    """What is stored of one producer, as stored."""

    producer_id: Annotated[int, INT64, "id of the producer"]
    producer_epoch: Annotated[int, INT16, "its epoch"]
    last_sequence: Annotated[int, INT32, "last sequence of its last batch; -1 without a batch"]
    last_offset: Annotated[int, INT64, "last offset of its last batch; -1 without a batch"]
    offset_delta: Annotated[int, INT32, "last minus first offset of its last batch"]
    timestamp: Annotated[int, INT64, "ms; of its last batch or end marker"]
    coordinator_epoch: Annotated[
        int, INT32, "epoch of the coordinator that wrote its last end marker; -1 none"
    ]
    current_txn_first_offset: Annotated[int, INT64, "first offset of its open transaction; -1 none"]

    @property
    def has_batch(self) -> bool:
        """Whether a batch is known: without one, only an end marker was seen."""
        return self.last_offset >= 0

    @property
    def has_open_transaction(self) -> bool:
        """Whether a transaction was open at the snapshot's offset."""
        return self.current_txn_first_offset >= 0


class ProducerSnapshot(NamedTuple):
    """A whole snapshot; `trailing_bytes` follow its entries under a valid CRC, and brokers accept them."""

    version: int
    crc: int
    entries: tuple[ProducerEntry, ...]
    trailing_bytes: int


SNAPSHOT_VERSION = Layout(SnapshotVersion, "producer snapshot version")
PRODUCER_SNAPSHOT_HEADER = Layout(ProducerSnapshotHeader, "producer snapshot header")
PRODUCER_ENTRY = Layout(ProducerEntry, "producer snapshot entry")


def read_snapshot(buffer: Buffer) -> ProducerSnapshot:
    """Return the producer snapshot in the buffer, which is the whole file.

    Checked in the broker's order: version (UnsupportedError), length (TruncatedError; a negative count is a
    CorruptError), checksum (CorruptError). Each of them makes `ProducerStateManager.readSnapshot` throw a
    CorruptSnapshotException. Bytes after the entries are counted, not refused.
    """
    version = SNAPSHOT_VERSION.read(buffer).version
    if version != PRODUCER_SNAPSHOT_VERSION:
        raise UnsupportedError(0, "version", PRODUCER_SNAPSHOT_VERSION, version)
    header = PRODUCER_SNAPSHOT_HEADER.read(buffer)
    if header.entries_count < 0:
        raise CorruptError(SNAPSHOT_CRC_FROM, "entries_count", ">= 0", header.entries_count)
    end = PRODUCER_SNAPSHOT_HEADER.size + header.entries_count * PRODUCER_ENTRY.size
    if end > len(buffer):
        whole_entries = (len(buffer) - PRODUCER_SNAPSHOT_HEADER.size) // PRODUCER_ENTRY.size
        entries_end = PRODUCER_SNAPSHOT_HEADER.size + whole_entries * PRODUCER_ENTRY.size
        expected = f"{header.entries_count} of {PRODUCER_ENTRY.size} bytes"
        raise TruncatedError(entries_end, "entries", expected, whole_entries)
    view = memoryview(buffer)
    crc = crc32c(view[SNAPSHOT_CRC_FROM:])
    if crc != header.crc:
        raise CorruptError(2, "crc", SHOWN_CRC.format(crc), SHOWN_CRC.format(header.crc))
    entries = tuple(PRODUCER_ENTRY.rows(view[PRODUCER_SNAPSHOT_HEADER.size : end]))
    return ProducerSnapshot(version, header.crc, entries, len(buffer) - end)
