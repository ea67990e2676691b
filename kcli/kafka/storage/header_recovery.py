"""Recovery by headers alone: where a segment ends if every checksum in it is right.

Cheap: it reads the tail after the last index entry, unless that entry leads nowhere. What recovery makes of
the bytes exactly is `kcli.kafka.storage.recovery`.
"""

from typing import NamedTuple

from formats.errors import CorruptError
from kcli.kafka.storage import epochs
from kcli.kafka.storage.epochs import EpochCache
from kcli.kafka.storage.log_segment import ILLEGAL_ARGUMENT, BrokerError, LoadedSegment
from kcli.kafka.storage.start_findings import Reporter, stop_finding, walk_to_end
from kcli.logdir.buffers import DataFile
from kcli.logdir.indexes import OffsetIndexFile
from kcli.logdir.segment import END, TORN, Header, Stop, Walk


class HeaderRecovery(NamedTuple):
    """A segment as far as its headers chain: the offset after its last batch, the epochs, the bytes cut."""

    segment: LoadedSegment
    next_offset: int
    epochs: EpochCache
    truncated: int


class _HeaderTail(NamedTuple):
    """The end of a segment by its headers.

    Where the walk stopped, the offset after the last batch, its epoch (-1: none).
    """

    stop: Stop
    next_offset: int
    leader_epoch: int
    grown: int


def recover_by_headers(segment: LoadedSegment, cache: EpochCache, reporter: Reporter) -> HeaderRecovery:
    """Return a segment as far as its headers make a chain, and the cache with the epochs of its batches.

    BrokerError where an epoch cannot be assigned.
    """
    tail = _header_tail(segment, reporter)
    base, path = segment.base_offset, segment.log_path or ""
    cut = segment.log_size + tail.grown - tail.stop.position
    if tail.grown:
        reporter.report_growth(path, tail.grown)
    if cut > 0 and not (tail.grown and tail.stop.reason in TORN):
        reporter.findings.extend(stop_finding(reporter.partition, path, tail.stop))
    kept = segment._replace(log_size=tail.stop.position)
    newest = cache[-1].epoch if cache else epochs.UNDEFINED_EPOCH
    if tail.next_offset > base and not 0 <= tail.leader_epoch <= newest:
        with kept.log() as log:
            headers = (batch.header for batch in Walk(log, 0, kept.log_size))
            found = ((header.partition_leader_epoch, header.base_offset) for header in headers)
            try:
                cache = epochs.recover(cache, found)
            except CorruptError as error:
                raise BrokerError(ILLEGAL_ARGUMENT, path, None, str(error)) from error
    return HeaderRecovery(kept, tail.next_offset, cache, max(cut, 0))


def _header_tail(segment: LoadedSegment, reporter: Reporter) -> _HeaderTail:
    """Return the end of a segment by a walk from the last index entry that fits, else from its beginning."""
    with segment.log() as log:
        size = segment.log_size
        if segment.offset_index.path:
            with OffsetIndexFile(segment.offset_index.path, segment.base_offset) as index:
                if index.has_empty_tail:
                    message = "the offset index has its preallocated tail"
                    reporter.report("IDX-003", message, segment.offset_index.path)
                offset, position = index.entry(index.valid_entries(size) - 1)
            first, last, stop = walk_to_end(log, position, size)
            is_named = first and last and first.base_offset <= offset <= last.last_offset
            if is_named and stop.reason == END:
                return _tail_of(segment, log, last, stop)
        _, last, stop = walk_to_end(log, 0, size)
        return _tail_of(segment, log, last, stop)


def _tail_of(segment: LoadedSegment, log: DataFile, last: Header | None, stop: Stop) -> _HeaderTail:
    grown = log.size + log.grown(is_torn=stop.reason in TORN) - segment.log_size
    if last is None:
        return _HeaderTail(stop, segment.base_offset, epochs.UNDEFINED_EPOCH, grown)
    return _HeaderTail(stop, last.last_offset + 1, last.partition_leader_epoch, grown)
