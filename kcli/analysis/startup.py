"""What a starting broker makes of a partition directory: segments, offsets, epochs, producer snapshots, and what it cuts.

The truth is `LogLoader`, then the constructor of `UnifiedLog`. Nothing is
changed on disk: every deletion, rename and rebuilt index is a value.

A clean start trusts the files: an index holds as many entries as its length
says, and only the tail of the last segment is read. After an unclean stop every
segment from the recovery point on is checked and rebuilt.
"""

import os
from dataclasses import dataclass

from formats.checkpoint import check_epoch_entries, read_leader_epoch_checkpoint
from formats.errors import FormatError
from formats.index import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY, OffsetIndexEntry
from kcli.analysis.directory_files import PREALLOCATED, TXN_ENTRY_SIZE, Files, read_aborted, surviving_files
from kcli.analysis.epochs import EpochCache, replay, truncate_from_end, truncate_from_start
from kcli.analysis.findings import Finding
from kcli.analysis.log_segment import (
    ILLEGAL_ARGUMENT,
    INVALID_OFFSET,
    NO_TIMES,
    BrokerError,
    Index,
    LoadedSegment,
    empty_segment,
    file_index,
    memory_index,
    read_next_offset,
    translate_offset,
    truncate_segment,
)
from kcli.analysis.producers import PRODUCER_EXPIRATION_MS, ProducerState, Snapshot, rebuild
from kcli.analysis.recovery import InvalidOffsetError, Recovered, recover
from kcli.logdir.buffers import read_optional
from kcli.logdir.partition import LEADER_EPOCH_CHECKPOINT, Partition, shown_path

DEFAULT_INDEX_INTERVAL_BYTES = 4096
DEFAULT_MAX_INDEX_SIZE = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the broker's configuration and clock contribute."""

    now_ms: int
    index_interval_bytes: int = DEFAULT_INDEX_INTERVAL_BYTES
    max_index_size: int = DEFAULT_MAX_INDEX_SIZE
    producer_expiration_ms: int = PRODUCER_EXPIRATION_MS
    remote_storage: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedLog:
    """A partition as the broker holds it right after opening it.

    `segments` ascending, never empty. `recovery_point` and `log_start_offset` are the values in memory.
    `snapshots_before` are the producer snapshots on disk before the start, `producers.disk` those after it.
    `findings` tell what the start changes; `deleted` the bases of segments that it deletes.
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

    def bounded(self, high_watermark: int) -> int:
        """Return the high watermark that the broker takes from a checkpointed one: within log start and log end."""
        if high_watermark < self.log_start_offset:
            return self.log_start_offset
        return min(high_watermark, self.log_end_offset)


def load(
    partition: Partition,
    *,
    clean: bool,
    recovery_point: int,
    log_start_offset: int,
    settings: Settings,
) -> LoadedLog:
    """Return the log that the broker would hold after opening this directory.

    `recovery_point` and `log_start_offset` are the checkpointed ones. BrokerError where the broker would not load the
    log; FileError where a file cannot be read.
    """
    return _Loader(partition, clean, recovery_point, log_start_offset, settings).load()


def check_fits(active: LoadedSegment, settings: Settings) -> None:
    """Raise the BrokerError of an active segment whose indexes are longer than the size to which the broker sets them."""
    entries = (active.offset_index.entries, active.time_index.entries)
    for count, entry_size in zip(entries, (OFFSET_INDEX_ENTRY.size, TIME_INDEX_ENTRY.size), strict=True):
        if count > settings.max_index_size // entry_size:
            raise BrokerError(
                ILLEGAL_ARGUMENT,
                active.log_path or "",
                None,
                f"an index of the active segment holds {count} entries, more than segment.index.bytes allows",
            )


class _Loader:
    """One run of the loader: its fields are the loader's own, changed step by step."""

    def __init__(
        self,
        partition: Partition,
        clean: bool,  # noqa: FBT001
        recovery_point: int,
        log_start: int,
        settings: Settings,
    ) -> None:
        self.partition = partition
        self.clean = clean
        self.recovery_point = recovery_point
        self.log_start = log_start
        self.settings = settings
        self.findings: list[Finding] = []
        self.segments: dict[int, LoadedSegment] = {}
        self.deleted: list[int] = []
        self.epochs: EpochCache = self._epoch_file()

    def load(self) -> LoadedLog:
        files = surviving_files(self.partition, self.findings)
        disk: dict[int, Snapshot] = dict(files.snapshots)
        self.producers = ProducerState(
            disk=disk,
            now_ms=self.settings.now_ms,
            expiration_ms=self.settings.producer_expiration_ms,
            known=set(files.known_snapshots),
        )
        self._load_segments(files)
        log_end, recovery_point = self._recover_log()
        last = self.segments[max(self.segments)]
        check_fits(last, self.settings)
        self.epochs = truncate_from_start(truncate_from_end(self.epochs, log_end), self.log_start)
        segments = tuple(self.segments[base] for base in sorted(self.segments))
        start = (
            self.log_start if self.settings.remote_storage else max(self.log_start, segments[0].base_offset)
        )
        self.producers.remove_stray_snapshots([segment.base_offset for segment in segments])
        rebuild(self.producers, segments, start, log_end, clean_start=self.clean)
        self._find_first_open_transaction(segments, start, log_end)
        local_start = max(start, segments[0].base_offset)
        return LoadedLog(
            path=self.partition.path,
            segments=segments,
            epochs=self.epochs,
            log_end_offset=log_end,
            log_start_offset=start,
            recovery_point=max(recovery_point, local_start),
            snapshots_before=tuple(sorted(files.known_snapshots)),
            producers=self.producers,
            deleted=tuple(sorted(self.deleted)),
            findings=tuple(self.findings),
            clean=self.clean,
            settings=self.settings,
        )

    def _find_first_open_transaction(
        self, segments: tuple[LoadedSegment, ...], start: int, log_end: int
    ) -> None:
        """Look up where the oldest open transaction begins, as `UnifiedLog` does; BrokerError where that fails."""
        if not self.producers.ongoing:
            return
        offset = max(min(self.producers.ongoing), start)
        floor = max(
            (segment.base_offset for segment in segments if segment.base_offset <= offset), default=offset
        )
        for segment in segments:
            if (
                offset < log_end
                and segment.base_offset >= floor
                and translate_offset(segment, offset) is not None
            ):
                return

    def _epoch_file(self) -> EpochCache:
        path = os.path.join(self.partition.path, LEADER_EPOCH_CHECKPOINT)
        data = read_optional(path) or b""
        try:
            lines = read_leader_epoch_checkpoint(data)
        except FormatError as error:
            raise BrokerError("KafkaStorageException", path, error.position, str(error)) from error
        try:
            check_epoch_entries(lines, data)
        except FormatError as error:
            raise BrokerError(ILLEGAL_ARGUMENT, path, error.position, str(error)) from error
        return replay(lines)

    def _load_segments(self, files: Files) -> None:
        for base in sorted(files.logs):
            log_path, size = files.logs[base]
            time_path, txn_path, offset_path = (
                files.indexes.get((base, kind)) for kind in ("timeindex", "txnindex", "index")
            )
            empty = LoadedSegment(base, log_path, size)
            if offset_path is None:
                self._tell(
                    "IDX-001", "the offset index is missing: the broker recovers this segment first", log_path
                )
                self._recovered(empty)
                continue
            aborted = read_aborted(txn_path) if txn_path else ()
            if any(last < base for last in aborted):
                self._tell(
                    "START-004",
                    f"an aborted transaction ends below the segment's base offset {base}",
                    txn_path,
                    [last < base for last in aborted].index(True) * TXN_ENTRY_SIZE,
                )
                self._recovered(empty)
                continue
            self.segments[base] = LoadedSegment(
                base,
                log_path,
                size,
                self._offset_index(offset_path),
                file_index(TIME_INDEX_ENTRY, time_path) if time_path else NO_TIMES,
                aborted,
            )

    def _offset_index(self, path: str) -> Index[OffsetIndexEntry]:
        if path != PREALLOCATED:
            return file_index(OFFSET_INDEX_ENTRY, path)
        return memory_index(OFFSET_INDEX_ENTRY, bytes(self.settings.max_index_size))

    def _tell(self, code: str, message: str, path: str | None, position: int | None = None) -> None:
        file = shown_path(self.partition, path) if path else None
        self.findings.append(Finding(code, message, dir=self.partition.shown, file=file, position=position))

    def _recovered(self, segment: LoadedSegment) -> Recovered:
        """Recover one segment, keep it, and leave its producer snapshots on disk."""
        state = self.producers.fresh()
        before = [self.segments[base] for base in sorted(self.segments)]
        rebuild(state, before, self.log_start, segment.base_offset, clean_start=False)
        done = recover(
            segment,
            state,
            self.epochs,
            index_interval_bytes=self.settings.index_interval_bytes,
            max_index_size=self.settings.max_index_size,
        )
        state.take_snapshot()
        self.segments[segment.base_offset] = done.segment
        self.epochs = done.epochs
        if done.truncated:
            why = done.reason.message if done.reason else "the log ends in an incomplete batch"
            position = done.segment.log_size
            self._tell(
                "START-001", f"recovery cuts {done.truncated} bytes: {why}", segment.log_path, position
            )
        return done

    def _recover_log(self) -> tuple[int, int]:
        """Recover after an unclean stop; return the log end offset and the new recovery point."""
        if not self.clean:
            self._recover_unflushed()
        log_end: int | None = None
        if self.segments:
            log_end = read_next_offset(self.segments[max(self.segments)])
            if log_end < self.log_start:
                self._tell(
                    "LOG-006",
                    f"the log ends at offset {log_end}, below its log start offset {self.log_start}: all segments go",
                    None,
                )
                self.deleted.extend(self.segments)
                self.segments.clear()
                self.epochs = ()
                self.producers.start_at(self.log_start)
                log_end = None
        if not self.segments:
            self.segments[self.log_start] = empty_segment(self.log_start)
        if log_end is None:
            log_end = self.log_start
        elif self.clean:
            return log_end, log_end
        return log_end, min(self.recovery_point, log_end)

    def _recover_unflushed(self) -> None:
        bases = sorted(self.segments)
        floor = max((base for base in bases if base <= self.recovery_point), default=None)
        unflushed = [base for base in bases if floor is None or base >= floor]
        for number, base in enumerate(unflushed):
            segment = self.segments[base]
            try:
                truncated = self._recovered(segment).truncated
            except BrokerError as error:
                if error.exception != INVALID_OFFSET:
                    raise
                truncated = self._emptied(segment, error)
            if truncated:
                rest = unflushed[number + 1 :]
                for later in rest:
                    self._tell(
                        "START-002",
                        f"recovery deletes this segment: the one at {base} was cut",
                        self.segments[later].log_path,
                    )
                    del self.segments[later]
                    self.producers.delete_snapshot(later)
                self.deleted.extend(rest)
                return

    def _emptied(self, segment: LoadedSegment, error: BrokerError) -> int:
        partial = error.segment if isinstance(error, InvalidOffsetError) and error.segment else segment
        if isinstance(error, InvalidOffsetError):
            self.epochs = error.epochs or self.epochs
        emptied = truncate_segment(partial, segment.base_offset)
        self.segments[segment.base_offset] = emptied
        self._tell(
            "START-001", f"recovery empties this segment: {error.message}", segment.log_path, error.position
        )
        return partial.log_size - emptied.log_size
