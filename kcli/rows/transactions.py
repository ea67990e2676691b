"""The rows of `producers`: what brokers remember of those who write to partitions."""

from typing import Annotated, NamedTuple

from kcli.rows.declare import Timestamp, row_type
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


PRODUCER = row_type("producer", ProducerRow)
