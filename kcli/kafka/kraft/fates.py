"""What the first published metadata image makes of each partition directory, and which replicas begin empty.

The truth is `BrokerMetadataPublisher.initializeManagers`: `LogManager.loadLogs` with its test for stray logs
(`isStrayReplica`; before 3.7 `BrokerMetadataPublisher.findStrayPartitions`), `recoverAbandonedFutureLogs`,
then `Partition.createLogInAssignedDirectoryId` for what the image assigns.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from formats.names import CLUSTER_METADATA, DELETE, FUTURE, NORMAL, PartitionDir
from kcli.kafka.kraft.metadata_image import LOST, MIGRATING, UNASSIGNED, Image
from kcli.kafka.kraft.replica_fates import (
    DIRECTORY_IDS,
    FORMER,
    LEFT_STRAY,
    NOT_ASSIGNED,
    RENAME,
    STRAY,
    UNKNOWN_STRAY,
    USUAL,
    WILL_BE_DELETED,
    Fate,
    FateOutcome,
)
from kcli.logdir.buffers import shown

PROMOTED: Final = "future-promoted"

TopicPartitionId: TypeAlias = tuple[str, int]
"""Topic id and partition."""


class ReplicaDir(NamedTuple):
    """A directory of a partition in a log dir, with the topic id of its partition.metadata, None without."""

    path: str
    log_dir: str
    name: PartitionDir
    topic_id: str | None


class LogDirId(NamedTuple):
    """A log dir: its directory.id, None for none or an unknown one, and whether the broker uses it."""

    path: str
    directory_id: str | None
    is_online: bool


class EmptyReplica(NamedTuple):
    """A replica that the broker begins empty: no directory of it is here, or none that stays.

    `directory_id` is the one that the metadata assigns; `log_dir` has it, None where no log dir here does.
    `is_only`: the partition has no other replica in sync. `stray`: a -stray directory of it that is here.
    """

    topic: str
    partition: int
    topic_id: str
    directory_id: str
    log_dir: str | None
    is_only: bool
    stray: str | None = None

    @property
    def name(self) -> str:
        """The name of its directory."""
        return f"{self.topic}-{self.partition}"


class Fates(NamedTuple):
    """The fate of each directory by its path, and the replicas that begin empty, by topic and partition."""

    by_path: Mapping[str, Fate]
    empty: tuple[EmptyReplica, ...]


REPLACED = "the broker deletes the log: the metadata assigns the log dir of its -future one"
EMPTIED = (
    "no current log of it is here: the broker begins one, and truncates the -future log to it; rename its "
    "directory to TOPIC-PARTITION before the start"
)
DELETE_DIRECTORY = Fate(
    WILL_BE_DELETED, "delete-directory", "the broker deletes a -delete directory once it has loaded it"
)


def stray_reason(image: Image, directory: ReplicaDir, node_id: int) -> str | None:
    """Return why a log is a stray one, as `LogManager.isStrayReplica` decides; None where it is not."""
    if directory.topic_id is None:
        return "no partition.metadata names its topic id"
    topic = image.topics.get(directory.topic_id)
    if topic is None:
        return f"the metadata has no topic of its topic id {directory.topic_id}"
    state = topic.partitions.get(directory.name.partition)
    if state is None:
        return f"the metadata has no partition {directory.name.partition} of topic id {directory.topic_id}"
    if node_id not in state.replicas:
        return f"its replicas are on brokers {', '.join(map(str, state.replicas))}, not on {node_id}"
    return None


def fates(
    image: Image,
    node_id: int,
    release: tuple[int, ...],
    log_dirs: Iterable[LogDirId],
    directories: Iterable[ReplicaDir],
) -> Fates:
    """Return what a start of a release makes of the directories of a broker with these log dirs."""
    dirs, replicas = tuple(log_dirs), tuple(directories)
    ids_by_name = {topic.name: topic_id for topic_id, topic in image.topics.items()}
    without = {each.path for each in replicas if each.topic_id is None and release < DIRECTORY_IDS}
    replicas = tuple(
        each._replace(topic_id=ids_by_name.get(each.name.topic)) if each.path in without else each
        for each in replicas
    )
    by_path = {each.path: _own_fate(image, each, node_id, release, ids_by_name) for each in replicas}
    usual = (each for each in replicas if by_path[each.path] is USUAL)
    current = {_key(each): each for each in usual if each.name.kind == NORMAL}
    ids = {each.path: each.directory_id for each in dirs}
    loaded, strays = set(current), {}
    for each in replicas:
        fate = by_path[each.path]
        if fate.rule == LEFT_STRAY and fate.topic_id is not None:
            key = fate.topic_id, each.name.partition
            strays[key] = each.path
            if key in current:
                reason = f"{fate.reason}, once the one of this name is moved away"
                by_path[each.path] = fate._replace(reason=reason, replaced_by=current[key].path)
    for each in replicas:
        if each.name.kind != FUTURE or by_path[each.path] is not USUAL:
            continue
        assigned = image.topics[each.topic_id or ""].partitions[each.name.partition].directory_of(node_id)
        replaced = current.get(_key(each))
        if release >= DIRECTORY_IDS and assigned is not None and assigned == ids.get(each.log_dir):
            reason = (
                "the metadata assigns the partition to this log dir: the -future log becomes the current one"
            )
            if replaced is not None:
                reason += f", and {shown(replaced.path)} is deleted"
                reason_here = f"{REPLACED}: {shown(each.path)}"
                by_path[replaced.path] = Fate(WILL_BE_DELETED, "replaced", reason_here, each.path)
            by_path[each.path] = Fate(PROMOTED, "promoted", reason)
        elif replaced is None:
            by_path[each.path] = Fate(WILL_BE_DELETED, "emptied", EMPTIED)
        loaded.add(_key(each))
    empty = _empty_replicas(image, node_id, dirs, loaded, release)
    of_name = [each for each in replicas if each.path in without and by_path[each.path] is USUAL]
    by_path |= {each.path: USUAL._replace(topic_id=each.topic_id) for each in of_name}
    empty = (each._replace(stray=strays.get((each.topic_id, each.partition))) for each in empty)
    return Fates(by_path, tuple(empty))


def _own_fate(
    image: Image,
    directory: ReplicaDir,
    node_id: int,
    release: tuple[int, ...],
    ids_by_name: Mapping[str, str],
) -> Fate:
    """Return the fate of a directory but for what other directories of its partition make of it."""
    if directory.name.kind == DELETE:
        return DELETE_DIRECTORY
    if directory.name.kind == STRAY:
        return _stray_fate(image, directory, node_id, ids_by_name)
    if directory.name.kind not in {NORMAL, FUTURE} or directory.name.topic == CLUSTER_METADATA:
        return USUAL
    reason = stray_reason(image, directory, node_id)
    if reason is None:
        return USUAL
    rule: Literal["no-topic-id", "not-assigned"]
    rule = "no-topic-id" if directory.topic_id is None else NOT_ASSIGNED
    outcome: FateOutcome = STRAY if release >= DIRECTORY_IDS else WILL_BE_DELETED
    return Fate(outcome, rule, reason, topic_id=ids_by_name.get(directory.name.topic))


def _stray_fate(image: Image, directory: ReplicaDir, node_id: int, ids_by_name: Mapping[str, str]) -> Fate:
    """Return whose replica a -stray directory is of: `LogManager.loadLog` keeps it apart in any case."""
    by_name = ids_by_name.get(directory.name.topic)
    topic_id = directory.topic_id or by_name
    if topic_id in image.topics:
        reason = stray_reason(image, directory._replace(topic_id=topic_id), node_id)
        if reason is not None:
            return Fate(STRAY, FORMER, f"a former replica: {reason}")
        first = "" if directory.topic_id else f"write partition.metadata with topic_id: {topic_id}, "
        reason = f"the metadata assigns the replica to this broker: {first}{RENAME}"
        return Fate(STRAY, LEFT_STRAY, reason, topic_id=topic_id)
    if by_name is not None:
        return Fate(STRAY, FORMER, "a former replica: the metadata has another topic id for the name")
    if any(topic.topic_id == topic_id for topic in image.removed):
        return Fate(STRAY, FORMER, "a former replica: the topic was deleted")
    return UNKNOWN_STRAY


def _key(directory: ReplicaDir) -> TopicPartitionId:
    return directory.topic_id or "", directory.name.partition


def _empty_replicas(
    image: Image,
    node_id: int,
    dirs: Sequence[LogDirId],
    loaded: set[TopicPartitionId],
    release: tuple[int, ...],
) -> Iterable[EmptyReplica]:
    online = {each.directory_id: each.path for each in dirs if each.is_online and each.directory_id}
    has_offline = release >= DIRECTORY_IDS and not all(each.is_online for each in dirs)
    for topic_id, number, state in image.partitions():
        if node_id not in state.replicas or (topic_id, number) in loaded:
            continue
        assigned = state.directory_of(node_id) or MIGRATING
        if has_offline and assigned not in online and assigned != UNASSIGNED:
            continue  # it may lie in the log dir that is offline
        is_only = (node_id,) in {state.replicas, state.isr}
        name = image.topics[topic_id].name
        yield EmptyReplica(name, number, topic_id, assigned, online.get(assigned), is_only)


def is_assigned_elsewhere(replica: EmptyReplica) -> bool:
    """Whether the metadata assigns the replica to a log dir that is none of these: a volume is lost."""
    return replica.log_dir is None and replica.directory_id not in {MIGRATING, UNASSIGNED, LOST}
