"""What a start knows of the producers of a log, and which it has forgotten."""

from collections.abc import Iterator
from itertools import islice

from formats.batch import NO_PRODUCER_ID
from kcli.kafka.findings.findings import NO_SNAPSHOT, Finding, Reporting
from kcli.kafka.integrity.checkpoints import lost_end
from kcli.kafka.kraft.partition_start import follow_producers, start
from kcli.kafka.storage.loaded_log import LoadedLog, Settings
from kcli.logdir.log_dirs import is_running
from kcli.logdir.partition import Partition
from kcli.logdir.segment import Walk

LOOKED_AT = 1000  # batches of a segment in which producers are looked for


def forgotten_producers(partition: Partition, log: LoadedLog) -> Iterator[Finding]:
    """Yield that a clean start without snapshot passes over producers (`rebuildProducerState`)."""
    is_empty = log.log_start_offset >= log.log_end_offset  # then none is written when the log is closed
    if not log.clean or log.snapshots_before or log.recovered or is_empty:
        return
    for segment in reversed(log.segments):
        if not segment.log_size:
            continue
        with segment.log() as file:
            for _, batch in islice(Walk(file, end=segment.log_size), LOOKED_AT):
                if batch.producer_id > NO_PRODUCER_ID:
                    yield Finding("PROD-007", NO_SNAPSHOT, dir=partition.shown)
                    return


def load_producers(partition: Partition, settings: Settings) -> Reporting[LoadedLog]:
    """Yield what a start reports, and which producers it forgets; return the log, followed to its end."""
    loaded = yield from start(partition, settings=settings, exact=not is_running(partition.target))
    yield from lost_end(partition, loaded)
    follow_producers(loaded)
    if loaded.producers.expired:
        message = f"{loaded.producers.expired} of its producers expired before {settings.now_ms}"
        text = f"the producer snapshot: {message}"
        yield Finding("PROD-010", text, dir=partition.shown, found=loaded.producers.expired)
    yield from forgotten_producers(partition, loaded)
    return loaded
