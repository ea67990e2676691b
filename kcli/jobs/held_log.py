"""A log as its broker holds it, with the settings that keep it: what goes, what stays, and why."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from formats.batch import HEADER_SIZE, NO_TIMESTAMP
from formats.magic import read_header
from formats.names import CLUSTER_METADATA, DELETE, NORMAL, STRAY
from kcli.engine.contract import Unit
from kcli.jobs.common import Yield, answer
from kcli.jobs.log_times import Ends, ends_of, future
from kcli.kafka.findings.findings import Finding, Reporting
from kcli.kafka.integrity.checkpoints import CLEANER, cleaner_point
from kcli.kafka.kraft.log_config import (
    CLEANER_ENABLE,
    OF_BATCHES,
    OF_CHECKPOINT,
    POLICY,
    LogConfig,
    log_config,
)
from kcli.kafka.kraft.metadata_loader import cluster_image, state_of_replica
from kcli.kafka.kraft.partition_start import RECOVERED_BYTES, follow_producers, start, unflushed_bytes
from kcli.kafka.kraft.start_findings import fates_around
from kcli.kafka.storage.batch_records import failing_lookup
from kcli.kafka.storage.cleaner import (
    BY_LAG,
    BY_TRANSACTION,
    BY_WATERMARK,
    Cleanable,
    CleanerBounds,
    CleanerSettings,
    find_cleanable,
    first_unstable,
)
from kcli.kafka.storage.loaded_log import LoadedLog, Settings
from kcli.kafka.storage.log_segment import segments_from, translate_offset
from kcli.kafka.storage.retention import (
    BY_LOG_START,
    HIGH_WATERMARK,
    NO_RULE,
    OLDER_STAYS,
    WITHIN_LIMITS,
    DeletionBounds,
    LocalSegment,
    LocalVerdict,
    delete_old_segments,
    local_segments,
    without_zero_tails,
)
from kcli.logdir import log_dirs
from kcli.logdir.buffers import FileError
from kcli.logdir.log_dirs import is_running, version_of
from kcli.logdir.partition import Partition, shown_path
from kcli.logdir.targets import Target
from kcli.words import ONE_YEAR, duration

if TYPE_CHECKING:
    from kcli.kafka.remote.lineage import Leader

INHERIT = -2  # as local.retention.ms or local.retention.bytes: that of the whole log
ALLOWED_AHEAD_MS = 3_600_000
"""How far ahead of the clock a broker lets a timestamp be (message.timestamp.after.max.ms)."""
LONGEST_TRANSACTION_MS = 900_000  # transaction.max.timeout.ms
PATIENCE_MS = 3_600_000  # for how long a log may be due before the cleaner is suspected: it looks every 15 s
NS_OF_MS = 1_000_000
AHEAD, KEEPING, BLOCKED = LATE = ("LOG-027", "LOG-028", "LOG-029")
"""Timestamps ahead of the clock, those that keep segments, and what stops the cleaner."""
CLEANER_STOPPED, FAILED = "cleaner-stopped", "cleaning-failed"  # why a log that is due is not cleaned
ASSUMED, UNKNOWN_TOPIC, LACKING = "START-006", "META-009", "RLMM-025"
COPY_UNKNOWN = "copy-unknown"  # why it is not known whether a segment stays
DIRECTORY_GOES = "its -delete directory goes file.delete.delay.ms after a start"
NO_LOOK = "a start takes this log for stray: no look comes to it"
NO_WATERMARK = "no file here has the high watermark: the log end is taken for it"
CLEANING_FAILS = "the cleaner fails (LogCleaningException) and leaves this log alone until a restart: {}"


class RetentionQuery(NamedTuple):
    """The time of the look in ms; the broker's server.properties, and settings that go before all others."""

    now_ms: int
    server: Mapping[str, str] = {}
    given: Mapping[str, str] = {}


def findings(unit: Unit, query: RetentionQuery, *, of_compacted: bool) -> list[Finding]:
    """Return what keeps segments of a log for too long, or its cleaner where its policy has `compact`."""

    def look(partition: Partition) -> Yield:
        config, point = yield from configured(partition, query)
        is_here = partition.topic != CLUSTER_METADATA and partition.state == NORMAL
        if not is_here or ("compact" in config.policy) != of_compacted:
            return
        log = yield from hold(partition, config, query.now_ms, exact=False)
        ends = [ends_of(segment) for segment in log.loaded.segments] if of_compacted else []
        log = log.learned(ends, point)
        yield from log.findings(log.verdicts())

    return [finding for finding in answer(unit, look).findings if finding.code in LATE]


def configured(partition: Partition, query: RetentionQuery) -> Reporting[tuple[LogConfig, int | None]]:
    """Yield what is unknown; return settings and cleaner's line, which says `compact` of unknown topics."""
    image = cluster_image(partition.target)
    broker_id, topic = partition.directory.broker_id, partition.topic or ""
    config = log_config(topic, image, broker_id=broker_id, server=query.server, options=query.given)
    if config.is_known and "compact" not in config.policy:
        return config, None
    is_unknown = image is not None and not config.is_known and POLICY not in query.given
    is_left = partition.state == DELETE
    # of a running broker the topic may be about to come, of a -delete directory it has gone
    if is_unknown and not (is_left or is_running(partition.target)):
        unknown = Finding(UNKNOWN_TOPIC, f"{topic} is not in the cluster metadata here", dir=partition.shown)
        yield from list(_fate(partition)) or [unknown]
    point = yield from cleaner_point(partition)
    return config if point is None else config.cleaned(OF_CHECKPOINT), point


def _fate(partition: Partition) -> Iterator[Finding]:
    """Yield what a start makes of a directory whose topic the metadata does not know."""
    if partition.target.log_dir is not None and partition.state == NORMAL:
        fates = fates_around(partition.target)
        yield from fates.findings(partition.target, has_topic_id=True, has_records=True)


def hold(partition: Partition, config: LogConfig, now_ms: int, *, exact: bool = True) -> Reporting["HeldLog"]:
    """Yield what a start reports; return the log as the broker then holds it; `exact` as in `start`."""
    is_live = is_running(partition.target)
    exact = exact and not is_live and unflushed_bytes(partition) <= RECOVERED_BYTES
    expiration_ms = partition.target.server.producer_expiration_ms
    settings = Settings(now_ms=now_ms, producer_expiration_ms=expiration_ms)
    loaded = yield from start(partition, settings=settings, exact=exact)
    log = held_log(partition, loaded, config, now_ms)
    if log.is_stray and config.is_known:
        yield from _fate(partition)
    yield from log.assumed()
    return log


def held_log(partition: Partition, loaded: LoadedLog, config: LogConfig, now_ms: int) -> "HeldLog":
    """Return a log as its broker holds it; alone, its high watermark is the log end (`makeLeader`)."""
    state = state_of_replica(partition.target)
    target, is_written = partition.target, is_running(partition.target)
    is_judged = cluster_image(target) is not None and not is_written  # by a start
    is_stray = partition.state == STRAY or (is_judged and fates_around(target).of(target).outcome == STRAY)
    is_alone = state is not None and len(state.replicas) == 1
    high_watermark = loaded.log_end_offset if is_alone else loaded.known_high_watermark
    *inactive, active = loaded.segments
    if is_written or active.base_offset in loaded.recovered:
        loaded = loaded._replace(segments=(*inactive, without_zero_tails(active)))
    segments = local_segments(loaded, is_written=is_written)
    return HeldLog(partition, loaded, config, segments, now_ms, high_watermark, is_stray=is_stray)


class HeldLog(NamedTuple):
    """A log as its broker holds it, with the settings that keep it.

    `high_watermark`: None where no file has it. `leader`: the log with its remote segments, None where they
    were not asked for. `lacking`: why it is not known which segments are copied; None where it is. `ends` of
    the segments, once learned; `point`: the log's line in the cleaner's checkpoint.
    """

    partition: Partition
    loaded: LoadedLog
    config: LogConfig
    segments: list[LocalSegment]
    now_ms: int
    high_watermark: int | None
    leader: "Leader | None" = None
    is_stray: bool = False
    lacking: str | None = None
    ends: tuple[Ends, ...] = ()
    point: int | None = None

    def assumed(self) -> Iterator[Finding]:
        """Yield what is reckoned with in place of what no file has."""
        if self.high_watermark is None:
            yield Finding(ASSUMED, NO_WATERMARK, dir=self.partition.shown, found=HIGH_WATERMARK)

    @property
    def watermark(self) -> int:
        """The high watermark that is reckoned with: the log end where it is not known."""
        return self.loaded.log_end_offset if self.high_watermark is None else self.high_watermark

    @property
    def is_tiered(self) -> bool:
        """Whether the log is in remote storage: as its topic says, else as there are remote segments."""
        config, leader = self.config, self.leader
        by_segments = not config.is_known and leader is not None and leader.is_tiered
        return config.is_tiered or (config.can_be_tiered and by_segments)

    @property
    def waits_for_copies(self) -> bool:
        """Whether a segment stays until it is in remote storage."""
        return self.is_tiered and not self.config.is_set("remote.log.copy.disable")

    @property
    def limits(self) -> tuple[int, int]:
        """retention.ms and retention.bytes, as they count for the local log."""
        ms, size = (self.config.number(self._counting(f"retention.{unit}")) for unit in ("ms", "bytes"))
        return ms, size

    @property
    def sources(self) -> dict[str, str]:
        """Where each setting comes from; a limit of the local log alone is named where it counts."""
        sources = dict(self.config.sources)
        for name in ("retention.ms", "retention.bytes"):
            if self._counting(name) != name:
                sources[name] = sources[f"local.{name}"]
            else:
                del sources[f"local.{name}"]
        return sources

    def _counting(self, name: str) -> str:
        """Return the name of the limit that counts for the local log."""
        local = f"local.{name}"
        return local if self.waits_for_copies and self.config.number(local) != INHERIT else name

    def with_events(self, metadata: tuple[Target, ...]) -> "HeldLog":
        """Return the same with its remote segments, if it may have any; `metadata`: of their events."""
        config = self.config
        if not (config.is_tiered or (metadata and config.can_be_tiered and not config.is_known)):
            return self
        from kcli.jobs.tiered_leader import NOT_HERE, leader_with

        try:
            leader = leader_with(self.partition, self.loaded, metadata, is_needed=config.is_tiered)
        except FileError as error:
            if error.code != NOT_HERE:
                raise
            log = self._replace(leader=leader_with(self.partition, self.loaded, metadata))
            return log._replace(lacking=error.message if log.waits_for_copies else None)
        return self._replace(leader=leader)

    def learned(self, ends: Iterable[Ends], point: int | None = None) -> "HeldLog":
        """Return the same, as compacted where a cleaner wrote a batch; then open transactions are known."""
        ends = tuple(ends)
        is_cleaned = not self.is_tiered and any(end.is_cleaned for end in ends)
        config = self.config.cleaned(OF_BATCHES) if is_cleaned else self.config
        if "compact" in config.policy:
            follow_producers(self.loaded)
        return self._replace(config=config, ends=ends, point=point)

    def verdicts(self) -> list[LocalVerdict]:
        """Return what becomes of each segment."""
        leader, bounds = self.leader, DeletionBounds(self.watermark, self.loaded.log_start_offset)
        if leader is not None and self.is_tiered:
            is_asked = self.waits_for_copies and self.lacking is None
            remote_end = leader.highest + 1 if is_asked else None
            bounds = DeletionBounds(self.watermark, leader.local_start, remote_end, leader.log_start_offset)
        if self.partition.state == DELETE:
            return [LocalVerdict(segment, NO_RULE, None, DIRECTORY_GOES) for segment in self.segments]
        if self.is_stray:
            return [LocalVerdict(segment, NO_RULE, STRAY, NO_LOOK) for segment in self.segments]
        if "compact" in self.config.policy and not self.config.has_cleaner:
            reason = f"{CLEANER_ENABLE} is false: nothing deletes of a compacted log"
            return [LocalVerdict(segment, NO_RULE, CLEANER_ENABLE, reason) for segment in self.segments]
        limits = self.limits if self.deletes else (-1, -1)
        verdicts = delete_old_segments(self.segments, *limits, bounds, self.now_ms)
        if self.lacking is not None:
            return [(each if each.stays else _unsure(each))._replace(deletable_at=None) for each in verdicts]
        if self.deletes:
            return verdicts
        source = self.config.sources[POLICY]
        suffix = f", by {source}" if source in {OF_CHECKPOINT, OF_BATCHES} else ""
        reason = f"{POLICY} is {self.config.values[POLICY] or 'empty'}{suffix}"
        reasons = {WITHIN_LIMITS, OLDER_STAYS}
        return [each._replace(reason=reason) if each.stays in reasons else each for each in verdicts]

    @property
    def deletes(self) -> bool:
        """Whether limits of time and size count."""
        policy = self.config.policy
        return "delete" in policy or (not policy and self.waits_for_copies)

    def cleanable(self) -> Cleanable:
        """Return what the cleaner may clean."""
        cleanable = self._cleanable(*self._cleaner(), self.now_ms)
        failing = self._failing(cleanable)
        return cleanable._replace(is_picked=False, uncleanable_because=failing[0]) if failing else cleanable

    def _failing(self, cleanable: Cleanable) -> tuple[str, str] | None:
        """Return why no cleaning ends well, in a word and in words: no cleaner, or damage in its way."""
        if self.is_stray:
            return STRAY, NO_LOOK
        if not self.config.has_cleaner:
            return CLEANER_ENABLE, f"{CLEANER_ENABLE} is false: no log of the broker is cleaned"
        for segment, end in zip(self.segments, self.ends, strict=True):
            if end.broken is not None and segment.base_offset < cleanable.end and cleanable.cleanable_bytes:
                message = f"segment {segment.base_offset}: {end.broken}"
                return FAILED, CLEANING_FAILS.format(message)
        return None

    def _cleaner(self) -> tuple[CleanerBounds, CleanerSettings]:
        """Return between what, and by which settings, the cleaner looks at the log."""
        loaded, watermark, number = self.loaded, self.watermark, self.config.number
        begins, end = loaded.producers.first_above_watermark, loaded.log_end_offset
        with failing_lookup():
            unstable = first_unstable(loaded, min(loaded.producers.ongoing, default=None))
            completed = first_unstable(loaded, begins) if watermark < end else None
        watermark = watermark if completed is None else min(watermark, completed)
        bounds = CleanerBounds(self.point, loaded.log_start_offset, end, watermark, unstable)
        lags = number("min.compaction.lag.ms"), number("max.compaction.lag.ms")
        return bounds, CleanerSettings(*lags, self.config.ratio)

    def _cleanable(self, bounds: CleanerBounds, settings: CleanerSettings, now_ms: int) -> Cleanable:
        times = [end.first_batch_time for end in self.ends]
        return find_cleanable(self.segments, times, bounds, settings, now_ms)

    def findings(self, verdicts: Sequence[LocalVerdict]) -> Iterator[Finding]:
        """Yield what keeps segments, or the cleaner, longer than the settings say."""
        if self.lacking is not None:
            yield Finding(LACKING, self.lacking, dir=self.partition.shown)
        if self.is_stray:
            return
        yield from self._ahead(verdicts)
        if "compact" in self.config.policy:
            stuck = self._stuck()
            if stuck is not None:
                cause, message = stuck
                yield Finding(BLOCKED, message, dir=self.partition.shown, found=cause)

    def _ahead(self, verdicts: Sequence[LocalVerdict]) -> Iterator[Finding]:
        """Yield what a timestamp ahead of the clock keeps: later segments, or its own for a year and more."""
        latest = self.now_ms + ALLOWED_AHEAD_MS
        segments = (each.segment for each in verdicts if each.stays)
        ahead = [each for each in segments if each.has_timestamps and each.largest_timestamp > latest]
        if not ahead:
            return
        first = ahead[0]
        segment = segments_from(self.loaded.segments, first.base_offset)[0]
        record = None
        with suppress(FileError):
            record = next(future([(segment, first)], latest), None)
        subject = "a batch"
        if record is not None:
            producer = "" if record.producer_id is None else f" of producer {record.producer_id}"
            subject = f"the record at offset {record.offset}{producer}"
        far = first.largest_timestamp - self.now_ms
        waiting = [verdict.segment for verdict in verdicts if verdict.blocked_by == first.base_offset]
        retention_ms, retention_bytes = self.limits if self.deletes else (-1, -1)
        name = self._counting("retention.ms")
        after = f"; {name} {duration(retention_ms)} ({self.config.sources[name]}) counts from it"
        if waiting:
            after += f" and keeps {len(waiting)} later past it, {sum(each.size for each in waiting)} bytes"
        elif retention_ms < 0:
            after = "; no limit of time counts here"
        elif retention_bytes >= 0:
            after += ", retention.bytes does not"
        keeps = bool(waiting) or (far > ONE_YEAR and retention_ms >= 0 > retention_bytes)
        message = f"segment {first.base_offset}: {subject} is {duration(far)} ahead of the clock{after}"
        path = shown_path(self.partition, segment.log_path or "")
        yield Finding(KEEPING if keeps else AHEAD, message, self.partition.shown, path, more=len(ahead) - 1)

    def _stuck(self) -> tuple[str, str] | None:
        """Return why the cleaner does not come to what is dirty, in a word and in words; None: it does."""
        bounds, settings = self._cleaner()
        cleanable = self._cleanable(bounds, settings, self.now_ms)
        if cleanable.is_picked:
            past = self._left_alone(bounds, settings) if self.config.is_in_force else None
            return self._failing(cleanable) or past
        end = self.loaded.log_end_offset
        free = bounds._replace(first_unstable=None, high_watermark=end), settings._replace(min_lag_ms=0)
        if not self._cleanable(*free, self.now_ms).is_picked:
            return None
        offset = cleanable.first_uncleanable_offset
        prefix = f"the cleaner does not pass offset {offset}"
        number = self.loaded.segments.index(segments_from(self.loaded.segments, offset)[0])
        far = self.segments[number].largest_timestamp - self.now_ms
        if cleanable.uncleanable_because == BY_LAG and far > ALLOWED_AHEAD_MS:
            return BY_LAG, f"{prefix}: a timestamp {duration(far)} ahead of the clock is within {BY_LAG}"
        offsets = {BY_TRANSACTION: bounds.first_unstable, BY_WATERMARK: bounds.high_watermark}
        begins = offsets.get(cleanable.uncleanable_because)
        if begins is not None:
            times = [segment.largest_timestamp for segment in self.segments if segment.has_timestamps]
            newest = max(
                (time for time in times if time <= self.now_ms + ALLOWED_AHEAD_MS), default=NO_TIMESTAMP
            )
            age = newest - self._time_at(begins)
            if age > LONGEST_TRANSACTION_MS and cleanable.uncleanable_because == BY_TRANSACTION:
                return BY_TRANSACTION, f"{prefix}: a transaction is open from there on, for {duration(age)}"
            if age > LONGEST_TRANSACTION_MS:
                reason = f"the high watermark is {self.watermark}, {duration(age)} behind the newest record"
                return BY_WATERMARK, f"{prefix}: {reason}"
        return None

    def _left_alone(self, bounds: CleanerBounds, settings: CleanerSettings) -> tuple[str, str] | None:
        """Return that a log was due for long at the last sign of life, a high watermark checkpoint."""
        log_dir = self.partition.target.log_dir or ""
        versions = (version_of(os.path.join(log_dir, name)) for name in (log_dirs.HIGH_WATERMARK, CLEANER))
        alive, written = (version and version[0] // NS_OF_MS for version in versions)
        if alive is None:
            return None
        times = (version_of(segment.log_path or "") for segment in self.loaded.segments)
        young = (
            segment.base_offset
            for segment, version in zip(self.segments, times, strict=True)
            if version is None or version[0] // NS_OF_MS > alive - PATIENCE_MS
        )
        end = min(bounds.high_watermark, next(young, bounds.high_watermark))
        past = self._cleanable(bounds._replace(high_watermark=end), settings, alive - PATIENCE_MS)
        if not past.is_picked:
            return None
        ratio = f"{past.ratio or 0:.0%} dirty for {duration(PATIENCE_MS)} and more, and not cleaned"
        if written is None or written < alive - PATIENCE_MS:
            return CLEANER_STOPPED, f"{ratio}: the cleaner has cleaned no log of the log dir since"
        return FAILED, f"{ratio}, though others are: a cleaning of it failed, or it waits for its turn"

    def _time_at(self, offset: int) -> int:
        """Return the timestamp of the batch at an offset; that of now where it cannot be read."""
        for segment in segments_from(self.loaded.segments, offset):
            with failing_lookup():
                position = translate_offset(segment, offset)
            if position is not None:
                with segment.log() as log:
                    return read_header(log.read(position, HEADER_SIZE)).max_timestamp
        return self.now_ms


def _unsure(verdict: LocalVerdict) -> LocalVerdict:
    """Return that a segment goes if it is copied, which is not known; below the log start it goes anyway."""
    if verdict.rule == BY_LOG_START:
        return verdict
    return LocalVerdict(verdict.segment, NO_RULE, COPY_UNKNOWN, f"{verdict.reason}: goes if it is copied")
