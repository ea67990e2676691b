"""The state of transactional ids, as a coordinator that loads a partition of __transaction_state knows it.

The truth is `TransactionStateManager.loadTransactionMetadata` with `TransactionLog`. An exception ends the
load of a partition and is logged; the coordinator serves what it has read by then. Here what follows is
folded, too: a finding says from which offset on the coordinator does not know it.
"""

from collections.abc import Generator, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from formats.errors import FormatError
from formats.messages.decode import decode_key, decode_value
from formats.messages.reader import Message, Unknown
from formats.messages.transaction import TRANSACTION_STATES
from formats.names import TRANSACTION_STATE
from formats.types import TopicPartition
from kcli.kafka.coordinator.coordinator_log import CoordinatorRecords, Marker
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.meta_properties import NEWEST, Version

Fields: TypeAlias = Mapping[str, Any]

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT = TRANSACTION_STATES[:5]
PREPARED = frozenset({PREPARE_COMMIT, PREPARE_ABORT})
EPOCH_FENCE = TRANSACTION_STATES[7]

PASSES_OVER_TYPES, PASSES_OVER_VERSIONS = (3, 4, 1), (4, 3)
"""The first releases that pass over a record of an unknown type (KIP-915), of an unknown version."""
FLEXIBLE_FROM = (3, 5)
"""The first release that reads version 1 of a value."""
BOUNDED_FROM, MOST_ELEMENTS = (4, 4), 1_000_000
"""The first release that bounds arrays, and to how many elements."""
LAST_CLIENT_VERSION, CLIENT_VERSION_FROM = 2, (4, 0)
"""The last transaction.version, and the first release that refuses a client's other one."""
UNENDING_BEFORE = (3, 9, 2)
"""Releases before this one do not read on from a batch without a record: at the log end, for ever."""

KNOWS_NO_MORE = "the coordinator knows nothing after it"
STOPS, PASSES_OVER, NEVER_ENDS = "TXN-001", "TXN-002", "TXN-003"


class TransactionState(NamedTuple):
    """What the last record of a transactional id says; `offset` is the record's."""

    offset: int
    producer_id: int
    producer_epoch: int
    previous_producer_id: int
    next_producer_id: int
    state: str
    timeout_ms: int
    start_timestamp: int
    last_update_timestamp: int
    partitions: tuple[TopicPartition, ...]


class TransactionStates:
    """The states of transactional ids by a partition's records, and what a load of `version` makes of it."""

    def __init__(self, directory: str, version: Version = NEWEST) -> None:
        self._newest: dict[str, tuple[int, Fields]] = {}
        self.stop: int | None = None
        """The first offset at which a load ends."""
        self.is_whole = True
        """Whether the coordinator, and kcli, know all that the log said."""
        self.is_damaged = False
        """Whether bytes of the log are damaged: the states may be older ones, or wrong."""
        self._directory, self.version = directory, version

    @property
    def states(self) -> dict[str, TransactionState]:
        """The state of each transactional id, by its last record."""
        return {name: _state(*newest) for name, newest in self._newest.items()}

    def take(self, records: Iterable[CoordinatorRecords | Marker]) -> Generator[Finding, None, None]:
        """Fold records; yield where a load ends, and what it passes over."""
        passed_over: list[Finding] = []
        for run in records:
            if isinstance(run, Marker):
                continue
            for number, offset in enumerate(run.offset.tolist()):
                try:
                    stopped, why = self._record(offset, run.key(number), run.value(number))
                except FormatError as error:
                    stopped, why = True, str(error)
                if why is None:
                    continue
                source = (self._directory, run.path, int(run.position[number]))
                if not stopped:
                    passed_over.append(Finding(PASSES_OVER, f"offset {offset}: {why}", *source))
                elif self.stop is None:
                    self.stop = offset
                    yield Finding(STOPS, f"offset {offset}: {why}; {KNOWS_NO_MORE}", *source)
        if passed_over:
            yield passed_over[0]._replace(more=len(passed_over) - 1)

    def _record(self, offset: int, key: bytes | None, value: bytes | None) -> tuple[bool, str | None]:
        """Take a record; return whether a load ends at it, and why it, or kcli, cannot use the record."""
        name = _key(key)
        if isinstance(name, Unknown):
            return self.version < PASSES_OVER_TYPES, f"a key of unknown version {name.api_key}"
        transactional_id = str(name.fields["transactionalId"])
        if value is None:
            self._newest.pop(transactional_id, None)
            return False, None
        message = decode_value(TRANSACTION_STATE, name.api_key, value, replace_invalid_utf8=True)
        if isinstance(message, Unknown):
            return self.version < PASSES_OVER_VERSIONS, f"a value of unknown version {message.version}"
        return self._value(offset, transactional_id, message)

    def _value(self, offset: int, transactional_id: str, message: Message) -> tuple[bool, str | None]:
        fields: Fields = message.fields
        status, topics = fields["transactionStatus"], fields["transactionPartitions"]
        if status not in range(len(TRANSACTION_STATES)):
            return True, f"unknown state {status} of transactional id {transactional_id}"
        if topics is None and TRANSACTION_STATES[status] != EMPTY:
            state = TRANSACTION_STATES[status]
            return True, f"{state} of transactional id {transactional_id} without a list of partitions"
        self._newest[transactional_id] = offset, fields
        return self._refusal(message, topics or ())

    def _refusal(self, message: Message, topics: Iterable[Mapping[str, Any]]) -> tuple[bool, str | None]:
        """Return whether and why the release cannot read a value that others can."""
        if message.version and self.version < FLEXIBLE_FROM:
            return True, f"a value of version {message.version}, which this release does not know"
        fields: Fields = message.fields
        client = fields.get("clientTransactionVersion", 0)
        if not 0 <= client <= LAST_CLIENT_VERSION and self.version >= CLIENT_VERSION_FROM:
            return True, f"unknown transaction.version {client} of the client"
        most = max((len(topic["partitionIds"]) for topic in topics), default=0)
        if most > MOST_ELEMENTS and self.version >= BOUNDED_FROM:
            return True, f"an array of {most} elements, {MOST_ELEMENTS} at most"
        return False, None


@lru_cache(1 << 16)
def _key(key: bytes | None) -> Message | Unknown:
    return decode_key(TRANSACTION_STATE, key, replace_invalid_utf8=True)


def _state(offset: int, fields: Fields) -> TransactionState:
    """Return what a value says."""
    state, topics = TRANSACTION_STATES[fields["transactionStatus"]], fields["transactionPartitions"]
    if state == EMPTY:
        topics = ()
    return TransactionState(
        offset,
        fields["producerId"],
        fields["producerEpoch"],
        fields.get("previousProducerId", -1),
        fields.get("nextProducerId", -1),
        state,
        fields["transactionTimeoutMs"],
        fields["transactionStartTimestampMs"],
        fields["transactionLastUpdateTimestampMs"],
        tuple(TopicPartition(topic["topic"], number) for topic in topics for number in topic["partitionIds"]),
    )


def holds(state: TransactionState, partition: TopicPartition, producer_id: int, epoch: int) -> bool:
    """Whether the coordinator will write the end marker of an open transaction of a partition.

    An ongoing one has the epoch of its batches; version 2, a timeout or a new producer raise it at its end.
    """
    if producer_id != state.producer_id or partition not in state.partitions:
        return False
    if state.state in PREPARED or state.state == EPOCH_FENCE:
        return epoch <= state.producer_epoch
    return state.state == ONGOING and epoch == state.producer_epoch
