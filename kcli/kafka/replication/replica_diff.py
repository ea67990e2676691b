"""Two replicas of a partition, batch by batch: where they hold the same, and where they do not.

Both logs are read once, in order, aligned by offset. As long as the bytes are equal they are compared as they
come, in chunks that hold many batches; else batch by batch. What brokers do to one replica alone is no
difference: where segments roll, and what compaction removes. Batches with other leader epochs alone are
equal, but in ranges of their own: another leader wrote them. Batches that one log lacks are `compacted` where
something shows compaction: one hole alone does not, a lost segment or damage leaves it as well. Records are
decoded only where two batches of the same offsets have other bytes.

Sources: `DefaultRecordBatch` for the fields; `MemoryRecords.filterTo` keeps the base and the last offset of a
batch that it compacts, and may set a delete horizon.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from formats.batch import COMPRESSION_CODEC_MASK, DELETE_HORIZON_MASK, BatchHeader
from formats.bounds import LARGEST_BATCH
from formats.bulk import headers
from formats.errors import FormatError
from formats.magic import LARGEST_HEADER, is_legacy, read_header
from formats.record import Record, batch_records
from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import END, FileBatch, Stop, batches

EQUAL, DIFFERS, COMPACTED = "equal", "differs", "compacted"
ONLY_HERE, ONLY_THERE = "only-here", "only-there"
BOUNDARIES, HEADER, RECORDS, COMPRESSION = "boundaries", "header", "records", "compression"
UNREADABLE_BATCH = "unreadable"
MISSING = "missing"
"""Why batches are in one log alone that lie between the log start and the log end of the other."""
HOLE = "hole"
"""The same, where the other log lacks them within a segment; `settled` decides what it is."""
REPEATED = "repeated"
"""A batch whose offsets are below those before it in its log: offsets do not rise there."""
COMPARED_BYTES = 1 << 20
MOST_DIFF_RANGES = 1000
"""Ranges that are kept apart; of more the last one holds the rest."""
MOST_PATIENCE = 256
EPOCH_BYTES = slice(12, 16)
"""Of a batch of magic 2: its leader epoch, which each leader writes anew and the checksum leaves out."""
_LACKING = (MISSING, HOLE)
_RANK = (EQUAL, ONLY_HERE, ONLY_THERE, COMPACTED, DIFFERS)


class Extent(NamedTuple):
    """Batches in a row in one replica: how many, their bytes, and the leader epoch of the first."""

    batches: int = 0
    size: int = 0
    epoch: int | None = None


class ReplicaRange(NamedTuple):
    """Offsets, inclusive, that have one verdict; `reason` says in what the first batch differs."""

    first_offset: int
    last_offset: int
    verdict: str
    reason: str | None
    here: Extent
    there: Extent

    @property
    def other_epochs(self) -> tuple[int | None, int | None] | None:
        """The leader epochs here and there of the same records; None where these are not two."""
        epochs = self.here.epoch, self.there.epoch
        return epochs if self.verdict == EQUAL and epochs[0] != epochs[1] else None

    @classmethod
    def empty(cls, offset: int) -> "ReplicaRange":
        """Return the range of two logs without a batch."""
        return cls(offset, offset - 1, EQUAL, None, Extent(), Extent())


class ReplicaLog:
    """The batches of a loaded log, one at a time; close it. `broken`: where those of a file end before it."""

    _file: DataFile
    _batch: FileBatch | None
    _walk: Generator[FileBatch, None, Stop] | None

    def __init__(self, loaded: LoadedLog) -> None:
        self.start, self.end = loaded.log_start_offset, loaded.log_end_offset
        self.broken: list[tuple[str, Stop]] = []
        self._segments = [segment for segment in loaded.segments if segment.log_path and segment.log_size]
        self._open = ExitStack()
        self._number = -1
        self._next_segment()

    def close(self) -> None:
        """Close the file that is open."""
        self._open.close()

    def read(self, length: int, skipped: int = 0) -> bytes:
        """Return bytes from the next batch on, `skipped` bytes after where it begins."""
        return self._file.read(self._position + skipped, length)

    @property
    def remaining_bytes(self) -> int:
        """Bytes from the next batch to the end of its segment; 0 at the end of the log."""
        return self._size - self._position

    def batch(self) -> FileBatch | None:
        """Return the next batch, None at the end of the log."""
        while self._batch is None and self._number < len(self._segments):
            if self._walk is None:
                self._walk = batches(self._file, self._position, self._size, readable=True)
            try:
                self._batch = next(self._walk)
            except StopIteration as done:
                if done.value.reason != END:
                    self.broken.append((self._file.path, done.value))
                self._next_segment()
        return self._batch

    def skip(self) -> None:
        """Pass over the next batch."""
        assert self._batch is not None, "batch() has returned one"
        self._position += self._batch.size
        self._batch = None

    def jump(self, length: int) -> None:
        """Pass over so many bytes, all of them batches."""
        self._position += length
        self._batch = self._walk = None
        if not self.remaining_bytes:
            self._next_segment()

    def is_after_whole_segments(self) -> bool:
        """Whether the next batch is the one that its segment was rolled for, or the log ends.

        Compaction keeps a segment's base offset without its batch; of magic 0 or 1 the place has to do.
        """
        batch = self.batch()
        if batch is None:
            return True
        header = read_header(batch.window, batch.header_at)
        base = self._segments[self._number].base_offset
        return self._position == 0 and (is_legacy(header.magic) or header.base_offset == base)

    def _next_segment(self) -> None:
        self._open.close()
        self._number += 1
        self._position = self._size = 0
        self._batch = self._walk = None
        if self._number < len(self._segments):
            segment = self._segments[self._number]
            self._file = self._open.enter_context(segment.log())
            self._size = segment.log_size


def compare_logs(
    here: ReplicaLog, there: ReplicaLog, *, ignore_compression: bool = False
) -> list[ReplicaRange]:
    """Return ranges in the order of offsets, neighbours of one verdict as one, not `settled` yet.

    Equal batches between compacted ones count as these; `ignore_compression`: by records alone.
    """
    return neighbours_joined(_ranges(here, there, ignore_compression=ignore_compression))


def lacks_batches(ranges: Iterable[ReplicaRange]) -> bool:
    """Whether one log lacks batches that the other holds, so that ranges are to be `settled`."""
    return any(span.reason in _LACKING for span in ranges)


def settled(ranges: Sequence[ReplicaRange], *, is_compacted: bool | None) -> list[ReplicaRange]:
    """Return ranges in which the batches that one log lacks are `missing` or `compacted`.

    Where `is_compacted` is None another range shows it: a batch with fewer records, or one hole of several.
    """
    if is_compacted is None:
        reasons = [span.reason for span in ranges if span.reason in _LACKING]
        has_holes = HOLE in reasons and len(reasons) > 1
        is_compacted = has_holes or any(span.verdict == COMPACTED for span in ranges)
    changes: dict[str, Any] = {"verdict": COMPACTED, "reason": None} if is_compacted else {"reason": MISSING}
    return neighbours_joined(span._replace(**changes) if span.reason in _LACKING else span for span in ranges)


def neighbours_joined(differences: Iterable[ReplicaRange]) -> list[ReplicaRange]:
    """Return ranges in the order of offsets, neighbours of one verdict as one."""
    ranges: list[ReplicaRange] = []
    for difference in differences:
        _add(ranges, difference)
    return ranges


def _add(ranges: list[ReplicaRange], added: ReplicaRange) -> None:
    verdicts = [span.verdict for span in ranges[-2:]]
    if verdicts == [COMPACTED, EQUAL] and added.verdict == COMPACTED and not ranges[-1].other_epochs:
        last = ranges.pop()
        ranges[-1] = _joined(_joined(ranges[-1], last), added)
    elif ranges and (
        (ranges[-1].verdict, ranges[-1].reason, ranges[-1].other_epochs)
        == (added.verdict, added.reason, added.other_epochs)
        or len(ranges) >= MOST_DIFF_RANGES
    ):
        ranges[-1] = _joined(ranges[-1], added)
    else:
        ranges.append(added)


def _joined(first: ReplicaRange, second: ReplicaRange) -> ReplicaRange:
    worse = max(first, second, key=lambda span: _RANK.index(span.verdict))
    last, here = max(first.last_offset, second.last_offset), _sum(first.here, second.here)
    there = _sum(first.there, second.there)
    return ReplicaRange(first.first_offset, last, worse.verdict, worse.reason, here, there)


def _sum(first: Extent, second: Extent) -> Extent:
    epoch = second.epoch if first.epoch is None else first.epoch
    return Extent(first.batches + second.batches, first.size + second.size, epoch)


def _ranges(here: ReplicaLog, there: ReplicaLog, *, ignore_compression: bool) -> Iterator[ReplicaRange]:
    wait, patience, passed = 0, 1, -1
    while True:
        if not wait:
            difference = _equal_chunk(here, there)
            if difference is not None:
                patience, passed = 1, max(passed, difference.last_offset)
                yield difference
                continue
            wait, patience = patience, min(2 * patience, MOST_PATIENCE)
        wait -= 1
        batch_here, batch_there = here.batch(), there.batch()
        if batch_here is None and batch_there is None:
            return
        first = None if batch_here is None else read_header(batch_here.window, batch_here.header_at)
        second = None if batch_there is None else read_header(batch_there.window, batch_there.header_at)
        if first is not None and (second is None or first.last_offset < second.base_offset):
            difference = _alone(here, there, first, ONLY_HERE, passed)
        elif second is not None and (first is None or second.last_offset < first.base_offset):
            difference = _alone(there, here, second, ONLY_THERE, passed)
        elif first is None or second is None:
            raise AssertionError("one log has a next batch, so it is alone")
        elif (first.base_offset, first.last_offset) == (second.base_offset, second.last_offset):
            difference = _pair(here, there, first, second, ignore_compression=ignore_compression)
        else:
            difference = _overlapping(here, there, min(first.base_offset, second.base_offset))
        passed = max(passed, difference.last_offset)
        yield difference


def _equal_chunk(here: ReplicaLog, there: ReplicaLog) -> ReplicaRange | None:
    """Return the batches of both logs' next chunks, and pass over them; None unless equal and whole."""
    size = min(here.remaining_bytes, there.remaining_bytes, COMPARED_BYTES)
    if size < LARGEST_HEADER:
        return None
    data = here.read(size)
    if data != there.read(size):
        return None
    links = headers(data, size, max(here.remaining_bytes, there.remaining_bytes)).chain
    places, end = links.positions, links.next
    while places and (places[-1] + LARGEST_HEADER > size or end > size):
        end = places.pop()
    if not places:
        return None
    first, last = read_header(data, places[0]), read_header(data, places[-1])
    extent = Extent(len(places), end, first.partition_leader_epoch)
    here.jump(end)
    there.jump(end)
    return ReplicaRange(first.base_offset, last.last_offset, EQUAL, None, extent, extent)


def _alone(
    log: ReplicaLog, other_log: ReplicaLog, header: BatchHeader, verdict: str, passed: int
) -> ReplicaRange:
    """Return the verdict on a log's next batch, which the other has not, and skip it; `passed`: so far."""
    extent, nothing = _take(log), Extent()
    sides = (extent, nothing) if verdict == ONLY_HERE else (nothing, extent)
    reason = None
    if header.base_offset <= passed:
        verdict, reason = DIFFERS, REPEATED
    elif other_log.start <= header.base_offset and header.last_offset < other_log.end:
        reason = MISSING if other_log.is_after_whole_segments() else HOLE
    return ReplicaRange(header.base_offset, header.last_offset, verdict, reason, *sides)


def _take(log: ReplicaLog) -> Extent:
    batch = log.batch()
    assert batch is not None, "there is a batch"
    extent = Extent(1, batch.size, read_header(batch.window, batch.header_at).partition_leader_epoch)
    log.skip()
    return extent


def _overlapping(here: ReplicaLog, there: ReplicaLog, first: int) -> ReplicaRange:
    """Return the range of batches that overlap and do not begin and end together, as far as that goes on."""
    last, extents = first, [Extent(), Extent()]
    is_growing = True
    while is_growing:
        is_growing = False
        for number, log in enumerate((here, there)):
            while (batch := log.batch()) is not None:
                header = read_header(batch.window, batch.header_at)
                if header.base_offset > last:
                    break
                last = max(last, header.last_offset)
                extents[number] = _sum(extents[number], _take(log))
                is_growing = True
    return ReplicaRange(first, last, DIFFERS, BOUNDARIES, *extents)


def _pair(
    here: ReplicaLog, there: ReplicaLog, first: BatchHeader, second: BatchHeader, *, ignore_compression: bool
) -> ReplicaRange:
    """Return the verdict on two batches of the same offsets; skip both."""
    verdict, reason = _verdict(here, there, first, second)
    if reason == COMPRESSION and ignore_compression:
        verdict, reason = EQUAL, None
    return ReplicaRange(first.base_offset, first.last_offset, verdict, reason, _take(here), _take(there))


def _verdict(
    here: ReplicaLog, there: ReplicaLog, first: BatchHeader, second: BatchHeader
) -> tuple[str, str | None]:
    batch_here, batch_there = here.batch(), there.batch()
    assert batch_here is not None, "there are two batches"
    assert batch_there is not None, "there are two batches"
    if batch_here.size == batch_there.size and _have_same_bytes(
        here, there, batch_here.size, has_epoch=first.magic == second.magic
    ):
        return EQUAL, None
    if is_legacy(first.magic) or is_legacy(second.magic):
        return DIFFERS, RECORDS
    if _identity(first) != _identity(second):
        return DIFFERS, HEADER
    if max(batch_here.size, batch_there.size) > LARGEST_BATCH:
        return DIFFERS, UNREADABLE_BATCH
    attributes = first.attributes ^ second.attributes
    return _by_records(here.read(batch_here.size), there.read(batch_there.size), attributes)


def _by_records(raw_here: bytes, raw_there: bytes, attributes: int) -> tuple[str, str | None]:
    """Return the verdict on two batches by their records; `attributes` are the bits that differ."""
    try:
        first = {record.offset: _content(record) for record in batch_records(raw_here, LARGEST_BATCH)}
        second = {record.offset: _content(record) for record in batch_records(raw_there, LARGEST_BATCH)}
    except FormatError:
        return DIFFERS, UNREADABLE_BATCH
    if any(first[offset] != second[offset] for offset in first.keys() & second.keys()):
        return DIFFERS, RECORDS
    if first.keys() != second.keys() or attributes == DELETE_HORIZON_MASK:
        return COMPACTED, None
    return DIFFERS, COMPRESSION


def _have_same_bytes(here: ReplicaLog, there: ReplicaLog, size: int, *, has_epoch: bool) -> bool:
    """Whether the next batches are equal; of batches with a leader epoch that may differ."""
    for done in range(0, size, COMPARED_BYTES):
        length = min(COMPARED_BYTES, size - done)
        bytes_here, bytes_there = here.read(length, done), there.read(length, done)
        if bytes_here == bytes_there:
            continue
        if done or not has_epoch or is_legacy(bytes_here[EPOCH_BYTES.stop]):
            return False
        begin, end = EPOCH_BYTES.start, EPOCH_BYTES.stop
        if (bytes_here[:begin], bytes_here[end:]) != (bytes_there[:begin], bytes_there[end:]):
            return False
    return True


def _identity(header: BatchHeader) -> tuple[int, ...]:
    """Return what compaction and another codec leave as it is."""
    attributes = header.attributes & ~(COMPRESSION_CODEC_MASK | DELETE_HORIZON_MASK)
    return header.magic, attributes, header.producer_id, header.producer_epoch, header.base_sequence


def _content(record: Record) -> tuple[object, ...]:
    return record.timestamp, record.key, record.value, record.headers
