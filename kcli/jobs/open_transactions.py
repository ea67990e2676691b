"""Open transactions of data partitions, beside what their coordinators know: which of them hang."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from itertools import starmap
from typing import NamedTuple

from formats.names import TRANSACTION_STATE
from formats.types import TopicPartition
from kcli.engine.contract import Unit
from kcli.jobs.common import YieldAndReturn, notes_as_findings, partition_job, where
from kcli.jobs.copies import absent_partitions, counted_copies, partition_counts
from kcli.jobs.metadata_partitions import cluster_of, sole_cluster
from kcli.kafka.coordinator.loads import load_transactions
from kcli.kafka.coordinator.transactions import COMPLETE_COMMIT, ONGOING, PREPARED, TransactionState, holds
from kcli.kafka.findings.findings import Finding
from kcli.kafka.integrity.known_producers import load_producers
from kcli.kafka.kraft.log_settings import NO_KNOWN_SETTINGS, KnownSettings
from kcli.kafka.storage import log_segment
from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.kafka.storage.record_counts import data_records
from kcli.logdir.find import FileSet
from kcli.logdir.log_dirs import is_running
from kcli.logdir.partition import Partition
from kcli.logdir.targets import Target
from kcli.rows import Item
from kcli.rows.transactions import OpenTransactionRow
from kcli.words import duration

ABORT = "kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic {} --partition {} --start-offset {}"
DISCARDS_COMMITTED = (
    "it was acknowledged as committed, and an abort discards its records: read them first, as they are "
    "visible to read_uncommitted"
)
WRITTEN_AFTER = "its records were written after that commit, which does not hold them"
NEVER = sys.maxsize


class CoordinatorStates(NamedTuple):
    """What one partition of __transaction_state knows; whether all of it is known, and may be outdated."""

    cluster_id: str | None
    number: int
    states: Mapping[str, TransactionState]
    is_whole: bool
    is_damaged: bool


class JoinedFacts(NamedTuple):
    """States of coordinators, and open transactions to join with them: each with its idle time in ms."""

    coordinators: tuple[CoordinatorStates, ...] = ()
    rows: tuple[tuple[OpenTransactionRow, int], ...] = ()


@partition_job
def opened(
    partition: Partition,
    *,
    now_ms: int,
    age_at_ms: int | None = None,
    known: KnownSettings = NO_KNOWN_SETTINGS,
) -> YieldAndReturn:
    """Return the open transactions of a partition, or the states of a coordinator's; yield no row.

    `age_at_ms`: the time to which ages are counted; None: now while a broker runs, else that of the newest
    record of a producer, because nothing says what happened after the copy.
    """
    if partition.topic == TRANSACTION_STATE:
        states = yield from load_transactions(partition)
        key = partition.directory.cluster_id, partition.number or 0
        coordinator = CoordinatorStates(*key, states.states, states.is_whole, states.is_damaged)
        return JoinedFacts(coordinators=(coordinator,))
    loaded = yield from load_producers(partition, known.of(partition, now_ms=now_ms))
    at_ms = now_ms if age_at_ms is None and is_running(partition.target) else age_at_ms
    return JoinedFacts(rows=tuple(_open_rows(partition, loaded, at_ms)))


def _open_rows(
    partition: Partition, loaded: LoadedLog, age_at_ms: int | None
) -> Iterator[tuple[OpenTransactionRow, int]]:
    """Yield what a partition says of its open transactions, the oldest first, and their ages."""
    state = loaded.producers
    if not state.ongoing:
        return
    stable, origin = max(min(state.ongoing), loaded.log_start_offset), where(partition)
    waiting = data_records(loaded, stable)
    if age_at_ms is None:
        age_at_ms = max(producer.last_timestamp for producer in state.producers.values())
    for start_offset, producer_id in sorted(state.ongoing.items()):
        producer = state.producers[producer_id]
        row = OpenTransactionRow(
            origin,
            producer_id=producer_id,
            producer_epoch=producer.epoch,
            coordinator_epoch=producer.coordinator_epoch,
            start_offset=start_offset,
            start_timestamp=_written_at(loaded, start_offset),
            last_timestamp=producer.last_timestamp,
            last_stable_offset=stable,
            records_waiting=waiting,
        )
        yield row, age_at_ms - producer.last_timestamp


def _written_at(loaded: LoadedLog, offset: int) -> int | None:
    """Return the first timestamp of the batch that begins at an offset; None where it is gone or damaged."""
    segment = log_segment.segments_from(loaded.segments, offset)[0]
    try:
        position = log_segment.translate_offset(segment, offset)
        if position is None:
            return None
        with segment.log() as log:
            batch = log_segment.header(log, next(log_segment.file_batches(log, position, segment.log_size)))
    except log_segment.BrokerError:  # kcli check reports it
        return None
    return batch.base_timestamp if batch.base_offset == offset else None


class Coordinators:
    """What the coordinators here know together, and whether open transactions hang by that.

    Where no coordinator of its cluster is among the inputs a transaction hangs once nothing was written for
    `longest_ms`; where some are, the one that knows it may be elsewhere.
    """

    def __init__(
        self, coordinators: Iterable[CoordinatorStates], file_set: FileSet, now_ms: int, longest_ms: int
    ) -> None:
        self._now_ms, self._longest_ms = now_ms, longest_ms
        self._partitions = partition_counts(TRANSACTION_STATE, file_set)
        self._only = only = sole_cluster(file_set.log_dirs)
        self._clusters = {cluster_of(target) or only for target in coordinating(file_set)}
        self._complete: dict[str | None, set[int]] = {}
        self._states: dict[str | None, dict[int, tuple[str, TransactionState]]] = {}
        self._damaged: set[tuple[str | None, str]] = set()
        for coordinator in coordinators:
            cluster_id = coordinator.cluster_id or only
            numbers = self._complete.setdefault(cluster_id, set())
            numbers.update([coordinator.number] if coordinator.is_whole else [])
            by_producer = self._states.setdefault(cluster_id, {})
            by_producer.update((state.producer_id, (key, state)) for key, state in coordinator.states.items())
            self._damaged.update((cluster_id, key) for key in coordinator.states if coordinator.is_damaged)

    def joined(self, row: OpenTransactionRow, age: int) -> OpenTransactionRow:
        """Return a row with what the coordinator says of it, and whether it hangs."""
        _, _, cluster_id, topic, number = row.where
        cluster_id = cluster_id or self._only
        entry = self._states.get(cluster_id, {}).get(row.producer_id)
        if entry is None:
            hanging, reason = self._unknown(row, cluster_id, age)
        else:
            transactional_id, state = entry
            topic_partition = TopicPartition(topic or "", number or 0)
            hanging = not holds(state, topic_partition, row.producer_id, row.producer_epoch)
            reason = self._reason(transactional_id, state, topic_partition, hanging=hanging)
            if (cluster_id, transactional_id) in self._damaged:
                hanging, reason = None, f"{reason}, but the log of its coordinator is damaged"
            elif (
                hanging
                and state.state == COMPLETE_COMMIT
                and state.producer_epoch - row.producer_epoch in {0, 1}  # version 2 raised it by one
            ):
                is_later = (row.start_timestamp or 0) > state.last_update_timestamp
                reason += f": {WRITTEN_AFTER if is_later else DISCARDS_COMMITTED}"
            row = row._replace(
                transactional_id=transactional_id, coordinator_state=state.state, timeout_ms=state.timeout_ms
            )
        command = ABORT.format(topic, number, row.start_offset) if hanging and topic is not None else None
        return row._replace(hanging=hanging, reason=reason, abort_command=command)

    def _unknown(self, row: OpenTransactionRow, cluster_id: str | None, age: int) -> tuple[bool | None, str]:
        """Return whether a transaction hangs whose producer id no coordinator here knows, and why."""
        numbers, count = self._complete.get(cluster_id, set()), self._partitions.get(cluster_id)
        if count is not None and numbers >= set(range(count)):
            return True, f"no transactional id has producer id {row.producer_id}"
        if cluster_id in self._clusters:
            partitions = "the partitions" if count is None else f"{len(numbers)} of {count} partitions"
            elsewhere = f"{partitions} of {TRANSACTION_STATE} here do not know its producer id"
            return None, f"{elsewhere}, and others are damaged or elsewhere"
        lacking = f"no partition of {TRANSACTION_STATE} is here"
        if age > self._longest_ms:
            return True, f"{lacking}, and its producer wrote nothing for {duration(age)}"
        return None, lacking

    def _reason(self, key: str, state: TransactionState, partition: TopicPartition, *, hanging: bool) -> str:
        """Return what the coordinator of a transactional id says of a partition."""
        if hanging:
            side = "with" if partition in state.partitions else "without"
            return f"{key} is {state.state} in epoch {state.producer_epoch}, {side} this partition"
        if state.state in PREPARED:
            return f"{key} is {state.state}: the coordinator has still to write the marker"
        if state.start_timestamp + state.timeout_ms < self._now_ms:
            return f"{key} is {ONGOING} past its timeout: a coordinator that runs aborts it"
        return f"{key} is {ONGOING}"


def coordinating(file_set: FileSet) -> list[Target]:
    """Return the partitions of __transaction_state among the inputs."""
    return [target for target in file_set.targets if target.name and target.name.topic == TRANSACTION_STATE]


class OpenTransactions:
    """Open transactions beside what coordinators know; what hangs on a running broker is read again."""

    def __init__(self, file_set: FileSet, now_ms: int, longest_ms: int = NEVER) -> None:
        self._targets = {target.shown: target for target in file_set.targets}
        self._coordinating = coordinating(file_set)
        self._coordinators = partial(Coordinators, file_set=file_set, now_ms=now_ms, longest_ms=longest_ms)
        self._now_ms = now_ms
        self._absent = [*notes_as_findings(absent_partitions(TRANSACTION_STATE, file_set))]

    def __call__(self, parts: list[JoinedFacts]) -> tuple[list[Item], list[Finding]]:
        """Return the rows of all open transactions, and which coordinators are not here to know of them."""
        coordinators = self._coordinators(state for facts in parts for state in facts.coordinators)
        rows: list[Item] = []
        for row in starmap(coordinators.joined, (row for facts in parts for row in facts.rows)):
            rows += self._again(row) if row.hanging and is_running(self._targets[row.where.dir]) else [row]
        are_known = all(isinstance(row, OpenTransactionRow) and row.transactional_id for row in rows)
        return rows, [] if are_known else self._absent

    def hanging(self, target: Target, file_set: FileSet) -> list[OpenTransactionRow]:
        """Return what hangs in a partition by a coordinator's word, if its copy is the one that counts."""
        if not self._coordinating or is_running(target):
            return []
        copies = counted_copies(file_set, lambda name: name == target.name).targets
        counts = any(copy.path == target.path for copy in copies)
        return [row for row in self._read(target) if row.hanging] if counts else []

    def _opened(self, target: Target) -> JoinedFacts:
        facts = opened(Unit(number=0, targets=(target,)), now_ms=self._now_ms).partial
        return facts if isinstance(facts, JoinedFacts) else JoinedFacts()

    @cached_property
    def _settled(self) -> Coordinators:
        answers = map(self._opened, self._coordinating)
        return self._coordinators(state for facts in answers for state in facts.coordinators)

    def _read(self, target: Target) -> Iterator[OpenTransactionRow]:
        return starmap(self._settled.joined, self._opened(target).rows)

    def _again(self, row: OpenTransactionRow) -> list[OpenTransactionRow]:
        """Return the row of a transaction that is still open after its coordinator was read once more."""
        key = row.producer_id, row.start_offset
        rows = self._read(self._targets[row.where.dir])
        return [candidate for candidate in rows if (candidate.producer_id, candidate.start_offset) == key]


def hanging_transactions(file_set: FileSet) -> Callable[[Target], list[OpenTransactionRow]]:
    """Return what says which open transactions of a partition among those found hang."""
    coordinators = counted_copies(file_set, lambda name: name.topic == TRANSACTION_STATE)
    transactions = OpenTransactions(coordinators, time.time_ns() // 1_000_000)
    return lambda target: transactions.hanging(target, file_set)
