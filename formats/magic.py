"""What differs between the batches of a log by their magic: one table, `BATCH_FORMATS`.

    magic  structure            header    least length  checksum
    0      message              18 bytes  14            CRC-32 from the magic to the end
    1      message, timestamp   26        22            CRC-32 from the magic to the end
    2      record batch         61        49            CRC-32C from the attributes to the end

All have their first offset, or a message's own, at byte 0, their length at byte 8
and their magic at byte 16. A log may hold them side by side.

The truth is `org.apache.kafka.common.record.{LegacyRecord, DefaultRecordBatch}`, and
`FileLogInputStream.nextBatch` for the choice between them: it takes every magic below
2 for a message and everything else for a record batch. A reader of a message takes
any magic but 0 for 1. So no number is unknown to Kafka, and none is refused here.
"""

from collections.abc import Callable
from struct import Struct as Fields
from typing import TYPE_CHECKING, Any, NamedTuple, overload
from zlib import crc32

from formats import legacy
from formats.batch import BATCH, CRC_FROM, HEADER_UP_TO_MAGIC, LOG_OVERHEAD, MAGIC_V2, BatchHeader
from formats.crc import crc32c
from formats.errors import TruncatedError
from formats.layout import Layout
from formats.legacy import MESSAGE_V0, MESSAGE_V1
from formats.types import Buffer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LATEST = 2
"""The largest magic that Kafka 4.3 writes."""
LENGTH_SIZE = 4
"""Bytes of the length before a message's key, and before its value."""


class BatchFormat(NamedTuple):
    """How the batches of one magic lie in a log; `crc_from` is the first byte under the checksum."""

    layout: Layout[Any]
    smallest_length: int
    """Least number in the length field: Kafka refuses less."""
    crc_from: int
    checksum: Callable[[Buffer, int], int]
    """Of bytes, continued from the checksum of those before them."""
    stored_crc: Fields
    """Reads the checksum as stored from the bytes of a batch."""


def _format(
    layout: Layout[Any], least: int, crc_from: int, checksum: Callable[[Buffer, int], int]
) -> BatchFormat:
    """Return a format; `least`: the fewest bytes after its header."""
    return BatchFormat(layout, layout.size - LOG_OVERHEAD + least, crc_from, checksum, layout.only("crc"))


BATCH_FORMATS = {
    0: _format(MESSAGE_V0, 2 * LENGTH_SIZE, legacy.MESSAGE_CRC_FROM, crc32),
    1: _format(MESSAGE_V1, 2 * LENGTH_SIZE, legacy.MESSAGE_CRC_FROM, crc32),
    2: _format(BATCH, 0, CRC_FROM, crc32c),
}
HEADER_SIZES = tuple(form.layout.size for form in BATCH_FORMATS.values())
"""Bytes of a header by magic, from 0 on."""
LARGEST_HEADER = max(HEADER_SIZES)
"""Bytes that hold the header of any batch."""


@overload
def is_legacy(magic: int) -> bool: ...
@overload
def is_legacy(magic: "NDArray[Any]") -> "NDArray[np.bool_]": ...
def is_legacy(magic: Any) -> Any:
    """Return whether a magic, or which of an array, is 0 or 1: of a message, not of a record batch."""
    return magic < MAGIC_V2


@overload
def is_above_latest(magic: int) -> bool: ...
@overload
def is_above_latest(magic: "NDArray[Any]") -> "NDArray[np.bool_]": ...
def is_above_latest(magic: Any) -> Any:
    """Return whether no release writes a magic, or which of an array: it is read as the latest."""
    return magic > LATEST


def format_of(magic: int) -> BatchFormat:
    """Return the format in which Kafka reads a batch of this magic: above 2 that of 2, below 0 that of 1."""
    return BATCH_FORMATS.get(magic, BATCH_FORMATS[1 if magic < 0 else LATEST])


def holds_header(data: Buffer, position: int = 0) -> bool:
    """Return whether the bytes hold the whole header, of its magic's size, of the batch at `position`."""
    remaining = len(data) - position
    return remaining >= HEADER_UP_TO_MAGIC and remaining >= format_of(magic_of(data, position)).layout.size


def magic_of(batch: Buffer, position: int = 0) -> int:
    """Return the magic of the batch at `position`, whole at least up to it, as a signed byte."""
    magic: int = _MAGIC.unpack_from(batch, position)[0]
    return magic


def read_header(batch: Buffer, position: int = 0) -> BatchHeader:
    """Return the header at `position`; TruncatedError if it is cut, UnsupportedError for a negative magic."""
    remaining = len(batch) - position
    if remaining < HEADER_UP_TO_MAGIC:
        raise TruncatedError(position, BATCH.name, f"{BATCH.size} bytes", max(remaining, 0))
    magic = magic_of(batch, position)
    if is_legacy(magic):
        return legacy.read_header(batch, position)
    header: BatchHeader = format_of(magic).layout.read(batch, position)
    return header


def record_count(header: BatchHeader) -> int | None:
    """Return how many records a header says; None of a compressed message and of numbers no broker writes."""
    count = header.records_count
    return count if 0 <= count <= header.last_offset - header.base_offset + 1 else None


def is_valid(batch: Buffer) -> bool:
    """Return whether a whole batch, of whichever magic, has at least a header and the right checksum."""
    if not holds_header(batch):
        return False
    magic = magic_of(batch)
    if is_legacy(magic):
        return legacy.is_valid(batch)
    form = format_of(magic)
    return bool(form.stored_crc.unpack_from(batch)[0] == form.checksum(memoryview(batch)[form.crc_from :], 0))


_MAGIC = BATCH.only("magic")
