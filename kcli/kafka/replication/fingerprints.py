"""A replica in few bytes: a hash for each range of offsets, so that two hosts compare without moving data.

Equal is what `replicas` calls equal: the bytes of the batches, but for the leader epoch in their headers, and
wherever segments roll. A batch belongs to the range of its base offset.

Hashes of a range tell nothing where the log of one replica ends in it. So the last two ranges are there in
parts, too, about a tenth as wide, the last two parts in parts of these, and so on down to single offsets.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from formats.bulk import Fields, headers
from formats.magic import LARGEST_HEADER, is_legacy, read_header
from formats.types import Buffer
from kcli.kafka.replication.replicas import (
    BOUNDARIES,
    CHUNK,
    DIFFERS,
    EPOCH_BYTES,
    EQUAL,
    MISSING,
    ONLY_HERE,
    ONLY_THERE,
    Extent,
    ReplicaLog,
    ReplicaRange,
)

DEFAULT_RANGE = 10_000
"""Offsets of a range."""
PARTS = 10
"""In how many parts a range is, at least, where it is there in parts."""
DIGITS = 32
"""Hexadecimal digits of SHA-256 that are kept: 128 bits."""
MAX_LONG = (1 << 63) - 1
ZONES = 3
"""Parts that two cuts make of a range at most."""
UNKNOWN = "unknown"
"""The verdict on a range that both hold, and not in parts that can be compared."""
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
    width: int


class Level(NamedTuple):
    """Ranges of `width` offsets, from the offset `start` on, where one of them begins."""

    width: int
    start: int


def levels(width: int, end: int) -> list[Level]:
    """Return the widths of the ranges of a log that ends at an offset, the largest first."""
    found = [Level(width, 0)]
    while width > 1:
        begin = max(0, (end - 2 * width) // width * width)
        width = next((width // parts for parts in range(PARTS, width) if width % parts == 0), 1)
        found.append(Level(width, begin))
    return found


class Print(NamedTuple):
    """The fingerprints of a log from `start` to `end` (exclusive), in ranges of so many offsets.

    `ranges` are those of all `levels`. `before` and `after` are those of what lies outside of these bounds.
    """

    start: int
    end: int
    width: int
    ranges: tuple[Fingerprint, ...]
    before: tuple[Fingerprint, ...] = ()
    after: tuple[Fingerprint, ...] = ()

    def window(self, number: int, width: int) -> tuple[int, int]:
        """Return the part of a range that lies within the log."""
        return max(self.start, number * width), min(self.end, (number + 1) * width)

    def numbered(self) -> dict[tuple[int, int], Fingerprint]:
        """Return the fingerprints by width and number of their range."""
        return {(one.width, one.first_offset // one.width): one for one in self.ranges}


Numbered: TypeAlias = dict[tuple[int, int], Fingerprint]


class _Range:
    """A range that is being read."""

    def __init__(self, number: int, width: int, first_offset: int, leader_epoch: int) -> None:
        self.number, self.width = number, width
        self.first_offset, self.leader_epoch = first_offset, leader_epoch
        self.last_offset = first_offset - 1
        self.batches = self.size = 0
        self.hash = hashlib.sha256(usedforsecurity=False)

    def done(self) -> Fingerprint:
        digest = self.hash.hexdigest()[:DIGITS]
        return Fingerprint(
            self.first_offset,
            self.last_offset,
            self.leader_epoch,
            self.batches,
            self.size,
            digest,
            self.width,
        )


class _Run(NamedTuple):
    """Batches in a row of one range of each level, and their bytes in pieces, without leader epochs."""

    first_offset: int
    last_offset: int
    leader_epoch: int
    batches: int
    size: int
    pieces: Iterable[Buffer]


def fingerprints(
    log: ReplicaLog, width: int = DEFAULT_RANGE, cuts: tuple[int, int] = (0, MAX_LONG)
) -> Iterator[Fingerprint]:
    """Yield the fingerprints of a log, the widest ranges first, as far as the logs' ends let them.

    Where a range holds one of two `cuts` it is two ranges there.
    """
    found = levels(width, log.end)
    current: list[_Range | None] = [None] * len(found)
    parts: list[Fingerprint] = []
    for run in _runs(log, found, cuts):
        used: list[_Range] = []
        for depth, level in enumerate(found):
            if run.first_offset < level.start:
                break
            number, held = int(_number(run.first_offset, level.width, cuts)), current[depth]
            if held is None or held.number != number:
                if held is not None and not depth:
                    yield held.done()
                elif held is not None:
                    parts.append(held.done())
                held = current[depth] = _Range(number, level.width, run.first_offset, run.leader_epoch)
            used.append(held)
        for piece in run.pieces:
            for held in used:
                held.hash.update(piece)
        for held in used:
            held.last_offset = run.last_offset
            held.batches += run.batches
            held.size += run.size
    last = [held.done() for held in current if held is not None]
    yield from last[:1]
    yield from sorted([*parts, *last[1:]], key=lambda one: (-one.width, one.first_offset))


def _number(base: Any, width: int, cuts: tuple[int, int]) -> Any:
    """Return the number of the range of a base offset, or of many."""
    return (base // width) * ZONES + (base >= cuts[0]) + (base >= cuts[1])


def _runs(log: ReplicaLog, found_levels: Sequence[Level], cuts: tuple[int, int]) -> Iterator[_Run]:
    while True:
        size = min(log.left, CHUNK)
        data = bytearray(log.read(size)) if size >= LARGEST_HEADER else bytearray()
        found = headers(data, len(data), log.left)
        places, after = list(found.chain.positions), found.chain.next
        while places and after > size:
            after = places.pop()
        if places:
            yield from _parted(data, found.fields[: len(places)], [*places, after], found_levels, cuts)
            log.jump(after)
            continue
        batch = log.batch()
        if batch is None:
            return
        header = read_header(batch.window, batch.at)
        base = header.base_offset
        yield _Run(
            base,
            header.last_offset,
            header.partition_leader_epoch,
            1,
            batch.size,
            _pieces(log, batch.size, has_epoch=not is_legacy(header.magic)),
        )
        log.skip()


def _parted(
    data: bytearray,
    fields: Fields,
    places: list[int],
    found_levels: Sequence[Level],
    cuts: tuple[int, int],
) -> Iterator[_Run]:
    """Yield batches by the range that they belong to; `places` is where each begins, and the end of all."""
    at = np.array(places[:-1], np.int64)
    with_epoch = at[~is_legacy(fields["magic"]), None] + np.arange(EPOCH_BYTES.start, EPOCH_BYTES.stop)
    np.frombuffer(data, np.uint8)[with_epoch] = 0
    base = fields["base_offset"].astype(np.int64)
    begins = np.zeros(len(base) - 1, np.bool_)
    for width, start in found_levels:
        if int(base[-1]) >= start:
            begins |= (np.diff(_number(base, width, cuts)) != 0) & (base[1:] >= start)
    parts = [0, *(np.flatnonzero(begins) + 1).tolist(), len(base)]
    view = memoryview(data)
    for first, stop in pairwise(parts):
        yield _Run(
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
        tuple(one for one in found if one.first_offset < other.start and one.width == other.width),
        tuple(one for one in found if one.first_offset >= other.end and one.width == other.width),
    )


def compared_prints(here: Print, there: Print) -> Iterator[ReplicaRange]:
    """Yield the ranges of two logs in order, one by one; their widths must be the same.

    A range in which one log ends is compared in parts. What neither of both has in parts that both hold in
    full is `unknown`, for the reason `partial`, where both have batches of it, else only in one of them.
    """
    yield from _alone(here.before, there.before)
    sides = here.numbered(), there.numbered()
    yield from _compared(here, there, sides, levels(here.width, min(here.end, there.end)), None)
    yield from _alone(here.after, there.after)


def _compared(
    here: Print,
    there: Print,
    sides: tuple[Numbered, Numbered],
    found_levels: Sequence[Level],
    within: tuple[int, int] | None,
) -> Iterator[ReplicaRange]:
    """Yield the ranges of one level, those `within` offsets; where the logs end, of the levels below."""
    (width, _), *below = found_levels
    numbers = {
        number
        for side in sides
        for wide, number in side
        if wide == width and (within is None or within[0] <= number * width < within[1])
    }
    for number in sorted(numbers):
        mine, theirs = (side.get((width, number)) for side in sides)
        windows = here.window(number, width), there.window(number, width)
        verdict, reason = _verdict(mine, theirs, windows)
        bounds = number * width, (number + 1) * width
        if verdict == UNKNOWN and below and all(_has_parts(one, width, bounds[0]) for one in (here, there)):
            yield from _compared(here, there, sides, below, bounds)
            continue
        if reason == MISSING and (_covered(mine, there.ranges) or _covered(theirs, here.ranges)):
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


def _has_parts(side: Print, width: int, offset: int) -> bool:
    """Whether a log has the range of a width that begins at an offset in parts, too."""
    own = [one for one in levels(side.width, side.end) if one.width < width]
    return bool(own) and offset >= own[0].start


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
        if mine is not None and theirs is not None:
            return DIFFERS, FINGERPRINT
        return (ONLY_HERE if theirs is None else ONLY_THERE), MISSING
    if mine is not None and theirs is not None:
        return UNKNOWN, PARTIAL
    return (ONLY_HERE if end - start > other_end - other_start else ONLY_THERE), None


def _covered(found: Fingerprint | None, ranges: Sequence[Fingerprint]) -> bool:
    """Whether batches of an earlier range reach into one that holds no batch of its own."""
    if found is None:
        return False
    same = [one for one in ranges if one.width == found.width]
    before = bisect_right(same, found.first_offset, key=lambda one: one.first_offset)
    return before > 0 and same[before - 1].last_offset >= found.first_offset


def _extent(found: Fingerprint | None) -> Extent:
    return Extent() if found is None else Extent(found.batches, found.size, found.leader_epoch)
