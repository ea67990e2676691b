"""Where `dump` begins to read a log: where its indexes lead; if they are wrong (a finding) at byte 0."""

from collections.abc import Iterator
from dataclasses import replace

from formats.names import OFFSET_INDEX, TIME_INDEX
from kcli.dump.block import Block
from kcli.dump.filter import in_range
from kcli.dump.options import MAX_INT, DumpOptions
from kcli.dump.source import Log, last_rows, read_log
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.integrity.damaged import verified_batches
from kcli.kafka.integrity.verified_batch import VerifiedBatch
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.files import file_name
from kcli.logdir.indexes import OffsetIndexFile, TimeIndexFile
from kcli.logdir.remote_objects import index_beside
from kcli.logdir.segment import Stop, Walk
from kcli.logdir.targets import Target

UNBROKEN = frozenset({"end", "zeros", "short", "incomplete"})
"""How a walk ends whose every batch is one that a broker would find, too."""


def byte_range(log: Log) -> tuple[int, int]:
    """Return the bytes of a log, from and to (exclusive), that hold everything that is shown of it."""
    size, options = log.file.size, log.options
    end = size if options.max_bytes == MAX_INT else min(options.max_bytes, size)
    log.findings.is_cut = end < size
    if not options.selects:
        return 0, end
    start = _start(log)
    return (start if options.tail is None else tail_start(log, start)[0]), end


def _start(log: Log) -> int:
    """Return the byte before which nothing lies that the filter asks for."""
    file, target, asked, findings = log.file, log.target, log.options.filter, log.findings
    index = _offset_index(target)
    if index is None:
        if asked:
            findings.add("DUMP-005", None, "scanned from the beginning: there is no offset index to use")
        return 0
    with index:
        starts = []
        if asked.offsets is not None:
            starts.append(_at_offset(file, index, asked.offsets[0]))
        if asked.times is not None:
            starts.append(_before_time(file, index, target, asked.times[0]))
    found = [start for start in starts if start is not None]
    if len(found) < len(starts):
        findings.add("DUMP-005", None, "scanned from the beginning: no index entry leads there")
    elif not starts and asked:
        findings.add("DUMP-005", None, "scanned from the beginning: no index knows what is asked for")
    return max(found, default=0)


def _offset_index(target: Target) -> OffsetIndexFile | None:
    base = file_name(target).base_offset
    try:
        index = None if base is None else index_beside(target, OFFSET_INDEX)
    except FileError:
        return None
    return None if index is None or base is None else OffsetIndexFile(index, base)


def _at_offset(file: DataFile, index: OffsetIndexFile, offset: int) -> int | None:
    """Return where the index has a batch at or below the offset; None if no batch is valid there."""
    try:
        position = index.lookup(offset, index.valid_entries(file.size))[1]
    except FileError:
        return None
    found = next(verified_batches(file, position), None) if position >= 0 else None
    if (
        isinstance(found, VerifiedBatch)
        and found.valid
        and (position == 0 or found.batch.header.base_offset <= offset)
    ):
        return position
    return None


def _before_time(file: DataFile, index: OffsetIndexFile, target: Target, timestamp: int) -> int | None:
    """Return a place before which every record is older, by the time index; None if the index is wrong.

    An entry holds the largest timestamp up to its offset, so what lies before is older, in whatever order.
    """
    try:
        beside = index_beside(target, TIME_INDEX)
        if beside is None:
            return None
        with TimeIndexFile(beside, index.base_offset) as times:
            largest, offset = times.lookup(timestamp - 1, times.valid_entries())
            position = index.lookup(offset, index.valid_entries(file.size))[1]
    except FileError:
        return None
    if largest < 0:
        return 0
    there = (
        next((batch for batch in Walk(file, position) if batch.header.last_offset >= offset), None)
        if position >= 0
        else None
    )
    is_true = (
        there is not None and there.header.max_timestamp == largest and there.header.base_offset <= offset
    )
    return _at_offset(file, index, offset) if is_true else None


def tail_start(log: Log, start: int = 0) -> tuple[int, int]:
    """Return where the last rows begin, and how many there are from there: `options.tail`, or fewer.

    Of records there may be more: their first batch is begun with.
    """
    count = log.options.tail or 0
    quiet = log._replace(
        options=replace(log.options, layout=False, max_bytes=MAX_INT), findings=FindingCollector(log.target)
    )
    # a filter may leave nothing of the end
    places = [] if log.options.filter else [place for place in _from_the_end(log) if place > start]
    position = rows = 0
    for place in (*places, start):
        position, rows, is_unbroken = log.file.size, 0, True
        for item in last_rows(quiet, read_log(quiet, place, log.file.size), count):
            if isinstance(item, Block):
                position = min(position, int(item.positions[0]))
                rows += item.rows
            else:
                is_unbroken = is_unbroken and isinstance(item, Stop) and item.reason in UNBROKEN
        if rows >= count and is_unbroken:
            break
    return position, rows


def _from_the_end(log: Log) -> Iterator[int]:
    """Yield places in the log that the index gives, ever further from the end."""
    index = _offset_index(log.target)
    if index is None:
        return
    with index:
        try:
            count = index.valid_entries(log.file.size)
            back = 1
            while back <= count:
                yield index.position(count - back)
                back *= 4
        except FileError:
            return


def tails(logs: list[Target], options: DumpOptions) -> list[tuple[Target, DumpOptions]]:
    """Return the logs of a partition that hold its last batches (or records), in order, each with its count.

    Leftovers (.deleted, .cleaned, .swap) are not part of the log, unless there is nothing else.
    """
    left, found = options.tail or 0, []
    logs = [target for target in logs if not file_name(target).is_inactive] or logs
    for target in reversed(in_range(logs, options.filter)):
        if left <= 0:
            break
        with DataFile(target.path) as file:
            log = Log(file, target, replace(options, tail=left), FindingCollector(target))
            held = tail_start(log)[1]
        if held:
            found.append((target, replace(options, tail=min(left, held))))
            left -= held
    return found[::-1]
