"""What the first published metadata image makes of each partition directory, and which replicas begin empty.

The truth is `BrokerMetadataPublisher.initializeManagers`: `LogManager.loadLogs` with its test for stray logs
(`isStrayReplica`; before 3.7 `BrokerMetadataPublisher.findStrayPartitions`), `recoverAbandonedFutureLogs`,
then `Partition.createLogInAssignedDirectoryId` for what the image assigns.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from formats.names import CLUSTER_METADATA, DELETE, FUTURE, NORMAL, PartitionDir
from kcli.kafka.kraft.meta_properties import BrokerStart, Version
from kcli.kafka.kraft.metadata_image import LOST, MIGRATING, UNASSIGNED, Image
from kcli.kafka.kraft.replica_fates import (
    DIRECTORY_IDS,
    EMPTIED,
    FORMER,
    LEFT_STRAY,
    NO_TOPIC_ID,
    NOT_ASSIGNED,
    RENAME,
    REPLACED,
    STRAY,
    TAKES_PLACE,
    UNKNOWN_STRAY,
    USUAL,
    WILL_BE_DELETED,
    Fate,
    FateOutcome,
)
from kcli.logdir.buffers import FileError, shown
from kcli.logdir.log_dirs import LogDirState
from kcli.logdir.partition import Partition
from kcli.logdir.targets import PARTITION, Target

PROMOTED: Final = "future-promoted"

TopicPartitionId: TypeAlias = tuple[str, int]
"""Topic id and partition."""


class ReplicaDir(NamedTuple):
    """A directory of a partition in a log dir, with the topic id of its partition.metadata, None without.

    `is_by_name`: before 3.7 a log without one gets the topic id of its name.
    """

    path: str
    log_dir: str
    name: PartitionDir
    topic_id: str | None
    is_by_name: bool


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


BECOMES_CURRENT = (
    "the metadata assigns the partition to this log dir: the -future log becomes the current one"
)
DELETES_CURRENT = "the broker deletes the log: the metadata assigns the log dir of its -future one"
TRUNCATES_FUTURE = (
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
    image: Image, node_id: int, release: Version, dirs: Sequence[LogDirState], start: BrokerStart
) -> Fates:
    """Return what a start of a release makes of the directories of a broker with these log dirs."""
    ids_by_name = {topic.name: topic_id for topic_id, topic in image.topics.items()}
    replicas = [*_replica_dirs(dirs, start, release, ids_by_name)]
    by_path = {each.path: _own_fate(image, each, node_id, release, ids_by_name) for each in replicas}
    usual = [each for each in replicas if by_path[each.path] is USUAL]
    current = {_key(each): each for each in usual if each.name.kind == NORMAL}
    strays = {}
    for each in replicas:
        fate = by_path[each.path]
        if fate.rule == LEFT_STRAY and fate.topic_id is not None:
            key = fate.topic_id, each.name.partition
            strays[key] = each.path
            if key in current:
                reason = f"{fate.reason}, once the one of this name is moved away"
                by_path[each.path] = fate._replace(reason=reason, replaced_by=current[key].path)
    by_path |= {each.path: USUAL._replace(topic_id=each.topic_id) for each in usual if each.is_by_name}
    ids = {state.path: state.meta.directory_id for state in dirs if state.meta is not None}
    future = [each for each in usual if each.name.kind == FUTURE]
    for each in future:
        assigned = image.topics[each.topic_id or ""].partitions[each.name.partition].directory_of(node_id)
        replaced = current.get(_key(each))
        if release >= DIRECTORY_IDS and assigned is not None and assigned == ids.get(each.log_dir):
            reason = BECOMES_CURRENT
            if replaced is not None:
                reason += f", and {shown(replaced.path)} is deleted"
                of_replaced = f"{DELETES_CURRENT}: {shown(each.path)}"
                by_path[replaced.path] = Fate(WILL_BE_DELETED, REPLACED, of_replaced, each.path)
            by_path[each.path] = Fate(PROMOTED, TAKES_PLACE, reason)
        elif replaced is None:
            by_path[each.path] = Fate(WILL_BE_DELETED, EMPTIED, TRUNCATES_FUTURE)
    used = [state for state in dirs if state.path not in start.offline]
    online = {state.meta.directory_id: state.path for state in used if state.meta and state.meta.directory_id}
    has_offline = release >= DIRECTORY_IDS and len(used) < len(dirs)
    loaded = {*current, *map(_key, future)}
    empty = _empty_replicas(image, node_id, loaded, online, has_offline=has_offline)
    begun = (replica._replace(stray=strays.get((replica.topic_id, replica.partition))) for replica in empty)
    return Fates(by_path, tuple(begun))


def _replica_dirs(
    dirs: Sequence[LogDirState], start: BrokerStart, release: Version, ids_by_name: Mapping[str, str]
) -> Iterator[ReplicaDir]:
    """Yield the directories of replicas; one whose topic id cannot be read by its name, as its start says."""
    for log_dir in dirs:
        root = log_dir.path
        is_loaded = start.loads(root) if release >= DIRECTORY_IDS else root not in start.offline
        for name, parsed in log_dir.names if is_loaded else ():
            if parsed is not None:
                path = os.path.join(root, name)
                target = Target(kind=PARTITION, path=path, shown=shown(path), name=parsed, log_dir=root)
                try:
                    topic_id = Partition(target).topic_id()
                except FileError:
                    topic_id = ids_by_name.get(parsed.topic)
                is_by_name = topic_id is None and release < DIRECTORY_IDS
                topic_id = ids_by_name.get(parsed.topic) if is_by_name else topic_id
                yield ReplicaDir(path, root, parsed, topic_id, is_by_name)


def _own_fate(
    image: Image,
    directory: ReplicaDir,
    node_id: int,
    release: Version,
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
    rule = NO_TOPIC_ID if directory.topic_id is None else NOT_ASSIGNED
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
    loaded: set[TopicPartitionId],
    online: Mapping[str, str],
    *,
    has_offline: bool,
) -> Iterator[EmptyReplica]:
    """Yield the replicas that are not `loaded`; `online`: log dirs by their ids."""
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
