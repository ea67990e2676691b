"""Which batches of a log `dump` reads: past damage all of them, or those that may hold what is wanted.

Of large logs batches are ruled out many at a time, by columns of their headers and records: in most of them nobody finds
the one key that is asked for. What is left is read one by one, as if nothing had been ruled out.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from formats.batch import (
    COMPRESSION_CODEC_MASK,
    COMPRESSION_NAMES,
    CONTROL_MASK,
    LOG_OVERHEAD,
    TRANSACTIONAL_MASK,
    BatchHeader,
)
from formats.record import MAGIC
from formats.record_columns import taken
from kcli.analysis.collector import FindingCollector
from kcli.analysis.log_findings import report_invalid
from kcli.analysis.salvage import Checked, Gap, checked_batches
from kcli.analysis.selection import HIGHEST, LOWEST, Wanted, can_hold, searcher
from kcli.dump.batches import bounded
from kcli.dump.bulk import checked, parts, troubled, walked
from kcli.dump.options import Options
from kcli.logdir.buffers import DataFile
from kcli.logdir.bulk import Window
from kcli.logdir.segment import Stop

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from formats.record_columns import Ints, RecordColumns

WORTH_COLUMNS = 1 << 20
"""A log of fewer bytes is read one by one sooner than numpy is there."""


def good_and_bad(
    file: DataFile,
    start: int,
    end: int,
    told: FindingCollector,
    options: Options,
    *,
    cut: int = 0,
    again: bool = False,
) -> Iterator[Checked | Gap | Stop]:
    """Yield the batches that may hold what is wanted, every damaged range and where it all stops.

    Findings about wrong checksums are kept, also of batches that are not wanted: what rules them out may be the damage.
    `again`: those of the first batch are told already.
    """
    wanted, some = options.wanted, bool(options.wanted)
    if is_told_by_columns(options, start, end) and not again:
        yield from _ruled_out(walked(file, start, end, told, cut), file, told, options)
        return
    first, last = wanted.offsets or (LOWEST, HIGHEST)
    passed: BatchHeader | None = None
    for item in bounded(checked_batches(file, start, end, options.max_batch_bytes, cut), told, cut):
        if not isinstance(item, Checked):
            yield item
            continue
        header = item.batch.header
        if not again and (header.last_offset >= first or not item.valid):
            report_invalid(item, told)
        again = False
        if not some or can_hold(wanted, header):
            yield item
        # No checksum covers the base offset: one batch beyond the last that is wanted may only say so. Two that rise do not.
        is_beyond = (
            item.valid and isinstance(header, BatchHeader) and last < header.base_offset <= header.last_offset
        )
        if is_beyond and passed is not None and header.base_offset > passed.last_offset:
            return
        passed = header if is_beyond and isinstance(header, BatchHeader) else None


def is_told_by_columns(options: Options, start: int, end: int) -> bool:
    """Whether what is wanted of these bytes of a log is told by columns; offsets are not: an index leads to them, and away from them."""
    return bool(options.wanted) and options.wanted.offsets is None and end - start >= WORTH_COLUMNS


def narrowed(window: Window, wanted: Wanted) -> Window:
    """Return the batches of a window that may hold a wanted record."""
    able = _can_hold(wanted, window.fields)
    return window._replace(
        positions=window.positions[able],
        fields=window.fields[able],
        valid=None if window.valid is None else window.valid[able],
    )


def chosen(part: "RecordColumns", wanted: Wanted) -> "RecordColumns":
    """Return the wanted records of columns."""
    return taken(part, _wanted(wanted, part))


def _ruled_out(
    walk: Iterator[Window | Gap | Stop], file: DataFile, told: FindingCollector, options: Options
) -> Iterator[Checked | Gap | Stop]:
    """Yield what a walk finds, batches one by one, without those in which nothing is wanted, and of which nothing is to be told."""
    for item in walk:
        if not isinstance(item, Window):
            yield item
            continue
        left, bad = _left(item, file, options), troubled(item)
        for number in (left | bad).nonzero()[0].tolist():
            batch = checked(file, item, number, options.max_batch_bytes if left[number] else 0)
            if bad[number]:
                report_invalid(batch, told)
            if left[number]:
                yield batch


def _left(window: Window, file: DataFile, options: Options) -> "NDArray[np.bool_]":
    """Return which batches of a window are to be read."""
    wanted, fields = options.wanted, window.fields
    left = _can_hold(wanted, fields)
    if not _records_decide(options):
        return left
    # what is larger than allowed is not unpacked, and told
    numbers = (
        left & (fields["magic"] == MAGIC) & (fields["batch_length"] <= options.max_batch_bytes - LOG_OVERHEAD)
    ).nonzero()[0]
    left[numbers] = False
    some = window._replace(positions=window.positions[numbers], fields=fields[numbers])
    for part in parts(some, file, options.max_batch_bytes) if len(numbers) else ():
        left[numbers[part if isinstance(part, int) else part.first + part.batch[_wanted(wanted, part)]]] = (
            True
        )
    return left


def _records_decide(options: Options) -> bool:
    """Whether a batch is not shown in which no record is wanted; lines of batches are shown for what their headers say of times."""
    if options.text or options.layout:
        return options.wanted.contents
    return options.records and (options.wanted.contents or options.wanted.times is not None)


def _can_hold(wanted: Wanted, fields: "NDArray[np.void]") -> "NDArray[np.bool_]":
    """Return which batches may hold a wanted record, as `can_hold` does; offsets are not asked about."""
    import numpy as np  # noqa: PLC0415 - heavy: only large logs pay for it

    attributes = fields["attributes"]
    able = np.ones(len(fields), np.bool_)
    if wanted.times is not None:
        able &= fields["max_timestamp"] >= wanted.times[0]
    if wanted.codecs:
        codecs = [
            codec
            for codec in range(COMPRESSION_CODEC_MASK + 1)
            if COMPRESSION_NAMES.get(codec, str(codec)) in wanted.codecs
        ]
        able &= np.isin(attributes & COMPRESSION_CODEC_MASK, codecs)
    for asked, name in ((wanted.epochs, "partition_leader_epoch"), (wanted.producer_ids, "producer_id")):
        if asked:
            able &= np.isin(fields[name], sorted(asked))
    for is_asked, mask in ((wanted.transactional, TRANSACTIONAL_MASK), (wanted.control, CONTROL_MASK)):
        if is_asked is not None:
            able &= ((attributes & mask != 0) & (fields["magic"] >= MAGIC)) == is_asked
    return able


def _wanted(wanted: Wanted, part: "RecordColumns") -> "Ints":
    """Return the numbers of the records that are wanted, as `is_wanted` does; offsets are not asked about."""
    import numpy as np  # noqa: PLC0415 - heavy: only large logs pay for it

    able = np.ones(len(part.offset), np.bool_)
    if wanted.times is not None:
        able &= (part.timestamp >= wanted.times[0]) & (part.timestamp <= wanted.times[1])
    if wanted.key is not None:
        able &= (part.key_length == len(wanted.key)) & (wanted.key in part.data)
        able[able] = [
            data == wanted.key for data in _slices(part.data, part.key_start[able], part.key_length[able])
        ]
    if wanted.grep is not None:
        able[able] = _matches(wanted.grep, part, able.nonzero()[0])
    return able.nonzero()[0]


def _matches(pattern: bytes, part: "RecordColumns", numbers: "Ints") -> list[bool]:
    """Return whether a key, a value or a header of each record matches."""
    search, data = searcher(pattern), part.data
    columns = ((part.key_start, part.key_length), (part.value_start, part.value_length))
    found = [
        any(search(contents) for contents in pair if contents is not None)
        for pair in zip(
            *(_slices(data, starts[numbers], lengths[numbers]) for starts, lengths in columns), strict=True
        )
    ]
    headers = (
        (part.header_key_start, part.header_key_length),
        (part.header_value_start, part.header_value_length),
    )
    for at, (first, count) in enumerate(
        zip(part.headers_first[numbers].tolist(), part.headers_count[numbers].tolist(), strict=True)
    ):
        if count and not found[at]:
            span = slice(first, first + count)
            found[at] = any(
                search(contents)
                for starts, lengths in headers
                for contents in _slices(data, starts[span], lengths[span])
                if contents is not None
            )
    return found


def _slices(data: bytes, starts: "Ints", lengths: "Ints") -> Iterator[bytes | None]:
    """Yield parts of the data, one at a time; None where a length is below 0."""
    return (
        None if length < 0 else data[start : start + length]
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)
    )
