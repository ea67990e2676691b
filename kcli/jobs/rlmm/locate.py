"""In which partition of `__remote_log_metadata` the events of a user partition are, and whether it is here.

A broker that does not hold that one may hold others: without it nothing can be said of the remote segments.
"""

from collections.abc import Iterable, Iterator

from formats.errors import FormatError
from formats.names import NORMAL, REMOTE_LOG_METADATA
from kcli.jobs.rlmm.read import RemoteEvents, cluster_of, metadata_partition
from kcli.kafka.kraft.log_settings import topic_config
from kcli.kafka.kraft.metadata_loader import cluster_image
from kcli.kafka.remote.cache import RemoteCache, UserPartition
from kcli.kafka.remote.partitioning import events_topic_size, partition_of_events
from kcli.logdir.buffers import FileError
from kcli.logdir.partition import Partition
from kcli.logdir.targets import PARTITION, Selection, Target

ABSENT = "not here"
NOT_HERE = "no-remote-metadata"
NAME_IT = "is not here: name the log dir of a broker that has it"
EVIDENCE = 64
"""User partitions that say how many metadata partitions there are."""


def topic_size(target: Target) -> int | None:
    """Return how many partitions the metadata topic has by the cluster metadata of a target's broker."""
    image = cluster_image(target)
    if image is None:
        return None
    sizes = (len(each.partitions) for each in image.topics.values() if each.name == REMOTE_LOG_METADATA)
    return next(sizes, None)


def has_remote_storage(partition: Partition) -> bool | None:
    """Whether the partition's topic has remote.storage.enable, by the cluster metadata of its broker."""
    image = cluster_image(partition.target)
    if image is None or partition.topic is None:
        return None
    topic_id = partition.topic_id()
    known = [key for key, each in image.topics.items() if each.name == partition.topic]
    if not known or topic_id not in {known[0], None}:
        return None
    config = topic_config(image, partition.topic)
    return None if config is None else config.remote_storage


def metadata_partition_of(
    user: UserPartition, places: Iterable[tuple[UserPartition, int]], size: int | None
) -> int | None:
    """Return in which metadata partition the events of a user partition are; None where that is not known.

    `places`: where those of others are. `size`: that of the topic by the cluster metadata.
    """
    evidence = list(places)
    known = next((number for key, number in evidence if key == user), None)
    if known is not None:
        return known
    partitions = size or events_topic_size(evidence[:EVIDENCE])
    if partitions is None:
        return None
    try:
        return partition_of_events(user[0], user[2], partitions).partition
    except FormatError:
        return None


def lacks(number: int | None, partitions: Iterable[tuple[int | None, str | None]]) -> str | None:
    """Return why the events of a metadata partition are not all here; None where they are.

    `partitions`: the number of each copy that is here, and what it lacks. Where the number is not known, any
    that has all its events will do.
    """
    reasons = [why for other, why in partitions if number in {other, None}]
    if not reasons:
        return ABSENT
    return None if None in reasons else reasons[0]


def cache_of(partition: Partition, events: RemoteEvents, *, is_needed: bool = True) -> RemoteCache:
    """Return the remote segments of a partition; FileError where its events cannot be read.

    So it is where they are not here, if they are needed, and the topic may have remote storage.
    """
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
        each
        for each in events.partitions
        if number in {each.number, None} and _may_be_same(cluster, each.cluster_id)
    ]
    error = next((each.error for each in copies if each.error is not None), None)
    if error is not None and all(each.error is not None for each in copies):
        message = f"{_partition_words(partition, number, events, size)} cannot be read: {error}"
        raise FileError(partition.path, error.code, message)
    if not caches and is_needed and not copies:
        words = _partition_words(partition, number, events, size)
        raise FileError(partition.path, NOT_HERE, f"{words} {NAME_IT}, or --remote-metadata")
    return caches[0][1] if caches else RemoteCache()


def without_events(targets: Iterable[Target], selection: Selection) -> Iterator[FileError]:
    """Yield an error for each selected user partition whose metadata partition is not among the targets.

    Of topics that have remote storage by the cluster metadata.
    """
    given = [target for target in targets if target.kind == PARTITION and target.name is not None]
    known = {(metadata_partition(target), cluster_of(target)) for target in given}
    for target in given:
        name, partition = target.name, Partition(target)
        size, cluster = topic_size(target), cluster_of(target)
        if name is None or name.kind != NORMAL or size is None or not selection.wants(name):
            continue
        if not has_remote_storage(partition):
            continue
        user = (partition.topic_id() or _id_by_name(partition) or "", name.topic, name.partition)
        number = metadata_partition_of(user, (), size)
        if number is not None and not any(
            each == number and _may_be_same(cluster, other) for each, other in known
        ):
            place = f"{REMOTE_LOG_METADATA}-{number}"
            message = f"the events of {name.topic}-{name.partition} are in {place}, which {NAME_IT}"
            yield FileError(target.shown, NOT_HERE, message)


def _may_be_same(cluster_id: str | None, other: str | None) -> bool:
    """Whether two cluster ids may be of one cluster: None is not known."""
    return cluster_id == other or None in {cluster_id, other}


def _id_by_name(partition: Partition) -> str | None:
    image = cluster_image(partition.target)
    topics = {} if image is None else image.topics
    return next((key for key, each in topics.items() if each.name == partition.topic), None)


def _partition_words(partition: Partition, number: int | None, events: RemoteEvents, size: int | None) -> str:
    is_known = number is not None and (size is not None or events.places)
    place = f"{REMOTE_LOG_METADATA}-{number}" if is_known else REMOTE_LOG_METADATA
    return f"the events of {partition.topic}-{partition.number} are in {place}, which"
