"""Where a pass over a segment ended, and whether a later one may go on from there.

A broker appends to a log and truncates it, and changes no byte of it. One that is at least as long as before,
and has the same batch before that place, holds the same batches up to there; whether they were fetched again
after a truncation only a producer snapshot shows. Of its indexes the entries that were held against the
batches must be the same, and those after them about later batches.
"""

import os
from typing import NamedTuple
from zlib import crc32

from formats.index import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY
from formats.magic import LARGEST_HEADER, format_of, holds_header, magic_of
from kcli.logdir.buffers import DataFile, FileError

MOST_OF_A_LARGEST = 2
"""A time entry may be about the largest timestamp so far, as a roll writes it: not two."""


class Prefix(NamedTuple):
    """The bytes of an index that were held against batches: how many, and their CRC-32."""

    size: int = 0
    crc: int = 0


class Largest(NamedTuple):
    """The largest timestamp so far, in ms, and the first and last offset of the first batch that has it."""

    timestamp: int
    first: int
    last: int


class Seam(NamedTuple):
    """What a later pass needs to go on at byte `position` of a log, which was found whole up to there.

    `offset` is the one after its last batch, which begins at byte `last`, `header` the CRC-32 of that one's
    header. The others are of the offset, time and transaction index.
    """

    position: int
    offset: int
    last: int
    header: int
    offsets: Prefix
    times: Prefix
    txns: Prefix
    largest: Largest


def header_crc(batch: bytes) -> int:
    """Return the CRC-32 of the header that a batch begins with, which lies within the bytes."""
    return crc32(batch[: format_of(magic_of(batch)).layout.size])


def is_as_before(path: str, seam: Seam) -> bool:
    """Whether a log and its indexes begin as they did, so that reading may go on at the seam."""
    stem = path.removesuffix("log")
    try:
        with DataFile(path) as log:
            last = log.read(seam.last, LARGEST_HEADER) if log.size >= seam.position else b""
            if not holds_header(last) or header_crc(last) != seam.header:
                return False
        return (
            _are_offsets(_beginning(stem + "index", seam.offsets, OFFSET_INDEX_ENTRY.size), seam)
            and _are_times(
                _beginning(stem + "timeindex", seam.times, MOST_OF_A_LARGEST * TIME_INDEX_ENTRY.size),
                seam,
                int(os.path.basename(stem)[:-1]),
            )
            and _beginning(stem + "txnindex", seam.txns, 0) is not None
        )
    except FileError:
        return False


def _beginning(path: str, judged: Prefix, more: int) -> bytes | None:
    """Return some bytes after those of an index that were judged; None where these are others."""
    data = b""
    if judged.size or os.path.lexists(path):
        with DataFile(path) as index:
            data = index.read(0, judged.size + more)
    is_same = len(data) >= judged.size and crc32(data[: judged.size]) == judged.crc
    return data[judged.size :] if is_same else None


def _are_offsets(data: bytes | None, seam: Seam) -> bool:
    """Whether the entries that follow lead to later batches."""
    if data is None:
        return False
    return all(one.position >= seam.position for one in OFFSET_INDEX_ENTRY.rows(data) if any(one))


def _are_times(data: bytes | None, seam: Seam, base: int) -> bool:
    """Whether the entries that follow are about later batches, but for one about the largest timestamp."""
    if data is None:
        return False
    return all(
        base + one.relative_offset >= seam.offset
        or (
            number == 0
            and one.timestamp == seam.largest.timestamp
            and seam.largest.first <= base + one.relative_offset <= seam.largest.last
        )
        for number, one in enumerate(TIME_INDEX_ENTRY.rows(data))
        if any(one)
    )
