"""`rlmm check`: what is wrong with the remote segments of each partition, by their events."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from formats.remote_metadata import (
    SEGMENT_STATES,
    RemoteLogSegmentMetadata,
    RemoteLogSegmentMetadataSnapshot,
    RemotePartitionDeleteMetadata,
)
from kcli.analysis.findings import Finding
from kcli.analysis.remote import state_name
from kcli.analysis.remote_cache import (
    COPY_SEGMENT_FINISHED,
    COPY_SEGMENT_STARTED,
    DELETE_SEGMENT_STARTED,
    INVALID_TRANSITION,
    NOT_STARTED,
    UNKNOWN_SEGMENT,
    UPDATE_TO_STARTED,
    CachedSegment,
    RemoteCache,
    UserPartition,
)
from kcli.analysis.remote_histories import contradicting_starts, written_again
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.rlmm_events import Event
from kcli.jobs.rlmm_fold import Asked, FoldedDirectory, folding
from kcli.rows import Item
from kcli.rows.remote_state import RemoteCheckRow, RemotePartition

CODE_OF_REFUSAL = {
    INVALID_TRANSITION: "RLMM-011",
    UNKNOWN_SEGMENT: "RLMM-012",
    NOT_STARTED: "RLMM-013",
    UPDATE_TO_STARTED: "RLMM-013",
}
MOST_FINDINGS = 1000
"""Findings of one partition that are listed; more are counted."""
RESULTS = {"error": "damaged", "warning": "warning", "info": "clean"}


@dataclass(slots=True)
class CheckedPartition:
    """What is found about one partition; `counted` are all findings, listed or not."""

    place: RemotePartition
    events: int = 0
    counted: Counter[str] = field(default_factory=Counter)
    listed: list[Finding] = field(default_factory=list)

    def add(self, code: str, message: str) -> None:
        """Count a finding, and list it if there is room."""
        place = self.place
        finding = Finding(code, f"{place.topic}-{place.partition}: {message}", dir=place.dir)
        self.counted[finding.severity] += 1
        if len(self.listed) < MOST_FINDINGS:
            self.listed.append(finding)


def check(unit: Unit, *, asked: Asked, now_ms: int, stuck_after_ms: int) -> Outcome:
    """Return a row for each user partition of the unit's metadata partition, and what is wrong with it.

    `now_ms`: the time of the check. A copy or deletion that began `stuck_after_ms` before that is taken for
    one that nobody will finish.
    """
    checking = Checking(now_ms - stuck_after_ms)
    return folding(unit, asked, checking.found, checking.watch)


class Checking:
    """What is found about the user partitions of one metadata partition.

    What began at or before `before_ms`, and is not finished, is stuck.
    """

    def __init__(self, before_ms: int) -> None:
        self._before_ms = before_ms
        self._found: dict[UserPartition, CheckedPartition] = {}

    def found(self, folded: FoldedDirectory) -> Iterator[Item | Finding]:
        """Yield the rows, then the findings."""
        for key, cache in folded.store:
            yield self._row(folded, key, cache)
        for key, count in folded.store.remnants.items():
            self._of(folded, key).add("RLMM-016", f"DELETE_PARTITION_FINISHED, and {count} segments left")
        for checked in self._found.values():
            yield from checked.listed

    def _of(self, folded: FoldedDirectory, key: UserPartition) -> CheckedPartition:
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = CheckedPartition(folded.place(key))
        return found

    def watch(self, folded: FoldedDirectory, event: Event, refused: str | None) -> None:
        """Count an event, and report what is wrong with it."""
        offset, record = event
        if isinstance(record, RemoteLogSegmentMetadataSnapshot):
            return
        checked = self._of(folded, (record.topic_id, record.topic, record.partition))
        checked.events += 1
        if isinstance(record, RemoteLogSegmentMetadata):
            for reason in contradictions(record):
                checked.add("RLMM-015", f"segment {record.segment_id}: {reason}")
        if refused is not None and not isinstance(record, RemotePartitionDeleteMetadata):
            what = f"segment {record.segment_id}: {state_name(record)} at offset {offset}"
            checked.add(CODE_OF_REFUSAL[refused], what)

    def _row(self, folded: FoldedDirectory, key: UserPartition, cache: RemoteCache) -> RemoteCheckRow:
        checked = self._of(folded, key)
        referenced = cache.referenced()
        states: Counter[str] = Counter()
        for segment in cache.segments.values():
            metadata = segment.metadata
            is_copied = metadata.state == COPY_SEGMENT_FINISHED
            superseded = is_copied and metadata.segment_id not in referenced
            states["superseded" if superseded else SEGMENT_STATES[metadata.state]] += 1
            if superseded:
                checked.add("RLMM-017", f"{_named(segment)}: no offset leads to it")
            elif not is_copied and metadata.event_timestamp_ms <= self._before_ms:
                code = "RLMM-009" if metadata.state == COPY_SEGMENT_STARTED else "RLMM-010"
                since = f"{state_name(metadata)} by broker {metadata.broker_id}"
                checked.add(code, f"{_named(segment)}: {since}, and nothing after it")
        for first, last in gaps([cache.segments[one] for one in referenced if one in cache.segments]):
            checked.add("RLMM-014", f"no remote segment holds offsets {first}..{last}")
        for message in contradicting_starts(cache):
            checked.add("RLMM-018", message)
        for segment, reason in written_again(cache):
            checked.add("RLMM-019", f"{_named(segment)}: {reason}")
        marked = folded.store.deletions.get(key)
        if cache.segments and marked is not None:
            checked.add("RLMM-016", f"{state_name(marked)}, and {len(cache.segments)} segments left")
        worst = next((one for one in ("error", "warning", "info") if checked.counted[one]), "info")
        return RemoteCheckRow(
            checked.place,
            result=RESULTS[worst],
            events=checked.events,
            copied=states[SEGMENT_STATES[COPY_SEGMENT_FINISHED]],
            superseded=states["superseded"],
            unfinished_copies=states[SEGMENT_STATES[COPY_SEGMENT_STARTED]],
            unfinished_deletions=states[SEGMENT_STATES[DELETE_SEGMENT_STARTED]],
            remote_bytes=sum(one.metadata.segment_size_in_bytes for one in cache.segments.values()),
            findings=checked.counted.total(),
        )


def contradictions(record: RemoteLogSegmentMetadata) -> Iterator[str]:
    """Yield what about a segment's offsets and leader epochs contradicts KIP-405.

    Epochs and their offsets rise, the first offset is the segment's, the last lies within it.
    """
    entries = record.segment_leader_epochs
    if entries and entries[0].offset != record.start_offset:
        yield f"its first leader epoch begins at {entries[0].offset}, the segment at {record.start_offset}"
    for (epoch, start), (next_epoch, next_start) in pairwise(entries):
        if next_epoch <= epoch or next_start <= start:
            yield f"leader epoch {next_epoch} at {next_start} follows {epoch} at {start}"
    if entries and entries[-1].offset > record.end_offset:
        last = entries[-1]
        yield f"leader epoch {last.leader_epoch} begins at {last.offset}, after its end {record.end_offset}"


def gaps(segments: list[CachedSegment]) -> Iterator[tuple[int, int]]:
    """Yield ranges of offsets, inclusive, between segments that none of them holds."""
    end: int | None = None
    for segment in sorted(segments, key=lambda one: one.metadata.start_offset):
        if end is not None and segment.metadata.start_offset > end + 1:
            yield end + 1, segment.metadata.start_offset - 1
        end = max(end if end is not None else -1, segment.metadata.end_offset)


def _named(segment: CachedSegment) -> str:
    metadata = segment.metadata
    return f"segment {metadata.segment_id} of offsets {metadata.start_offset}..{metadata.end_offset}"
