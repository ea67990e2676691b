"""Rows of `scan`: what the segments of a directory hold together, from what was counted of each."""

from typing import NamedTuple

from formats.batch import COMPRESSION_NAMES
from kcli.kafka.integrity.log_scan import LogScan
from kcli.kafka.integrity.summary import EMPTY, Codec, Summary, merge
from kcli.rows.partitions import FromFile, Where
from kcli.rows.scan import CodecUse, ScanPartitionRow, ScanSegmentRow, ScanSummary


class Total(NamedTuple):
    """What the segments of a directory hold together, sizes in bytes.

    Not `complete` if one could not be read.
    """

    summary: Summary = EMPTY
    segments: int = 0
    size: int = 0
    damaged_ranges: int = 0
    damaged_bytes: int = 0
    tail: int = 0
    complete: bool = True


def with_segment(total: Total, log: LogScan) -> Total:
    """Return a total with one more segment, or with what was read of it.

    Bytes that are neither of a valid batch nor of the tail count as damaged.
    """
    tail, size = _tail(log), log.size
    return Total(
        merge(total.summary, log.summary),
        total.segments + 1,
        total.size + size,
        total.damaged_ranges + log.gap_count,
        total.damaged_bytes + size - log.summary.bytes - tail,
        total.tail + tail,
        total.complete,
    )


def segment_row(source: FromFile, log: LogScan) -> ScanSegmentRow:
    """Return the row of one log."""
    summary = _summary(with_segment(Total(), log))
    return ScanSegmentRow(source.where, source.file, log.size, summary, stop=log.stop.reason)


def partition_row(place: Where, total: Total) -> ScanPartitionRow:
    """Return the row of a partition directory, from the total of its logs."""
    return ScanPartitionRow(place, total.segments, total.complete, total.size, _summary(total))


def _summary(total: Total) -> ScanSummary:
    """Return the columns that segments and partitions share."""
    whole = total.summary
    believed = whole.batches - whole.invalid
    counted = believed - whole.uncounted
    opened = whole.transactions.open if whole.transactions is not None else None
    return ScanSummary(
        batches=whole.batches,
        batch_bytes=whole.bytes,
        records=whole.records if counted or not whole.uncounted else None,
        uncounted_batches=whole.uncounted,
        base_offset=whole.base_offset,
        last_offset=whole.last_offset,
        min_timestamp=whole.min_timestamp,
        max_timestamp=whole.max_timestamp,
        first_epoch=whole.first_epoch,
        last_epoch=whole.last_epoch,
        epochs=None if whole.epochs is None else len(whole.epochs),
        producers=None if whole.producers is None else len(whole.producers),
        transactional_batches=whole.transactional,
        control_batches=whole.control,
        open_transactions=None if opened is None else len(opened),
        first_open_offset=min(opened.values(), default=None) if opened is not None else None,
        codecs=tuple(_codec(number, codec) for number, codec in enumerate(whole.codecs) if codec.batches),
        largest_batch_bytes=whole.largest if believed else None,
        mean_batch_bytes=round(whole.bytes / believed) if believed else None,
        records_per_batch=round(whole.records / counted, 2) if counted else None,
        valid_batches=whole.valid,
        invalid_batches=whole.invalid,
        unchecked_batches=whole.unchecked,
        offset_gaps=whole.gaps.times,
        first_gap_offset=whole.gaps.first,
        offset_overlaps=whole.backwards.times,
        first_overlap_offset=whole.backwards.first,
        damaged_ranges=total.damaged_ranges,
        damaged_bytes=total.damaged_bytes,
        tail_bytes=total.tail,
    )


def _tail(log: LogScan) -> int:
    """Return the bytes after the last batch, unless they are a damaged range."""
    is_damaged = bool(log.gaps) and log.gaps[-1].next_offset is None
    return 0 if is_damaged else log.size - log.stop.position


def _codec(number: int, codec: Codec) -> CodecUse:
    return CodecUse(
        COMPRESSION_NAMES.get(number, str(number)),
        codec.batches,
        codec.bytes,
        decompressed_bytes=codec.unpacked if codec.opened else None,
        ratio=round(codec.unpacked / codec.packed, 2) if codec.packed else None,
    )
