"""What is wrong with remote segments by the events of one metadata partition alone."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from formats.remote_metadata import (
    RemoteLogSegmentMetadata,
    RemoteLogSegmentMetadataSnapshot,
    RemotePartitionDeleteMetadata,
    state_name,
)
from kcli.jobs.metadata_partitions import MetadataPartition
from kcli.kafka.findings.findings import Finding
from kcli.kafka.remote import lineage
from kcli.kafka.remote.cache import (
    COPY_SEGMENT_FINISHED,
    INVALID_TRANSITION,
    NOT_STARTED,
    UNKNOWN_SEGMENT,
    UPDATE_TO_STARTED,
    CachedSegment,
    RemoteCache,
    UserPartition,
)
from kcli.kafka.remote.events import Event
from kcli.rows.remote_segments import RemotePartition
from kcli.words import duration

CODE_OF_REFUSAL = {
    INVALID_TRANSITION: "RLMM-011",
    UNKNOWN_SEGMENT: "RLMM-012",
    NOT_STARTED: "RLMM-013",
    UPDATE_TO_STARTED: "RLMM-013",
}
MOST_FINDINGS = 1000  # findings of one partition that are listed; more are counted


@dataclass(slots=True)
class CheckedPartition:
    """What is found about one partition; `counted` are all findings, listed or not."""

    user: RemotePartition
    events: int = 0
    counted: Counter[str] = field(default_factory=Counter)
    listed: list[Finding] = field(default_factory=list)

    def add(self, code: str, message: str) -> None:
        """Count a finding, and list it if there is room."""
        user = self.user
        finding = Finding(code, f"{user.topic}-{user.partition}: {message}", dir=user.dir)
        self.counted[finding.severity] += 1
        if len(self.listed) < MOST_FINDINGS:
            self.listed.append(finding)


class EventChecks:
    """What is found about the user partitions of a metadata partition.

    A copy or deletion that began `stuck_after_ms` before `now_ms`, None: before the last event, is taken for
    one that will not be finished.
    """

    def __init__(self, now_ms: int | None, stuck_after_ms: int) -> None:
        self._now_ms, self._stuck_after_ms = now_ms, stuck_after_ms
        self._latest = 0
        self.checked: dict[UserPartition, CheckedPartition] = {}

    def watch(self, partition: MetadataPartition, event: Event, refused: str | None) -> None:
        """Count an event, and report what is wrong with it."""
        offset, record = event
        if isinstance(record, RemoteLogSegmentMetadataSnapshot):
            return
        checked = self.of(partition, (record.topic_id, record.topic, record.partition))
        checked.events += 1
        self._latest = max(self._latest, record.event_timestamp_ms)
        if isinstance(record, RemoteLogSegmentMetadata):
            for reason in contradictions(record):
                checked.add("RLMM-015", f"segment {record.segment_id}: {reason}")
        if refused is not None and not isinstance(record, RemotePartitionDeleteMetadata):
            message = f"segment {record.segment_id}: {state_name(record)} at offset {offset}"
            if refused == INVALID_TRANSITION:
                cache = partition.store.caches[record.topic_id, record.topic, record.partition]
                message += f" after {state_name(cache.segments[record.segment_id].last)}"
            checked.add(CODE_OF_REFUSAL[refused], message)

    def findings(self, partition: MetadataPartition) -> Iterator[Finding]:
        """Yield what is found, once all events were seen."""
        self.judge_remnants(partition)
        for key, cache in partition.store:
            self.judge(partition, key, cache)
        for checked in self.checked.values():
            yield from checked.listed

    def of(self, partition: MetadataPartition, key: UserPartition) -> CheckedPartition:
        """Return what is found about a user partition."""
        if key not in self.checked:
            self.checked[key] = CheckedPartition(partition.remote_partition(key))
        return self.checked[key]

    def judge_remnants(self, partition: MetadataPartition) -> None:
        """Report what is left of user partitions that were deleted."""
        for key, count in partition.store.remnants.items():
            remnant = f"DELETE_PARTITION_FINISHED, and {counted_segments(count)} left"
            self.of(partition, key).add("RLMM-020", remnant)

    def judge(
        self,
        partition: MetadataPartition,
        key: UserPartition,
        cache: RemoteCache,
        in_storage: Callable[[CachedSegment], str] = lambda _: "",
        defects: Iterable[tuple[str, str]] = (),
    ) -> CheckedPartition:
        """Report what is wrong with the segments of a user partition; return all that is found about it.

        `in_storage` says in words what of a segment remote storage has, `defects` codes and messages of that.
        """
        checked, referenced = self.of(partition, key), cache.referenced()
        now = self._latest if self._now_ms is None else self._now_ms
        for segment in cache.segments.values():
            metadata = segment.metadata
            if metadata.state == COPY_SEGMENT_FINISHED:
                if metadata.segment_id not in referenced:
                    checked.add("RLMM-017", f"{named(segment)}: no offset leads to it")
            elif metadata.event_timestamp_ms <= now - self._stuck_after_ms:
                age = duration(now - metadata.event_timestamp_ms)
                since = f"{state_name(metadata)} by broker {metadata.broker_id}, nothing for {age} after it"
                checked.add("RLMM-009", f"{named(segment)}: {since}{in_storage(segment)}")
        for code, message in defects:
            checked.add(code, message)
        _check_histories(checked, cache)
        marked = partition.store.deletions.get(key)
        if cache.segments and marked is not None:
            remnant = f"{state_name(marked)}, and {counted_segments(len(cache.segments))} left"
            checked.add("RLMM-020", remnant)
        return checked


def counted_segments(count: int) -> str:
    """Return a number of segments in words."""
    return "1 segment" if count == 1 else f"{count} segments"


def named(segment: CachedSegment) -> str:
    """Return a segment by its id and its offsets."""
    begun = segment.begun
    return f"segment {begun.segment_id} of offsets {begun.start_offset}..{begun.end_offset}"


def _check_histories(checked: CheckedPartition, cache: RemoteCache) -> None:
    """Report what does not go together about the offsets and leader epochs of several segments."""
    for first, last, before, after in lineage.gaps(cache):
        sides = f"after leader epoch {max(before.epochs)}, before {min(after.epochs)}"
        checked.add("RLMM-014", f"no remote segment holds offsets {first}..{last}, {sides}")
    for segment, message in lineage.overlaps(cache):
        checked.add("RLMM-017", f"{named(segment)}: {message}")
    for message in lineage.contradicting_starts(cache):
        checked.add("RLMM-028", message)
    for segment, reason in lineage.written_again(cache):
        checked.add("RLMM-017", f"{named(segment)}: {reason}")


def contradictions(record: RemoteLogSegmentMetadata) -> Iterator[str]:
    """Yield what about a segment's offsets and leader epochs contradicts KIP-405."""
    entries = record.segment_leader_epochs
    if entries and entries[0].offset != record.start_offset:
        yield f"its first leader epoch begins at {entries[0].offset}, the segment at {record.start_offset}"
    for (epoch, start), (next_epoch, next_start) in pairwise(entries):
        if next_epoch <= epoch or next_start <= start:
            yield f"leader epoch {next_epoch} at {next_start} follows {epoch} at {start}"
    if entries and entries[-1].offset > record.end_offset:
        last = entries[-1]
        yield f"leader epoch {last.leader_epoch} begins at {last.offset}, after its end {record.end_offset}"
