"""A tiered partition as its leader holds it: the local log after a start, and the cache of remote segments.

A unit is the partition's directory, then those of `__remote_log_metadata` from which its events are read.
"""

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from formats.names import (
    CLUSTER_METADATA,
    CONSUMER_OFFSETS,
    REMOTE_LOG_INDEX_CACHE,
    REMOTE_LOG_METADATA,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
)
from kcli.analysis.collector import FindingCollector
from kcli.analysis.epochs import EpochCache, load, truncate_from_start
from kcli.analysis.findings import Finding
from kcli.analysis.loaded_log import UNKNOWN_SETTINGS, LoadedLog, Settings
from kcli.analysis.log_segment import LoadedSegment
from kcli.analysis.remote.cache import CachedSegment, RemoteCache, RemoteStore
from kcli.analysis.remote.lineage import (
    NOTHING_REMOTE,
    HighestRemote,
    first_remote_offset,
    highest_remote,
    serving,
)
from kcli.analysis.replication import Side
from kcli.analysis.start import start
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.cluster import metadata_image
from kcli.jobs.common import Yield, answer, log_dir_findings
from kcli.jobs.rlmm import dump as rlmm
from kcli.jobs.rlmm.events import events
from kcli.jobs.rlmm.stored import segment_at
from kcli.logdir.buffers import DataFile, FileError, reading
from kcli.logdir.directory import directory_facts
from kcli.logdir.partition import Partition
from kcli.logdir.tree import Found, Selection, Target, find

NEVER_TIERED = frozenset(
    {REMOTE_LOG_METADATA, CLUSTER_METADATA, CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE}
)


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


def with_metadata(units: list[Unit], elsewhere: Iterable[Target], selection: Selection) -> list[Unit]:
    """Return a unit for each selected user partition, the directories of the metadata topic with it.

    Those among the units, and those of elsewhere.
    """
    here = [unit.target for unit in units if _topic(unit) == REMOTE_LOG_METADATA]
    metadata = dict.fromkeys([*here, *elsewhere])
    users = [unit for unit in units if _topic(unit) not in NEVER_TIERED and selection.wants(unit.target.name)]
    return [
        replace(unit, number=number, targets=(unit.target, *metadata)) for number, unit in enumerate(users)
    ]


def _topic(unit: Unit) -> str | None:
    return unit.target.name.topic if unit.target.name else None


def topics(units: list[Unit]) -> Iterator[str]:
    """Yield the topics of the units."""
    return (topic for unit in units if (topic := _topic(unit)) is not None)


def led(unit: Unit, work: Callable[[Leader], Yield]) -> Outcome:
    """Run `work` on the unit's partition as its leader holds it; errors as of `kcli.jobs.common.answer`."""
    return answer(unit, lambda partition: _led(partition, unit, work))


def _led(partition: Partition, unit: Unit, work: Callable[[Leader], Yield]) -> Yield:
    if not unit.number:
        yield from folded(unit.targets[1:]).findings
    leader = yield from lead(partition, unit.targets[1:])
    yield from work(leader)


def lead(partition: Partition, metadata: tuple[Target, ...]) -> Generator[Finding, None, Leader]:
    """Yield what the start finds; return the Leader. FileError where a metadata partition cannot be read."""
    topic_id = partition.topic_id()
    return (yield from lead_of(partition, topic_id, _cache_of(partition, topic_id, folded(metadata).store)))


def lead_of(
    partition: Partition, topic_id: str | None, cache: RemoteCache
) -> Generator[Finding, None, Leader]:
    """Yield what the start finds; return the Leader of remote segments that are known."""
    settings: Settings = UNKNOWN_SETTINGS
    if _is_in_remote_storage(partition, cache):
        settings = UNKNOWN_SETTINGS._replace(remote_storage=True)
    log = yield from start(partition, settings=settings)
    return _leader(partition, topic_id, log, cache)


def leader_with(partition: Partition, log: LoadedLog, metadata: tuple[Target, ...]) -> Leader:
    """Return the leader of a log that is loaded. FileError where a metadata partition cannot be read."""
    topic_id = partition.topic_id()
    return _leader(partition, topic_id, log, _cache_of(partition, topic_id, folded(metadata).store))


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
    """Whether the topic has remote storage: it has remote segments, or had some and it is not switched off.

    That is known by the cluster metadata, where it is in the same log dir.
    """
    if cache.segments or not cache.epochs:
        return bool(cache.segments)
    log_dir = partition.target.log_dir
    metadata = None if log_dir is None else os.path.join(log_dir, f"{CLUSTER_METADATA}-0")
    if metadata is None or partition.topic is None or not os.path.isdir(metadata):
        return True
    try:
        return metadata_image(metadata).config(partition.topic, "remote.storage.enable") == "true"
    except FileError:
        return True


def side_of_leader(leader: Leader) -> Side:
    """Return what counts of a leader where a follower meets it."""
    return Side(
        leader.epochs,
        leader.log.log_end_offset,
        leader.log_start_offset,
        leader.high_watermark or 0,
        leader.local_start,
    )


def remote_segment(
    partition: Partition, log: LoadedLog, metadata: tuple[Target, ...], offset: int
) -> CachedSegment | None:
    """Return the remote segment that serves an offset of a loaded log, by events of the metadata topic."""
    cache = _cache_of(partition, partition.topic_id(), folded(metadata).store)
    return serving(cache, running_epochs(log), offset).segment


def running_epochs(log: LoadedLog) -> EpochCache:
    """Return the leader epochs that a running broker holds: one that begins at the log end, too."""
    return load(log.recovered_epochs, log.log_end_offset, log.log_start_offset, running=True).entries


def metadata_targets(paths: Iterable[str]) -> Found:
    """Return the directories of the metadata topic that paths lead to."""
    found = find(paths, Selection())
    found.targets = [
        target for target in found.targets if target.name and target.name.topic == REMOTE_LOG_METADATA
    ]
    return found


def _cache_of(partition: Partition, topic_id: str | None, store: RemoteStore) -> RemoteCache:
    found = [
        (key, cache)
        for key, cache in store
        if key[1:] == (partition.topic, partition.number) and topic_id in {key[0], None}
    ]
    if len(found) > 1:
        ids = ", ".join(key[0] for key, _ in found)
        message = f"no partition.metadata, and events are about several topics of this name: {ids}"
        raise FileError(partition.path, "unknown-topic-id", message)
    return found[0][1] if found else RemoteCache()


class Folded(NamedTuple):
    """The remote segments by the events of metadata partitions, and what was found of their files."""

    store: RemoteStore
    findings: tuple[Finding, ...]


def folded(metadata: tuple[Target, ...]) -> Folded:
    """Return the remote segments by the events of metadata partitions, replicas of one another among them.

    An event is taken once. Unchanged files are read once. FileError where one cannot be read to its end.
    """
    expanded = rlmm.expand(Found(targets=list(metadata)))
    for failure in expanded.failures:
        raise failure
    return _folded(tuple(expanded.targets), tuple(map(_version, expanded.targets)))


def _version(target: Target) -> tuple[int, int] | None:
    try:
        status = os.stat(target.path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=2)
def _folded(files: tuple[Target, ...], versions: tuple[tuple[int, int] | None, ...]) -> Folded:  # noqa: ARG001 - a key of the cache
    store, findings = RemoteStore(), list[Finding]()
    seen: dict[tuple[str | None, int | None], int] = {}
    for target in files:
        findings += log_dir_findings(target)
        cluster = None if target.log_dir is None else directory_facts(target.log_dir).cluster_id
        log, collector = (cluster, rlmm.metadata_partition(target)), FindingCollector(target)
        with DataFile(target.path) as file, reading(target.path):
            for offset, record in events(file, collector):
                if offset > seen.get(log, -1):
                    seen[log] = offset
                    store.apply(record, offset)
        findings += collector.take()
    return Folded(store, tuple(findings))


def cached_indexes(leader: Leader, segment: CachedSegment) -> LoadedSegment | None:
    """Return the indexes of a remote segment in the log dir's index cache, without its log; None for none."""
    log_dir = leader.partition.target.log_dir
    if log_dir is None:
        return None
    name = f"{segment.metadata.start_offset}_{segment.metadata.segment_id}"
    path = os.path.join(log_dir, REMOTE_LOG_INDEX_CACHE, name)
    if not os.path.lexists(f"{path}.index"):
        return None
    return segment_at(segment.metadata.start_offset, path, with_log=False)
