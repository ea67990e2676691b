"""`rlmm offsets`: what a partition's leader answers to ListOffsets for every special timestamp.

The truth is `UnifiedLog.fetchOffsetByTimestamp` (KIP-405, KIP-1005, KIP-1023), and, for what a consumer that
reads uncommitted records gets of it, `Partition.fetchOffsetForTimestamp`.
"""

from typing import NamedTuple

from formats.bounds import LARGEST_BATCH
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, where
from kcli.jobs.rlmm.leader import Leader, led
from kcli.jobs.searches import failing_lookup, largest
from kcli.kafka.storage.epochs import epoch_for_offset
from kcli.rows.lookups import FoundRecord
from kcli.rows.remote_tier import RlmmOffsetsRow


class Answer(NamedTuple):
    """An offset and its leader epoch; -1 and None where there is none."""

    offset: int = -1
    epoch: int | None = None


def offsets(unit: Unit) -> Outcome:
    """Return one row for the unit's partition."""
    return led(unit, _offsets)


def _offsets(leader: Leader) -> Yield:
    log = leader.log
    fetchable = log.log_end_offset if leader.high_watermark is None else leader.high_watermark
    latest = Answer(fetchable, leader.epochs[-1].epoch if leader.epochs else None)
    with failing_lookup():
        newest = largest(log, LARGEST_BATCH)
    record = newest if isinstance(newest, FoundRecord) and (newest.offset or 0) < fetchable else FoundRecord()
    earliest, local = _earliest(leader), _earliest_local(leader)
    tiered, pending = _latest_tiered(leader), _pending_upload(leader)
    tiered, pending = (answer if answer.offset < fetchable else Answer() for answer in (tiered, pending))
    yield RlmmOffsetsRow(
        where(leader.partition),
        leader.topic_id,
        leader.is_tiered,
        *earliest,
        *latest,
        -1 if record.offset is None else record.offset,
        -1 if record.record_timestamp is None else record.record_timestamp,
        record.leader_epoch,
        *local,
        *tiered,
        *pending,
        leader.high_watermark,
        log.log_end_offset,
    )


def _answer(leader: Leader, offset: int) -> Answer:
    entry = epoch_for_offset(leader.epochs, offset)
    return Answer(offset, None if entry is None else entry.epoch)


def _earliest(leader: Leader) -> Answer:
    first = leader.epochs[0] if leader.epochs else None
    begins = leader.log_start_offset
    return Answer(begins, first.epoch if first is not None and first.start_offset <= begins else None)


def _earliest_local(leader: Leader) -> Answer:
    return _answer(leader, leader.local_start) if leader.is_tiered else _earliest(leader)


def _latest_tiered(leader: Leader) -> Answer:
    offset = leader.highest.offset if leader.is_tiered else -1
    return Answer() if offset < 0 else _answer(leader, offset)


def _pending_upload(leader: Leader) -> Answer:
    if not leader.is_tiered:
        return Answer()
    if leader.highest.offset >= 0:
        return _answer(leader, max(leader.highest.offset + 1, leader.log_start_offset))
    return _earliest(leader) if leader.local_start == leader.log_start_offset else Answer()
