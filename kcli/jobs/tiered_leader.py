"""A tiered partition as its leader holds it: the local log after a start, and the cache of remote segments.

A unit is the partition's directory, then those of `__remote_log_metadata` from which its events are read.
Where the metadata partition that has them is not among these, nothing can be said of the remote segments.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import wraps

from formats.errors import FormatError
from formats.names import NORMAL, REMOTE_LOG_METADATA, PartitionDir
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, answer
from kcli.jobs.metadata_partitions import RemoteEvents, cluster_of, metadata_partition, read_events
from kcli.kafka.findings.collector import collect_findings
from kcli.kafka.findings.findings import Finding, Reporting
from kcli.kafka.kraft.log_settings import NEVER_TIERED, topic_config
from kcli.kafka.kraft.metadata_loader import cluster_image, state_of_replica, undecodable_findings
from kcli.kafka.kraft.partition_start import start
from kcli.kafka.remote.cache import COPY_SEGMENT_FINISHED, CachedSegment, RemoteCache, UserPartition
from kcli.kafka.remote.lineage import NOTHING_REMOTE, Leader, first_remote_offset, highest_remote, serving
from kcli.kafka.remote.partitioning import DEFAULT_PARTITIONS, events_topic_size, partition_of_events
from kcli.kafka.storage.leader_epochs import EpochCache, load, truncate_from_start
from kcli.kafka.storage.load_findings import no_epochs
from kcli.kafka.storage.loaded_log import UNKNOWN_SETTINGS, LoadedLog, Settings
from kcli.logdir.buffers import FileError
from kcli.logdir.find import FileSet, find
from kcli.logdir.log_dirs import is_running
from kcli.logdir.partition import Partition
from kcli.logdir.targets import PARTITION, Selection, Target

ABSENT = "not here"
MISPLACED = "RLMM-037"
NOT_HERE = "no-remote-metadata"
WITH_ZOOKEEPER = (
    "its broker uses ZooKeeper, which keeps the settings of topics; the events of its partitions, if any is "
    f"tiered, are in {REMOTE_LOG_METADATA}, which"
)
NAME_IT = "is not here: name the log dir of a broker that has it"
PAUSES = (0, 0.1, 0.4, 1.6)  # seconds before each new look at the log and the events of a running broker
EVIDENCE = 64  # user partitions that say how many metadata partitions there are


def with_metadata(units: list[Unit], elsewhere: Iterable[Target], selection: Selection) -> list[Unit]:
    """Return a unit for each selected user partition, the directories of the metadata topic with it."""
    targets = (*(unit.target for unit in units), *elsewhere)
    own_units = with_events(user_units(units, selection), targets)
    return [replace(unit, number=number) for number, unit in enumerate(own_units)]


def with_events(units: Sequence[Unit], elsewhere: Iterable[Target]) -> list[Unit]:
    """Return the units with the metadata topic's directories: those named, else those in their log dirs."""
    named = _of_events(elsewhere)
    log_dirs = dict.fromkeys(unit.target.log_dir for unit in units if unit.target.log_dir and not named)
    metadata = {**_of_events(unit.target for unit in units), **named}
    metadata |= _of_events(metadata_targets(log_dirs).targets)
    return [replace(unit, targets=(unit.target, *metadata.values())) for unit in units]


def _of_events(targets: Iterable[Target]) -> dict[str, Target]:
    """Return the directories of the metadata topic by path."""
    return {each.path: each for each in targets if each.name and each.name.topic == REMOTE_LOG_METADATA}


def user_units(units: Iterable[Unit], selection: Selection) -> list[Unit]:
    """Return the units of selected partitions that can be tiered."""
    return [unit for unit in units if _topic(unit) not in NEVER_TIERED and selection.wants(unit.target.name)]


def _topic(unit: Unit) -> str | None:
    return unit.target.name.topic if unit.target.name else None


def topics(units: list[Unit]) -> Iterator[str]:
    """Yield the topics of the units."""
    return (topic for unit in units if (topic := _topic(unit)) is not None)


def leader_job(work: Callable[..., Yield]) -> Callable[..., Outcome]:
    """Make a job of `work`, which takes a unit's partition as its leader holds it, and options by names."""

    @wraps(work)
    def run(unit: Unit, **options: object) -> Outcome:
        def items(partition: Partition) -> Yield:
            events = read_events(unit.targets[1:])
            yield from events.findings
            yield from undecodable_findings(partition.target)
            yield from misplaced_events(partition.target, events)
            cache = cache_of(partition, events)
            yield from work((yield from load_leader(partition, cache, unit.targets[1:])), **options)

        return answer(unit, items)

    return run


def load_leader(
    partition: Partition, cache: RemoteCache, metadata: tuple[Target, ...] = ()
) -> Reporting[Leader]:
    """Yield what the start finds; return the Leader of remote segments that are known.

    `metadata`: the directories of the events. Where offsets seem to be in no tier, they are read once
    more, beside a running broker the log with them and after each of PAUSES: it may have copied a segment and
    deleted it from disk since.
    """
    settings: Settings = UNKNOWN_SETTINGS
    if _is_in_remote_storage(partition, cache):
        settings = UNKNOWN_SETTINGS._replace(remote_storage=True)
    log = yield from start(partition, settings=settings)
    leader = _leader(partition, log, cache)
    if metadata and any(leader.lacking()):
        is_written = is_running(partition.target)
        for pause in PAUSES if is_written else (0,):
            time.sleep(pause)
            with suppress(FileError):
                if is_written:
                    partition = Partition(partition.target)  # its files are listed once
                    log = collect_findings(start(partition, settings=settings))
                cache = cache_of(partition, read_events(metadata))
            leader = _leader(partition, log, cache)
            if not any(leader.lacking()):
                break
    count = unreached(cache, running_epochs(log), log.log_start_offset, log.log_end_offset)
    if count:
        reason = f"no leader epoch leads to its remote segments ({count})"
        on_disk = f"the log on disk begins at offset {leader.local_start} and ends at {log.log_end_offset}"
        yield no_epochs(partition, f"{reason}: {on_disk}")
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


def leader_with(
    partition: Partition, log: LoadedLog, metadata: tuple[Target, ...], *, is_needed: bool = False
) -> Leader:
    """Return the leader of a loaded log; FileError where events about it are needed and not here."""
    return _leader(partition, log, cache_of(partition, read_events(metadata), is_needed=is_needed))


def _leader(partition: Partition, log: LoadedLog, cache: RemoteCache) -> Leader:
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
    return Leader(partition, partition.topic_id(), log, epochs, cache, begins, highest, is_tiered)


def _is_in_remote_storage(partition: Partition, cache: RemoteCache) -> bool:
    """Whether the topic has remote storage by the metadata; where that is unknown, by its segments."""
    if cache.segments:
        return True
    switched = has_remote_storage(partition)
    return bool(cache.epochs) if switched is None else switched


def running_epochs(log: LoadedLog) -> EpochCache:
    """Return the leader epochs that a running broker holds: also one that begins at the log end."""
    return load(log.recovered_epochs, log.log_end_offset, log.log_start_offset, running=True).entries


def metadata_targets(paths: Iterable[str]) -> FileSet:
    """Return the directories of the metadata topic that paths lead to."""
    return find(paths, Selection((REMOTE_LOG_METADATA,)))


# Where the events of a partition are, and whether they are here


def topic_size(target: Target) -> int | None:
    """Return how many partitions the metadata topic has by the cluster metadata of a target's broker."""
    image = cluster_image(target)
    topic = None if image is None else image.named(REMOTE_LOG_METADATA)[1]
    return None if topic is None else len(topic.partitions)


def has_remote_storage(partition: Partition) -> bool | None:
    """Whether the partition's topic has remote.storage.enable, by the cluster metadata of its broker."""
    image = cluster_image(partition.target)
    if image is None or partition.topic is None:
        return None
    topic_id = image.named(partition.topic)[0]
    if topic_id is None or partition.topic_id() not in {topic_id, None}:
        return None
    config = topic_config(image, partition.topic)
    return None if config is None else config.remote_storage


def metadata_partition_of(
    user: UserPartition, places: Iterable[tuple[UserPartition, int]], size: int | None
) -> int | None:
    """Return in which metadata partition a user partition's events are, by others' places or the size."""
    evidence = list(places)
    number_of_user = next((number for key, number in evidence if key == user), None)
    if number_of_user is not None:
        return number_of_user
    return _looked_in(user, size or events_topic_size(evidence[:EVIDENCE]))


def _looked_in(user: UserPartition, size: int | None) -> int | None:
    """Return in which of `size` metadata partitions a broker looks for events; None for no topic id."""
    try:
        return None if size is None else partition_of_events(user[0], user[2], size).partition
    except FormatError:
        return None


def misplaced(
    user: UserPartition, number: int | None, target: Target, present: Iterable[int | None]
) -> Iterator[str]:
    """Yield that no broker looks for events of a user partition in metadata partition `number`.

    How many there are the cluster metadata of a target's broker says; else those `present` are all, if their
    numbers rise from 0 without a gap, and events are not where the usual number of partitions puts them.
    """
    size, numbers = topic_size(target), set(present)
    if size is None and numbers == set(range(max(len(numbers), 2))):
        size = None if _looked_in(user, DEFAULT_PARTITIONS) == number else len(numbers)
    looked_in = _looked_in(user, size)
    if number is not None and looked_in not in {number, None}:
        mismatch = f"events are in {REMOTE_LOG_METADATA}-{number}, a broker looks in {looked_in} of {size}"
        yield f"{mismatch}: it knows none of their remote segments"


def misplaced_events(target: Target, events: RemoteEvents) -> Iterator[Finding]:
    """Yield that no broker reads the events about a partition where they are."""
    topic_id, name = Partition(target).topic_id(), target.name
    present = [partition.number for partition in events.partitions]
    for user, number in events.places.items():
        if name is not None and user[1:] == (name.topic, name.partition) and topic_id in {user[0], None}:
            for message in misplaced(user, number, target, present):
                yield Finding(MISPLACED, f"{user[1]}-{user[2]}: {message}", dir=target.shown)


def leading(targets: Iterable[Target]) -> Iterator[Target]:
    """Yield the replicas that lead by the cluster metadata, or that are alone here where none says."""
    replicas: dict[PartitionDir, list[Target]] = {}
    for target in targets:
        name = target.name
        if target.kind == PARTITION and name and name.kind == NORMAL and name.topic not in NEVER_TIERED:
            replicas.setdefault(name, []).append(target)
    for copies in replicas.values():
        leads = [_leads(target) for target in copies]
        alone = len(copies) == 1 and leads == [None]
        yield from (target for target, is_leader in zip(copies, leads, strict=True) if is_leader or alone)


def _leads(target: Target) -> bool | None:
    """Whether the broker of a target leads its partition by the cluster metadata; None for unknown."""
    broker, state = Partition(target).directory.broker_id, state_of_replica(target)
    if broker is None or cluster_image(target) is None:
        return None
    return state is not None and state.leader == broker


def lacks(number: int | None, partitions: Iterable[tuple[int | None, str | None]]) -> str | None:
    """Return why not all events of a metadata partition (None: of any) are here; None where they are."""
    reasons = [reason for partition, reason in partitions if number in {partition, None}]
    if not reasons:
        return ABSENT
    return None if None in reasons else reasons[0]


def cache_of(partition: Partition, events: RemoteEvents, *, is_needed: bool = True) -> RemoteCache:
    """Return the remote segments of a partition; FileError where its events are unread, or needed."""
    topic_id = partition.topic_id()
    caches = [
        (key, cache)
        for key, cache in events.store
        if key[1:] == (partition.topic, partition.number) and topic_id in {key[0], None}
    ]
    if len(caches) > 1:
        ids = ", ".join(key[0] for key, _ in caches)
        message = f"no partition.metadata, and events are about several topics of this name: {ids}"
        raise FileError(partition.path, "unknown-topic-id", message)
    if not caches and has_remote_storage(partition) is False:
        return RemoteCache()
    size = topic_size(partition.target)
    by_name = topic_id or _id_by_name(partition) or ""
    user = caches[0][0] if caches else (by_name, partition.topic or "", partition.number or 0)
    number = metadata_partition_of(user, events.places.items(), size)
    cluster = cluster_of(partition.target)
    copies = [
        copy
        for copy in events.partitions
        if number in {copy.number, None}
        and (cluster == copy.cluster_id or None in {cluster, copy.cluster_id})
    ]
    error = next((copy.error for copy in copies if copy.error is not None), None)
    if error is not None and all(copy.error is not None for copy in copies):
        message = f"{_whereabouts(partition, number, events, size)} cannot be read: {error}"
        raise FileError(partition.path, error.code, message)
    if not caches and is_needed and not copies:
        lacking = _whereabouts(partition, number, events, size)
        facts, path = partition.directory, partition.path
        if facts.broker_id is not None and not facts.is_kraft:  # the same of each partition there
            path, lacking = partition.target.log_dir or path, WITH_ZOOKEEPER
        raise FileError(path, NOT_HERE, f"{lacking} {NAME_IT}, or --remote-metadata")
    return caches[0][1] if caches else RemoteCache()


def without_events(targets: Iterable[Target], selection: Selection) -> Iterator[FileError]:
    """Yield an error for each tiered, selected user partition whose metadata partition is not here."""
    partitions = [target for target in targets if target.kind == PARTITION and target.name is not None]
    present = {(metadata_partition(target), cluster_of(target)) for target in partitions}
    for target in partitions:
        name, partition = target.name, Partition(target)
        size, cluster = topic_size(target), cluster_of(target)
        if name is None or name.kind != NORMAL or size is None or not selection.wants(name):
            continue
        if not has_remote_storage(partition):
            continue
        user = (partition.topic_id() or _id_by_name(partition) or "", name.topic, name.partition)
        number = metadata_partition_of(user, (), size)
        clusters = {cluster_id for key, cluster_id in present if key == number}
        if number is not None and not (clusters & {cluster, None} or (clusters and cluster is None)):
            directory = f"{REMOTE_LOG_METADATA}-{number}"
            message = f"the events of {name.topic}-{name.partition} are in {directory}, which {NAME_IT}"
            yield FileError(target.shown, NOT_HERE, message)


def _id_by_name(partition: Partition) -> str | None:
    image = cluster_image(partition.target)
    return None if image is None else image.named(partition.topic)[0]


def _whereabouts(partition: Partition, number: int | None, events: RemoteEvents, size: int | None) -> str:
    is_known = number is not None and (size is not None or events.places)
    directory = f"{REMOTE_LOG_METADATA}-{number}" if is_known else REMOTE_LOG_METADATA
    return f"the events of {partition.topic}-{partition.number} are in {directory}, which"
