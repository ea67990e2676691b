"""Where `dump` begins to read a log: by the indexes beside it where they can be trusted, else (a finding) from the beginning."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from kcli.analysis.collector import FindingCollector
from kcli.analysis.salvage import Checked, checked_batches
from kcli.analysis.selection import can_hold, is_wanted
from kcli.dump.batches import records
from kcli.dump.options import MAX_INT, Options
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.files import file_name, sibling
from kcli.logdir.indexes import OffsetIndexFile, TimeIndexFile
from kcli.logdir.segment import Batch, Walk
from kcli.logdir.tree import Target

NOTHING: Mapping[int, int] = MappingProxyType({})
UNBROKEN = frozenset({"end", "zeros", "short", "incomplete"})
"""How a walk ends whose every batch is one that a broker would find, too."""


def part(file: DataFile, target: Target, options: Options, told: FindingCollector) -> tuple[int, int]:
    """Return the bytes of a log, from and to (exclusive), that hold everything that is wanted of it."""
    end = file.size if options.max_bytes == MAX_INT else min(options.max_bytes, file.size)
    told.is_cut = end < file.size
    if not options.selects:
        return 0, end
    start = _start(file, target, options, told)
    return (start if options.tail is None else tail_start(file, target, options, start)[0]), end


def _start(file: DataFile, target: Target, options: Options, told: FindingCollector) -> int:
    """Return the byte before which nothing wanted lies."""
    wanted = options.wanted
    index = _offset_index(target)
    if index is None:
        if wanted:
            told.add("DUMP-005", None, "scanned from the beginning: there is no offset index to use")
        return 0
    with index:
        starts = []
        if wanted.offsets is not None:
            starts.append(_at_offset(file, index, wanted.offsets[0]))
        if wanted.times is not None:
            starts.append(_before_time(file, index, target, wanted.times[0]))
    found = [start for start in starts if start is not None]
    if len(found) < len(starts):
        told.add("DUMP-005", None, "scanned from the beginning: no index entry leads there")
    elif not starts and wanted:
        told.add("DUMP-005", None, "scanned from the beginning: no index knows what is asked for")
    return max(found, default=0)


def _offset_index(target: Target) -> OffsetIndexFile | None:
    path, base = sibling(target, "index"), file_name(target).base_offset
    if path is None or base is None:
        return None
    try:
        return OffsetIndexFile(path, base)
    except FileError:
        return None


def _at_offset(file: DataFile, index: OffsetIndexFile, offset: int) -> int | None:
    """Return where a batch at or below the offset lies, as the index says; None if none of right checksum lies there."""
    try:
        position = index.lookup(offset, index.valid_entries(file.size))[1]
    except FileError:
        return None
    found = next(checked_batches(file, position), None) if position >= 0 else None
    if (
        isinstance(found, Checked)
        and found.valid
        and (position == 0 or found.batch.header.base_offset <= offset)
    ):
        return position
    return None


def _before_time(file: DataFile, index: OffsetIndexFile, target: Target, timestamp: int) -> int | None:
    """Return a place before which every record is older, by the time index; None if it says nothing that is true.

    An entry holds the largest timestamp up to its offset, so what lies before is older, in whatever order it was written.
    """
    path = sibling(target, "timeindex")
    if path is None:
        return None
    try:
        with TimeIndexFile(path, index.base_offset) as times:
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


def tail_start(file: DataFile, target: Target, options: Options, start: int = 0) -> tuple[int, int]:
    """Return where the last wanted batches (or records) begin, and how many there are from there: `options.tail`, or fewer.

    Of records there may be more: their first batch is begun with.
    """
    if options.wanted:
        found = _last(_counted(file, start, options), options)
    else:
        known: dict[int, int] = {}
        unsure: list[int] = [0]
        while unsure:
            start = next(
                (
                    position
                    for position in _from_the_end(file, target)
                    if _enough(file, position, options, known)
                ),
                0,
            )
            found = _last(_counted(file, start, options, known), options)
            unsure = [position for position, _ in found if options.records and position not in known]
            known.update((position, _readable(file, position, options)) for position in unsure)
    return (found[0][0] if found else file.size), sum(number for _, number in found)


def _last(counted: Iterable[tuple[int, int]], options: Options) -> list[tuple[int, int]]:
    """Return the last batches that hold as many as are wanted, with how many each holds."""
    found: deque[tuple[int, int]] = deque()
    held = 0
    for position, number in counted:
        found.append((position, number))
        held += number
        while held - found[0][1] >= (options.tail or 0):
            held -= found.popleft()[1]
    return list(found)


def _readable(file: DataFile, position: int, options: Options) -> int:
    """Return how many records of a batch can be read: its header may say what is not so."""
    item = next(checked_batches(file, position, None, options.max_batch_bytes), None)
    return sum(1 for _ in records(item, _nobody(), options)) if isinstance(item, Checked) else 0


def _nobody() -> FindingCollector:
    """Return what takes findings that are told where the records are shown."""
    return FindingCollector(Target(kind="", path="", shown="", name=None, log_dir=None))


def _from_the_end(file: DataFile, target: Target) -> Iterator[int]:
    """Yield places in the log that the index gives, ever further from the end."""
    index = _offset_index(target)
    if index is None:
        return
    with index:
        try:
            count = index.valid_entries(file.size)
            back = 1
            while back <= count:
                yield index.position(count - back)
                back *= 4
        except FileError:
            return


def _enough(file: DataFile, position: int, options: Options, known: Mapping[int, int]) -> bool:
    """Whether the log from a position on holds as many batches or records as wanted, in an unbroken chain.

    `known` are the numbers of records of some batches, by position.
    """
    if position <= 0:
        return False
    walk = Walk(file, position)
    count = sum(known.get(batch.position, _records_of(batch, options)) for batch in walk)
    return count >= (options.tail or 0) and walk.stop is not None and walk.stop.reason in UNBROKEN


def _records_of(batch: Batch, options: Options) -> int:
    """Return what a batch counts for; a wrapper of magic 0 or 1 does not say how many messages it holds."""
    count = batch.header.records_count
    return 1 if not options.records or count is None else max(count, 0)


def _counted(
    file: DataFile, start: int, options: Options, known: Mapping[int, int] = NOTHING
) -> Iterator[tuple[int, int]]:
    """Yield the position of every batch that holds something wanted, and how many of its records (or 1) are."""
    for item in checked_batches(file, start, None, options.max_batch_bytes):
        if not isinstance(item, Checked) or not can_hold(options.wanted, item.batch.header):
            continue
        number = known.get(item.batch.position, _records_of(item.batch, options))
        if options.wanted and (options.records or options.wanted.times is not None):
            matching = sum(is_wanted(options.wanted, record) for record in records(item, _nobody(), options))
            number = matching if options.records else min(matching, 1)
        if number:
            yield item.batch.position, number


def in_range(logs: list[Target], options: Options) -> list[Target]:
    """Return the logs of a partition directory that can hold what is wanted, by their base offsets.

    No name says where a log ends: segments may overlap, and the index tells in a moment that there is nothing.
    """
    if options.wanted.offsets is None:
        return logs
    last = options.wanted.offsets[1]
    return [target for target in logs if (file_name(target).base_offset or 0) <= last]


def tails(logs: list[Target], options: Options) -> list[tuple[Target, Options]]:
    """Return the logs of a partition that its last batches (or records) lie in, in order, each with how many of its own.

    Leftovers (.deleted, .cleaned, .swap) are not part of the log, unless there is nothing else.
    """
    left, found = options.tail or 0, []
    logs = [target for target in logs if not file_name(target).is_inactive] or logs
    for target in reversed(in_range(logs, options)):
        if left <= 0:
            break
        with DataFile(target.path) as file:
            held = tail_start(file, target, replace(options, tail=left))[1]
        if held:
            found.append((target, replace(options, tail=min(left, held))))
            left -= held
    return found[::-1]
