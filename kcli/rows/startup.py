"""The rows of `startup`: what a starting broker does to a partition."""

from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

from formats.checkpoint import EpochEntry
from kcli.kafka.storage.file_actions import FileChange

LOADS: Final = "loads"
FAILS: Final = "fails"
CREATED_EMPTY: Final = "created-empty"
NOT_STARTED: Final = "not-started"
OFFLINE: Final = "offline"
BROKER_STARTS: Final = "starts"
DEGRADED: Final = "starts-degraded"
WAITS: Final = "waits"
ReplicaOutcome: TypeAlias = Literal[
    "loads", "fails", "stray", "deleted", "future-promoted", "created-empty", "not-started"
]
BrokerOutcome: TypeAlias = Literal["starts", "starts-degraded", "fails", "waits"]


class StartedProducer(NamedTuple):
    """A producer: its epoch, last batch in it (-1: none), start of its open transaction (null: none)."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    first_open_offset: int | None


class StartedWhere(NamedTuple):
    """The partition that a row is about, and its directory: none of a replica that begins empty."""

    dir: Annotated[str | None, "partition directory, as reached from the argument; null: none is here"]
    broker_id: Annotated[int | None, "of meta.properties"]
    cluster_id: Annotated[str | None, "of meta.properties"]
    topic: Annotated[str | None, "from the directory's name"]
    partition: Annotated[int | None, "from the directory's name"]


class StartupRow(NamedTuple):
    """What a start makes of one replica; where it fails numbers are null and lists empty."""

    where: StartedWhere
    outcome: Annotated[
        ReplicaOutcome,
        "loads, fails, stray (renamed to -stray, or so already), deleted, future-promoted (the -future log "
        "becomes the current one), created-empty (assigned, and not here), not-started (its log dir or the "
        "process ends before)",
    ]
    error: Annotated[str | None, "Kafka's exception where it fails"] = None
    error_message: Annotated[str | None, "why: file, byte, what is wrong there"] = None
    clean: Annotated[bool, "whether the broker takes the log as stopped cleanly"] = False
    log_start_offset: Annotated[int | None, "after the start"] = None
    log_end_offset: Annotated[int | None, "after the start"] = None
    recovery_point: Annotated[int | None, "after the start"] = None
    segments: Annotated[int | None, "after the start"] = None
    epochs: Annotated[tuple[EpochEntry, ...], "leader epochs after the start"] = ()
    producers: Annotated[tuple[StartedProducer, ...], "producers after the start, by id"] = ()
    files: Annotated[tuple[FileChange, ...], "what becomes of each file once background work is done"] = ()
    bytes_read: Annotated[int | None, "bytes of logs that the start goes through"] = None
    records_lost: Annotated[
        int | None,
        "records of data that this broker cannot give afterwards, by the headers of whole batches; null "
        "where damage hides the number; 0 of a former replica in a -stray directory",
    ] = None
    metadata_path: Annotated[
        str | None, "the metadata log that decides; null: none is here, and the outcome is the log's own"
    ] = None
    reason: Annotated[
        str | None, "why it is stray, deleted, promoted, empty or not started, or records_lost is not known"
    ] = None


class StartedLogDir(NamedTuple):
    """What becomes of one log dir: online, or offline with the reason; of its partitions those asked for."""

    dir: str
    directory_id: str | None
    outcome: Literal["online", "offline"]
    error: str | None
    error_message: str | None
    clean: bool
    partitions: int
    failing_partitions: int
    segments: int
    bytes_read: int
    bytes_needed: int


class StartupBrokerRow(NamedTuple):
    """Whether the process starts with its log dirs, and how much it reads first."""

    broker_id: Annotated[int | None, "of meta.properties"]
    cluster_id: Annotated[str | None, "of meta.properties"]
    outcome: Annotated[
        BrokerOutcome, "starts, starts-degraded (without some log dirs), fails, or waits (is never ready)"
    ]
    error: Annotated[str | None, "Kafka's exception where the process ends"]
    error_message: Annotated[str | None, "why, and where"]
    reason: Annotated[str | None, "why it does not start as usual, in one sentence"]
    cause_path: Annotated[str | None, "the file or directory that is the cause"]
    server_log: Annotated[str | None, "what server.log says then; null where it starts as usual, or waits"]
    remedy: Annotated[str | None, "what to do before the start; null where that depends on more"]
    metadata_path: Annotated[str | None, "the metadata log that decides; null: none is here"]
    partitions_by_outcome: Annotated[dict[str, Any], "replicas by outcome"]
    kafka_version: Annotated[str, "the release that the answer is for"]
    metadata_log_dir: Annotated[str | None, "the log dir without which the process ends"]
    log_dirs: Annotated[tuple[StartedLogDir, ...], "what becomes of each"]
    partitions: Annotated[int, "directories that were asked for"]
    failing_partitions: Annotated[int, "of them, those that do not load"]
    segments: Annotated[int, "segments after the start, of those that load"]
    bytes_read: Annotated[int, "bytes of logs that the start goes through"]
    bytes_needed: Annotated[
        int,
        "bytes of disk that the start takes for indexes, snapshots and checkpoints that it writes, at least: "
        "what brokers and clients write then comes on top, and preallocated indexes are sparse",
    ]
    records_lost: Annotated[int | None, "of all replicas; null where damage hides the number"]
    seconds: Annotated[
        float, "estimate: bytes at --read-rate in the slowest log dir, a millisecond a segment"
    ]
    voters: Annotated[tuple[int, ...], "of its quorum, where it starts"] = ()
    electable: Annotated[
        bool | None, "whether it can lead with the voters here; null where others must tell, and for no voter"
    ] = None


class StartupReleaseRow(NamedTuple):
    """What a release makes of the log dirs and the metadata of a broker, before it reads a partition."""

    broker_id: Annotated[int | None, "of meta.properties"]
    cluster_id: Annotated[str | None, "of meta.properties"]
    kafka_version: Annotated[str, "the release that starts"]
    outcome: Annotated[BrokerOutcome, "starts, starts-degraded, fails or waits"]
    error: Annotated[str | None, "Kafka's exception where the process ends"]
    reason: Annotated[str | None, "why"]
    cause_path: Annotated[str | None, "the file or directory that is the cause"]
    metadata_path: Annotated[str | None, "the metadata log that decides; null: none is here"]
