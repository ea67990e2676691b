"""A replica in few bytes: a hash for each range of offsets, so that two hosts compare without moving data.

Equal is what `replicas` calls equal: the bytes of the batches, but for the leader epoch in their headers, and
wherever segments roll. A batch belongs to the range of its base offset. A hash says nothing of a range in
which the log of one replica begins or ends.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from formats.bulk import Fields, headers
from formats.magic import LARGEST_HEADER, is_legacy, read_header
from formats.types import Buffer
from kcli.kafka.replication import replica_diff
from kcli.kafka.replication.replica_diff import EPOCH_BYTES, Extent, ReplicaLog, ReplicaRange

HASH_DIGITS = 32
"""Hexadecimal digits of SHA-256 that are kept: 128 bits."""
UNKNOWN_VERDICT = "unknown"
"""The verdict on a range that both hold, and in which one of the logs ends."""
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


class LogFingerprint(NamedTuple):
    """The fingerprints of a log from `start` to `end` (exclusive), in ranges of so many offsets."""

    start: int
    end: int
    width: int
    ranges: tuple[Fingerprint, ...]

    def bounds(self, number: int) -> tuple[int, int]:
        """Return the part of a range that lies within the log."""
        return max(self.start, number * self.width), min(self.end, (number + 1) * self.width)


class _Run(NamedTuple):
    """Batches in a row of one range, and their bytes in pieces, without leader epochs."""

    first_offset: int
    last_offset: int
    leader_epoch: int
    batches: int
    size: int
    pieces: Iterable[Buffer]


def fingerprints(log: ReplicaLog, width: int) -> Iterator[Fingerprint]:
    """Yield the fingerprints of a log in order, of ranges of so many offsets."""
    for _, runs in groupby(_runs(log, width), key=lambda run: run.first_offset // width):
        digest, batches, size = hashlib.sha256(usedforsecurity=False), 0, 0
        first: _Run | None = None
        for run in runs:
            first = first or run
            for piece in run.pieces:
                digest.update(piece)
            batches, size, last_offset = batches + run.batches, size + run.size, run.last_offset
        assert first is not None, "a group has a member"
        hashed = digest.hexdigest()[:HASH_DIGITS]
        yield Fingerprint(first.first_offset, last_offset, first.leader_epoch, batches, size, hashed)


def _runs(log: ReplicaLog, width: int) -> Iterator[_Run]:
    while True:
        size = min(log.remaining_bytes, replica_diff.COMPARED_BYTES)
        data = bytearray(log.read(size)) if size >= LARGEST_HEADER else bytearray()
        batches = headers(data, len(data), log.remaining_bytes)
        positions, after = list(batches.chain.positions), batches.chain.next
        while positions and after > size:
            after = positions.pop()
        if positions:
            yield from _runs_of_chunk(data, batches.fields[: len(positions)], [*positions, after], width)
            log.jump(after)
            continue
        batch = log.batch()
        if batch is None:
            return
        header = read_header(batch.window, batch.header_at)
        begins = header.base_offset, header.last_offset, header.partition_leader_epoch
        pieces = _pieces(log, batch.size, has_epoch=not is_legacy(header.magic))
        yield _Run(*begins, 1, batch.size, pieces)
        log.skip()


def _runs_of_chunk(data: bytearray, fields: Fields, positions: list[int], width: int) -> Iterator[_Run]:
    """Yield batches by the range that they belong to; `positions`: where each begins, and the end of all."""
    begins = np.array(positions[:-1], np.int64)
    epochs = begins[~is_legacy(fields["magic"]), None] + np.arange(EPOCH_BYTES.start, EPOCH_BYTES.stop)
    np.frombuffer(data, np.uint8)[epochs] = 0
    base = fields["base_offset"].astype(np.int64)
    bounds = [0, *(np.flatnonzero(np.diff(base // width)) + 1).tolist(), len(base)]
    view = memoryview(data)
    for first, stop in pairwise(bounds):
        offsets = int(base[first]), int(base[stop - 1]) + int(fields["last_offset_delta"][stop - 1])
        epoch, begin, end = int(fields["partition_leader_epoch"][first]), positions[first], positions[stop]
        yield _Run(*offsets, epoch, stop - first, end - begin, (view[begin:end],))


def _pieces(log: ReplicaLog, size: int, *, has_epoch: bool) -> Iterator[Buffer]:
    """Yield the next batch, which is too large for a chunk, in pieces."""
    for done in range(0, size, replica_diff.COMPARED_BYTES):
        piece = bytearray(log.read(min(replica_diff.COMPARED_BYTES, size - done), done))
        if has_epoch and not done:
            piece[EPOCH_BYTES] = bytes(EPOCH_BYTES.stop - EPOCH_BYTES.start)
        yield piece


def compare_fingerprints(here: LogFingerprint, there: LogFingerprint) -> Iterator[ReplicaRange]:
    """Yield the ranges of two logs of one width in order; `unknown`, `partial` where one ends in it."""
    mine, theirs = ({span.first_offset // log.width: span for span in log.ranges} for log in (here, there))
    for number in sorted(mine.keys() | theirs.keys()):
        first, second = mine.get(number), theirs.get(number)
        verdict, reason = _verdict(first, second, here.bounds(number), there.bounds(number))
        if reason == replica_diff.MISSING and (
            _is_covered(first, there.ranges) or _is_covered(second, here.ranges)
        ):
            verdict, reason = replica_diff.DIFFERS, replica_diff.BOUNDARIES
        spans = [span for span in (first, second) if span is not None]
        offsets = min(span.first_offset for span in spans), max(span.last_offset for span in spans)
        yield ReplicaRange(*offsets, verdict, reason, _extent(first), _extent(second))


def _verdict(
    mine: Fingerprint | None, theirs: Fingerprint | None, ends: tuple[int, int], their_ends: tuple[int, int]
) -> tuple[str, str | None]:
    if mine is not None and theirs is not None:
        if mine.hash == theirs.hash:
            return replica_diff.EQUAL, None
        return (replica_diff.DIFFERS, FINGERPRINT) if ends == their_ends else (UNKNOWN_VERDICT, PARTIAL)
    if ends == their_ends:
        return (replica_diff.ONLY_HERE if theirs is None else replica_diff.ONLY_THERE), replica_diff.MISSING
    is_here = ends[1] - ends[0] > their_ends[1] - their_ends[0]
    return replica_diff.ONLY_HERE if is_here else replica_diff.ONLY_THERE, None


def _is_covered(span: Fingerprint | None, ranges: Sequence[Fingerprint]) -> bool:
    """Whether batches of an earlier range reach into one that holds no batch of its own."""
    if span is None:
        return False
    before = bisect_right(ranges, span.first_offset, key=lambda earlier: earlier.first_offset)
    return before > 0 and ranges[before - 1].last_offset >= span.first_offset


def _extent(span: Fingerprint | None) -> Extent:
    return Extent() if span is None else Extent(span.batches, span.size, span.leader_epoch)
