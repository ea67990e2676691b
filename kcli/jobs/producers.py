"""`producers`: what a broker remembers of each producer once it has loaded a partition."""

from kcli.jobs.common import Yield, partition_job, where
from kcli.kafka.findings.findings import NO_SNAPSHOT, Finding, Reporting
from kcli.kafka.integrity.checkpoints import lost_end
from kcli.kafka.kraft.log_settings import NO_KNOWN_SETTINGS, KnownSettings
from kcli.kafka.kraft.partition_start import follow_producers, start
from kcli.kafka.storage.loaded_log import LoadedLog, Settings
from kcli.kafka.storage.record_counts import forgets_producers
from kcli.logdir.log_dirs import is_running
from kcli.logdir.partition import Partition
from kcli.rows.transactions import ProducerRow


@partition_job
def producers(partition: Partition, *, now_ms: int, known: KnownSettings = NO_KNOWN_SETTINGS) -> Yield:
    """Yield a row for each producer that a start at `now_ms` loads, by id."""
    settings = known.of(partition, now_ms=now_ms)
    loaded = yield from load_producers(partition, settings)
    place, expiration = where(partition), settings.producer_expiration_ms
    for producer_id, one in sorted(loaded.producers.producers.items()):
        yield ProducerRow(
            place,
            producer_id=producer_id,
            producer_epoch=one.epoch,
            last_sequence=one.last_sequence,
            last_offset=one.last_offset,
            last_timestamp=one.last_timestamp,
            coordinator_epoch=one.coordinator_epoch,
            current_txn_start_offset=one.open_since,
            expires_at=one.last_timestamp + expiration if one.open_since is None else None,
        )


def load_producers(partition: Partition, settings: Settings) -> Reporting[LoadedLog]:
    """Yield what a start reports, and which producers it forgets; return the log, followed to its end."""
    loaded = yield from start(partition, settings=settings, exact=not is_running(partition.target))
    yield from lost_end(partition, loaded)
    follow_producers(loaded)
    if loaded.producers.expired:
        message = f"{loaded.producers.expired} of its producers expired before {settings.now_ms}"
        text = f"the producer snapshot: {message}"
        yield Finding("PROD-010", text, dir=partition.shown, found=loaded.producers.expired)
    if forgets_producers(loaded):
        yield Finding("PROD-007", NO_SNAPSHOT, dir=partition.shown)
    return loaded
