"""The rows of `startup`: what a starting broker does to a partition."""

from typing import Annotated, Final, Literal, NamedTuple

from formats.checkpoint import EpochEntry
from kcli.kafka.storage.file_actions import FileChange
from kcli.rows.declare import row_type
from kcli.rows.partitions import Where

FAILS: Final = "fails"
OFFLINE: Final = "offline"


class StartedProducer(NamedTuple):
    """A producer that the broker remembers.

    Its epoch, its last batch in that epoch (-1 for none), and the first offset of its open transaction (null
    for none).
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    first_open_offset: int | None


class StartupRow(NamedTuple):
    """What a start makes of one partition.

    Where it fails the numbers are null and the lists empty.
    """

    where: Where
    outcome: Annotated[Literal["loads", "fails"], "loads or fails"]
    error: Annotated[str | None, "Kafka's exception where it fails"]
    error_message: Annotated[str | None, "why: file, byte, what is wrong there"]
    clean: Annotated[bool, "whether the broker takes the log as stopped cleanly"]
    log_start_offset: Annotated[int | None, "after the start"]
    log_end_offset: Annotated[int | None, "after the start"]
    recovery_point: Annotated[int | None, "after the start"]
    segments: Annotated[int | None, "after the start"]
    epochs: Annotated[tuple[EpochEntry, ...], "leader epochs after the start"]
    producers: Annotated[tuple[StartedProducer, ...], "producers after the start, by id"]
    files: Annotated[tuple[FileChange, ...], "what becomes of each file once background work is done"]
    bytes_read: Annotated[int | None, "bytes of logs that the start goes through"]
    records_lost: Annotated[
        int | None,
        "records in whole batches that recovery removes, by the headers; null where damage hides the number",
    ]


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


class StartupBrokerRow(NamedTuple):
    """Whether the process starts with its log dirs, and how much it reads first."""

    broker_id: Annotated[int | None, "of meta.properties"]
    cluster_id: Annotated[str | None, "of meta.properties"]
    outcome: Annotated[Literal["starts", "fails"], "starts or fails"]
    error: Annotated[str | None, "Kafka's exception where the process ends"]
    error_message: Annotated[str | None, "why, and where"]
    kafka_version: Annotated[str, "the release that the answer is for"]
    metadata_log_dir: Annotated[str | None, "the log dir without which the process ends"]
    log_dirs: Annotated[tuple[StartedLogDir, ...], "what becomes of each"]
    partitions: Annotated[int, "directories that were asked for"]
    failing_partitions: Annotated[int, "of them, those that do not load"]
    segments: Annotated[int, "segments after the start, of those that load"]
    bytes_read: Annotated[int, "bytes of logs that the start goes through"]
    records_lost: Annotated[int | None, "records that recovery removes; null where damage hides the number"]
    seconds: Annotated[
        float, "estimate: bytes at --read-rate in the slowest log dir, a millisecond a segment"
    ]


STARTUP = row_type("startup", StartupRow)
STARTUP_BROKER = row_type("startup_broker", StartupBrokerRow)
