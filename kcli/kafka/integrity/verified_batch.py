"""One batch of a log and whether its checksum matches."""

from typing import NamedTuple

from formats.bounds import LARGEST_BATCH
from formats.magic import LARGEST_HEADER, format_of, is_valid
from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import Batch, Walk

WINDOW = 1 << 20
"""Bytes that are read at once of a batch that is too large to be read whole."""


class VerifiedBatch(NamedTuple):
    """A batch and whether its checksum matches; `raw` is None for one too large to be read at once."""

    batch: Batch
    raw: bytes | None
    valid: bool


def leads_to_a_batch(file: DataFile, position: int) -> bool:
    """Whether a batch of right checksum begins at a position: no more than it is read."""
    batch = next(iter(Walk(file, position, ahead=LARGEST_HEADER)), None)
    return batch is not None and verified(file, batch, LARGEST_BATCH).valid


def verified(file: DataFile, batch: Batch, largest: int) -> VerifiedBatch:
    """Return a batch, with its bytes where they are at most `largest`, and whether its checksum matches."""
    raw = file.read(batch.position, batch.header.size) if batch.header.size <= largest else None
    valid = is_valid(raw) if raw is not None else _is_valid_in_parts(file, batch)
    return VerifiedBatch(batch, raw, valid)


def _is_valid_in_parts(file: DataFile, batch: Batch) -> bool:
    """Whether the checksum of a batch matches that is too large to be read at once."""
    header, end = batch.header, batch.position + batch.header.size
    kind, value = format_of(header.magic), 0
    for position in range(batch.position + kind.crc_from, end, WINDOW):
        value = kind.checksum(file.read(position, min(WINDOW, end - position)), value)
    return value == header.crc
