"""What `LogLoader.load` makes of a partition directory, and then the constructor of `UnifiedLog`.

Step by step, as values. A clean start trusts the files: an index holds as many entries as its length says,
and only the tail of the last segment is read. After an unclean stop every segment from the recovery point on
is checked and rebuilt.
"""

import os
from collections.abc import Callable, Collection
from itertools import pairwise
from typing import TypeAlias

from formats import checkpoint
from formats.errors import FormatError, TruncatedError
from formats.index import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY, OffsetIndexEntry
from formats.names import CLUSTER_METADATA, DELETE, UNKNOWN, parse_file
from formats.properties import read_partition_metadata
from formats.types import TopicPartition
from kcli.kafka.findings.findings import NO_LOG_FILE, OFFSETS_FALL, Finding
from kcli.kafka.storage import leader_epochs, loaded_log, log_segment
from kcli.kafka.storage.leader_epochs import EpochCache
from kcli.kafka.storage.load_findings import NOT_RECOVERED, Reporter
from kcli.kafka.storage.log_segment import BrokerError, LoadedSegment
from kcli.kafka.storage.producer_state import ProducerState, Snapshot, rebuild
from kcli.kafka.storage.surviving_files import PREALLOCATED, Files, TxnIndex, read_aborted, surviving_files
from kcli.logdir.buffers import FileError, file_error, read_optional
from kcli.logdir.log_dirs import PARTITION_METADATA_FILE
from kcli.logdir.partition import LEADER_EPOCH_CHECKPOINT, Partition
from kcli.logdir.partition_names import SILLY_RENAME

SPLIT = "its segment is split"
Configured: TypeAlias = Callable[[Partition], loaded_log.TopicConfig | None]
"""What the configuration of a partition's topic says; None where that is not known."""


class LogLoader:
    """One run of the loader: its fields are the loader's own, changed step by step."""

    def __init__(
        self,
        partition: Partition,
        checkpoints: loaded_log.Checkpoints,
        settings: loaded_log.Settings = loaded_log.UNKNOWN_SETTINGS,
        configured: Configured = lambda _: None,
        *,
        exact: bool,
    ) -> None:
        self.partition = partition
        self.checkpoints = checkpoints
        self.clean = checkpoints.clean
        self.log_start = checkpoints.log_start_offset
        self.settings = loaded_log.METADATA_SETTINGS if partition.topic == CLUSTER_METADATA else settings
        self.configured = configured
        self.exact = exact
        self.reporter = Reporter(partition)
        self.segments: dict[int, LoadedSegment] = {}
        self.recovered: set[int] = set()
        self.header_ends: dict[int, int] = {}
        self.deleted: list[int] = []
        self.emptied = False
        self.epoch_lines, self.epochs = epoch_file(partition)
        self.bytes_read = 0
        self.lost: list[loaded_log.LostBytes] = []
        self.recovered_epochs: EpochCache = ()
        self.epochs_written = False
        self.untrimmed: set[int] = set()
        self.split: list[str] = []
        self.log_end: int | None = None
        self.topic_id: str | None = None

    def load(self) -> loaded_log.LoadedLog:
        """Return the log that the broker would hold; BrokerError where it would not load it, FileError."""
        files = self._surviving_files()
        self._load_segments(files)
        log_end, recovery_point = self._recover_log()
        last = self.segments[max(self.segments)]
        if not self.settings.as_deleted:
            loaded_log.check_fits(last, self.settings)
        self.recovered_epochs = self.epochs
        cache = self._cut_epochs(log_end)
        segments = tuple(self.segments[base] for base in sorted(self.segments))
        first = segments[0].base_offset
        tiered = is_tiered(self.partition, first, self.configured, setting=self.settings.remote_storage)
        if tiered is None:
            self.reporter.report_unknown_start(self.log_start, first)
        start = self.log_start if tiered else max(self.log_start, first)
        self.producers.remove_stray_snapshots([segment.base_offset for segment in segments])
        if self.exact:
            rebuild(self.producers, segments, start, log_end, clean_start=self.clean)
            self._find_first_unstable_offset(segments, start, log_end)
        check_partition_metadata(self.partition)
        split = {name: SPLIT for name in self.split if name in self.partition.names}
        loaded = loaded_log.LoadedLog(
            path=self.partition.path,
            segments=segments,
            epochs=cache,
            log_end_offset=log_end,
            log_start_offset=start,
            recovery_point=max(recovery_point, start, first),
            snapshots_before=tuple(sorted(files.known_snapshots)),
            producers=self.producers,
            deleted=tuple(sorted(self.deleted)),
            findings=tuple(self.reporter.findings),
            clean=self.clean,
            settings=self.settings,
            source=self._source(last),
            checkpoints=self.checkpoints,
            epoch_lines=self.epoch_lines,
            recovered_epochs=self.recovered_epochs,
            emptied=self.emptied,
            is_tiered=bool(tiered),
            files=files._replace(deleted={**files.deleted, **split}),
            recovered=frozenset(self.recovered),
            untrimmed=frozenset(self.untrimmed),
            epochs_written=self.epochs_written,
            bytes_read=self.bytes_read + self.producers.bytes_replayed,
            lost=tuple(self.lost),
        )
        if self.partition.topic != CLUSTER_METADATA:
            return loaded
        from kcli.kafka.storage.metadata_log import at_latest_snapshot

        return at_latest_snapshot(loaded, self.partition.entries, self.reporter)

    def _cut_epochs(self, log_end: int) -> EpochCache:
        """Return the cache between log start and log end; note whether the broker flushes it to its file."""
        cut = leader_epochs.load(self.epochs, log_end, self.log_start)
        ended = self.epochs[: len(self.epochs) - len(cut.past_end)]
        begins_before = any(entry.start_offset <= self.log_start for entry in ended)
        self.epochs_written |= begins_before or bool(cut.past_end)
        return cut.entries

    def inspect(self) -> tuple[Finding, ...]:
        """Return what a start reports of files, and of a clean log's tail, without other batches; errors."""
        files = self._surviving_files()
        if all((base, "index") in files.indexes for base in files.logs):
            self._load_segments(files)
            if self.clean or not files.logs:
                self.log_end, _ = self._recover_log()
        self.topic_id = check_partition_metadata(self.partition)
        return tuple(self.reporter.findings)

    def _surviving_files(self) -> Files:
        """Return the files that the start keeps; the producer state begins with their snapshots."""
        _refuse_foreign(self.partition)
        files = surviving_files(self.partition, self.reporter.findings)
        disk: dict[int, Snapshot] = dict(files.snapshots)
        self.producers = ProducerState(
            disk=disk,
            now_ms=self.settings.now_ms,
            expiration_ms=self.settings.producer_expiration_ms,
            high_watermark=self.checkpoints.high_watermark,
            snapshots=set(files.known_snapshots),
        )
        return files

    def _source(self, last: LoadedSegment) -> str:
        if not self.exact:
            return loaded_log.HEADERS
        is_trusted = self.clean and last.base_offset not in self.recovered
        return loaded_log.INDEX if is_trusted else loaded_log.RECOVERED

    def _find_first_unstable_offset(
        self, segments: tuple[LoadedSegment, ...], start: int, log_end: int
    ) -> None:
        """Look up where the first unstable offset lies, as `UnifiedLog` does; BrokerError."""
        first = self.producers.first_unstable_offset
        if first is None:
            return
        offset = max(first, start)
        for segment in log_segment.segments_from(segments, offset) if offset < log_end else ():
            if log_segment.translate_offset(segment, offset) is not None:
                return

    def _load_segments(self, files: Files) -> None:
        for base in sorted(files.logs):
            log_path, size = files.logs[base]
            time_path, txn_path, offset_path = (
                files.indexes.get((base, kind)) for kind in ("timeindex", "txnindex", "index")
            )
            empty = LoadedSegment(base, log_path, size)
            if offset_path is None:
                self.reporter.report(
                    "IDX-001", "the offset index is missing: the broker recovers this segment first", log_path
                )
                self._load_recovered(empty, files)
                continue
            aborted = read_aborted(txn_path, base) if txn_path else TxnIndex()
            if aborted.outside is not None:
                message = f"an aborted transaction ends below the segment's base offset {base}"
                self.reporter.report("START-004", message, txn_path, aborted.outside)
                self._load_recovered(empty, files)
                continue
            offsets = self._offset_index(offset_path)
            times = log_segment.file_index(TIME_INDEX_ENTRY, time_path)
            self.segments[base] = LoadedSegment(base, log_path, size, offsets, times, aborted.entries)

    def _load_recovered(self, segment: LoadedSegment, files: Files) -> None:
        """Recover a segment when it is loaded."""
        try:
            self._recover(segment)
        except BrokerError as error:
            if error.exception != log_segment.OFFSET_OVERFLOW:
                raise
            self._split(segment, error, [base for base in files.logs if base > segment.base_offset])

    def _offset_index(self, path: str) -> log_segment.Index[OffsetIndexEntry]:
        if path != PREALLOCATED:
            return log_segment.file_index(OFFSET_INDEX_ENTRY, path)
        self._complete_settings()
        return log_segment.memory_index(OFFSET_INDEX_ENTRY, bytes(self.settings.index_size))

    def _complete_settings(self) -> None:
        """Ask for the settings with which a log is recovered; what is given wins over the topic's."""
        if not self.settings.is_completed:
            topic = self.configured(self.partition)
            self.settings = self.settings.completed(topic, self.partition.target.server)

    def _recover(self, segment: LoadedSegment) -> int:
        """Recover one segment, its snapshots stay on disk; return how many bytes are cut."""
        self.recovered.add(segment.base_offset)
        if not self.exact:
            if segment.base_offset in self.header_ends:  # as the file was loaded: it is cut already
                return 0
            from kcli.kafka.storage.recovery import recover_by_headers

            recovered = recover_by_headers(segment, self.epochs, self.reporter)
            done, self.header_ends[segment.base_offset] = recovered
            self.segments[segment.base_offset], self.epochs = done.segment, done.epochs
            return done.truncated
        from kcli.kafka.storage.recovery import recover

        if segment.log_size:
            self._complete_settings()
        state = self.producers.fresh()
        before = [self.segments[base] for base in sorted(self.segments)]
        rebuild(state, before, self.log_start, segment.base_offset, clean_start=False)
        try:
            interval, most = self.settings.index_interval, self.settings.index_size
            done = recover(segment, state, self.epochs, index_interval_bytes=interval, max_index_size=most)
        finally:
            self.bytes_read += state.bytes_replayed + segment.log_size
        state.take_snapshot()
        self.segments[segment.base_offset] = done.segment
        self.epochs_written |= done.epochs != self.epochs
        self.epochs = done.epochs
        if done.falls_at is not None and self.settings.index_interval_bytes is None:
            self.reporter.report("START-015", OFFSETS_FALL, segment.log_path, done.falls_at)
        if done.truncated:
            self.lost.append(loaded_log.LostBytes(segment, done.segment.log_size))
            self.reporter.report_cut(segment, done.segment.log_size, done.truncated, done.reason)
        return done.truncated

    def _split(self, segment: LoadedSegment, error: BrokerError, later: Collection[int]) -> list[int]:
        """Put segments in the place of one in which an offset overflows; return their base offsets.

        `LogLoader.retryOnOffsetOverflow` splits only one that ends with such an offset, else BrokerError.
        FileError where parts are not in order or meet others, `later` ones too: no broker writes that.
        """
        from kcli.kafka.storage.recovery import RecoveryError, overflows, split

        partial = error.segment if isinstance(error, RecoveryError) else None
        if partial is None or not overflows(partial):
            message = f"{error.message}, and the segment cannot be split: its end is in range"
            raise BrokerError(log_segment.ILLEGAL_ARGUMENT, error.path, error.position, message) from error
        self._keep_epochs(error)
        interval, size = self.settings.index_interval, self.settings.index_size
        pieces = split(segment, index_interval_bytes=interval, max_index_size=size)
        bases, base = [piece.base_offset for piece in pieces], segment.base_offset
        is_listed = self.segments.pop(base, None) is not None
        neighbours = {*self.segments, *later}
        if neighbours & {*bases} or bases != sorted({*bases}) or not (is_listed or bases[0] == base):
            message = f"{error.message}: the broker splits the segment, and what follows is not foreseen here"
            raise FileError(error.path, "unsupported", message, error.position) from error
        if is_listed:  # its files go then, those of new ones take their names
            self.split.append(f"{base:020d}.txnindex")
            if base not in bases:
                self.producers.delete_snapshot(base)
        aborted = {} if is_listed else {base: partial.aborted}
        self.segments |= {
            piece.base_offset: piece._replace(aborted=aborted.get(piece.base_offset, ())) for piece in pieces
        }
        self.recovered.update(bases)
        message = f"{error.message}: the start splits it into segments {', '.join(map(str, bases))}"
        self.reporter.report("LOG-018", message, segment.log_path, error.position)
        return bases

    def _recover_log(self) -> tuple[int, int]:
        """Recover after an unclean stop; return the log end offset and the new recovery point."""
        if self.settings.as_deleted:
            if not self.segments:
                self.segments[0] = LoadedSegment(0)
            return 0, 0
        if not self.clean:
            self._recover_unflushed()
        log_end: int | None = None
        if self.segments:
            log_end = self._log_end(self.segments[max(self.segments)])
            if log_end < self.log_start:
                message = f"the log ends at offset {log_end}, below its log start offset {self.log_start}"
                message += ": all segments go"
                self.reporter.report("LOG-006", message, None, expected=self.log_start, found=log_end)
                self.deleted.extend(self.segments)
                self.lost.extend(loaded_log.LostBytes(segment, 0) for segment in self.segments.values())
                self.segments.clear()
                self.epochs, self.epochs_written = (), True
                self.producers.start_at(self.log_start)
                self.emptied = True
                log_end = None
        elif self.partition.state != DELETE:  # a broker removes the files of those one by one
            self.reporter.report("LOG-007", NO_LOG_FILE, None)
        if not self.segments:
            self.segments[self.log_start] = LoadedSegment(self.log_start)
        if log_end is None:
            log_end = self.log_start
        elif self.clean:
            return log_end, log_end
        return log_end, min(self.checkpoints.recovery_point, log_end)

    def _log_end(self, last: LoadedSegment) -> int:
        if last.base_offset in self.header_ends:
            return self.header_ends[last.base_offset]
        tail = log_segment.read_tail(last)
        self.bytes_read += last.log_size - tail.first.position if tail.first else 0
        if last.base_offset not in self.recovered:
            self.reporter.compare_with_scan(last, tail)
        return tail.next_offset

    def _recover_unflushed(self) -> None:
        if not self.exact:
            message = (
                "not stopped cleanly, or running: a start checks the checksums of unflushed segments; here "
                "they were not"
            )
            self.reporter.report(NOT_RECOVERED, message, None)
        following = pairwise((*sorted(self.segments), None))
        unflushed = [base for base, end in following if base is not None and self.checkpoints.recovers(end)]
        while unflushed:
            base, *unflushed = unflushed
            segment = self.segments[base]
            try:
                truncated = self._recover(segment)
            except BrokerError as error:
                if error.exception == log_segment.OFFSET_OVERFLOW:
                    unflushed = [*self._split(segment, error, ()), *unflushed]
                    continue
                if error.exception != log_segment.INVALID_OFFSET:
                    raise
                truncated = self._emptied(segment, error)
            if truncated:
                for later in unflushed:
                    message = f"recovery deletes this segment: the one at {base} was cut"
                    self.reporter.report("START-001", message, self.segments[later].log_path)
                    self.lost.append(loaded_log.LostBytes(self.segments.pop(later), 0))
                    self.producers.delete_snapshot(later)
                self.deleted.extend(unflushed)
                return

    def _emptied(self, segment: LoadedSegment, error: BrokerError) -> int:
        from kcli.kafka.storage.recovery import RecoveryError

        partial = (isinstance(error, RecoveryError) and error.segment) or segment
        self._keep_epochs(error)
        emptied = log_segment.truncate_segment(partial, segment.base_offset)
        self.lost.append(loaded_log.LostBytes(segment, emptied.log_size))
        self.untrimmed.add(segment.base_offset)
        self.segments[segment.base_offset] = emptied
        self.reporter.report(
            "START-001", f"recovery empties this segment: {error.message}", segment.log_path, error.position
        )
        return partial.log_size - emptied.log_size

    def _keep_epochs(self, error: BrokerError) -> None:
        """Keep the epochs that a recovery had assigned when it failed."""
        from kcli.kafka.storage.recovery import RecoveryError

        if isinstance(error, RecoveryError) and error.epochs:
            self.epochs_written |= error.epochs != self.epochs
            self.epochs = error.epochs


def _refuse_foreign(partition: Partition) -> None:
    """Raise FileError for a directory named like a partition that holds only files unknown to Kafka."""
    foreign = [name for name in partition.names if not name.startswith(SILLY_RENAME)]
    if foreign and partition.state != DELETE and all(parse_file(name).kind == UNKNOWN for name in foreign):
        message = "nothing in this directory is a file that Kafka writes"
        raise FileError(partition.path, "not-a-partition", message)


def epoch_file(partition: Partition) -> tuple[tuple[checkpoint.EpochEntry, ...] | None, EpochCache]:
    """Return the lines of leader-epoch-checkpoint (None: no such file) and their cache; BrokerError."""
    path = os.path.join(partition.path, LEADER_EPOCH_CHECKPOINT)
    data = read_optional(path)
    if data is None:
        return None, ()
    try:
        lines = checkpoint.read_leader_epoch_checkpoint(data)
    except FormatError as error:
        exception = checkpoint.java_exception(error)
        if exception == checkpoint.IO_EXCEPTION:
            exception = log_segment.KAFKA_STORAGE
        raise BrokerError(exception, path, error.position, file_error(path, error).message) from error
    try:
        checkpoint.check_epoch_entries(lines, data)
    except FormatError as error:
        raise BrokerError(log_segment.ILLEGAL_ARGUMENT, path, error.position, str(error)) from error
    return tuple(lines), leader_epochs.replay(lines)


def check_partition_metadata(partition: Partition) -> str | None:
    """Return the topic id of partition.metadata, None without; BrokerError where the broker refuses it."""
    path = os.path.join(partition.path, PARTITION_METADATA_FILE)
    data = read_optional(path)
    if data is None:
        return None
    try:
        topic_id = read_partition_metadata(data).topic_id
    except FormatError as error:
        exception = log_segment.KAFKA_STORAGE
        if isinstance(error, TruncatedError):
            exception = "NullPointerException"
        elif error.field.endswith(", topic_id"):
            exception = log_segment.ILLEGAL_ARGUMENT
        raise BrokerError(exception, path, error.position, file_error(path, error).message) from error
    if partition.topic == CLUSTER_METADATA and topic_id != loaded_log.METADATA_TOPIC_ID:
        message = f"topic id {topic_id}, that of {CLUSTER_METADATA} is {loaded_log.METADATA_TOPIC_ID}"
        raise BrokerError("InconsistentTopicIdException", path, None, message)
    return topic_id


def is_tiered(
    partition: Partition, first_base_offset: int, configured: Configured, *, setting: bool | None
) -> bool | None:
    """Whether a log is tiered, by a setting or where that decides about its log start. None: it is not known.

    By the topic's configuration (`UnifiedLog.isRemoteLogEnabled`), unless server.properties switches remote
    storage off. It is asked for where a log start is checkpointed below the first segment, or no checkpoint
    came after a retention; where it is not known the log dir's index cache decides.
    """
    if setting is not None:
        return setting
    facts, name = partition.directory, partition.target.name
    if name is None or partition.target.log_dir is None or not first_base_offset:
        return False
    if partition.target.server.remote_log is False:
        return False
    key, offsets = TopicPartition(name.topic, name.partition), facts.log_start_offsets
    is_below = offsets is not None and offsets.get(key, first_base_offset) < first_base_offset
    if offsets is not None and not is_below:
        return False
    config = configured(partition)
    if config is not None or not is_below:
        return config is not None and config.remote_storage
    return facts.remote_storage or None
