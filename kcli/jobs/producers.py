"""`producers`: what a broker remembers of each producer once it has loaded a partition."""

from kcli.jobs.common import Yield, partition_job, where
from kcli.kafka.integrity.known_producers import load_producers
from kcli.kafka.kraft.log_settings import NO_KNOWN_SETTINGS, KnownSettings
from kcli.logdir.partition import Partition
from kcli.rows.transactions import ProducerRow


@partition_job
def producers(partition: Partition, *, now_ms: int, known: KnownSettings = NO_KNOWN_SETTINGS) -> Yield:
    """Yield a row for each producer that a start at `now_ms` loads, by id."""
    settings = known.of(partition, now_ms=now_ms)
    loaded = yield from load_producers(partition, settings)
    origin, expiration = where(partition), settings.producer_expiration_ms
    for producer_id, producer in sorted(loaded.producers.producers.items()):
        yield ProducerRow(
            origin,
            producer_id=producer_id,
            producer_epoch=producer.epoch,
            last_sequence=producer.last_sequence,
            last_offset=producer.last_offset,
            last_timestamp=producer.last_timestamp,
            coordinator_epoch=producer.coordinator_epoch,
            current_txn_start_offset=producer.open_since,
            expires_at=producer.last_timestamp + expiration if producer.open_since is None else None,
        )
