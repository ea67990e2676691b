"""The rows of `txn` and `producers`: transactions as coordinators and partitions know them; who writes."""

from typing import Annotated, NamedTuple

from formats.types import TopicPartition
from kcli.rows.declare import Timestamp
from kcli.rows.partitions import Where


class ProducerRow(NamedTuple):
    """A producer as a broker remembers it once it has loaded the partition."""

    where: Where
    producer_id: Annotated[int, "that the broker gave it"]
    producer_epoch: Annotated[int, "of its last batch or marker"]
    last_sequence: Annotated[int, "of its last batch in this epoch; -1 without one"]
    last_offset: Annotated[int, "of its last batch in this epoch; -1 without one"]
    last_timestamp: Annotated[Timestamp, "of its last batch or marker"]
    coordinator_epoch: Annotated[int, "of the coordinator that wrote its last marker; -1 without one"]
    current_txn_start_offset: Annotated[int | None, "where its open transaction begins; null without one"]
    expires_at: Annotated[
        Timestamp | None, "when producer.id.expiration.ms ends; null while a transaction is open"
    ]


class TransactionRow(NamedTuple):
    """A transactional id as its coordinator knows it."""

    where: Where
    transactional_id: Annotated[str, "of the producer's configuration"]
    producer_id: Annotated[int, "in use"]
    producer_epoch: Annotated[int, "in use; under transactions of version 2 each end raises it"]
    previous_producer_id: Annotated[int, "of the last transaction; -1 where it is not known"]
    next_producer_id: Annotated[int, "once the transaction under way has ended; -1 for the same"]
    state: Annotated[
        str,
        "Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort, Dead or "
        "PrepareEpochFence",
    ]
    timeout_ms: Annotated[int, "transaction.timeout.ms of the producer"]
    start_timestamp: Annotated[Timestamp, "when the last transaction began; -1 for none"]
    last_update_timestamp: Annotated[Timestamp, "when the coordinator changed it last"]
    partitions: Annotated[
        tuple[TopicPartition, ...],
        "of the transaction under way; while it ends also those whose marker is written already",
    ]
    coordinator_partition: Annotated[int, "partition of __transaction_state"]


class OpenTransactionRow(NamedTuple):
    """A transaction that a data partition holds open, and what its coordinator knows of it."""

    where: Where
    producer_id: Annotated[int, "that writes it"]
    producer_epoch: Annotated[int, "of its last batch"]
    coordinator_epoch: Annotated[int, "of the coordinator that wrote its last marker; -1 without one"]
    start_offset: Annotated[int, "of its first batch"]
    start_timestamp: Annotated[Timestamp | None, "of the first record; null where that is gone"]
    last_timestamp: Annotated[Timestamp, "of its last batch"]
    last_stable_offset: Annotated[int, "of the partition: read_committed consumers stop there"]
    records_waiting: Annotated[int | None, "data records from there on; null where headers do not tell"]
    transactional_id: Annotated[str | None, "that has this producer id; null where none here has"] = None
    coordinator_state: Annotated[str | None, "of the transactional id; null where it is not here"] = None
    timeout_ms: Annotated[int | None, "of the transactional id; null where it is not here"] = None
    hanging: Annotated[
        bool | None,
        "whether no end marker will come: the coordinator does not hold the partition in a transaction of "
        "this producer id and epoch, or, where no __transaction_state is here, nothing was written for "
        "--max-timeout; null where that is not known: its coordinator's state may be elsewhere, or damaged",
    ] = None
    reason: Annotated[str, "why, or what the coordinator does with it"] = ""
    abort_command: Annotated[str | None, "that ends a hanging one; null for others"] = None
