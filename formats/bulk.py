"""Many batch headers at once: the chain of a window of a log, its headers as columns.

For `*.log` (and KRaft `*.checkpoint`) files, whose bytes come in windows. The
chain is followed by lengths alone, as `FileLogInputStream` does; then one numpy
gather copies all headers. What comes out equals what `formats.batch` and
`formats.legacy` read one by one, and where the chain ends equals a plain walk.

    window   |header|records ...|header|records ...|header|rec
    chain     at     ---length-> at     ---length-> at  ends outside: left for the next window, or kept
    fields    [base_offset, batch_length, ..., records_count] * batches, big-endian as stored

A message of magic 0 or 1 fills the same columns: what it lacks is -1, its last offset delta is 0, both
timestamps are its own, its count is 1 or, for a wrapper, -1 (unknown). Its attributes are as stored: bits 4
to 6 mean nothing.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formats.batch import (
    BATCH,
    COMPRESSION_CODEC_MASK,
    HEADER_SIZE,
    HEADER_UP_TO_MAGIC,
    LENGTH_POSITION,
    LOG_OVERHEAD,
    SMALLEST_LENGTH,
)
from formats.layout import INT16, INT32, UINT8, Layout
from formats.legacy import read_header
from formats.magic import BATCH_FORMATS, LATEST, is_legacy
from formats.types import Buffer

SMALLEST_LENGTHS = np.array([BATCH_FORMATS[magic].smallest_length for magic in range(LATEST + 1)])
PADDING = HEADER_SIZE - HEADER_UP_TO_MAGIC
"""Bytes that a buffer should have after its window: else the window is copied to look at its last messages.
"""

END, SHORT, INCOMPLETE, BAD_LENGTH, BAD_MAGIC = "end", "short", "incomplete", "bad-length", "bad-magic"

_LENGTH = BATCH.only("batch_length")
STRIDE = 8192
"""Bytes between the places of a window from which small batches are walked at once."""
FEWEST_CHAINS = 16
"""Fewer at once cost more than one by one."""

Fields: TypeAlias = NDArray[Any]
"""A structured array with the names of BatchHeader, big-endian as in the file."""


class EndMarker(NamedTuple):
    """A transaction end marker as every broker writes it: each varint is a byte, twice the number."""

    length: Annotated[int, UINT8, "varint 16: bytes of the record that follow"]
    attributes: Annotated[int, UINT8, "none are used"]
    timestamp_delta: Annotated[int, UINT8, "varlong 0"]
    offset_delta: Annotated[int, UINT8, "varint 0"]
    key_length: Annotated[int, UINT8, "varint 4"]
    key_version: Annotated[int, INT16, "0 or more"]
    type: Annotated[int, INT16, "ABORT or COMMIT"]
    value_length: Annotated[int, UINT8, "varint 6"]
    value_version: Annotated[int, INT16, "0 or more"]
    coordinator_epoch: Annotated[int, INT32, "epoch of the transaction coordinator"]
    headers_count: Annotated[int, UINT8, "varint 0"]


END_MARKER = Layout(EndMarker, "usual transaction end marker")
MARKER_SIZE = HEADER_SIZE + END_MARKER.size
ABORT, COMMIT = 0, 1
USUAL_MARKER = {
    "length": 2 * (END_MARKER.size - 1),
    "timestamp_delta": 0,
    "offset_delta": 0,
    "key_length": 2 * 4,
    "value_length": 2 * 6,
    "headers_count": 0,
}
"""What is the same in all of them."""


class Chain(NamedTuple):
    """The batches of a window: where they begin (bytes from its start), and why they end.

    `next` is the place after the last of them, which may lie outside the window. `stop` is None where more
    bytes are needed to tell; else `end`, `short`, `incomplete`, `bad-length` or `bad-magic`, of what is at
    `next`, with the number `found` there: bytes left, a length, or a magic. Only zeros to the end of a log
    are a `bad-length` of 0 here.
    """

    positions: list[int]
    next: int
    stop: str | None
    found: int | None


class Headers(NamedTuple):
    """A chain of checked magics, with the positions of its batches and all their header fields as arrays."""

    chain: Chain
    positions: NDArray[np.int64]
    fields: Fields


def chain(window: Buffer, size: int, log_end: int, *, only_whole: bool) -> Chain:
    """Return the chain of batches that begins with the window, by lengths alone.

    `size`: bytes that count; `log_end`: where the log ends, counted from the window's first byte;
    `only_whole`: one that runs past the window is left out.
    """
    last = log_end - HEADER_UP_TO_MAGIC - 1 if size >= log_end else size - HEADER_SIZE
    positions, position = _stepped(window, last)
    append, unpack = positions.append, _LENGTH.unpack_from
    length = 0
    while position <= last:
        (length,) = unpack(window, position)
        if length < SMALLEST_LENGTH:
            return Chain(positions, position, BAD_LENGTH, length)
        append(position)
        position += LOG_OVERHEAD + length
    if positions and position > log_end:
        return Chain(positions, positions.pop(), INCOMPLETE, length)
    if position > size and only_whole:
        return Chain(positions, positions.pop(), None, None)
    if position > log_end - HEADER_UP_TO_MAGIC - 1:
        return Chain(positions, position, END if position == log_end else SHORT, log_end - position or None)
    return Chain(positions, position, None, None)


def _stepped(window: Buffer, last: int) -> tuple[list[int], int]:
    """Return the batches of a chain of small ones up to a place, and the place; none where that fails.

    What looks like the first's epoch and magic is taken for others'; the chains between them must meet.
    """
    if last < FEWEST_CHAINS * STRIDE or not 0 <= _LENGTH.unpack_from(window)[0] < STRIDE // 16:
        return [], 0
    mark = bytes(window[LOG_OVERHEAD:HEADER_UP_TO_MAGIC])
    search = re.compile(rb"\0\0.." + re.escape(mark), re.DOTALL).search
    guesses = (search(window, start, start + STRIDE) for start in range(STRIDE, last, STRIDE))
    ends = np.array([guess.start() - LENGTH_POSITION for guess in guesses if guess], np.int64)
    ends = ends[ends <= last]
    if len(ends) < FEWEST_CHAINS:
        return [], 0
    most = len(window) // (LOG_OVERHEAD + SMALLEST_LENGTH)
    lengths = np.ndarray((len(window) - LOG_OVERHEAD + 1,), ">i4", window, LENGTH_POSITION, (1,))
    positions = np.concatenate(([0], ends[:-1]))
    steps: list[NDArray[np.int64]] = []
    while (under_way := positions < ends).any():
        length = lengths[np.where(under_way, positions, 0)].astype(np.int64)
        if (len(steps) + 1) * len(ends) > most or (length[under_way] < SMALLEST_LENGTH).any():
            return [], 0
        steps.append(np.where(under_way, positions, -1))
        positions = np.where(under_way, positions + LOG_OVERHEAD + length, positions)
    if (positions != ends).any():
        return [], 0
    table = np.stack(steps, axis=1)
    return table[table >= 0].tolist(), int(ends[-1])


def headers(window: Buffer, size: int, log_end: int, *, only_whole: bool = True) -> Headers:
    """Return the batches that begin in a window, checked and with all fields; the arguments are `chain`'s."""
    links = chain(window, size, log_end, only_whole=only_whole)
    positions = np.fromiter(links.positions, np.int64, len(links.positions))
    if links.positions and links.positions[-1] + HEADER_SIZE > len(window):
        window = bytes(window[:size]) + bytes(PADDING)
    return checked(links, positions, gathered(window, positions), window)


def gathered(window: Buffer, positions: Sequence[int] | NDArray[np.int64]) -> Fields:
    """Return the 61 bytes at each position as one structured array, a copy."""
    begins = np.asarray(positions, np.int64)
    if not len(begins):
        return np.empty(0, BATCH.dtype)
    places = np.ndarray((len(window) - HEADER_SIZE + 1,), f"V{HEADER_SIZE}", window, strides=(1,))
    fields: Fields = places[begins].view(BATCH.dtype)
    return fields


def rows(buffer: Buffer, count: int) -> Fields:
    """Return headers that lie one after the other as one structured array, a copy."""
    fields: Fields = np.frombuffer(buffer, BATCH.dtype, count).copy()
    return fields


def together(columns: Sequence[Fields]) -> Fields:
    """Return the headers of several arrays, in order; numpy would compare their types field by field."""
    if len(columns) == 1:
        return columns[0]
    fields: Fields = np.concatenate([fields.view(f"V{HEADER_SIZE}") for fields in columns]).view(BATCH.dtype)
    return fields


def checked(
    links: Chain, positions: NDArray[np.int64], fields: Fields, window: Buffer, stride: int | None = None
) -> Headers:
    """Return a chain up to the first magic or length that no batch has, magic 0 and 1 in the columns.

    `stride` is the distance of the headers in the window where they are not at the chain's positions.
    """
    magic, length = fields["magic"], fields["batch_length"]
    if (~is_legacy(magic) & (length >= SMALLEST_LENGTHS[LATEST])).all():
        return Headers(links, positions, fields)
    least = SMALLEST_LENGTHS[np.clip(magic, 0, LATEST)]
    bad = np.flatnonzero((magic < 0) | (length < least))
    if len(bad):
        first = int(bad[0])
        stop = (BAD_MAGIC, int(magic[first])) if magic[first] < 0 else (BAD_LENGTH, int(length[first]))
        links = Chain(links.positions[:first], links.positions[first], *stop)
        positions, fields = positions[:first], fields[:first]
    for number in np.flatnonzero(is_legacy(fields["magic"])).tolist():
        fields[number] = read_header(window, links.positions[number] if stride is None else number * stride)
    return Headers(links, positions, fields)


def marker_types(window: Buffer, positions: NDArray[np.int64], fields: Fields) -> NDArray[np.int64]:
    """Return ABORT or COMMIT for each control batch that is an end marker as every broker writes it, else -1.

    The positions (in the window) are those of whole batches. -1 is no verdict: other markers must be decoded.
    """
    is_candidate: NDArray[np.bool_] = (fields["batch_length"] == MARKER_SIZE - LOG_OVERHEAD) & (
        fields["attributes"] & COMPRESSION_CODEC_MASK == 0
    )
    is_candidate &= (fields["records_count"] == 1) & ~is_legacy(fields["magic"])
    types = np.full(len(positions), -1, np.int64)
    candidates = positions[is_candidate]
    if len(candidates):
        size = len(window) - MARKER_SIZE + 1
        places = np.ndarray((size,), f"V{END_MARKER.size}", window, HEADER_SIZE, (1,))
        body = places[candidates].view(END_MARKER.dtype)
        is_usual = np.logical_and.reduce([body[name] == stored for name, stored in USUAL_MARKER.items()])
        is_usual &= (body["key_version"] >= 0) & (body["value_version"] >= 0)
        is_usual &= (body["type"] == ABORT) | (body["type"] == COMMIT)
        types[is_candidate] = np.where(is_usual, body["type"], -1)
    return types
