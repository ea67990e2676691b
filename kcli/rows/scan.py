"""The row types of `kcli scan`: what a segment holds, and what a partition holds."""

from kcli.rows.columns import (
    INTEGER,
    NULLABLE_INTEGER,
    WHERE,
    Column,
    RowType,
    array,
    boolean,
    integer,
    record,
    text,
    timestamp,
)

NULLABLE_NUMBER = {"type": ["number", "null"]}
CODEC = record(
    {
        "codec": {"type": "string"},
        "batches": INTEGER,
        "bytes": INTEGER,
        "decompressed_bytes": NULLABLE_INTEGER,
        "ratio": NULLABLE_NUMBER,
    }
)

SUMMARY = (
    integer("batches", "whole batches, those of wrong checksum included: of these nothing else is counted"),
    integer("batch_bytes", "bytes of those of right checksum, headers included"),
    integer("records", "as the batches count them; wrappers of magic 0 and 1 do not"),
    integer("uncounted_batches", "such wrappers"),
    integer(
        "base_offset",
        "of the first batch; of a wrapper that of its last message; null without batches",
        null=True,
    ),
    integer("last_offset", "of the last batch, inclusive; null without batches", null=True),
    timestamp("min_timestamp", "smallest that a batch begins with; null where none has one", null=True),
    timestamp("max_timestamp", "largest of a batch; null where none has one", null=True),
    integer("first_epoch", "leader epoch of the first batch that has one", null=True),
    integer("last_epoch", "leader epoch of the last batch that has one", null=True),
    integer("epochs", "different leader epochs; null for more than 10000", null=True),
    integer("producers", "different producer ids; null for more than 10000", null=True),
    integer("transactional_batches", "batches of transactions, end markers included"),
    integer("control_batches", "batches of control records"),
    integer(
        "open_transactions",
        "begun here and not ended here; null for more than 10000 producers with transactions",
        null=True,
    ),
    integer("first_open_offset", "where the first of these begins; null without one", null=True),
    array(
        "codecs",
        "batches and their bytes by codec; with --ratio the bytes of records of those that could be decompressed, and how often smaller",
        CODEC,
    ),
    integer("largest_batch_bytes", "size of the largest batch", null=True),
    integer("mean_batch_bytes", "rounded", null=True),
    Column(
        "records_per_batch", "json", True, "mean, of batches that count their records", {"type": "number"}
    ),
    integer("valid_batches", "whose checksum is right"),
    integer("invalid_batches", "whose checksum is wrong: nothing in them is believed"),
    integer("unchecked_batches", "with --no-verify"),
    integer(
        "offset_gaps",
        "places where offsets are missing between one batch and the next: ordinary after compaction",
    ),
    integer("first_gap_offset", "the first offset that is missing", null=True),
    integer("offset_overlaps", "batches that begin at or below the last offset of the one before"),
    integer("first_overlap_offset", "where the first of them begins", null=True),
    integer("damaged_ranges", "ranges of bytes that are no batches, with batches behind them or not"),
    integer("damaged_bytes", "bytes of these, and of batches whose checksum is wrong or magic not known"),
    integer(
        "tail_bytes",
        "bytes behind the last batch, incomplete or zeros; with batch_bytes and damaged_bytes they are size_bytes",
    ),
)

SCAN_SEGMENT = RowType(
    "scan_segment",
    (
        *WHERE,
        text("file", "file name"),
        integer("size_bytes", "of the file, when it was opened"),
        *SUMMARY,
        text("stop", "why the chain of batches ends: end, short, incomplete, zeros, bad-length or bad-magic"),
    ),
)

SCAN_PARTITION = RowType(
    "scan_partition",
    (
        *WHERE,
        integer("segments", "segments that were read"),
        boolean(
            "is_complete", "false where a segment could not be read: the numbers are those of the others"
        ),
        integer("size_bytes", "of their logs"),
        *SUMMARY,
    ),
)
