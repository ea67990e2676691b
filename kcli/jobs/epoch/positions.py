"""`epoch validate`: what a consumer makes of its positions when a replica leads, by what it answers."""

from functools import partial
from typing import NamedTuple

from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, where
from kcli.jobs.epoch.epoch_cache import CHECKPOINT, Cache, LogBounds, answered, entries_of
from kcli.jobs.epoch.fencing import NO_FENCE, Fence, answer_to, leadership_of
from kcli.kafka.findings.findings import Finding
from kcli.kafka.replication.consumer_positions import (
    OUT_OF_RANGE,
    TRUNCATED,
    UNDEFINED,
    Bounds,
    Position,
    fetched,
    validate,
)
from kcli.kafka.storage.loaded_log import checkpoints
from kcli.logdir.partition import Partition
from kcli.rows import Item
from kcli.rows.epochs import PositionRow


class Consumer(NamedTuple):
    """Positions of a consumer, and its auto.offset.reset: earliest, latest or none."""

    positions: tuple[Position, ...]
    reset: str


def has_truncated(row: Item) -> bool:
    """Whether a row is about a position that its consumer cannot keep."""
    return isinstance(row, PositionRow) and row.outcome in {TRUNCATED, UNDEFINED, OUT_OF_RANGE}


def check(
    unit: Unit,
    *,
    consumer: Consumer,
    fence: Fence = NO_FENCE,
    source: str = CHECKPOINT,
    running: bool = False,
) -> Outcome:
    """Return a row for each position of a consumer."""
    cache = Cache(source, running)
    return answered(unit, cache, partial(_check, consumer, cache, fence))


def _check(consumer: Consumer, cache: Cache, fence: Fence, partition: Partition, log: LogBounds) -> Yield:
    entries = yield from entries_of(cache, partition, log)
    known = yield from leadership_of(partition, fence, entries)
    watermark = checkpoints(partition).high_watermark
    if log.loaded is not None and log.loaded.high_watermark is not None:
        watermark = log.loaded.high_watermark
    elif watermark is not None and log.loaded is not None:
        watermark = log.loaded.bounded(watermark)
    bounds = Bounds(log.log_start_offset, watermark)
    place = where(partition)
    for position in consumer.positions:
        error, end = answer_to(position.epoch, entries, log.log_end_offset, fence, known)
        found = validate(position, error, end, consumer.reset, bounds)
        found = fetched(found, consumer.reset, bounds, log.log_end_offset)
        yield PositionRow(
            place,
            position.offset,
            position.epoch,
            outcome=found.outcome,
            error=error,
            leader_epoch=end.epoch,
            end_offset=end.end_offset,
            reset=consumer.reset,
            next_offset=found.next_offset,
            next_offset_epoch=found.next_epoch,
            exception=found.exception,
            log_start_offset=log.log_start_offset,
            high_watermark=watermark,
            log_end_offset=log.log_end_offset,
            log_end_offset_source=log.source,
        )
        if not log.log_start_offset <= position.offset <= log.log_end_offset:
            yield Finding(
                "EPOCH-005",
                f"position {position.offset} lies outside the log",
                dir=partition.shown,
                expected=f"{log.log_start_offset} to {log.log_end_offset}",
                found=position.offset,
            )
