"""`epoch diff`: where the leader epochs of two replicas part, and what each has alone from there on."""

from collections.abc import Iterator, Sequence

from formats.magic import record_count
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, answer, other_identity, where
from kcli.jobs.replica_pairs import answer_with_others, load_other, report_alone
from kcli.kafka.kraft.partition_start import start
from kcli.kafka.replication.follower import find_divergence
from kcli.kafka.storage.leader_epochs import ends
from kcli.kafka.storage.load_findings import no_epochs
from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.kafka.storage.log_segment import BrokerError, LoadedSegment, file_batches, header
from kcli.logdir.partition import Partition
from kcli.rows import Item
from kcli.rows.epochs import EpochDiffRow, EpochSpan


def has_parted(row: Item) -> bool:
    """Whether a row is about replicas whose epochs differ."""
    return isinstance(row, EpochDiffRow) and row.divergence_offset is not None


def diff(unit: Unit) -> Outcome:
    """Return a row about two replicas, the unit's targets; of one alone a finding."""
    if len(unit.targets) == 1:
        return answer(unit, report_alone)

    def work(partition: Partition) -> Yield:
        here = yield from start(partition)
        other = Partition(unit.targets[1])
        there = yield from load_other(other)
        yield from other_identity(partition, other)
        for replica, log in ((partition, here), (other, there)):
            if log.epoch_lines is None:
                yield no_epochs(replica)
        yield from _row(partition, here, other, there)

    return answer_with_others(unit, work)


def _row(here: Partition, one: LoadedLog, there: Partition, other: LoadedLog) -> Iterator[EpochDiffRow]:
    found = find_divergence(one.epochs, one.log_end_offset, other.epochs, other.log_end_offset)
    place = where(there)
    alone_from = found.end if found.offset is None else found.offset
    yield EpochDiffRow(
        where(here),
        place.dir,
        place.broker_id,
        divergence_offset=found.offset,
        last_common_epoch=found.last_common_epoch,
        records_only_here=records_from(one.segments, alone_from),
        records_only_there=records_from(other.segments, alone_from),
        log_end_offset=one.log_end_offset,
        other_log_end_offset=other.log_end_offset,
        epochs=_spans(one),
        other_epochs=_spans(other),
    )


def _spans(log: LoadedLog) -> tuple[EpochSpan, ...]:
    pairs = zip(log.epochs, ends(log.epochs, log.log_end_offset), strict=True)
    return tuple(EpochSpan(entry.epoch, entry.start_offset, end) for entry, end in pairs)


def records_from(segments: Sequence[LoadedSegment], offset: int) -> int | None:
    """Return how many records lie at or past an offset, by the headers of batches; None where they hide it.

    Of a batch around the offset as many count as there are offsets from there on, at most all.
    """
    count = 0
    bases = [segment.base_offset for segment in segments[1:]]
    for segment, end in zip(segments, [*bases, None], strict=True):
        if segment.log_path is None or (end is not None and end <= offset):
            continue
        try:
            with segment.log() as log:
                for place in file_batches(log, 0, segment.log_size):
                    batch = header(log, place)
                    if batch.last_offset < offset:
                        continue
                    records = record_count(batch)
                    if records is None:
                        return None
                    count += min(records, batch.last_offset - offset + 1)
        except BrokerError:
            return None
    return count
