"""A tiered partition as its leader holds it: the local log after a start, and the cache of remote segments.

A unit is the partition's directory, then those of `__remote_log_metadata` from which its events are read.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from formats.names import REMOTE_LOG_METADATA
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, answer
from kcli.jobs.rlmm.locate import cache_of, has_remote_storage
from kcli.jobs.rlmm.read import read_events
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.log_settings import NEVER_TIERED
from kcli.kafka.kraft.partition_start import start
from kcli.kafka.remote.cache import COPY_SEGMENT_FINISHED, CachedSegment, RemoteCache
from kcli.kafka.remote.lineage import (
    NOTHING_REMOTE,
    HighestRemote,
    TieredRange,
    first_remote_offset,
    highest_remote,
    serving,
    tiered_ranges,
)
from kcli.kafka.replication.follower import ReplicaEpochs
from kcli.kafka.storage.epoch_findings import no_epochs
from kcli.kafka.storage.leader_epochs import EpochCache, load, truncate_from_start
from kcli.kafka.storage.loaded_log import UNKNOWN_SETTINGS, LoadedLog, Settings
from kcli.logdir.find import Found, find
from kcli.logdir.partition import Partition
from kcli.logdir.targets import Selection, Target


class Leader(NamedTuple):
    """A partition as its leader holds it.

    `remote` is empty where no event is about it. `log_start_offset` is the one that the leader works with:
    not below the first remote segment. `epochs` are those of a broker that runs: one that begins at the log
    end, without a record so far, is among them. `is_tiered`: there are remote segments, or the log begins
    below the disk.
    """

    partition: Partition
    topic_id: str | None
    log: LoadedLog
    epochs: EpochCache
    remote: RemoteCache
    log_start_offset: int
    highest: HighestRemote
    is_tiered: bool

    @property
    def local_start(self) -> int:
        """The first offset on local disk."""
        return max(self.log_start_offset, self.log.segments[0].base_offset)

    @property
    def high_watermark(self) -> int | None:
        """The checkpointed one as the broker takes it; None where it is unknown."""
        known = self.log.checkpoints.high_watermark
        return None if known is None else self.log.bounded(known)

    @property
    def replica_epochs(self) -> ReplicaEpochs:
        """What counts of it where a follower meets it."""
        return ReplicaEpochs(
            self.epochs,
            self.log.log_end_offset,
            self.log_start_offset,
            self.high_watermark or 0,
            self.local_start,
        )

    def tiered_ranges(self) -> Iterator[TieredRange]:
        """Yield the ranges of offsets from log start to log end, with their tiers."""
        log_end = self.log.log_end_offset
        return tiered_ranges(self.remote, self.epochs, self.log_start_offset, self.local_start, log_end)


def with_metadata(units: list[Unit], elsewhere: Iterable[Target], selection: Selection) -> list[Unit]:
    """Return a unit for each selected user partition, the directories of the metadata topic with it.

    Those among the units, and those of elsewhere.
    """
    among_units = [unit.target for unit in units if _topic(unit) == REMOTE_LOG_METADATA]
    metadata = dict.fromkeys([*among_units, *elsewhere])
    users = [unit for unit in units if _topic(unit) not in NEVER_TIERED and selection.wants(unit.target.name)]
    return [
        replace(unit, number=number, targets=(unit.target, *metadata)) for number, unit in enumerate(users)
    ]


def _topic(unit: Unit) -> str | None:
    return unit.target.name.topic if unit.target.name else None


def topics(units: list[Unit]) -> Iterator[str]:
    """Yield the topics of the units."""
    return (topic for unit in units if (topic := _topic(unit)) is not None)


def with_leader(unit: Unit, work: Callable[[Leader], Yield]) -> Outcome:
    """Run `work` on the unit's partition as its leader holds it; errors as in `kcli.jobs.common.answer`."""

    def items(partition: Partition) -> Yield:
        yield from work((yield from read_leader(partition, unit.targets[1:])))

    return answer(unit, items)


def read_leader(partition: Partition, metadata: tuple[Target, ...]) -> Generator[Finding, None, Leader]:
    """Yield the findings of the events and of the start; return the Leader.

    FileError where the events about it are not here.
    """
    events = read_events(metadata)
    yield from events.findings
    return (yield from load_leader(partition, partition.topic_id(), cache_of(partition, events)))


def load_leader(
    partition: Partition, topic_id: str | None, cache: RemoteCache
) -> Generator[Finding, None, Leader]:
    """Yield what the start finds; return the Leader of remote segments that are known."""
    settings: Settings = UNKNOWN_SETTINGS
    if _is_in_remote_storage(partition, cache):
        settings = UNKNOWN_SETTINGS._replace(remote_storage=True)
    log = yield from start(partition, settings=settings)
    leader = _leader(partition, topic_id, log, cache)
    count = unreached(cache, running_epochs(log), log.log_start_offset, log.log_end_offset)
    if count:
        what = f"no leader epoch leads to its remote segments ({count})"
        on_disk = f"the log on disk begins at offset {leader.local_start} and ends at {log.log_end_offset}"
        yield no_epochs(partition, f"{what}: {on_disk}")
    return leader


def unreached(cache: RemoteCache, epochs: EpochCache, log_start: int, log_end: int) -> int:
    """Return how many copied segments a log has from its start on; 0 if an epoch of it leads to one."""
    copied = [
        segment
        for segment in cache.segments.values()
        if segment.state == COPY_SEGMENT_FINISHED and segment.begun.end_offset >= log_start
    ]
    is_reached = any(_is_reached(cache, epochs, segment, log_start, log_end) for segment in copied)
    return 0 if is_reached else len(copied)


def _is_reached(
    cache: RemoteCache, epochs: EpochCache, segment: CachedSegment, log_start: int, log_end: int
) -> bool:
    """Whether a leader reads any offset of a remote segment: of those where that may change."""
    first = max(segment.begun.start_offset, log_start)
    end = min(segment.begun.end_offset + 1, log_end)
    starts = {first, *(entry.start_offset for entry in epochs), *segment.epochs.values()}
    return any(serving(cache, epochs, offset).segment for offset in starts if first <= offset < end)


def leader_with(partition: Partition, log: LoadedLog, metadata: tuple[Target, ...]) -> Leader:
    """Return the leader of a log that is loaded; without events about it, it has no remote segments.

    FileError where they cannot be read.
    """
    topic_id = partition.topic_id()
    cache = cache_of(partition, read_events(metadata), is_needed=False)
    return _leader(partition, topic_id, log, cache)


def _leader(partition: Partition, topic_id: str | None, log: LoadedLog, cache: RemoteCache) -> Leader:
    is_tiered = log.is_tiered or _is_in_remote_storage(partition, cache)
    epochs = running_epochs(log)
    begins, highest = log.log_start_offset, NOTHING_REMOTE
    if is_tiered:
        first = first_remote_offset(cache, epochs)
        if first is None and cache.epochs:  # all are deleted
            first = log.segments[0].base_offset
        begins = begins if first is None else max(begins, first)
        epochs = truncate_from_start(epochs, begins)
        highest = highest_remote(cache, epochs, log.log_end_offset)
    return Leader(partition, topic_id, log, epochs, cache, begins, highest, is_tiered)


def _is_in_remote_storage(partition: Partition, cache: RemoteCache) -> bool:
    """Whether the topic has remote storage: it has remote segments, or it is switched on.

    Where the cluster metadata does not say that, it is if there were remote segments.
    """
    if cache.segments:
        return True
    switched = has_remote_storage(partition)
    return bool(cache.epochs) if switched is None else switched


def running_epochs(log: LoadedLog) -> EpochCache:
    """Return the leader epochs that a running broker holds: also one that begins at the log end."""
    return load(log.recovered_epochs, log.log_end_offset, log.log_start_offset, running=True).entries


def metadata_targets(paths: Iterable[str]) -> Found:
    """Return the directories of the metadata topic that paths lead to."""
    found = find(paths, Selection())
    found.targets = [
        target for target in found.targets if target.name and target.name.topic == REMOTE_LOG_METADATA
    ]
    return found
