"""A log as blocks of columns: consecutive batches, and where asked for the columns of their records.

Columns are the only shape. What `formats.record_columns` leaves to the plain reader (magic 0 and 1, damaged, very
large) becomes blocks of one batch, made of its records one by one; a batch above the bound becomes one without records.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formats import legacy
from formats.batch import BATCH, LOG_OVERHEAD, MAGIC_POSITION, NO_SEQUENCE
from formats.bounds import RAISES_THE_BOUND, describe
from formats.bulk import Fields
from formats.errors import FormatError
from formats.message_set import LegacyRecord, message_set, set_records
from formats.record import MAGIC, Record, batch_records
from formats.record_columns import (
    CHUNK_BYTES,
    PART_RECORDS,
    FallbackBatch,
    RecordColumns,
    record_columns,
    taken,
)
from kcli.analysis.collector import FindingCollector
from kcli.analysis.log_findings import MOST_DAMAGED_RANGES, report_invalid
from kcli.analysis.salvage import DamagedRange, VerifiedBatch, verified_windows
from kcli.dump.filter import last_offsets
from kcli.dump.options import Options
from kcli.dump.resume import ResumePoint
from kcli.logdir.buffers import DataFile
from kcli.logdir.bulk import Window, hints_of
from kcli.logdir.files import sibling
from kcli.logdir.segment import Batch, Header, Stop
from kcli.logdir.tree import Target

Ints: TypeAlias = NDArray[np.int64]

BYTES_A_HEADER = 64
"""Memory of a header of a record beside its bytes."""


class Log(NamedTuple):
    """A log that is read: the open file, what of it is shown and how, and where findings about it go."""

    file: DataFile
    target: Target
    options: Options
    findings: FindingCollector

    def report(self, problems: "Iterable[Problem]") -> None:
        """Keep findings about what of batches cannot be read."""
        for problem in problems:
            self.findings.add(*problem)


class LegacyColumns(NamedTuple):
    """What only records of magic 0 and 1 have: sizes as stored, whether their own checksum matches, and that checksum."""

    key_size: Ints
    value_size: Ints
    is_valid: NDArray[np.bool_]
    crc: Ints


class Problem(NamedTuple):
    """What of a batch cannot be read: a finding about it."""

    code: str
    position: int
    message: str


class Block(NamedTuple):
    """Consecutive batches of a log, either all of magic 2 or all of magic 0 and 1.

    `positions` are bytes of the file, `fields` their headers (see `formats.bulk`), `valid`: whether the checksum
    matches. `records` are those that the filter leaves, None where batches alone are asked for. `begins`: the first batch
    begins here, no earlier block had records of it. `resume` is the place after the block.
    """

    positions: Ints
    fields: Fields
    valid: NDArray[np.bool_]
    records: RecordColumns | None = None
    legacy: LegacyColumns | None = None
    problems: tuple[Problem, ...] = ()
    begins: bool = True
    resume: ResumePoint = ResumePoint(0)

    @property
    def is_v2(self) -> bool:
        """Whether the batches are of magic 2; what follows 2 Kafka reads as 2."""
        return bool(self.fields["magic"][0] >= MAGIC)

    @property
    def rows(self) -> int:
        """Rows that the block has: records, or batches."""
        return len(self.positions) if self.records is None else len(self.records.offset)

    def last_rows(self, count: int) -> "Block":
        """Return the last rows, without batches that have none of them, in memory of their own."""
        first = max(self.rows - count, 0)
        if self.records is None:
            return _batches(self, np.arange(len(self.positions)) >= first)
        numbers = np.arange(first, self.rows)
        keep = np.zeros(len(self.positions), np.bool_)
        keep[self.records.batch[numbers]] = True
        block = _selected(self, numbers, keep)
        return block._replace(records=None if block.records is None else _compacted(block.records))


def read_log(
    log: Log, start: int, end: int, *, cut: int = 0, cursor: int = 0
) -> Iterator[Block | DamagedRange | Stop]:
    """Yield what the filter leaves of the batches between two bytes, every damaged range, and last where the log ends.

    With a `cut`, where a batch begins, it stops there. Of the first batch `cursor` records are delivered: they are left
    out. Findings about checksums are reported, also of batches that the filter rules out: the damage may do so. After two
    batches that rise beyond the last offset of the filter nothing more is read: one alone may only say so, for no
    checksum covers the base offset.
    """
    hints = hints_of(log.file, sibling(log.target, "index"))
    walk = limited(verified_windows(log.file, start, end, cut, hints), log.findings, cut)
    passed: tuple[bool, int] = False, 0
    for item in walk:
        if not isinstance(item, Window):
            yield item
            continue
        window, is_last = item, False
        if log.options.filter.offsets is not None:
            count, passed = _up_to(window, log.options.filter.offsets[1], passed)
            is_last = count <= len(window.positions)
            window = _part(window, np.arange(len(window.positions)) < count)
        yield from _of_window(log, window, cursor)
        cursor = 0
        if is_last:
            return


def limited(
    items: Iterable[Window | DamagedRange | Stop], findings: FindingCollector, cut: int
) -> Iterator[Window | DamagedRange | Stop]:
    """Yield what a walk finds; of many damaged ranges only the first ones, the others are counted.

    It is noted where a part of a log did not end at its cut.
    """
    for item in items:
        if isinstance(item, Stop) and cut:
            if item.reason == "cut":
                return
            findings.ran_past_end = True
        if isinstance(item, DamagedRange):
            findings.gaps += 1
            if findings.gaps > MOST_DAMAGED_RANGES and item.next_offset is not None:
                findings.add(
                    "DUMP-001",
                    item.start,
                    f"more than {MOST_DAMAGED_RANGES} damaged ranges: this one up to byte {item.end}",
                )
                continue
        yield item


def finished(log: Log, block: Block, size: int) -> ResumePoint:
    """Report what of a block's batches cannot be read; return the place after it, and that so many bytes were made of it."""
    log.report(block.problems)
    return block.resume._replace(bytes=size)


def last_rows(
    log: Log, items: Iterable[Block | DamagedRange | Stop], count: int
) -> Iterator[Block | DamagedRange | Stop]:
    """Yield the blocks of the last rows and all else, the place where the log ends last."""
    kept: deque[tuple[Block, tuple[Problem, ...]]] = deque()
    held = 0
    stop: Stop | None = None
    for item in items:
        if isinstance(item, DamagedRange):
            yield item
        elif isinstance(item, Stop):
            stop = item
        else:
            kept.append((item.last_rows(count) if item.rows else item, item.problems))
            held += kept[-1][0].rows
            while kept and (held - kept[0][0].rows >= count or not kept[0][0].rows):
                block, problems = kept.popleft()
                held -= block.rows
                log.report(problems)
    for number, (block, problems) in enumerate(kept):
        if number == 0:
            yield block.last_rows(min(block.rows, block.rows - held + count))._replace(begins=True)
        elif block.rows:
            yield block
        else:
            log.report(problems)
    if stop is not None:
        yield stop


def record_at(columns: RecordColumns, number: int) -> Record:
    """Return offset, key and value of a record; the rest of it is not there."""
    key, value = (
        None if lengths[number] < 0 else columns.data[starts[number] : starts[number] + lengths[number]]
        for starts, lengths in (
            (columns.key_start, columns.key_length),
            (columns.value_start, columns.value_length),
        )
    )
    return Record(int(columns.offset[number]), 0, NO_SEQUENCE, key, value, (), 0)


def verified_batch(log: Log, block: Block, number: int) -> VerifiedBatch:
    """Return one batch of a block with all of its bytes; without them if it is above the bound."""
    position = int(block.positions[number])
    size = LOG_OVERHEAD + int(block.fields["batch_length"][number])
    is_small = size <= log.options.max_batch_bytes
    raw = log.file.read(position, size if is_small else min(size, BATCH.size))
    return VerifiedBatch(Batch(position, _header(raw)), raw if is_small else None, bool(block.valid[number]))


def _up_to(window: Window, last: int, passed: tuple[bool, int]) -> tuple[int, tuple[bool, int]]:
    """Return how many batches of a window come up to the second of two that rise beyond an offset, and what is known of the last."""
    first, end = window.fields["base_offset"].astype(np.int64), last_offsets(window.fields)
    beyond = _valid(window) & (window.fields["magic"] >= MAGIC) & (first > last) & (first <= end)
    follows = (
        beyond
        & np.concatenate(([passed[0]], beyond[:-1]))
        & (first > np.concatenate(([passed[1]], end[:-1])))
    )
    at = follows.nonzero()[0]
    return int(at[0]) + 1 if len(at) else len(first) + 1, (bool(beyond[-1]), int(end[-1]))


def _of_window(log: Log, window: Window, cursor: int) -> Iterator[Block]:
    """Yield the blocks of a window's batches; report those whose checksum does not match."""
    options, asked = log.options, log.options.filter
    reports = _Reports(log, window, after=cursor > 0)
    shown = int(window.positions[0]) if cursor else None
    if asked:
        window = _part(window, asked.may_match(window.fields) & ~asked.rules_out(window.fields))
    if not options.records or options.layout:
        window = _with_matches(log, window, reports)
        for run in _each(window) if options.layout or options.limit is not None else _runs(window):
            reports.up_to(int(run.positions[-1]))
            yield _block(run)
        reports.up_to(None)
        return
    for block in _record_blocks(log, window, cursor):
        found = _filtered(log, block) if asked else block
        if found is None:
            reports.up_to(int(block.positions[-1]))
            log.report(block.problems)
            continue
        for one in [found] if options.limit is None else _by_batch(found):
            reports.up_to(int(one.positions[-1]))
            yield one._replace(begins=int(one.positions[0]) != shown)
            shown = int(one.positions[-1])
    reports.up_to(None)


def _filtered(log: Log, block: Block) -> Block | None:
    """Return the matching records of a block, and the batches that are shown for them; None for nothing."""
    asked, records = log.options.filter, block.records
    if records is None:
        return block
    numbers = asked.matches(records)
    keep = ~asked.is_open(block.fields)
    keep[records.batch[numbers]] = True
    return _selected(block, numbers, keep) if keep.any() else None


def _with_matches(log: Log, window: Window, reports: "_Reports") -> Window:
    """Return the batches of a window without those that are shown only for a matching record, and have none."""
    asked, options = log.options.filter, log.options
    is_open = asked.is_open(window.fields)
    if not is_open.any():
        return window
    keep = ~is_open
    for block in _record_blocks(log, _part(window, is_open), 0):
        if block.records is not None:
            matching = np.unique(block.records.batch[asked.matches(block.records)])
            keep[window.positions.searchsorted(block.positions[matching])] = True
        # of a batch that is shown field by field its rows say it
        is_said = (
            options.layout and options.records and keep[window.positions.searchsorted(block.positions[0])]
        )
        reports.problems.extend(() if is_said else block.problems)
    return _part(window, keep)


class _Reports:
    """Findings about the batches of a window that wait, so that all are reported in byte order.

    They are those about wrong checksums and unknown magics, and `problems`. `after`: of the first batch they are reported.
    """

    def __init__(self, log: Log, window: Window, *, after: bool) -> None:
        self.log = log
        self.window = window
        self.problems: deque[Problem] = deque()
        invalid = ~_valid(window) | (window.fields["magic"] > MAGIC)
        if after:
            invalid[:1] = False
        self.invalid = deque(invalid.nonzero()[0].tolist())

    def up_to(self, position: int | None) -> None:
        """Report what is about batches up to a position, or all."""
        window = self.window
        while self.invalid and (position is None or window.positions[self.invalid[0]] <= position):
            number = self.invalid.popleft()
            report_invalid(
                int(window.positions[number]),
                window.fields[number],
                self.log.findings,
                valid=bool(_valid(window)[number]),
            )
        while self.problems and (position is None or self.problems[0].position <= position):
            self.log.report([self.problems.popleft()])


def _valid(window: Window) -> NDArray[np.bool_]:
    if window.valid is None:
        raise AssertionError("a verified window knows its checksums")
    return window.valid


def _part(window: Window, mask: NDArray[np.bool_]) -> Window:
    """Return some of the batches of a window."""
    if mask.all():
        return window
    return window._replace(
        positions=window.positions[mask], fields=window.fields[mask], valid=_valid(window)[mask]
    )


def _runs(window: Window) -> Iterator[Window]:
    """Yield the batches of a window, neighbours of one kind of magic together."""
    is_v2 = window.fields["magic"] >= MAGIC
    bounds = [0, *((is_v2[1:] != is_v2[:-1]).nonzero()[0] + 1).tolist(), len(is_v2)]
    for begin, end in pairwise(bounds):
        if begin < end:
            yield _slice(window, begin, end)


def _each(window: Window) -> Iterator[Window]:
    """Yield the batches of a window one by one."""
    return (_slice(window, number, number + 1) for number in range(len(window.positions)))


def _by_batch(block: Block) -> Iterator[Block]:
    """Yield the batches of a block, each with its records, one by one: what follows a limit is not looked at."""
    records, count = block.records, len(block.positions)
    if records is None or count == 1:
        yield block
        return
    for number in range(count):
        numbers = np.arange(records.bounds[number], records.bounds[number + 1])
        size = LOG_OVERHEAD + int(block.fields["batch_length"][number])
        one = _selected(block, numbers, np.arange(count) == number)
        yield one._replace(resume=ResumePoint(int(block.positions[number]) + size))


def _slice(window: Window, begin: int, end: int) -> Window:
    span = slice(begin, end)
    return window._replace(
        positions=window.positions[span], fields=window.fields[span], valid=_valid(window)[span]
    )


def _block(window: Window, **more: object) -> Block:
    block = Block(window.positions, window.fields, _valid(window))
    return block._replace(**{"resume": _after(window), **more})  # type: ignore[arg-type]


def _after(window: Window) -> ResumePoint:
    return ResumePoint(int(window.positions[-1]) + LOG_OVERHEAD + int(window.fields["batch_length"][-1]))


def _record_blocks(log: Log, window: Window, cursor: int) -> Iterator[Block]:
    """Yield the batches of a window with all of their records, but for the first `cursor`."""
    sizes = window.fields["batch_length"].astype(np.int64) + LOG_OVERHEAD
    large = (sizes > log.options.max_batch_bytes).nonzero()[0].tolist()
    begin = 0
    for number in (*large, len(sizes)):
        if begin < number:
            yield from _read(log, _slice(window, begin, number), cursor if begin == 0 else 0)
        if number < len(sizes):
            yield _too_large(_slice(window, number, number + 1), int(sizes[number]))
        begin = number + 1


def _too_large(window: Window, size: int) -> Block:
    words = f"offset {window.fields['base_offset'][0]}: a batch of {size} bytes{RAISES_THE_BOUND}"
    problem = Problem("DUMP-002", int(window.positions[0]), words)
    return _block(window, records=_columns([], window.fields, 0, ends=True), problems=(problem,))


def _read(log: Log, window: Window, cursor: int) -> Iterator[Block]:
    """Yield batches with their records; none is above the bound."""
    limit, base, data = log.options.max_batch_bytes, window.base, window.data
    if not data:
        # one batch, larger than a window
        base = int(window.positions[0])
        data = memoryview(log.file.read(base, LOG_OVERHEAD + int(window.fields["batch_length"][0])))
    for part in record_columns(data, window.positions - base, limit, window.fields):
        if isinstance(part, FallbackBatch):
            one = _slice(window, part.number, part.number + 1)
            at = int(one.positions[0]) - base
            raw = bytes(data[at : at + LOG_OVERHEAD + int(one.fields["batch_length"][0])])
            yield from _plain(one, raw, limit, cursor if part.number == 0 else 0)
            continue
        some = _slice(window, part.first, part.first + len(part.headers))
        skip = cursor - part.before if part.first == 0 else 0
        if skip >= len(part.offset) and skip > 0:
            continue
        records = part if skip <= 0 else taken(part, np.arange(skip, len(part.offset)))
        resume = (
            _after(some) if part.ends else ResumePoint(int(some.positions[0]), part.before + len(part.offset))
        )
        yield _block(some, records=records, resume=resume)


def _plain(window: Window, raw: bytes, limit: int, cursor: int) -> Iterator[Block]:
    """Yield a batch with its records read one by one, as many as can be read, some at a time."""
    position, first = int(window.positions[0]), int(window.fields["base_offset"][0])
    is_v2 = window.fields["magic"][0] >= MAGIC
    problems: list[Problem] = []
    held: list[Record] | list[LegacyRecord] = []
    number, size = cursor, 0

    def block(*, ends: bool) -> Block:
        columns = _columns(held, window.fields, number - len(held), ends=ends)
        resume = _after(window) if ends else ResumePoint(position, number)
        made = _block(
            window,
            records=columns,
            legacy=None if is_v2 else _legacy(held),
            problems=tuple(problems),
            resume=resume,
        )
        held.clear()
        problems.clear()
        return made

    try:
        if is_v2:
            records: Iterator[Record | LegacyRecord] = batch_records(raw, limit)
        else:
            opened = message_set(raw, limit)
            if opened.cut and not cursor:
                problems.append(
                    Problem(
                        "DUMP-009", position, f"offset {first}: {opened.cut} bytes of a message that is cut"
                    )
                )
            records = set_records(opened)
        for record in islice(records, cursor, None):
            if len(held) >= PART_RECORDS or size >= CHUNK_BYTES:
                yield block(ends=False)
                size = 0
            held.append(record)  # type: ignore[arg-type]
            number += 1
            size += _size(record)
            if isinstance(record, LegacyRecord) and not record.is_valid and opened.stream is not None:
                problems.append(
                    Problem(
                        "LOG-003",
                        position,
                        f"offset {record.offset}: the checksum of a message inside a wrapper does not match",
                    )
                )
    except FormatError as error:
        problems.append(Problem("DUMP-002", position, f"offset {first}: {describe(error.moved(position))}"))
    yield block(ends=True)


def _size(record: Record | LegacyRecord) -> int:
    size = len(record.key or b"") + len(record.value or b"")
    if isinstance(record, Record):
        size += sum(BYTES_A_HEADER + len(key) + len(value or b"") for key, value in record.headers)
    return size


def _columns(
    records: "list[Record] | list[LegacyRecord]", header: Fields, before: int, *, ends: bool
) -> RecordColumns:
    """Return the columns of some records of one batch."""
    parts: list[bytes] = []
    spans: list[tuple[int, int]] = []
    at = 0

    def put(data: bytes | None) -> None:
        nonlocal at
        spans.append((at, -1 if data is None else len(data)))
        if data:
            parts.append(data)
            at += len(data)

    headers = [record.headers if isinstance(record, Record) else () for record in records]
    for record in records:
        put(record.key)
        put(record.value)
    for some in headers:
        for key, value in some:
            put(key)
            put(value)
    table = np.array(spans, np.int64).reshape(-1, 2)
    of_records, of_headers = table[: 2 * len(records)], table[2 * len(records) :]
    counts = _ints(map(len, headers))
    return RecordColumns(
        first=0,
        headers=header,
        bounds=np.array([0, len(records)]),
        data=b"".join([*parts, b"\0\0"]),
        batch=np.zeros(len(records), np.int64),
        offset=_ints(record.offset for record in records),
        timestamp=_ints(record.timestamp for record in records),
        sequence=_ints(record.sequence if isinstance(record, Record) else NO_SEQUENCE for record in records),
        attributes=np.array([record.attributes & 0xFF for record in records], np.uint8),
        key_start=of_records[::2, 0],
        key_length=of_records[::2, 1],
        value_start=of_records[1::2, 0],
        value_length=of_records[1::2, 1],
        headers_count=counts,
        headers_first=np.cumsum(counts) - counts,
        header_key_start=of_headers[::2, 0],
        header_key_length=of_headers[::2, 1],
        header_value_start=of_headers[1::2, 0],
        header_value_length=of_headers[1::2, 1],
        before=before,
        ends=ends,
    )


def _legacy(records: "list[Record] | list[LegacyRecord]") -> LegacyColumns:
    found = [record for record in records if isinstance(record, LegacyRecord)]
    return LegacyColumns(
        _ints(record.key_size for record in found),
        _ints(record.value_size for record in found),
        np.array([record.is_valid for record in found], np.bool_),
        _ints(record.crc for record in found),
    )


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, np.int64)


def _header(raw: bytes) -> Header:
    return BATCH.read(raw) if raw[MAGIC_POSITION] >= MAGIC else legacy.read_header(raw)


def _batches(block: Block, keep: NDArray[np.bool_]) -> Block:
    """Return some of the batches of a block that has no records."""
    return block._replace(positions=block.positions[keep], fields=block.fields[keep], valid=block.valid[keep])


def _selected(block: Block, numbers: Ints, keep: NDArray[np.bool_]) -> Block:
    """Return some of the records of a block, and some of its batches: all of which there are such records."""
    if block.records is None:
        return block
    records = taken(block.records, numbers)
    records = records._replace(
        headers=records.headers[keep],
        batch=(np.cumsum(keep) - 1)[records.batch],
        bounds=np.concatenate((records.bounds[:-1][keep], records.bounds[-1:])),
    )
    of_legacy = block.legacy and LegacyColumns._make(column[numbers] for column in block.legacy)
    return _batches(block, keep)._replace(
        records=records, legacy=of_legacy, begins=block.begins or not keep[0]
    )


def _compacted(columns: RecordColumns) -> RecordColumns:
    """Return records whose data holds their own bytes alone."""
    names = ("key", "value", "header_key", "header_value")
    starts = np.concatenate([getattr(columns, f"{name}_start") for name in names])
    lengths = np.concatenate([getattr(columns, f"{name}_length") for name in names])
    sizes = np.maximum(lengths, 0)
    if 2 * int(sizes.sum()) > len(columns.data):
        return columns
    data = b"".join(
        columns.data[start : start + size]
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
    )
    places = np.split(
        np.cumsum(sizes) - sizes, np.cumsum([len(getattr(columns, f"{name}_start")) for name in names])[:-1]
    )
    begin = {f"{name}_start": place for name, place in zip(names, places, strict=True)}
    return columns._replace(data=data + b"\0\0", **begin)  # type: ignore[arg-type]
