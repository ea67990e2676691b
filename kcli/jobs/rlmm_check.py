"""`rlmm check`: what is wrong with the remote segments of each partition, by their events."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

from formats.remote_metadata import SEGMENT_STATES, RemoteLogSegmentMetadata, RemotePartitionDeleteMetadata
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
)
from kcli.analysis.remote_histories import contradicting_starts, written_again
from kcli.engine.contract import Outcome
from kcli.jobs.rlmm_state import Event, StateReducer
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

    events: int = 0
    counted: Counter[str] = field(default_factory=Counter)
    listed: list[Finding] = field(default_factory=list)

    def add(self, place: RemotePartition, code: str, message: str) -> None:
        """Count a finding, and list it if there is room."""
        finding = Finding(code, f"{place.topic}-{place.partition}: {message}", dir=place.dir)
        self.counted[finding.severity] += 1
        if len(self.listed) < MOST_FINDINGS:
            self.listed.append(finding)


class RemoteCheckReducer:
    """Folds events as StateReducer does; gives a row for each partition, and findings, at the end.

    `now_ms`: the time of the check. A copy or deletion that began `stuck_after_ms` before that is taken for
    one that nobody will finish.
    """

    def __init__(self, now_ms: int, stuck_after_ms: int) -> None:
        self._before_ms = now_ms - stuck_after_ms
        self._found: dict[RemotePartition, CheckedPartition] = {}
        self._fold = StateReducer(self._answer, self._watch)

    def __call__(self, left: Outcome | None, right: Outcome | None) -> Outcome:
        """Return two neighbours as one."""
        outcome = self._fold(left, right)
        if right is not None:
            return outcome
        for directory, folded in self._fold.folded.items():
            for key, count in folded.store.remnants.items():
                place = RemotePartition(directory, folded.metadata_partition, *key)
                message = f"DELETE_PARTITION_FINISHED, and {count} segments left"
                self._of(place).add(place, "RLMM-016", message)
        found = [finding for checked in self._found.values() for finding in checked.listed]
        return replace(outcome, findings=[*outcome.findings, *found])

    def _of(self, place: RemotePartition) -> CheckedPartition:
        return self._found.setdefault(place, CheckedPartition())

    def _watch(self, place: RemotePartition, event: Event, refused: str | None) -> None:
        checked = self._of(place)
        checked.events += 1
        offset, record = event
        if isinstance(record, RemoteLogSegmentMetadata):
            for reason in contradictions(record):
                checked.add(place, "RLMM-015", f"segment {record.segment_id}: {reason}")
        if refused is not None and not isinstance(record, RemotePartitionDeleteMetadata):
            what = f"segment {record.segment_id}: {state_name(record)} at offset {offset}"
            checked.add(place, CODE_OF_REFUSAL[refused], what)

    def _answer(self, place: RemotePartition, cache: RemoteCache) -> Iterator[Item]:
        checked = self._of(place)
        referenced = cache.referenced()
        states: Counter[str] = Counter()
        for segment in cache.segments.values():
            metadata = segment.metadata
            is_copied = metadata.state == COPY_SEGMENT_FINISHED
            superseded = is_copied and metadata.segment_id not in referenced
            states["superseded" if superseded else SEGMENT_STATES[metadata.state]] += 1
            if superseded:
                checked.add(place, "RLMM-017", f"{_named(segment)}: no offset leads to it")
            elif not is_copied and metadata.event_timestamp_ms <= self._before_ms:
                code = "RLMM-009" if metadata.state == COPY_SEGMENT_STARTED else "RLMM-010"
                since = f"{state_name(metadata)} by broker {metadata.broker_id}"
                checked.add(place, code, f"{_named(segment)}: {since}, and nothing after it")
        for first, last in gaps([cache.segments[one] for one in referenced if one in cache.segments]):
            checked.add(place, "RLMM-014", f"no remote segment holds offsets {first}..{last}")
        for message in contradicting_starts(cache):
            checked.add(place, "RLMM-018", message)
        for segment, reason in written_again(cache):
            checked.add(place, "RLMM-019", f"{_named(segment)}: {reason}")
        if cache.segments and place in self._marked():
            checked.add(
                place, "RLMM-016", f"{self._marked()[place]}, and {len(cache.segments)} segments left"
            )
        worst = next((one for one in ("error", "warning", "info") if checked.counted[one]), "info")
        yield RemoteCheckRow(
            place,
            result=RESULTS[worst],
            events=checked.events,
            copied=states[SEGMENT_STATES[COPY_SEGMENT_FINISHED]],
            superseded=states["superseded"],
            unfinished_copies=states[SEGMENT_STATES[COPY_SEGMENT_STARTED]],
            unfinished_deletions=states[SEGMENT_STATES[DELETE_SEGMENT_STARTED]],
            remote_bytes=sum(one.metadata.segment_size_in_bytes for one in cache.segments.values()),
            findings=checked.counted.total(),
        )

    def _marked(self) -> dict[RemotePartition, str]:
        """Return the partitions whose deletion was begun, and its state."""
        return {
            RemotePartition(directory, folded.metadata_partition, *key): state_name(deletion)
            for directory, folded in self._fold.folded.items()
            for key, deletion in folded.store.deletions.items()
        }


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
