"""The producers of a log: sequences that go on, transactions and their markers, what files say of them.

The truth is `ProducerStateManager` and `ProducerAppendInfo`. A producer is followed through a segment by
itself, and its state goes on from segment to segment; of what retention or cleaning removed nothing is said.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formats.batch import MAX_INT, NO_PRODUCER_ID, NO_SEQUENCE, add_sequence
from formats.index import TXN_INDEX_ENTRY, AbortedTxn
from formats.names import PRODUCER_SNAPSHOT, parse_file
from formats.producer_snapshot import ProducerEntry
from formats.record_columns import add_sequences
from kcli.kafka.findings.findings import NO_SNAPSHOT, nul_index
from kcli.kafka.integrity.checks.batches import ABORT, COMMIT, PLAIN, TRANSACTIONAL, Batches, Ints
from kcli.kafka.integrity.summary import MOST_IDS
from kcli.kafka.storage.producer_state import outside_message

NOT_KNOWN = -1
HALF = 1 << 30
MOST_SHORT = 0xFFFF


class ProducerViolation(NamedTuple):
    """A batch whose sequence or epoch does not follow from the one before of its producer."""

    code: str
    position: int
    message: str


class Start(NamedTuple):
    """How a batch is to follow from those of its producer before; a marker has no sequence, -1."""

    epoch: int
    sequence: int
    offset: int
    position: int


class End(NamedTuple):
    """An end marker, and where its transaction begins in its segment; -1: before it."""

    kind: int
    start: Start
    open_since: int


class ProducerRun(NamedTuple):
    """A producer up to some batch: what a snapshot would hold of it, -1 for what it has not.

    `first` is its first batch of data, `first_outside`: whether that is in no transaction, and no end marker
    comes before it. `first_end` is its first end marker, which may end a transaction of an earlier segment,
    `last_end` the offset of its last. `open_since`: where its open transaction begins.
    """

    epoch: int
    last_sequence: int = NO_SEQUENCE
    last_offset: int = NOT_KNOWN
    offset_delta: int = 0
    timestamp: int = NOT_KNOWN
    open_since: int = NOT_KNOWN
    first: Start | None = None
    first_outside: bool = False
    first_end: End | None = None
    last_end: int = NOT_KNOWN


class Aborted(NamedTuple):
    """An aborted transaction: its producer, its first offset and the offset of the marker."""

    producer_id: int
    first_offset: int
    last_offset: int

    def __str__(self) -> str:
        return f"producer {self.producer_id}, offsets {self.first_offset} to {self.last_offset}"


class ProducerFacts(NamedTuple):
    """The producers of a segment, None if too many, and its transactions; `begins`: at offsets asked for."""

    runs: Mapping[int, ProducerRun] | None
    aborted: frozenset[Aborted] = frozenset()
    violations: tuple[ProducerViolation, ...] = ()
    begins: frozenset[int] = frozenset()


NO_PRODUCERS = ProducerFacts({})


class ConsecutiveBatches(NamedTuple):
    """Batches of one producer that follow one another as they should: a row of what a window holds."""

    producer_id: int
    kind: int
    epoch: int
    first_sequence: int
    base_offset: int
    position: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int


class ProducerJudge:
    """Follows every producer through a segment, and finds the transactions that begin at some offsets."""

    def __init__(self, offsets: frozenset[int] = frozenset()) -> None:
        self._offsets = offsets
        self._begins: set[int] = set()
        self._runs: dict[int, ProducerRun] = {}
        self._aborted: list[Aborted] = []
        self._violations: list[ProducerViolation] = []
        self._is_over = False

    def add_batches(self, batches: Batches) -> None:
        """Follow the producers of some batches."""
        producer = batches.fields["producer_id"]
        numbers = np.flatnonzero((producer > NO_PRODUCER_ID) & (batches.kinds <= COMMIT))
        if not len(numbers) or self._is_over:
            return
        ids = producer[numbers].astype(np.int64)
        lowest = int(ids.min())
        # numpy sorts short numbers many times faster
        keys = (ids - lowest).astype(np.uint16) if int(ids.max()) - lowest <= MOST_SHORT else ids
        order = np.argsort(keys, kind="stable")
        self._follow(batches, numbers[order], ids[order])
        if len(self._runs) > MOST_IDS:
            self._is_over = True
            self._runs.clear()

    def _follow(self, batches: Batches, numbers: Ints, ids: Ints) -> None:
        """Follow batches that are sorted by producer; those that go on as they should are one step."""
        kinds = batches.kinds[numbers]
        epochs, first, deltas = (
            batches.fields[name].astype(np.int64)[numbers]
            for name in ("producer_epoch", "base_sequence", "last_offset_delta")
        )
        last = np.where(first < 0, NO_SEQUENCE, add_sequences(first, deltas))
        follows = np.where(last[:-1] < 0, NO_SEQUENCE, add_sequences(last[:-1], np.ones_like(last[:-1])))
        begins = np.ones(len(numbers), np.bool_)
        begins[1:] = (
            (ids[1:] != ids[:-1])
            | (epochs[1:] != epochs[:-1])
            | (kinds[1:] != kinds[:-1])
            | (kinds[1:] > TRANSACTIONAL)
            | (first[1:] != follows)
        )
        starts = np.flatnonzero(begins)
        ends = np.append(starts[1:], len(numbers)) - 1
        columns: list[NDArray[Any]] = [column[starts] for column in (ids, kinds, epochs, first)]
        columns += [column[numbers[starts]] for column in (batches.base, batches.positions)]
        columns += [last[ends], batches.last[numbers[ends]], deltas[ends], batches.timestamp[numbers[ends]]]
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for batches_of_producer in map(ConsecutiveBatches._make, rows):
            self._add(batches_of_producer)

    def _add(self, batches: ConsecutiveBatches) -> None:
        run = self._runs.get(batches.producer_id) or ProducerRun(batches.epoch)
        start = Start(batches.epoch, batches.first_sequence, batches.base_offset, batches.position)
        if batches.kind in {ABORT, COMMIT}:
            self._runs[batches.producer_id] = self._ended(run, batches, start._replace(sequence=NO_SEQUENCE))
            return
        if run.first is None:
            is_outside = batches.kind == PLAIN and run.first_end is None
            run = run._replace(first=start, first_outside=is_outside)
        else:
            self._violations.extend(_sequence_violations(batches.producer_id, run, start))
        open_since = run.open_since
        if batches.kind == PLAIN and open_since != NOT_KNOWN:
            self._violations.append(_outside(batches.producer_id, open_since, start))
        if batches.kind == TRANSACTIONAL and open_since == NOT_KNOWN:
            open_since = start.offset
            if open_since in self._offsets:
                self._begins.add(open_since)
        self._runs[batches.producer_id] = run._replace(
            epoch=batches.epoch,
            last_sequence=batches.last_sequence,
            last_offset=batches.last_offset,
            offset_delta=batches.offset_delta,
            timestamp=batches.timestamp,
            open_since=open_since,
        )

    def _ended(self, run: ProducerRun, marker: ConsecutiveBatches, start: Start) -> ProducerRun:
        """Return a producer after an end marker."""
        self._violations.extend(_sequence_violations(marker.producer_id, run, start))
        if run.first_end is None:
            run = run._replace(first_end=End(marker.kind, start, run.open_since))
        elif run.open_since != NOT_KNOWN and marker.kind == ABORT:
            self._aborted.append(Aborted(marker.producer_id, run.open_since, start.offset))
        if marker.epoch != run.epoch:
            run = run._replace(last_sequence=NO_SEQUENCE, last_offset=NOT_KNOWN, offset_delta=0)
        run = run._replace(epoch=marker.epoch, timestamp=marker.timestamp)
        return run._replace(open_since=NOT_KNOWN, last_end=start.offset)

    def facts(self) -> ProducerFacts:
        """Return what is known of the segment's producers."""
        if self._is_over:
            return ProducerFacts(None, frozenset(), tuple(self._violations))
        return ProducerFacts(
            self._runs, frozenset(self._aborted), tuple(self._violations), frozenset(self._begins)
        )


def _sequence_violations(producer_id: int, run: ProducerRun, batch: Start) -> Iterator[ProducerViolation]:
    """Yield how a batch does not follow from those of its producer."""
    who = f"offset {batch.offset}: producer {producer_id}"
    if batch.epoch < run.epoch:
        message = f"{who} has epoch {batch.epoch} after {run.epoch}"
        yield ProducerViolation("PROD-004", batch.position, message)
    elif batch.epoch == run.epoch and batch.sequence > 0 and run.last_sequence >= 0:
        expected = add_sequence(run.last_sequence, 1)
        ahead = (batch.sequence - expected) & MAX_INT
        message = f"{who} goes on with sequence {batch.sequence}, {expected} follows"
        if ahead:
            yield ProducerViolation("PROD-003" if ahead < HALF else "PROD-004", batch.position, message)


def _outside(producer_id: int, open_since: int, batch: Start) -> ProducerViolation:
    message = f"offset {batch.offset}: {outside_message(producer_id, open_since)}"
    return ProducerViolation("PROD-004", batch.position, message)


class ProducerMap:
    """The producers of a log from segment to segment; changed in place. None: too many to follow."""

    def __init__(self) -> None:
        self.runs: dict[int, ProducerRun] | None = {}

    def add(self, facts: ProducerFacts) -> Iterator[ProducerViolation]:
        """Follow a segment; yield where its producers do not go on from the segments before."""
        if facts.runs is None or self.runs is None:
            self.runs = None
            return
        for producer_id, run in facts.runs.items():
            before = self.runs.get(producer_id)
            if before is None:
                self.runs[producer_id] = run
                continue
            first, end = run.first, run.first_end
            if run.first_outside and first is not None and before.open_since != NOT_KNOWN:
                yield _outside(producer_id, before.open_since, first)
            if end is not None and (first is None or end.start.offset < first.offset):
                yield from _sequence_violations(producer_id, before, end.start)
            if first is not None:
                yield from _sequence_violations(producer_id, before, first)
            self.runs[producer_id] = _continued(before, run)
        if len(self.runs) > MOST_IDS:
            self.runs = None

    @property
    def may_be_open(self) -> bool:
        """Whether a transaction is open, or too many producers are there to know."""
        return self.runs is None or any(run.open_since != NOT_KNOWN for run in self.runs.values())

    def begins(self, facts: ProducerFacts) -> frozenset[int]:
        """Return where transactions begin that are open before a segment, or asked for in it."""
        return facts.begins | {run.open_since for run in (self.runs or {}).values()}

    def aborted(self, facts: ProducerFacts) -> frozenset[Aborted] | None:
        """Return the aborted transactions that end in a segment which is not added yet; None: unknown."""
        if facts.runs is None or self.runs is None:
            return None
        aborted = set(facts.aborted)
        for producer_id, run in facts.runs.items():
            before = self.runs.get(producer_id)
            if run.first_end is None or run.first_end.kind != ABORT:
                continue
            since = before.open_since if before is not None else NOT_KNOWN
            since = run.first_end.open_since if since == NOT_KNOWN else since
            if since != NOT_KNOWN:
                aborted.add(Aborted(producer_id, since, run.first_end.start.offset))
        return frozenset(aborted)


def _continued(before: ProducerRun, run: ProducerRun) -> ProducerRun:
    """Return a producer after a segment."""
    if run.last_offset == NOT_KNOWN and run.epoch == before.epoch:
        run = run._replace(
            last_sequence=before.last_sequence,
            last_offset=before.last_offset,
            offset_delta=before.offset_delta,
        )
    if run.first_end is None and before.open_since != NOT_KNOWN:
        run = run._replace(open_since=before.open_since)
    last_end = max(before.last_end, run.last_end)
    return run._replace(first_end=run.first_end or before.first_end, last_end=last_end)


# What files say of a log's producers, held against its batches


def of_entry(entry: AbortedTxn) -> Aborted:
    """Return the aborted transaction that an entry of a transaction index is about."""
    return Aborted(entry.producer_id, entry.first_offset, entry.last_offset)


def txn_index_misfits(
    entries: tuple[AbortedTxn, ...],
    expected: frozenset[Aborted],
    begins: frozenset[int],
    log_start: int,
    end: int,
) -> Iterator[tuple[str, int | None, str]]:
    """Yield how the entries of a transaction index differ from the aborted transactions of its segment.

    A code, the entry's number and words. Where a transaction's first segment is deleted the entry alone has
    the first offset. The last stable offset is the one after the marker, or where another open transaction
    begins (`begins`): after the marker, too, where a follower appended many batches at once.
    """
    indexed = set(map(of_entry, entries))
    for number, entry in enumerate(entries):
        txn = of_entry(entry)
        if txn not in expected and entry.first_offset >= log_start:
            message = f"entry {number}: no such aborted transaction ends here: {txn}"
            if not any(map(any, entries)):
                message = f"{nul_index(len(entries) * TXN_INDEX_ENTRY.size)}; {message}"
            yield "IDX-008", number, message
        elif not 0 <= entry.last_stable_offset <= end:
            message = (
                f"the last stable offset {entry.last_stable_offset} is not in the log, which ends at {end}"
            )
            yield "IDX-008", number, f"entry {number}: {message}"
        elif entry.last_stable_offset not in {entry.last_offset + 1, *begins} and (
            entry.last_stable_offset >= log_start
        ):
            message = f"no transaction begins at the last stable offset {entry.last_stable_offset}"
            yield "IDX-008", number, f"entry {number}: {message}"
    begun_before = {(txn.producer_id, txn.last_offset) for txn in indexed if txn.first_offset < log_start}
    for txn in sorted(expected - indexed):
        if (txn.producer_id, txn.last_offset) in begun_before:
            continue
        yield "IDX-008", None, f"an aborted transaction without an entry: {txn}"


def snapshot_misfits(
    entries: tuple[ProducerEntry, ...],
    runs: Mapping[int, ProducerRun],
    offset: int,
    log_start: int,
    *,
    is_compacted: bool,
) -> Iterator[tuple[str, str]]:
    """Yield how a snapshot at an offset differs from the producers of the batches before: code and words.

    Cleaning after the snapshot removes batches and end markers: of a compacted log it may know of later ones.
    """
    for entry in entries:
        who = f"producer {entry.producer_id}"
        run = runs.get(entry.producer_id)
        if entry.last_offset >= offset:
            yield "PROD-002", f"{who}: last offset {entry.last_offset}, at or past the snapshot's {offset}"
        elif run is None:
            if entry.last_offset >= log_start and not is_compacted:
                yield "PROD-002", f"{who}: no batch of it ends with offset {entry.last_offset}"
        else:
            differences = _differences(entry, run, log_start)
            if is_compacted and not _is_behind(entry, run):
                continue
            yield from (("PROD-002", f"{who}: {difference}") for difference in differences)
    missing = runs.keys() - {entry.producer_id for entry in entries}
    for producer_id in sorted(missing):
        yield "PROD-008", f"producer {producer_id} of the batches before is not in the snapshot"


def _is_behind(entry: ProducerEntry, run: ProducerRun) -> bool:
    """Whether a snapshot does not know of a batch before it, which no cleaning explains."""
    if entry.producer_epoch != run.epoch:
        return entry.producer_epoch < run.epoch
    return entry.last_offset < run.last_offset


def _differences(entry: ProducerEntry, run: ProducerRun, log_start: int) -> Iterator[str]:
    if entry.producer_epoch != run.epoch:
        yield f"epoch {entry.producer_epoch}, the batches say {run.epoch}"
        return
    if run.last_offset != NOT_KNOWN:
        stored = (entry.last_sequence, entry.last_offset, entry.offset_delta)
        expected = (run.last_sequence, run.last_offset, run.offset_delta)
        # releases up to 1.0 took the offset of an end marker for that of a batch
        if stored != expected and entry.last_offset != run.last_end:
            names = "last sequence, last offset and offset delta"
            yield f"{names} {stored}, the batches say {expected}"
    first = entry.current_txn_first_offset
    if first != run.open_since and not (first < log_start and run.first_end is None):
        yield f"its open transaction begins at {first}, by the batches at {run.open_since}"


def producer_snapshots(names: Iterable[str]) -> tuple[int, ...]:
    """Return the offsets of the producer snapshots among the files of a partition."""
    parsed = (parse_file(name) for name in names if name.endswith(".snapshot"))
    offsets = (file.base_offset for file in parsed if file.kind == PRODUCER_SNAPSHOT and not file.suffix)
    return tuple(sorted(offset for offset in offsets if offset is not None))


def snapshot_gaps(
    snapshots: Sequence[int], bases: Sequence[int], log_end: int, *, is_clean: bool, has_producers: bool
) -> Iterator[tuple[str, str]]:
    """Yield which snapshots of a log with segments at `bases` are missing, or above its end: code and words.

    A broker writes one at a roll and a close (`UnifiedLog.roll`, `close`); before 2.8 it kept the last two,
    so only one between others is missed. `has_producers`: whether batches have a producer id.
    """
    for offset in snapshots:
        if offset > log_end:
            yield "PROD-009", f"{offset}.snapshot: the log ends at offset {log_end}"
    if not has_producers:
        return
    if not snapshots:
        if is_clean:
            yield "PROD-007", NO_SNAPSHOT
        elif len(bases) > 1:
            yield "PROD-008", "no producer snapshot: the start reads the log from its beginning"
        return
    offsets = set(snapshots)
    missing = [base for base in bases if min(offsets) < base < max(offsets) and base not in offsets]
    if is_clean and max(offsets) < log_end:
        missing.append(log_end)
    for offset in missing:
        yield "PROD-008", f"no producer snapshot at offset {offset}"
