"""What `check` keeps of a segment while it is read, window by window, and what it finds there."""

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from formats.batch import HEADER_UP_TO_MAGIC, LOG_OVERHEAD, NO_TIMESTAMP
from formats.bounds import RAISES_THE_BOUND, describe
from formats.errors import FormatError
from formats.index import TXN_INDEX_ENTRY, AbortedTxn, is_relative
from formats.magic import LATEST, is_legacy, read_header
from formats.message_set import message_set, set_records
from formats.record import batch_records
from formats.record_columns import FallbackBatch, RecordColumns, record_columns
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.findings import Finding
from kcli.kafka.findings.log_findings import contradicts_itself
from kcli.kafka.integrity.checks.batches import (
    Batches,
    EpochJudge,
    EpochRun,
    Hole,
    find_holes,
    good_batches,
)
from kcli.kafka.integrity.checks.indexes import OffsetIndexJudge, TimeIndexJudge
from kcli.kafka.integrity.checks.producers import ProducerFacts, ProducerJudge
from kcli.kafka.integrity.log_scan import LogScan
from kcli.logdir.buffers import DataFile, FileError, read_optional
from kcli.logdir.bulk import Window
from kcli.logdir.partition_names import index_file, is_swap
from kcli.logdir.targets import Target

Judged = TypeVar("Judged", OffsetIndexJudge, TimeIndexJudge)

LARGEST_TXN_INDEX = 64 << 20
MOST_HOLES = 100
"""Holes of a segment that are kept; a compacted one has many."""
FOREIGN = (
    (b"version https://git-lfs", "a git-lfs pointer"),
    (b"\x1f\x8b", "a gzip file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"PK\x03\x04", "a zip file"),
    (b"\x7fELF", "a program"),
)
"""What other files begin with, and what they are."""


def txn_entries(data: bytes) -> tuple[AbortedTxn, ...]:
    """Return the whole entries of a transaction index."""
    return tuple(TXN_INDEX_ENTRY.rows(data[: len(data) - len(data) % TXN_INDEX_ENTRY.size]))


class GoodEnd(NamedTuple):
    """Where the good batches at the beginning of a segment end: the byte, and the offset after the last."""

    position: int = 0
    offset: int | None = None


class SegmentFacts(NamedTuple):
    """What `check` knows of a segment once it is read: of base offset `base`, `size` bytes long.

    `first` and `end`: its first offset and the one after its last, if any. `is_compacted`: records or batches
    are missing; `is_sparse`: a batch lacks some of its records, which cleaning alone leaves. `of_indexes` is
    wrong with its indexes, `if_closed` too, unless it is the segment to which a broker appends.
    """

    base: int
    target: Target
    size: int
    good_end: GoodEnd
    first: int | None = None
    end: int | None = None
    is_compacted: bool = False
    epochs: tuple[EpochRun, ...] = ()
    producers: ProducerFacts = ProducerFacts({})
    aborted: tuple[AbortedTxn, ...] = ()
    of_indexes: tuple[Finding, ...] = ()
    if_closed: tuple[Finding, ...] = ()
    tail: int = 0
    """Bytes after the last batch: zeros, or part of a batch."""
    holes: tuple[Hole, ...] = ()
    """The first ones in its offsets, where no damage shows in the segment."""
    is_sparse: bool = False
    has_messages: bool = False
    """Messages of magic 0 or 1 are in it: what a recovery makes of their offsets only a start shows."""
    is_remembered: bool = False
    """An earlier run read it, and this one does not: its producers are not known."""
    newest: int | None = None
    """Its largest timestamp, in ms."""

    @property
    def is_cut(self) -> bool:
        """Whether recovery of this segment would cut it."""
        return self.good_end.position < self.size


class SegmentJudge:
    """Looks at every window of a segment, and holds the files beside it against its batches.

    The indexes are read before the log is opened: whatever they lead to is in it then. FileError of an index
    that cannot be read. `records`: up to how many bytes of a batch its records are read; None: not at all.
    `headers_alone`: nothing else of the log is read, so that nothing is known of end markers.
    """

    def __init__(self, target: Target, records: int | None = None, *, headers_alone: bool = False) -> None:
        self._records = records
        self._headers_alone = headers_alone
        self.target = target
        self.base = int(os.path.basename(target.path).partition(".")[0])
        self._of_log = FindingCollector(target)
        self._of_indexes: list[FindingCollector] = []
        self._txn_index = self._read_txn_index()
        self._offsets = self._index("index", OffsetIndexJudge)
        self._times = self._index("timeindex", TimeIndexJudge)
        self._epochs = EpochJudge()
        stable = frozenset(entry.last_stable_offset for entry in self._txn_index)
        self._producers = ProducerJudge(stable)
        self._good = GoodEnd()
        self._is_broken = False
        self._first: int | None = None
        self._end: int | None = None
        self._is_compacted = self._is_sparse = False
        self._holes: list[Hole] = []
        self._has_new = False
        self._has_messages = False

    def _collector(self, target: Target) -> FindingCollector:
        self._of_indexes.append(FindingCollector(target))
        return self._of_indexes[-1]

    def _index(self, extension: str, judge: type[Judged]) -> Judged | None:
        """Return the judge of an index; None where it cannot be read."""
        target = index_file(self.target, extension)
        findings = self._collector(target)
        try:
            return judge(target.path, self.base, findings)
        except FileError as error:
            findings.add_error(error)
            return None

    def _read_txn_index(self) -> tuple[AbortedTxn, ...]:
        target = index_file(self.target, "txnindex")
        if not os.path.lexists(target.path):  # most segments have none
            return ()
        findings = self._collector(target)
        try:
            data = read_optional(target.path, LARGEST_TXN_INDEX) or b""
        except FileError as error:
            findings.add_error(error)
            return ()
        partial = len(data) % TXN_INDEX_ENTRY.size
        if partial:
            message = f"{partial} bytes are left, an entry has {TXN_INDEX_ENTRY.size}"
            findings.add("DUMP-006", len(data) - partial, message)
        return txn_entries(data)

    def see_window(self, window: Window) -> None:
        """Look at the records of a window, if they are asked for."""
        if self._records is not None:
            _report_records(window, self.target.path, self._records, self._of_log)

    def see_batches(self, batches: Window, marker_types: NDArray[np.int8]) -> None:
        """Look at the batches of some windows in a row."""
        if not self._is_broken:
            self._follow(batches)
        good = good_batches(batches, marker_types)
        if not len(good.positions):
            return
        self._look(good)
        for judge in (self._offsets, self._times, self._epochs):
            if judge is not None:
                judge.add_batches(good)
        if not self._headers_alone:
            self._producers.add_batches(good)

    def _follow(self, batches: Window) -> None:
        """Move the end of the good batches."""
        fields, positions = batches.fields, batches.positions
        ends = positions + fields["batch_length"] + LOG_OVERHEAD
        is_next = np.append(self._good.position, ends[:-1]) == positions
        if batches.valid is not None:
            is_next &= batches.valid
        count = len(positions) if is_next.all() else int(np.argmin(is_next))
        self._is_broken = count < len(positions)
        if count:
            last = fields[count - 1]
            end = int(last["base_offset"]) + int(last["last_offset_delta"]) + 1
            self._good = GoodEnd(int(ends[count - 1]), end)

    def _look(self, batches: Batches) -> None:
        """Look at the headers themselves, and for traces of cleaning."""
        fields, base, last = batches.fields, batches.base, batches.last
        is_old = is_legacy(fields["magic"])
        self._has_new = self._has_new or not bool(is_old.all())
        self._has_messages = self._has_messages or bool(is_old.any())
        count, delta = fields["records_count"], fields["last_offset_delta"]
        sparse = ~is_old & (count != delta + 1)
        if sparse.any():
            self._implausible(batches, sparse)
            self._is_compacted = self._is_sparse = True
        before = self.base if self._end is None else self._end  # a roll names a segment by the next offset
        holes = find_holes(before, base, last, batches.positions, is_old)
        self._is_compacted = self._is_compacted or bool(holes)
        self._holes += holes[: MOST_HOLES - len(self._holes)]
        self._first = int(base[0]) if self._first is None else self._first
        self._end = int(last[-1]) + 1

    def _implausible(self, batches: Batches, sparse: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> None:
        """Keep findings about headers that contradict themselves; fewer records than offsets do not."""
        for number in np.flatnonzero(sparse & contradicts_itself(batches.fields)).tolist():
            fields = batches.fields[number]
            message = (
                f"offset {fields['base_offset']}: {fields['records_count']} records, "
                f"{int(fields['last_offset_delta']) + 1} offsets"
            )
            self._of_log.add("LOG-017", int(batches.positions[number]), message)

    def end(self, piece: LogScan) -> SegmentFacts:
        """Return what is known of the segment when all of it was read."""
        if self._offsets is not None and self._offsets.is_missing:
            if not is_swap(self.target):  # else the start makes one
                message = "the offset index is missing: the broker recovers this segment first"
                self._of_log.add("IDX-001", None, message)
        elif self._offsets is not None:
            self._offsets.end(is_compacted=self._is_compacted)
        if self._times is not None:
            self._times.end(is_compacted=self._is_compacted)
        if not piece.summary.batches and piece.size and piece.stop.reason != "zeros":
            self._report_foreign()
        return SegmentFacts(
            base=self.base,
            target=self.target,
            size=piece.size,
            good_end=self._good,
            first=self._first,
            end=self._end,
            is_compacted=self._is_compacted,
            epochs=tuple(self._epochs.runs),
            producers=ProducerFacts(None) if self._headers_alone else self._producers.facts(),
            aborted=self._txn_index,
            of_indexes=tuple(finding for findings in self._of_indexes for finding in findings.take()),
            if_closed=tuple(self._if_closed()),
            tail=piece.size - piece.stop.position,
            holes=() if self._is_broken else tuple(self._holes),
            is_sparse=self._is_sparse,
            has_messages=self._has_messages,
            newest=piece.summary.max_timestamp,
        )

    def _report_foreign(self) -> None:
        """Keep that a file without any batch is something else than a log."""
        with suppress(FileError), DataFile(self.target.path) as log:
            head = log.read(0, 64)
            what = next((text for start, text in FOREIGN if head.startswith(start)), None)
            offset, magic = int.from_bytes(head[:8], "big", signed=True), head[16:HEADER_UP_TO_MAGIC]
            is_strange = not is_relative(offset, self.base) or (magic and magic[0] > LATEST)
            if what is None and len(head) >= HEADER_UP_TO_MAGIC and is_strange:
                what = "text" if head.isascii() and not head.count(0) else "another file"
            if what is not None:
                self._of_log.add("LOG-012", 0, f"{what} lies in the place of a log")

    def _if_closed(self) -> Iterator[Finding]:
        """Yield what is wrong with the indexes of a segment to which nothing is appended any more."""
        offsets, times = self._offsets, self._times
        for extension, index in (("index", offsets), ("timeindex", times)):
            if index is not None and index.zeros:
                message = "entries follow zeros" if index.has_stale else f"{index.zeros} zeros follow"
                message = index.nul_file or message
                yield self._closed(extension, "DUMP-003", message)
        if times is None or times.largest <= NO_TIMESTAMP or self._is_broken:
            return
        if times.is_missing and not self._has_new:  # releases before 0.10.1 have none
            return
        if times.last_time < times.largest:
            code, message = "IDX-004", f"the last entry has timestamp {times.last_time}"
            message = f"{times.nul_file}; {message}" if times.nul_file else message
            if times.last_time <= NO_TIMESTAMP:  # a broker then goes by the file's modification time
                code, message = "IDX-007", f"there is no time {'index' if times.is_missing else 'entry'}"
            yield self._closed("timeindex", code, f"{message}, the segment's largest is {times.largest}")

    def _closed(self, extension: str, code: str, message: str) -> Finding:
        finding = FindingCollector(index_file(self.target, extension)).finding(code, None, message)
        return finding._replace(more=0)

    def take(self) -> list[Finding]:
        """Return the findings about the log itself."""
        return self._of_log.take()


def _report_records(window: Window, path: str, limit: int, findings: FindingCollector) -> None:
    """Keep findings about the records of a window's batches; a batch of more than `limit` bytes is one."""
    fields, positions, base, data = window.fields, window.positions, window.base, window.data
    valid = np.ones(len(positions), np.bool_) if window.valid is None else window.valid
    sizes = fields["batch_length"].astype(np.int64) + LOG_OVERHEAD
    for number in np.flatnonzero(valid & (sizes > limit)).tolist():
        message = f"a batch of {sizes[number]} bytes{RAISES_THE_BOUND}"
        _report_record(findings, int(positions[number]), int(fields["base_offset"][number]), message)
    numbers = np.flatnonzero(valid & (sizes <= limit))
    if not len(numbers):
        return
    if not data:  # one batch, larger than a window
        base = int(positions[0])
        with DataFile(path) as log:
            data = memoryview(log.read(base, int(sizes[0])))
    for block in record_columns(data, positions[numbers] - base, limit, fields[numbers]):
        if isinstance(block, FallbackBatch):
            number = int(numbers[block.number])
            start = int(positions[number]) - base
            raw = bytes(data[start : start + int(sizes[number])])
            trouble = _record_trouble(raw, limit, int(positions[number]))
            if trouble is not None:
                _report_record(findings, int(positions[number]), int(fields["base_offset"][number]), trouble)
        else:
            _report_offsets(block, positions[numbers], findings)


def _report_record(findings: FindingCollector, position: int, offset: int, reason: str) -> None:
    findings.add("DUMP-002", position, f"offset {offset}: {reason}")


def _record_trouble(raw: bytes, limit: int, position: int) -> str | None:
    """Return why the records of a batch cannot be read; None where they can."""
    try:
        if is_legacy(read_header(raw).magic):
            for message in set_records(message_set(raw, limit)):
                if message.error is not None:
                    return describe(message.error.moved(position))
                if not message.is_valid:
                    return "the checksum of a message inside a wrapper does not match"
        else:
            for _ in batch_records(raw, limit):
                pass
    except FormatError as error:
        return describe(error.moved(position))
    return None


def _report_offsets(
    block: RecordColumns, positions: "np.ndarray[tuple[int], np.dtype[np.int64]]", findings: FindingCollector
) -> None:
    """Keep findings about batches whose records have offsets outside of them, or that do not rise."""
    first = block.headers["base_offset"].astype(np.int64)[block.batch]
    last = first + block.headers["last_offset_delta"][block.batch]
    wrong = (block.offset < first) | (block.offset > last)
    wrong[1:] |= (block.batch[1:] == block.batch[:-1]) & (block.offset[1:] <= block.offset[:-1])
    for number in np.unique(block.batch[wrong]).tolist():
        reason = "its records have offsets that do not rise, or that lie outside of it"
        offset = int(block.headers["base_offset"][number])
        findings.add("LOG-017", int(positions[block.first + number]), f"offset {offset}: {reason}")
