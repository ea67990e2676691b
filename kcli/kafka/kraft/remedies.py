"""What a person does about a file that keeps a broker from starting, and the words of server.log about it.

What a broker does without the file decides: one that it can do without is moved away, another is written anew
or copied from a replica. The words are those of `CheckpointFileWithFailureHandler`, `PartitionMetadataFile`,
`MetaPropertiesEnsemble`, `KafkaRaftServer`, `FileQuorumStateStore`, `LogManager` and `FileLogInputStream`.
"""

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress

from formats.names import CLUSTER_METADATA, KRAFT_SNAPSHOT, parse_file, parse_partition_dir
from formats.properties import read_properties
from kcli.kafka.kraft.meta_properties import IO, StartFailure
from kcli.kafka.kraft.metadata_loader import Metadata, metadata_in
from kcli.kafka.storage.log_segment import KAFKA_STORAGE
from kcli.kafka.storage.metadata_log import lacks_snapshot, snapshots
from kcli.logdir.buffers import FileError, decode_optional, shown
from kcli.logdir.log_dirs import (
    BOOTSTRAP,
    CLEAN_SHUTDOWN_FILE,
    HIGH_WATERMARK,
    LOG_START,
    META_PROPERTIES_FILE,
    METADATA_DIRECTORY,
    PARTITION_METADATA_FILE,
    QUORUM_STATE,
    RECOVERY_POINT,
    log_dir_state,
    metadata_log,
)
from kcli.logdir.partition import LEADER_EPOCH_CHECKPOINT
from kcli.logdir.partition_names import first_base, listed

WITHOUT = {
    RECOVERY_POINT: "move it away: after a clean stop nothing is read anew, after another one each log whole",
    LOG_START: "move it away: each log then begins at its first segment, a tiered one at 0, and records that "
    "were deleted in that segment are there again",
    HIGH_WATERMARK: "move it away: each high watermark begins at the log start, and rises as replicas fetch",
    "cleaner-offset-checkpoint": "move it away: the cleaner begins each compacted log anew",
    LEADER_EPOCH_CHECKPOINT: "copy it from another replica, or from the copy that kcli salvage makes of the "
    "batches; without it the log loads, and its followers truncate to their high watermarks",
    QUORUM_STATE: "move it away: the node starts without its vote, in the epoch of its log; let another "
    "voter lead first, as it may vote twice",
    BOOTSTRAP: "move it away where the metadata log has records: no release needs the file then",
}
"""By file, what to do, and what a broker does without it."""

SAME_ID, RESERVED = "is also that of", "is reserved"
NO_NAME, TWICE = "TOPIC-PARTITION|malformed name", "the same partition lies in "
PUT_BACK = (
    "before the start put back __cluster_metadata-0 whole, from another controller or broker of the cluster, "
    "or from a backup; rename back what is -stray already"
)
SMALLEST = r"a batch of (-?\d+) bytes, the smallest has (\d+)"
OTHER_ID = r"\b(cluster|node)\.id is (\S+), expected (\S+)"
NEWER = (
    r"(No MetadataVersion with [a-z ]+ \d+|Unknown metadata id \d+|Can't read version \d+ of \w+|"
    r"Unknown KRaft feature level: \d+)"
)
"""What a release says of what a newer one wrote, and further on what kcli says beside it."""
WRITTEN_BY_NEWER = (
    f"{NEWER}|supports versions up to|has bytes that \\S+ does not read|Unknown control record type|"
    "BrokerMetadata is not consistent"
)
ELSEWHERE = "the metadata log lies here, and {} in the metadata log dir {}"
ANOTHER, NONE = "another", "none"
"""Of a metadata log beside the metadata log dir, with what that has."""
SAID = {
    ELSEWHERE.format(f"(?:{ANOTHER}|{NONE})", "(.+)"): "Found unexpected metadata location in data directory "
    "`{path}` (the configured metadata directory is {0}).",
    r"(\S+) (\d+), and a controller of \S+ supports versions": "Tried to apply FeatureLevelRecord "
    "FeatureLevelRecord(name='{0}', featureLevel={1}), but this controller only supports versions",
    SMALLEST: "Found record size {0} smaller than minimum record overhead ({1}) in file {path}.",
    "^no meta.properties": "No `meta.properties` found in {directory} (have you run `kafka-storage.sh` to "
    "format the directory?)",
    r"\b((?:node|cluster) ID not found)": "Error: {0} in {directory}",
    r"^cluster\.id is (\S+), expected (\S+)": "Invalid cluster.id in: {path}. Expected {1}, but read {0}",
    r"^node\.id is (\S+), expected (\S+)": "Stored node id {0} doesn't match previous node id {1} in {path}.",
    f"^directory.id (\\S+) {SAME_ID} (.+)": "Duplicate directory ID Optional[{0}] found. It was the ID of "
    "{1}, but also of {directory}",
    NEWER: "{0}",
    NO_NAME: "Found directory {path}, '{name}' is not in the form of topic-partition",
    f"{TWICE}(.+)": "Duplicate log directories for {name} are found in both {0} and {path}",
}
"""What kcli says of a failure, and the message of Kafka's exception."""
BY_MESSAGE = {
    WRITTEN_BY_NEWER: "start the release that wrote this, or a newer one: kcli startup --releases names them",
    NO_NAME: "move it out of the log dir",
    "the name does not begin with an offset": "give it its 20 digits back if it belongs here, else move it "
    "elsewhere",
    TWICE: "keep the one with the higher log end (kcli ls), and move the other away",
    ELSEWHERE.format(
        ANOTHER, ""
    ): "move the one with the lower log end (kcli ls) away, of equal ones this copy",
    ELSEWHERE.format(NONE, ""): "set metadata.log.dir back to {directory}; without it the first of log.dirs "
    "counts",
    r"the voters record has directory\.id (\S+) of node": "write directory.id={0} back into meta.properties "
    "of the metadata log dir",
    "is no voter of the voters record": "bring the node's own node.id and log dirs back; a new node: "
    "kafka-metadata-quorum.sh add-controller",
    "of the voters (.+), and the node asks": "set controller.quorum.voters back to {0}; of another cluster "
    "bring the node's own log dirs back",
    "no metadata log, so no voters": f"{PUT_BACK}; of a new quorum format one node --standalone",
    "log dirs of a broker of ZooKeeper": "start a release up to 3.9, and migrate the cluster to KRaft first",
    "no voters record in": "set controller.quorum.voters, as when the quorum began",
    "there is no controller.quorum.voters": "set it as the node had it; a quorum with a voters record "
    "(KIP-853) starts with 3.9 and newer alone",
    "controller.quorum.voters has no node": "add it there, with the nodes that are there",
    "controller.quorum.voters has node": "set the process.roles and the node.id that this node had: a voter "
    "is a controller",
    "there is no process.roles": "set process.roles as the node had it; a broker of ZooKeeper starts with a "
    "release up to 3.9",
    "there is no (node.id|zookeeper.connect)": "set {0} as the node had it",
    "^node.id is .+, and broker.id is": "remove broker.id, or give it the value of node.id",
    "a broker of ZooKeeper that does not migrate": "set process.roles: the log dirs are of a node of KRaft",
}
"""What kcli says of a failure, and what to do, whatever the file is."""
READ_ERROR = "Error while reading {} file {}"
OF_A_READ = {
    **dict.fromkeys(WITHOUT, (KAFKA_STORAGE, "checkpoint")),
    PARTITION_METADATA_FILE: (KAFKA_STORAGE, "partition metadata"),
    META_PROPERTIES_FILE: (IO, "meta.properties"),
}
"""By file the exception after which a line of server.log names it, and what it is called there."""


def with_remedy(failure: StartFailure, log_dirs: Iterable[str] = ()) -> str:
    """Return why a start fails, what server.log says of it, and what to do, where these are known."""
    logged, todo = server_log(failure), remedy(failure, log_dirs)
    log_line = [f"server.log: {logged}"] if logged != failure.exception else []
    return "; ".join([failure.message, *log_line, *([f"to do: {todo}"] if todo else [])])


def server_log(failure: StartFailure) -> str:
    """Return what server.log says of a failure, in Kafka's words where they are known."""
    if failure.says:
        return f"{failure.exception}: {failure.says}"
    directory, name = os.path.split(failure.path)
    exception, noun = OF_A_READ.get(name, ("", ""))
    if noun and failure.exception == exception:
        return READ_ERROR.format(noun, shown(failure.path))
    if name == QUORUM_STATE:
        text = f"Error while reading the Quorum status from the file {shown(failure.path)}"
        return f"{failure.exception}: {text}"
    for pattern, text in SAID.items():
        if match := re.search(pattern, failure.message):
            places = {"path": shown(failure.path), "directory": shown(directory), "name": shown(name)}
            return f"{failure.exception}: {text.format(*match.groups(), **places)}"
    return failure.exception


def remedy(failure: StartFailure, log_dirs: Iterable[str] = ()) -> str | None:
    """Return what to do about a failure's file, where known; `log_dirs` say what a lost file held."""
    directory, name = os.path.split(failure.path)
    for pattern, todo in BY_MESSAGE.items():
        if match := re.search(pattern, failure.message):
            return todo.format(*match.groups(), directory=shown(directory))
    if name in {META_PROPERTIES_FILE, PARTITION_METADATA_FILE}:
        lines = _identity if name == META_PROPERTIES_FILE else _topic_id
        return lines(failure, list(log_dirs))
    if parse_file(name).kind == KRAFT_SNAPSHOT and name not in WITHOUT:
        return _without_snapshot(directory, name)
    if METADATA_DIRECTORY in {name, os.path.basename(directory)} and not name.startswith(QUORUM_STATE):
        is_rebuilt = name == LEADER_EPOCH_CHECKPOINT  # each start recovers the whole log
        return "move it away: the start makes it anew of the batches" if is_rebuilt else PUT_BACK
    if re.search(SMALLEST, failure.message) and name.endswith(".log"):
        marker = os.path.join(os.path.dirname(directory), CLEAN_SHUTDOWN_FILE)
        todo = f"remove {shown(marker)}: recovery then cuts the log there"
        return todo if os.path.lexists(marker) else None
    return WITHOUT.get(name)


def _identity(failure: StartFailure, log_dirs: Sequence[str]) -> str:
    """Return what to do about a meta.properties that is lost, or says something else than the others."""
    if re.search(OTHER_ID, failure.message):
        return "find out whose log dir this is; take one of another broker or cluster out of log.dirs"
    if SAME_ID in failure.message:
        return "take the one that is a copy out of log.dirs; one with other partitions needs an id of its own"
    if failure.message.endswith(RESERVED):
        return "give the log dir another directory.id"
    if all(name is None for _, name in log_dir_state(os.path.dirname(failure.path)).names):
        return "the log dir is empty: bring its volume back; once it is formatted, its replicas begin empty"
    properties: dict[str, str] = {}
    for log_dir in (os.path.dirname(failure.path), *reversed(log_dirs)):
        with suppress(FileError):
            properties |= decode_optional(os.path.join(log_dir, META_PROPERTIES_FILE), read_properties) or {}
    ids = {name: value for name, value in properties.items() if re.fullmatch(r"[\w-]+", value, re.ASCII)}
    node = next((ids[name] for name in ("node.id", "broker.id") if ids.get(name, "").isdigit()), "NODE")
    cluster = ids.get("cluster.id", "CLUSTER, as on other nodes")
    return (
        f"write it anew, with the lines version=1, node.id={node} and cluster.id={cluster}; a broker makes a "
        "new directory.id, and a voter of a dynamic quorum needs the one of its voters record"
    )


def _topic_id(failure: StartFailure, log_dirs: Sequence[str]) -> str:
    """Return what to do about a partition.metadata: the metadata has the topic id of the directory."""
    directory = os.path.dirname(failure.path)
    name = parse_partition_dir(os.path.basename(directory))
    path = metadata_log(os.path.dirname(directory), *log_dirs)
    if name is not None and name.topic == CLUSTER_METADATA:
        return "move it away: the topic id of the metadata log is fixed, and a start writes the file anew"
    answer = None if path is None else metadata_in(os.path.dirname(path))
    topics = answer.image.topics.items() if isinstance(answer, Metadata) and name is not None else ()
    known_id = next((topic_id for topic_id, topic in topics if name and topic.name == name.topic), None)
    return (
        f"write it anew, with the lines version: 0 and topic_id: {known_id or 'ID, as on other replicas'}; "
        "without it the directory becomes -stray"
    )


def _without_snapshot(directory: str, name: str) -> str:
    copy = "copy __cluster_metadata-0 from another node of the quorum"
    with suppress(FileError):
        files, entries = listed(directory)
        start = first_base(files)
        older = snapshots([file for file in (*files, *entries) if file != name], start)
        if not lacks_snapshot(start, older):
            reads = "an older snapshot and the log" if older else "the log from offset 0 on"
            return f"move it away: the broker then reads {reads}; if that fails, {copy}"
    return f"{copy}: no other snapshot reaches the start of the log"
