"""A partition as the broker holds it right after opening it, and what it is opened with."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from formats.checkpoint import EpochEntry
from formats.index import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY
from formats.names import CLUSTER_METADATA
from formats.types import TopicPartition
from kcli.kafka.findings.findings import Finding
from kcli.kafka.storage import log_segment
from kcli.kafka.storage.leader_epochs import EpochCache
from kcli.kafka.storage.log_segment import LoadedSegment
from kcli.kafka.storage.producer_state import ProducerState
from kcli.kafka.storage.surviving_files import Files
from kcli.logdir.buffers import FileError
from kcli.logdir.partition import Partition
from kcli.logdir.targets import PRODUCER_EXPIRATION_MS, Server

DEFAULT_INDEX_INTERVAL_BYTES = 4096
DEFAULT_MAX_INDEX_SIZE = 10 * 1024 * 1024

METADATA_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"

INDEX, RECOVERED, HEADERS, GIVEN = "index", "recovered", "headers", "given"
"""Where a log end offset comes from: the last index entry and the tail after it.

Recovery, by checksums or by headers alone; the user.
"""


class TopicConfig(NamedTuple):
    """What the configuration of a topic says; None for a setting that it leaves to the broker."""

    index_interval_bytes: int | None = None
    segment_index_bytes: int | None = None
    remote_storage: bool = False
    is_compacted: bool = False


class Settings(NamedTuple):
    """What the broker's configuration and clock contribute.

    `index_interval_bytes`, `max_index_size` (segment.index.bytes): None where unknown; any index fits then.
    `remote_storage`: whether the topic is tiered, None: as its log dir says. `as_deleted`: without recovery,
    and log end 0. `is_completed`: what is None is not known, and need not be asked for.
    """

    now_ms: int = 0
    index_interval_bytes: int | None = None
    max_index_size: int | None = None
    producer_expiration_ms: int = PRODUCER_EXPIRATION_MS
    remote_storage: bool | None = None
    as_deleted: bool = False
    is_completed: bool = False

    def completed(self, topic: TopicConfig | None, server: Server) -> "Settings":
        """Return the same with the indexes' settings of a topic, else of the broker; what is given wins."""
        config = topic or TopicConfig()
        intervals = (self.index_interval_bytes, config.index_interval_bytes, server.index_interval_bytes)
        sizes = (self.max_index_size, config.segment_index_bytes, server.segment_index_bytes)
        return self._replace(
            index_interval_bytes=next((interval for interval in intervals if interval is not None), None),
            max_index_size=next((size for size in sizes if size is not None), None),
            is_completed=True,
        )

    @property
    def index_interval(self) -> int:
        """How many bytes of a log the broker indexes with one entry; by default as Kafka's."""
        interval = self.index_interval_bytes
        return DEFAULT_INDEX_INTERVAL_BYTES if interval is None else interval

    @property
    def index_size(self) -> int:
        """The size in bytes to which the broker sets a new index."""
        return DEFAULT_MAX_INDEX_SIZE if self.max_index_size is None else self.max_index_size

    def may_fill_index(self, log_bytes: int) -> bool:
        """Whether recovery of so many bytes may fill the time index, which has the fewest entries."""
        most_entries = log_bytes // (self.index_interval + 1)
        return most_entries >= self.index_size // TIME_INDEX_ENTRY.size - 1


UNKNOWN_SETTINGS = Settings()
METADATA_SETTINGS = Settings(
    index_interval_bytes=DEFAULT_INDEX_INTERVAL_BYTES,
    max_index_size=DEFAULT_MAX_INDEX_SIZE,
    remote_storage=False,
    is_completed=True,
)
"""Those of KRaft's metadata log, whatever the broker's configuration says (`KafkaRaftLog.createLog`)."""


class Checkpoints(NamedTuple):
    """What the files of the log dir say about a partition: how the broker stopped, its offsets."""

    clean: bool
    recovery_point: int
    log_start_offset: int
    high_watermark: int | None

    def recovers(self, following: int | None) -> bool:
        """Whether a start recovers a segment, given the next base offset or None (`LogLoader.recoverLog`)."""
        return not self.clean and (following is None or following > self.recovery_point)


class LostBytes(NamedTuple):
    """What recovery removes of a segment: its bytes from a position on."""

    segment: LoadedSegment
    position: int


class LoadedLog(NamedTuple):
    """A partition as the broker holds it right after opening it.

    `segments` ascending, never empty. `recovery_point`, `log_start_offset`: in memory; `source`: of the log
    end. `epoch_lines`: of leader-epoch-checkpoint (None: no file), `recovered_epochs`: after recovery, before
    both ends cut them, `epochs_written`: to the file, anew. `snapshots_before`: on disk before the start,
    `producers.disk` after it. `files`: kept, before they are loaded. `findings`: what the start changes;
    `deleted`: base offsets; `emptied`: all, as the log ends below its start. `recovered`: base offsets,
    `untrimmed`: of those whose indexes are left as they are, `lost`: what recovery removes, `bytes_read`: of
    logs. `high_watermark`: where the start itself sets it.
    """

    path: str
    segments: tuple[LoadedSegment, ...]
    epochs: EpochCache
    log_end_offset: int
    log_start_offset: int
    recovery_point: int
    snapshots_before: tuple[int, ...]
    producers: ProducerState
    deleted: tuple[int, ...]
    findings: tuple[Finding, ...]
    clean: bool
    settings: Settings
    source: str
    checkpoints: Checkpoints
    epoch_lines: tuple[EpochEntry, ...] | None
    recovered_epochs: EpochCache
    emptied: bool
    is_tiered: bool
    files: Files
    recovered: frozenset[int]
    untrimmed: frozenset[int]
    epochs_written: bool
    bytes_read: int
    lost: tuple[LostBytes, ...]
    high_watermark: int | None = None

    @property
    def local_log_start_offset(self) -> int:
        """The first offset on local disk: above the log start offset only in a tiered log."""
        return max(self.log_start_offset, self.segments[0].base_offset)

    @property
    def has_log(self) -> bool:
        """Whether there was a segment to load."""
        return bool(self.deleted) or any(segment.log_path is not None for segment in self.segments)

    @property
    def known_high_watermark(self) -> int | None:
        """The high watermark that the broker begins with; None where no file has one."""
        if self.high_watermark is not None or self.checkpoints.high_watermark is None:
            return self.high_watermark
        return self.bounded(self.checkpoints.high_watermark)

    def bounded(self, high_watermark: int) -> int:
        """Return the high watermark that the broker takes from a checkpointed one: within the log."""
        if high_watermark < self.log_start_offset:
            return self.log_start_offset
        return min(high_watermark, self.log_end_offset)


def checkpointed(offsets: Mapping[TopicPartition, int] | None, partition: Partition) -> int | None:
    """Return a partition's offset in a checkpoint file of its log dir; None where no line names it."""
    if offsets is None or partition.topic is None or partition.number is None:
        return None
    return offsets.get(TopicPartition(partition.topic, partition.number))


def checkpoints(partition: Partition) -> Checkpoints:
    """Return what the log dir says about a partition.

    Without one it counts as stopped cleanly, unless the indexes of its last segment are preallocated: earlier
    ones were flushed. KRaft recovers the metadata log from its beginning at every start.
    """
    facts, high_watermark = partition.directory, checkpointed(partition.directory.high_watermarks, partition)
    if partition.topic == CLUSTER_METADATA:
        return Checkpoints(clean=False, recovery_point=0, log_start_offset=0, high_watermark=high_watermark)
    if partition.topic is None or partition.target.log_dir is None:
        left_open = _left_open(partition)
        return Checkpoints(left_open is None, left_open or 0, 0, None)
    recovery_point = checkpointed(facts.recovery_points, partition) or 0
    log_start = checkpointed(facts.log_start_offsets, partition) or 0
    return Checkpoints(facts.clean_shutdown, recovery_point, log_start, high_watermark)


def _left_open(partition: Partition) -> int | None:
    """Return the base offset of the last segment if an index of it ends with zeros; None if none does."""
    for segment in partition.segments[-1:]:
        for layout, extension in ((OFFSET_INDEX_ENTRY, "index"), (TIME_INDEX_ENTRY, "timeindex")):
            with suppress(FileError):  # the start says what is wrong with the file
                index: log_segment.Index[Any] = log_segment.file_index(layout, segment.path(extension))
                if log_segment.has_zero_tail(index):
                    return segment.base_offset
    return None


def check_fits(active: LoadedSegment, settings: Settings) -> None:
    """Raise the BrokerError of an active segment whose indexes are longer than segment.index.bytes."""
    if settings.max_index_size is None:
        return
    for index in (active.offset_index, active.time_index):
        if index.entries > settings.max_index_size // index.layout.size:
            message = f"an index of the active segment holds {index.entries} entries"
            message += ", more than segment.index.bytes allows"
            raise log_segment.BrokerError(log_segment.ILLEGAL_ARGUMENT, active.log_path or "", None, message)
