"""A replica in few bytes: a hash for each range of offsets, so that two hosts compare without moving data.

Equal is what `replicas` calls equal: the bytes of the batches, but for the leader epoch in their headers, and
wherever segments roll. A batch belongs to the range of its base offset.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from formats.batch import HEADER_SIZE, MAGIC_V2
from formats.bulk import Fields, headers
from formats.magic import read_header
from formats.types import Buffer
from kcli.analysis.replicas import (
    BOUNDARIES,
    CHUNK,
    COMPACTED,
    DIFFERS,
    EPOCH_BYTES,
    EQUAL,
    ONLY_HERE,
    ONLY_THERE,
    Extent,
    ReplicaLog,
    ReplicaRange,
)

DEFAULT_RANGE = 10_000
"""Offsets of a range."""
DIGITS = 32
"""Hexadecimal digits of SHA-256 that are kept: 128 bits."""
MAX_LONG = (1 << 63) - 1
ZONES = 3
"""Parts that two cuts make of a range at most."""
FINGERPRINT, PARTIAL = "fingerprint", "partial"
"""Reasons: other hashes of a range that both hold in full, or in the same part; of one that only one does."""


class Fingerprint(NamedTuple):
    """The batches of one range: offsets inclusive, how many, their bytes, the first one's epoch, the hash."""

    first_offset: int
    last_offset: int
    leader_epoch: int
    batches: int
    size: int
    hash: str


class Print(NamedTuple):
    """The fingerprints of a log from `start` to `end` (exclusive), in ranges of so many offsets.

    `before` and `after` are those of what lies outside of these bounds.
    """

    start: int
    end: int
    width: int
    ranges: tuple[Fingerprint, ...]
    before: tuple[Fingerprint, ...] = ()
    after: tuple[Fingerprint, ...] = ()

    def window(self, number: int) -> tuple[int, int]:
        """Return the part of a range that lies within the log."""
        return max(self.start, number * self.width), min(self.end, (number + 1) * self.width)


class _Range:
    """A range that is being read."""

    def __init__(self, first_offset: int, leader_epoch: int) -> None:
        self.first_offset, self.leader_epoch = first_offset, leader_epoch
        self.last_offset = first_offset - 1
        self.batches = self.size = 0
        self.hash = hashlib.sha256(usedforsecurity=False)

    def done(self) -> Fingerprint:
        digest = self.hash.hexdigest()[:DIGITS]
        return Fingerprint(
            self.first_offset, self.last_offset, self.leader_epoch, self.batches, self.size, digest
        )


class _Run(NamedTuple):
    """Batches in a row of one range, and their bytes in pieces, without leader epochs."""

    number: int
    first_offset: int
    last_offset: int
    leader_epoch: int
    batches: int
    size: int
    pieces: Iterable[Buffer]


def fingerprints(
    log: ReplicaLog, width: int = DEFAULT_RANGE, cuts: tuple[int, int] = (0, MAX_LONG)
) -> Iterator[Fingerprint]:
    """Yield the fingerprints of a log; where a range holds one of two `cuts` it is two ranges there."""
    current, number = None, -1
    for run in _runs(log, width, cuts):
        if current is None or run.number != number:
            if current is not None:
                yield current.done()
            current, number = _Range(run.first_offset, run.leader_epoch), run.number
        for piece in run.pieces:
            current.hash.update(piece)
        current.last_offset = run.last_offset
        current.batches += run.batches
        current.size += run.size
    if current is not None:
        yield current.done()


def _runs(log: ReplicaLog, width: int, cuts: tuple[int, int]) -> Iterator[_Run]:
    while True:
        size = min(log.left, CHUNK)
        data = bytearray(log.read(size)) if size >= HEADER_SIZE else bytearray()
        found = headers(data, len(data), log.left)
        places, after = list(found.chain.positions), found.chain.next
        while places and after > size:
            after = places.pop()
        if places:
            yield from _parted(data, found.fields[: len(places)], [*places, after], width, cuts)
            log.jump(after)
            continue
        batch = log.batch()
        if batch is None:
            return
        header = read_header(batch.window, batch.at)
        base = header.base_offset
        yield _Run(
            (base // width) * ZONES + (base >= cuts[0]) + (base >= cuts[1]),
            base,
            header.last_offset,
            header.partition_leader_epoch,
            1,
            batch.size,
            _pieces(log, batch.size, has_epoch=header.magic >= MAGIC_V2),
        )
        log.skip()


def _parted(
    data: bytearray, fields: Fields, places: list[int], width: int, cuts: tuple[int, int]
) -> Iterator[_Run]:
    """Yield batches by the range that they belong to; `places` is where each begins, and the end of all."""
    at = np.array(places[:-1], np.int64)
    with_epoch = at[fields["magic"] >= MAGIC_V2, None] + np.arange(EPOCH_BYTES.start, EPOCH_BYTES.stop)
    np.frombuffer(data, np.uint8)[with_epoch] = 0
    base = fields["base_offset"].astype(np.int64)
    numbers = (base // width) * ZONES + (base >= cuts[0]) + (base >= cuts[1])
    parts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(base)]
    view = memoryview(data)
    for first, stop in pairwise(parts):
        yield _Run(
            int(numbers[first]),
            int(base[first]),
            int(base[stop - 1]) + int(fields["last_offset_delta"][stop - 1]),
            int(fields["partition_leader_epoch"][first]),
            stop - first,
            places[stop] - places[first],
            (view[places[first] : places[stop]],),
        )


def _pieces(log: ReplicaLog, size: int, *, has_epoch: bool) -> Iterator[Buffer]:
    """Yield the next batch, which is too large for a chunk, in pieces."""
    for done in range(0, size, CHUNK):
        piece = bytearray(log.read(min(CHUNK, size - done), done))
        if has_epoch and not done:
            piece[EPOCH_BYTES] = bytes(EPOCH_BYTES.stop - EPOCH_BYTES.start)
        yield piece


def print_like(log: ReplicaLog, other: Print) -> Print:
    """Return the fingerprints of a log that can be compared with those of another: within its bounds."""
    start, end = max(log.start, other.start), min(log.end, other.end)
    found = tuple(fingerprints(log, other.width, (other.start, other.end)))
    return Print(
        start,
        end,
        other.width,
        tuple(one for one in found if other.start <= one.first_offset < other.end),
        tuple(one for one in found if one.first_offset < other.start),
        tuple(one for one in found if one.first_offset >= other.end),
    )


def compared_prints(here: Print, there: Print) -> Iterator[ReplicaRange]:
    """Yield the ranges of two logs in order, one by one; their widths must be the same.

    Of a range that reaches past the log of one of them the hashes say nothing: it is only in the other, for
    the reason `partial`.
    """
    yield from _alone(here.before, there.before)
    one = {found.first_offset // here.width: found for found in here.ranges}
    other = {found.first_offset // there.width: found for found in there.ranges}
    for number in sorted(one.keys() | other.keys()):
        mine, theirs = one.get(number), other.get(number)
        windows = here.window(number), there.window(number)
        verdict, reason = _verdict(mine, theirs, windows)
        if verdict == COMPACTED and (_covered(mine, there.ranges) or _covered(theirs, here.ranges)):
            verdict, reason = DIFFERS, BOUNDARIES
        known = [found for found in (mine, theirs) if found is not None]
        yield ReplicaRange(
            min(found.first_offset for found in known),
            max(found.last_offset for found in known),
            verdict,
            reason,
            _extent(mine),
            _extent(theirs),
        )
    yield from _alone(here.after, there.after)


def _alone(here: Iterable[Fingerprint], there: Iterable[Fingerprint]) -> Iterator[ReplicaRange]:
    for found in here:
        yield ReplicaRange(found.first_offset, found.last_offset, ONLY_HERE, None, _extent(found), Extent())
    for found in there:
        yield ReplicaRange(found.first_offset, found.last_offset, ONLY_THERE, None, Extent(), _extent(found))


def _verdict(
    mine: Fingerprint | None, theirs: Fingerprint | None, windows: tuple[tuple[int, int], tuple[int, int]]
) -> tuple[str, str | None]:
    if mine is not None and theirs is not None and mine.hash == theirs.hash:
        return EQUAL, None
    (start, end), (other_start, other_end) = windows
    if (start, end) == (other_start, other_end):
        return (COMPACTED, None) if mine is None or theirs is None else (DIFFERS, FINGERPRINT)
    larger = ONLY_HERE if end - start > other_end - other_start else ONLY_THERE
    return larger, None if mine is None or theirs is None else PARTIAL


def _covered(found: Fingerprint | None, ranges: Sequence[Fingerprint]) -> bool:
    """Whether batches of an earlier range reach into one that holds no batch of its own."""
    if found is None:
        return False
    before = bisect_right(ranges, found.first_offset, key=lambda one: one.first_offset)
    return before > 0 and ranges[before - 1].last_offset >= found.first_offset


def _extent(found: Fingerprint | None) -> Extent:
    return Extent() if found is None else Extent(found.batches, found.size, found.leader_epoch)
