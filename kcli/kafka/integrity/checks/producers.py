"""The producers of a log: sequences that go on, transactions and their markers, what snapshots say of them.

The truth is `ProducerStateManager` and `ProducerAppendInfo`. A producer is followed through a segment by
itself, and its state goes on from segment to segment; of what retention or cleaning removed nothing is said.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from formats.batch import MAX_INT, NO_PRODUCER_ID, NO_SEQUENCE, add_sequence
from formats.record_columns import add_sequences
from kcli.kafka.integrity.checks.batches import ABORT, COMMIT, PLAIN, TRANSACTIONAL, Batches, Ints
from kcli.kafka.integrity.summary import MOST_IDS
from kcli.kafka.storage.producer_state import outside_message

NOT_KNOWN = -1
HALF = 1 << 30
MOST_SHORT = 0xFFFF


class Break(NamedTuple):
    """A batch whose sequence or epoch does not follow from the one before of its producer: code and words."""

    code: str
    offset: int
    position: int
    words: str


class End(NamedTuple):
    """An end marker: its kind and offset, and where its transaction begins in its segment; -1: before it."""

    kind: int
    offset: int
    open_since: int


class ProducerRun(NamedTuple):
    """A producer up to some batch: what a snapshot would hold of it, -1 for what it has not.

    `first_*` are of its first batch of data, `first_outside`: which is in no transaction, and no end marker
    comes before it. `first_end` is its first end marker, which may end a transaction of an earlier segment,
    `last_end` the offset of its last. `open_since`: where its open transaction begins.
    """

    epoch: int
    last_sequence: int = NO_SEQUENCE
    last_offset: int = NOT_KNOWN
    offset_delta: int = 0
    timestamp: int = NOT_KNOWN
    open_since: int = NOT_KNOWN
    first_epoch: int = NOT_KNOWN
    first_sequence: int = NO_SEQUENCE
    first_offset: int = NOT_KNOWN
    first_position: int = 0
    first_outside: bool = False
    first_end: End | None = None
    last_end: int = NOT_KNOWN


class Aborted(NamedTuple):
    """An aborted transaction: its producer, its first offset and the offset of the marker."""

    producer_id: int
    first_offset: int
    last_offset: int


class ProducerFacts(NamedTuple):
    """The producers of a segment, and the transactions that begin and end in it; None: too many producers.

    `begins`: of the offsets that were asked for, those at which a transaction begins.
    """

    runs: Mapping[int, ProducerRun] | None
    aborted: frozenset[Aborted] = frozenset()
    breaks: tuple[Break, ...] = ()
    begins: frozenset[int] = frozenset()


NO_PRODUCERS = ProducerFacts({})


class ProducerJudge:
    """Follows every producer through a segment, and finds the transactions that begin at some offsets."""

    def __init__(self, offsets: frozenset[int] = frozenset()) -> None:
        self._offsets = offsets
        self._begins: set[int] = set()
        self._runs: dict[int, ProducerRun] = {}
        self._aborted: list[Aborted] = []
        self._breaks: list[Break] = []
        self._is_over = False

    def look(self, batches: Batches) -> None:
        """Follow the producers of some batches."""
        producer = batches.fields["producer_id"]
        at = np.flatnonzero((producer > NO_PRODUCER_ID) & (batches.kinds <= COMMIT))
        if not len(at) or self._is_over:
            return
        ids = producer[at].astype(np.int64)
        lowest = int(ids.min())
        # numpy sorts short numbers many times faster
        keys = (ids - lowest).astype(np.uint16) if int(ids.max()) - lowest <= MOST_SHORT else ids
        order = np.argsort(keys, kind="stable")
        self._follow(batches, at[order], ids[order])
        if len(self._runs) > MOST_IDS:
            self._is_over = True
            self._runs.clear()

    def _follow(self, batches: Batches, at: Ints, ids: Ints) -> None:
        """Follow batches that are sorted by producer; those that go on as they should are one step."""
        kinds = batches.kinds[at]
        epochs, first, deltas = (
            batches.fields[name].astype(np.int64)[at]
            for name in ("producer_epoch", "base_sequence", "last_offset_delta")
        )
        last = np.where(first < 0, NO_SEQUENCE, add_sequences(first, deltas))
        follows = np.where(last[:-1] < 0, NO_SEQUENCE, add_sequences(last[:-1], np.ones_like(last[:-1])))
        begins = np.ones(len(at), np.bool_)
        begins[1:] = (
            (ids[1:] != ids[:-1])
            | (epochs[1:] != epochs[:-1])
            | (kinds[1:] != kinds[:-1])
            | (kinds[1:] > TRANSACTIONAL)
            | (first[1:] != follows)
        )
        starts = np.flatnonzero(begins)
        ends = np.append(starts[1:], len(at)) - 1
        columns = (
            ids[starts],
            kinds[starts],
            epochs[starts],
            first[starts],
            batches.base[at[starts]],
            batches.positions[at[starts]],
            last[ends],
            batches.last[at[ends]],
            deltas[ends],
            batches.timestamp[at[ends]],
        )
        for row in zip(*(column.tolist() for column in columns), strict=True):
            self._step(*row)

    def _step(  # noqa: PLR0917 - the columns of a row
        self,
        producer_id: int,
        kind: int,
        epoch: int,
        first: int,
        base: int,
        position: int,
        last: int,
        last_offset: int,
        delta: int,
        timestamp: int,
    ) -> None:
        run = self._runs.get(producer_id)
        if kind in {ABORT, COMMIT}:
            self._runs[producer_id] = self._ended(producer_id, run, kind, epoch, base, timestamp)
            return
        if run is None or run.first_offset == NOT_KNOWN:
            known = run or ProducerRun(epoch)
            run = known._replace(
                first_epoch=epoch,
                first_sequence=first,
                first_offset=base,
                first_position=position,
                first_outside=kind == PLAIN and known.first_end is None,
            )
        else:
            self._breaks.extend(_break(producer_id, run, epoch, first, base, position))
        open_since = run.open_since
        if kind == PLAIN and open_since != NOT_KNOWN:
            self._breaks.append(_outside(producer_id, open_since, base, position))
        if kind == TRANSACTIONAL and open_since == NOT_KNOWN:
            open_since = base
            if base in self._offsets:
                self._begins.add(base)
        self._runs[producer_id] = run._replace(
            epoch=epoch,
            last_sequence=last,
            last_offset=last_offset,
            offset_delta=delta,
            timestamp=timestamp,
            open_since=open_since,
        )

    def _ended(  # noqa: PLR0917 - as of _step
        self, producer_id: int, run: ProducerRun | None, kind: int, epoch: int, base: int, timestamp: int
    ) -> ProducerRun:
        """Return a producer after an end marker."""
        if run is None:
            run = ProducerRun(epoch)
        if run.first_end is None:
            run = run._replace(first_end=End(kind, base, run.open_since))
        elif run.open_since != NOT_KNOWN and kind == ABORT:
            self._aborted.append(Aborted(producer_id, run.open_since, base))
        if epoch != run.epoch:
            run = run._replace(last_sequence=NO_SEQUENCE, last_offset=NOT_KNOWN, offset_delta=0)
        return run._replace(epoch=epoch, timestamp=timestamp, open_since=NOT_KNOWN, last_end=base)

    def facts(self) -> ProducerFacts:
        """Return what is known of the segment's producers."""
        if self._is_over:
            return ProducerFacts(None, frozenset(), tuple(self._breaks))
        return ProducerFacts(
            self._runs, frozenset(self._aborted), tuple(self._breaks), frozenset(self._begins)
        )


def _break(  # noqa: PLR0917 - as of _step
    producer_id: int, run: ProducerRun, epoch: int, first: int, base: int, position: int
) -> Iterator[Break]:
    """Yield how a batch does not follow from the one before of its producer."""
    who = f"offset {base}: producer {producer_id}"
    if epoch < run.epoch:
        yield Break("PROD-005", base, position, f"{who} has epoch {epoch} after {run.epoch}")
    elif epoch == run.epoch and first > 0 and run.last_sequence >= 0:
        expected = add_sequence(run.last_sequence, 1)
        ahead = (first - expected) & MAX_INT
        words = f"{who} goes on with sequence {first}, {expected} follows"
        if ahead:
            yield Break("PROD-003" if ahead < HALF else "PROD-004", base, position, words)


def _outside(producer_id: int, open_since: int, base: int, position: int) -> Break:
    return Break("PROD-010", base, position, f"offset {base}: {outside_message(producer_id, open_since)}")


class ProducerMap:
    """The producers of a log from segment to segment; changed in place. None: too many to follow."""

    def __init__(self) -> None:
        self.runs: dict[int, ProducerRun] | None = {}

    def add(self, facts: ProducerFacts) -> Iterator[Break]:
        """Follow a segment; yield where its producers do not go on from the segments before."""
        if facts.runs is None or self.runs is None:
            self.runs = None
            return
        for producer_id, run in facts.runs.items():
            before = self.runs.get(producer_id)
            if before is None:
                self.runs[producer_id] = run
                continue
            if run.first_outside and before.open_since != NOT_KNOWN:
                yield _outside(producer_id, before.open_since, run.first_offset, run.first_position)
            if run.first_offset != NOT_KNOWN:
                yield from _break(
                    producer_id,
                    before,
                    run.first_epoch,
                    run.first_sequence,
                    run.first_offset,
                    run.first_position,
                )
            self.runs[producer_id] = _continued(before, run)
        if len(self.runs) > MOST_IDS:
            self.runs = None

    def begins(self, facts: ProducerFacts) -> frozenset[int]:
        """Return where transactions begin that are open before a segment, or asked for in it."""
        return facts.begins | {run.open_since for run in (self.runs or {}).values()}

    def aborted(self, facts: ProducerFacts) -> frozenset[Aborted] | None:
        """Return the aborted transactions that end in a segment which is not added yet; None: unknown."""
        if facts.runs is None or self.runs is None:
            return None
        found = set(facts.aborted)
        for producer_id, run in facts.runs.items():
            before = self.runs.get(producer_id)
            if run.first_end is None or run.first_end.kind != ABORT:
                continue
            since = before.open_since if before is not None else NOT_KNOWN
            since = run.first_end.open_since if since == NOT_KNOWN else since
            if since != NOT_KNOWN:
                found.add(Aborted(producer_id, since, run.first_end.offset))
        return frozenset(found)


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
    return run._replace(
        first_end=run.first_end or before.first_end, last_end=max(before.last_end, run.last_end)
    )
