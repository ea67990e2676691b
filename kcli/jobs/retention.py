"""`retention`: what a broker's next look deletes of each log, why the rest stays, and what the cleaner does.

Headers and indexes are read; records alone where a timestamp lies ahead of the clock, or a cleaning has
stamped a batch with the time at which its tombstones go.
"""

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any, NamedTuple

from formats.batch import (
    CONTROL_MASK,
    DELETE_HORIZON_MASK,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
)
from formats.bounds import LARGEST_BATCH
from formats.index import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY
from formats.magic import is_legacy, read_header, record_count
from formats.names import CLUSTER_METADATA, NORMAL
from formats.record import Record
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.checkpoint import CLEANER, cleaner_point
from kcli.jobs.common import Yield, answer, where
from kcli.jobs.log_search import failing_lookup, read_records
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.log_config import LogConfig, log_config
from kcli.kafka.kraft.metadata_loader import cluster_image, undecodable_findings
from kcli.kafka.kraft.partition_start import RECOVERED_BYTES, start, unflushed_bytes
from kcli.kafka.storage.cleaner import (
    BY_LAG,
    BY_TRANSACTION,
    Cleanable,
    CleanerBounds,
    CleanerSettings,
    find_cleanable,
)
from kcli.kafka.storage.loaded_log import LoadedLog, Settings
from kcli.kafka.storage.log_segment import (
    BrokerError,
    LoadedSegment,
    file_batches,
    header,
    last_offset,
    read_tail,
    segments_from,
    translate_offset,
)
from kcli.kafka.storage.retention import (
    LARGEST_TIME,
    OLDER_STAYS,
    WITHIN_LIMITS,
    DeletionBounds,
    LocalSegment,
    LocalVerdict,
    delete_old_segments,
    local_segments,
    newest_timestamp,
)
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.log_dirs import HIGH_WATERMARK, is_running, version_of
from kcli.logdir.partition import Partition, shown_path
from kcli.logdir.segment import Batch
from kcli.logdir.targets import Target
from kcli.rows.retention import FutureTimestamp, RetentionPartitionRow, RetentionRow
from kcli.words import ONE_YEAR, duration

INHERIT = -2
"""As local.retention.ms or local.retention.bytes: that of the whole log."""
SHOWN_FUTURE = 10
"""Records ahead of the clock that a row names."""
ALLOWED_AHEAD_MS = 3_600_000
"""How far ahead of the clock a broker lets a timestamp be (message.timestamp.after.max.ms)."""
LONGEST_TRANSACTION_MS = 900_000
"""transaction.max.timeout.ms."""
PATIENCE_MS = 3_600_000
"""For how long a log may be due before the cleaner is suspected: it looks every 15 s."""
NS_OF_MS = 1_000_000
AHEAD, KEEPING, BLOCKED = LATE = ("LOG-027", "LOG-028", "LOG-029")
"""Timestamps ahead of the clock, those that keep segments, and what stops the cleaner."""
CLEANER_STOPPED, FAILED = "cleaner-stopped", "cleaning-failed"
"""Why a log that is due is not cleaned."""
HORIZON = DELETE_HORIZON_MASK
STAMPED = DELETE_HORIZON_MASK | CONTROL_MASK


class RetentionQuery(NamedTuple):
    """The time of the look in ms; the broker's server.properties, and settings that go before all others."""

    now_ms: int
    server: Mapping[str, str] = {}
    given: Mapping[str, str] = {}


class Ends(NamedTuple):
    """The first batch of a segment and its first record's timestamp, -1 for none; its last batch's end."""

    first_offset: int | None = None
    first_timestamp: int = NO_TIMESTAMP
    first_batch_time: int = NO_TIMESTAMP
    last_offset: int | None = None


def retention(unit: Unit, *, query: RetentionQuery) -> Outcome:
    """Return a row for the log of a partition, and one for each segment in the order of the log.

    The unit's further targets are the directories of `__remote_log_metadata`: a segment of a tiered topic
    stays until it is copied.
    """
    return answer(unit, lambda partition: _retention(partition, unit.targets[1:], query))


def _retention(partition: Partition, metadata: tuple[Target, ...], query: RetentionQuery) -> Yield:
    if partition.topic == CLUSTER_METADATA:  # its snapshots decide
        return
    yield from undecodable_findings(partition.target)
    config = config_of(partition, query)
    held = yield from hold(partition, config, query.now_ms)
    loaded = held.loaded
    verdicts = held.verdicts(metadata)
    ends = [ends_of(segment) for segment in loaded.segments]
    row = held.row(verdicts, ends[-1])
    point = None
    if "compact" in config.policy:
        point = yield from cleaner_point(partition)
        row = held.with_cleaner(row, point, ends)
    yield row
    for verdict, segment, end in zip(verdicts, loaded.segments, ends, strict=True):
        yield _row(row, verdict, end, segment, is_active=segment is loaded.segments[-1])
    yield from held.findings(verdicts, point, ends)


def findings(unit: Unit, query: RetentionQuery, *, of_compacted: bool) -> list[Finding]:
    """Return what keeps segments of a partition, or its cleaner, for longer than the settings say.

    Of those whose policy has `compact`, or of the others alone; of a log that cannot be read there are none.
    """

    def look(partition: Partition) -> Yield:
        config = config_of(partition, query)
        is_here = partition.topic != CLUSTER_METADATA and partition.state == NORMAL
        if not is_here or ("compact" in config.policy) != of_compacted:
            return
        held = yield from hold(partition, config, query.now_ms, exact=False)
        point, ends = None, []
        if of_compacted:
            point = yield from cleaner_point(partition)
            ends = [ends_of(segment) for segment in held.loaded.segments]
        bounds = DeletionBounds(held.high_watermark, held.loaded.log_start_offset)
        yield from held.findings(held.judged(bounds), point, ends)

    return [one for one in answer(unit, look).findings if one.code in LATE]


def config_of(partition: Partition, query: RetentionQuery) -> LogConfig:
    """Return the settings with which the broker keeps the log of a partition."""
    image = cluster_image(partition.target)
    broker_id, topic = partition.directory.broker_id, partition.topic or ""
    return log_config(topic, image, broker_id=broker_id, server=query.server, given=query.given)


def hold(
    partition: Partition, config: LogConfig, now_ms: int, *, exact: bool = True
) -> Generator[Finding, None, "HeldLog"]:
    """Yield what a start reports; return the log as the broker then holds it; `exact` as in `start`."""
    is_live = is_running(partition.target)
    exact = exact and not is_live and unflushed_bytes(partition) <= RECOVERED_BYTES
    expiration_ms = partition.target.server.producer_expiration_ms
    settings = Settings(now_ms=now_ms, producer_expiration_ms=expiration_ms)
    loaded = yield from start(partition, settings=settings, exact=exact)
    return HeldLog(partition, loaded, config, local_segments(loaded, is_running=is_live), now_ms)


class HeldLog(NamedTuple):
    """A log as its broker holds it, with the settings that keep it."""

    partition: Partition
    loaded: LoadedLog
    config: LogConfig
    segments: list[LocalSegment]
    now_ms: int

    @property
    def high_watermark(self) -> int:
        """The checkpointed one within the log; the log start where there is none."""
        known = self.loaded.checkpoints.high_watermark
        return self.loaded.log_start_offset if known is None else self.loaded.bounded(known)

    @property
    def waits_for_copies(self) -> bool:
        """Whether a segment stays until it is in remote storage."""
        return self.config.is_tiered and not self.config.is_set("remote.log.copy.disable")

    @property
    def limits(self) -> tuple[int, int]:
        """retention.ms and retention.bytes, as they count for the local log."""
        names = ("retention.ms", "retention.bytes")
        whole = [self.config.number(name) for name in names]
        if self.waits_for_copies:
            local = [self.config.number(f"local.{name}") for name in names]
            whole = [of_all if mine == INHERIT else mine for of_all, mine in zip(whole, local, strict=True)]
        return whole[0], whole[1]

    def verdicts(self, metadata: tuple[Target, ...]) -> list[LocalVerdict]:
        """Return what becomes of each segment."""
        loaded = self.loaded
        bounds = DeletionBounds(self.high_watermark, loaded.log_start_offset)
        if self.config.is_tiered:
            from kcli.jobs.tiered_leader import leader_with

            leader = leader_with(self.partition, loaded, metadata, is_needed=True)
            bounds = DeletionBounds(self.high_watermark, leader.local_start, None, leader.log_start_offset)
            if self.waits_for_copies:
                bounds = bounds._replace(remote_end=leader.highest.offset + 1)
        return self.judged(bounds)

    @property
    def deletes(self) -> bool:
        """Whether limits of time and size count."""
        policy = self.config.policy
        return "delete" in policy or (not policy and self.waits_for_copies)

    def judged(self, bounds: DeletionBounds) -> list[LocalVerdict]:
        """Return what becomes of each segment below some bounds."""
        limits = self.limits if self.deletes else (-1, -1)
        verdicts = delete_old_segments(self.segments, *limits, bounds, self.now_ms)
        if self.deletes:
            return verdicts
        reason = f"cleanup.policy is {self.config.values['cleanup.policy'] or 'empty'}"
        own = {WITHIN_LIMITS, OLDER_STAYS}
        return [each._replace(reason=reason) if each.stays in own else each for each in verdicts]

    def row(self, verdicts: Sequence[LocalVerdict], ends: Ends) -> RetentionPartitionRow:
        """Return the row of the log; `ends` are those of the active segment."""
        config, loaded = self.config, self.loaded
        retention_ms, retention_bytes = self.limits
        pairs = zip(loaded.segments, self.segments, strict=True)
        return RetentionPartitionRow(
            where(self.partition),
            cleanup_policy=config.values["cleanup.policy"],
            retention_ms=retention_ms,
            retention_bytes=retention_bytes,
            segment_ms=config.segment_ms,
            segment_bytes=config.number("segment.bytes"),
            settings_from=dict(config.sources),
            size=sum(each.size for each in self.segments),
            deletable_bytes=sum(each.segment.size for each in verdicts if each.stays is None),
            log_start_offset=loaded.log_start_offset,
            high_watermark=self.high_watermark,
            rolls_at=_rolls_at(loaded.segments[-1], ends, config, self.now_ms),
            future_timestamps=tuple(islice(_future(pairs, self.now_ms), SHOWN_FUTURE)),
        )

    def cleanable(self, point: int | None, ends: Sequence[Ends]) -> Cleanable:
        """Return what the cleaner may clean; `point`: the log's line in the cleaner's checkpoint."""
        return self._cleanable(self._cleaner_bounds(point), self._cleaner_settings, ends, self.now_ms)

    def _cleaner_bounds(self, point: int | None) -> CleanerBounds:
        loaded = self.loaded
        with failing_lookup():
            first_unstable = _first_unstable(loaded)
        return CleanerBounds(
            point, loaded.log_start_offset, loaded.log_end_offset, self.high_watermark, first_unstable
        )

    @property
    def _cleaner_settings(self) -> CleanerSettings:
        number = self.config.number
        lags = number("min.compaction.lag.ms"), number("max.compaction.lag.ms")
        return CleanerSettings(*lags, self.config.ratio)

    def _cleanable(
        self, bounds: CleanerBounds, settings: CleanerSettings, ends: Sequence[Ends], now_ms: int
    ) -> Cleanable:
        times = [each.first_batch_time for each in ends]
        return find_cleanable(self.segments, times, bounds, settings, now_ms)

    def findings(
        self, verdicts: Sequence[LocalVerdict], point: int | None, ends: Sequence[Ends]
    ) -> Iterator[Finding]:
        """Yield what keeps segments, or the cleaner, for longer than the settings say.

        `point` and `ends` are asked for of a compacted log.
        """
        yield from self._ahead(verdicts)
        if "compact" in self.config.policy:
            stuck = self._stuck(point, ends)
            if stuck is not None:
                why, message = stuck
                yield Finding(BLOCKED, message, dir=self.partition.shown, found=why)

    def _ahead(self, verdicts: Sequence[LocalVerdict]) -> Iterator[Finding]:
        """Yield what a timestamp ahead of the clock keeps: later segments, or its own for a year and more."""
        latest = self.now_ms + ALLOWED_AHEAD_MS
        kept = (each.segment for each in verdicts if each.stays)
        ahead = [each for each in kept if each.has_timestamps and each.largest_timestamp > latest]
        if not ahead:
            return
        first = ahead[0]
        segment = segments_from(self.loaded.segments, first.base_offset)[0]
        record = None
        with suppress(FileError):
            record = next(_future([(segment, first)], latest), None)
        what = "a batch"
        if record is not None:
            producer = "" if record.producer_id is None else f" of producer {record.producer_id}"
            what = f"the record at offset {record.offset}{producer}"
        far = first.largest_timestamp - self.now_ms
        waiting = [each.segment for each in verdicts if each.blocked_by == first.base_offset]
        retention_ms, retention_bytes = self.limits if self.deletes else (-1, -1)
        after = (
            f"; retention.ms {duration(retention_ms)} ({self.config.sources['retention.ms']}) counts from it"
        )
        if waiting:
            after += f" and keeps {len(waiting)} later past it, {sum(each.size for each in waiting)} bytes"
        elif retention_ms < 0:
            after = "; no limit of time counts here"
        elif retention_bytes >= 0:
            after += ", retention.bytes does not"
        keeps = bool(waiting) or (far > ONE_YEAR and retention_ms >= 0 > retention_bytes)
        words = f"segment {first.base_offset}: {what} is {duration(far)} ahead of the clock{after}"
        path = shown_path(self.partition, segment.log_path or "")
        yield Finding(KEEPING if keeps else AHEAD, words, self.partition.shown, path, more=len(ahead) - 1)

    def _stuck(self, point: int | None, ends: Sequence[Ends]) -> tuple[str, str] | None:
        """Return why the cleaner does not come to what is dirty, in a word and in words; None: it does.

        A transaction is looked at by the timestamps of the log, which a copy keeps.
        """
        bounds, settings = self._cleaner_bounds(point), self._cleaner_settings
        found = self._cleanable(bounds, settings, ends, self.now_ms)
        if found.is_picked:
            return self._left_alone(bounds, settings, ends)
        free = bounds._replace(first_unstable=None), settings._replace(min_lag_ms=0)
        if not self._cleanable(*free, ends, self.now_ms).is_picked:
            return None
        offset = found.first_uncleanable_offset
        place = f"the cleaner does not pass offset {offset}"
        number = self.loaded.segments.index(segments_from(self.loaded.segments, offset)[0])
        far = self.segments[number].largest_timestamp - self.now_ms
        if found.uncleanable_because == BY_LAG and far > ALLOWED_AHEAD_MS:
            return BY_LAG, f"{place}: a timestamp {duration(far)} ahead of the clock is within {BY_LAG}"
        if found.uncleanable_because == BY_TRANSACTION and bounds.first_unstable is not None:
            times = [one.largest_timestamp for one in self.segments if one.has_timestamps]
            newest = max(
                (time for time in times if time <= self.now_ms + ALLOWED_AHEAD_MS), default=NO_TIMESTAMP
            )
            age = newest - self._time_at(bounds.first_unstable)
            if age > LONGEST_TRANSACTION_MS:
                return BY_TRANSACTION, f"{place}: a transaction is open from there on, for {duration(age)}"
        return None

    def _left_alone(
        self, bounds: CleanerBounds, settings: CleanerSettings, ends: Sequence[Ends]
    ) -> tuple[str, str] | None:
        """Return that a log is due, if it was for long when the broker gave its last sign of life.

        That is the high watermark checkpoint, which a broker writes every five seconds.
        """
        log_dir = self.partition.target.log_dir or ""
        alive, written = (
            version and version[0] // NS_OF_MS
            for version in (version_of(os.path.join(log_dir, name)) for name in (HIGH_WATERMARK, CLEANER))
        )
        if alive is None:
            return None
        times = (version_of(one.log_path or "") for one in self.loaded.segments)
        young = (
            one.base_offset
            for one, version in zip(self.segments, times, strict=True)
            if version is None or version[0] // NS_OF_MS > alive - PATIENCE_MS
        )
        end = min(bounds.high_watermark, next(young, bounds.high_watermark))
        past = self._cleanable(bounds._replace(high_watermark=end), settings, ends, alive - PATIENCE_MS)
        if not past.is_picked:
            return None
        ratio = f"{past.ratio or 0:.0%} dirty for {duration(PATIENCE_MS)} and more, and not cleaned"
        if written is None or written < alive - PATIENCE_MS:
            return CLEANER_STOPPED, f"{ratio}: the cleaner has cleaned no log of the log dir since"
        return FAILED, f"{ratio}, though others are: a cleaning of it failed (server.log has the exception)"

    def _time_at(self, offset: int) -> int:
        """Return the timestamp of the batch at an offset; that of now where it cannot be read."""
        for segment in segments_from(self.loaded.segments, offset):
            with failing_lookup():
                position = translate_offset(segment, offset)
            if position is not None:
                with segment.log() as log:
                    return read_header(log.read(position, HEADER_SIZE)).max_timestamp
        return self.now_ms

    def with_cleaner(
        self, row: RetentionPartitionRow, point: int | None, ends: Sequence[Ends]
    ) -> RetentionPartitionRow:
        """Return the row of a compacted log; `point`: its line in the cleaner's checkpoint."""
        config, loaded = self.config, self.loaded
        found = self.cleanable(point, ends)
        return row._replace(
            cleaner_offset=point,
            first_dirty_offset=found.first_dirty_offset,
            first_uncleanable_offset=found.first_uncleanable_offset,
            end_offset=found.end,
            uncleanable_because=found.uncleanable_because,
            clean_bytes=found.clean_bytes,
            cleanable_bytes=found.cleanable_bytes,
            dirty_ratio=found.ratio,
            min_cleanable_dirty_ratio=config.ratio,
            will_clean=found.is_picked,
            tombstones_removable_at=_first_horizon(loaded, found.first_dirty_offset),
        )


def _row(
    of: RetentionPartitionRow, verdict: LocalVerdict, ends: Ends, loaded: LoadedSegment, *, is_active: bool
) -> RetentionRow:
    segment = verdict.segment
    newest: int | None = segment.largest_timestamp
    if not segment.has_timestamps:
        newest = newest_timestamp(loaded, reads_tail=True)
    return RetentionRow(
        of.where,
        segment_base_offset=segment.base_offset,
        size=segment.size,
        first_offset=ends.first_offset,
        last_offset=ends.last_offset,
        first_timestamp=None if ends.first_timestamp < 0 else ends.first_timestamp,
        max_timestamp=newest,
        is_active=is_active,
        action="keep" if verdict.stays else "delete",
        rule=verdict.rule,
        reason=verdict.reason,
        deletable_at=verdict.deletable_at,
        blocked_by=verdict.blocked_by,
    )


def ends_of(segment: LoadedSegment, *, with_last: bool = True) -> Ends:
    """Return the ends of a segment: what cannot be read is not known. No look of a broker reads it."""
    if segment.log_path is None or not segment.log_size:
        return Ends()
    ends = Ends()
    with segment.log() as log:
        with suppress(BrokerError):
            last = read_tail(segment).last if with_last else None
            ends = Ends(last_offset=last_offset(log, last) if last else None)
        with suppress(BrokerError):
            batches = (
                Batch(each.position, header(log, each)) for each in file_batches(log, 0, segment.log_size)
            )
            first = next(batches, None)
            if first is not None:
                ends = ends._replace(first_batch_time=first.header.max_timestamp)
                offset, timestamp = _first_record(log, first, batches)
                ends = ends._replace(first_offset=offset, first_timestamp=timestamp)
    return ends


def _first_record(log: DataFile, first: Batch, batches: Iterator[Batch]) -> tuple[int | None, int]:
    """Return offset and timestamp of the first record: of a batch that a cleaning emptied there is none."""
    for batch in chain([first], batches):
        head = batch.header
        is_whole = record_count(head) == head.last_offset_delta + 1 and not is_legacy(head.magic)
        if is_whole and head.delete_horizon_ms is None:
            is_append_time = head.timestamp_type == LOG_APPEND_TIME
            return head.base_offset, head.max_timestamp if is_append_time else head.base_timestamp
        with suppress(FileError):
            for record in read_records(log, batch, LARGEST_BATCH):
                return record.offset, record.timestamp
    return None, NO_TIMESTAMP


def _first_unstable(loaded: LoadedLog) -> int | None:
    """Return where the oldest open transaction begins: of one that begins below the log start at a batch.

    As `UnifiedLog.maybeIncrementFirstUnstableOffset`: the base offset of the batch that a read from the log
    start on finds.
    """
    first = min(loaded.producers.ongoing, default=None)
    if first is None or first >= loaded.log_start_offset:
        return first
    for segment in segments_from(loaded.segments, loaded.log_start_offset):
        position = translate_offset(segment, loaded.log_start_offset)
        if position is not None:
            with segment.log() as log:
                return next(file_batches(log, position, segment.log_size)).base_offset
    return loaded.log_start_offset


def _rolls_at(active: LoadedSegment, ends: Ends, config: LogConfig, now_ms: int) -> int | None:
    """Return the first ms at which an append rolls the active segment (`LogSegment.shouldRoll`)."""
    if not active.log_size:
        return None
    index_bytes = config.number("segment.index.bytes")
    is_full = (
        active.log_size > config.number("segment.bytes")
        or active.offset_index.entries >= index_bytes // OFFSET_INDEX_ENTRY.size
        or active.time_index.entries >= index_bytes // TIME_INDEX_ENTRY.size - 1
    )
    if is_full:
        return now_ms
    begins = now_ms if ends.first_batch_time < 0 else ends.first_batch_time
    rolls_at = begins + config.segment_ms + 1
    return rolls_at if rolls_at <= LARGEST_TIME else None


def _future(segments: Iterable[tuple[LoadedSegment, LocalSegment]], now_ms: int) -> Iterator[FutureTimestamp]:
    """Yield the records with a timestamp after `now_ms`, in the order of the log; no end markers."""
    for segment, judged in segments:
        if not judged.has_timestamps or judged.largest_timestamp <= now_ms:
            continue
        with segment.log() as log:
            for batch in _batches(log, segment.log_size, lambda fields: fields["max_timestamp"] > now_ms):
                if batch.header.is_control:
                    continue
                producer = batch.header.producer_id
                for record in read_records(log, batch, LARGEST_BATCH):
                    if record.timestamp > now_ms:
                        producer_id = None if producer == NO_PRODUCER_ID else producer
                        yield FutureTimestamp(record.offset, record.timestamp, producer_id)


def _first_horizon(loaded: LoadedLog, first_dirty: int) -> int | None:
    """Return the first delete horizon (KIP-534) that a cleaning has set for tombstones."""
    horizons = []
    for segment in loaded.segments:
        if segment.base_offset >= first_dirty or segment.log_path is None:
            break
        with segment.log() as log:
            stamped = _batches(
                log, segment.log_size, lambda fields: fields["attributes"] & STAMPED == HORIZON
            )
            for batch in stamped:
                records = read_records(log, batch, LARGEST_BATCH)
                if any(isinstance(each, Record) and each.value is None for each in records):
                    horizons.append(batch.header.base_timestamp)
    return min(horizons, default=None)


def _batches(log: DataFile, end: int, matches: Callable[[Any], Any]) -> Iterator[Batch]:
    """Yield the batches whose header fields, as columns, match."""
    from kcli.logdir.bulk import BulkWalk

    for window in BulkWalk(log, 0, end, verify=False):
        for number in matches(window.fields).nonzero()[0].tolist():
            position = int(window.positions[number])
            yield Batch(position, read_header(log.read(position, HEADER_SIZE)))
