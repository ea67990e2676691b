"""The rows of `scan`: what a segment holds, and what a partition holds."""

from typing import Annotated, NamedTuple

from kcli.rows.declare import Timestamp
from kcli.rows.partitions import Where


class CodecUse(NamedTuple):
    """The batches of one codec: their bytes, decompressed bytes, and the ratio of these."""

    codec: str
    batches: int
    bytes: int
    decompressed_bytes: int | None
    ratio: float | None


class ScanSummary(NamedTuple):
    """What batches hold together: the columns that segments and partitions share."""

    batches: Annotated[
        int, "whole batches, those of wrong checksum included: of these nothing else is counted"
    ]
    batch_bytes: Annotated[int, "bytes of those of right checksum, headers included"]
    records: Annotated[
        int | None,
        "as the batches count them; compressed wrappers of magic 0 and 1 do not; null where all are such",
    ]
    uncounted_batches: Annotated[int, "such wrappers, whose records `records` lacks"]
    base_offset: Annotated[
        int | None, "of the first batch; of a wrapper that of its last message; null without batches"
    ]
    last_offset: Annotated[int | None, "of the last batch, inclusive; null without batches"]
    min_timestamp: Annotated[Timestamp | None, "smallest that a batch begins with; null where none has one"]
    max_timestamp: Annotated[Timestamp | None, "largest of a batch; null where none has one"]
    first_epoch: Annotated[int | None, "leader epoch of the first batch that has one"]
    last_epoch: Annotated[int | None, "leader epoch of the last batch that has one"]
    epochs: Annotated[int | None, "different leader epochs; null for more than 10000"]
    producers: Annotated[int | None, "different producer ids; null for more than 10000"]
    transactional_batches: Annotated[int, "batches of transactions, end markers included"]
    control_batches: Annotated[int, "batches of control records"]
    open_transactions: Annotated[
        int | None, "begun here and not ended here; null for more than 10000 producers with transactions"
    ]
    first_open_offset: Annotated[int | None, "where the first of these begins; null without one"]
    codecs: Annotated[
        tuple[CodecUse, ...],
        "batches and their bytes by codec; with --ratio the bytes of records of those that could "
        "be decompressed, and how often smaller",
    ]
    largest_batch_bytes: Annotated[int | None, "size of the largest batch"]
    mean_batch_bytes: Annotated[int | None, "rounded"]
    records_per_batch: Annotated[float | None, "mean, of batches that count their records"]
    valid_batches: Annotated[int, "whose checksum is right"]
    invalid_batches: Annotated[int, "whose checksum is wrong: nothing else in them is counted"]
    unchecked_batches: Annotated[int, "with --no-verify"]
    offset_gaps: Annotated[
        int, "places where offsets are missing between one batch and the next: ordinary after compaction"
    ]
    first_gap_offset: Annotated[int | None, "the first offset that is missing"]
    offset_overlaps: Annotated[int, "batches that begin at or below the last offset of the one before"]
    first_overlap_offset: Annotated[int | None, "where the first of them begins"]
    damaged_ranges: Annotated[int, "ranges of bytes that are not batches, whether or not batches follow"]
    damaged_bytes: Annotated[int, "bytes of these, and of batches whose checksum is wrong or magic not known"]
    tail_bytes: Annotated[
        int,
        "bytes after the last batch, incomplete or zeros; with batch_bytes and damaged_bytes "
        "they are log_bytes",
    ]


class ScanSegmentRow(NamedTuple):
    """What one segment holds."""

    where: Where
    file: Annotated[str, "file name"]
    log_bytes: Annotated[int, "of the file, when it was opened"]
    summary: ScanSummary
    stop: Annotated[
        str, "why the chain of batches ends: end, short, incomplete, zeros, bad-length or bad-magic"
    ]


class ScanPartitionRow(NamedTuple):
    """What the segments of a partition hold together."""

    where: Where
    segments: Annotated[int, "segments that were read"]
    is_complete: Annotated[
        bool, "false where a segment could not be read: the numbers are those of the others"
    ]
    log_bytes: Annotated[int, "of their logs"]
    summary: ScanSummary
