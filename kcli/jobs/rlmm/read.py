"""The fold of a partition of __remote_log_metadata: its events, in order, into what a broker's cache holds.

A unit is all segments of one directory. All events of a user partition are in one metadata partition: so the
directories of a cluster are folded side by side, and nothing is left to combine. The segments that are alive
are in memory, not the events.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from formats.names import PartitionDir
from formats.remote_metadata import RemoteLogMetadata, RemoteLogSegmentMetadataSnapshot
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import failed, failure_of, internal_failure, log_dir_findings
from kcli.jobs.rlmm import dump as rlmm
from kcli.jobs.rlmm.locate import events_here, gone_findings, has_all_segments
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.findings import Finding
from kcli.kafka.remote.cache import RemoteCache, RemoteStore, UserPartition
from kcli.kafka.remote.coverage import CUT, UNREADABLE, EventsHere
from kcli.kafka.remote.events import Event, events
from kcli.logdir.buffers import DataFile, FileError, reading
from kcli.logdir.tree import Selection, Target
from kcli.rows import Failure, Item
from kcli.rows.remote_state import RemotePartition


class Until(NamedTuple):
    """The last events that count, inclusive: by their offset in the metadata partition or their time (ms)."""

    metadata_offset: int | None = None
    event_timestamp_ms: int | None = None

    def takes(self, event: Event) -> bool:
        """Whether an event is not after it."""
        offset, record = event
        if self.metadata_offset is not None and offset > self.metadata_offset:
            return False
        return self.event_timestamp_ms is None or record.event_timestamp_ms <= self.event_timestamp_ms


EVERYTHING = Until()


@dataclass(frozen=True, slots=True)
class Asked:
    """The events that count: about these user partitions, up to there."""

    selection: Selection
    until: Until = EVERYTHING

    def of(self, found: Iterator[Event], here: EventsHere) -> Iterator[Event]:
        """Yield the events that count; `here` is then without those after them."""
        if self.selection.names:
            wants = lru_cache(lambda topic, partition: self.selection.wants(PartitionDir(topic, partition)))
            found = (event for event in found if wants(*_names(event[1])))
        return found if self.until == EVERYTHING else self._up_to(found, here)

    def _up_to(self, found: Iterator[Event], here: EventsHere) -> Iterator[Event]:
        for event in found:
            if self.until.takes(event):
                yield event
            else:
                here.trouble = here.trouble or CUT


def _names(record: RemoteLogMetadata) -> tuple[str, int]:
    assert not isinstance(record, RemoteLogSegmentMetadataSnapshot), "the topic has none that can be used"
    return record.topic, record.partition


@dataclass(slots=True)
class FoldedDirectory:
    """What the events of one directory come to, and which of them are here."""

    dir: str
    metadata_partition: int | None
    store: RemoteStore
    here: EventsHere = field(default_factory=EventsHere)

    def place(self, key: UserPartition) -> RemotePartition:
        """Return the columns about a user partition."""
        topic_id, topic, partition = key
        return RemotePartition(self.dir, self.metadata_partition, topic_id or None, topic, partition)


Answer: TypeAlias = Callable[[RemotePartition, RemoteCache], Iterable[Item]]
"""Returns the rows of one user partition."""
Watch: TypeAlias = Callable[[FoldedDirectory, Event, str | None], None]
"""Sees every event with why the cache does not take it."""


def by_directory(units: list[Unit]) -> list[Unit]:
    """Return a unit for each directory, with all its segments, each once and in the order of the log."""
    directories: dict[str, dict[str, Target]] = {}
    for unit in units:
        files = directories.setdefault(rlmm.file_place(unit.target)[0], {})
        files.setdefault(os.path.realpath(unit.target.path), unit.target)
    return [
        Unit(number=number, targets=tuple(sorted(files.values(), key=_name)))
        for number, files in enumerate(directories.values())
    ]


def _name(target: Target) -> str:
    return os.path.basename(target.path)


def folding(
    unit: Unit,
    asked: Asked,
    answer: Callable[[FoldedDirectory], Iterable[Item | Finding | FileError]],
    watch: Watch | None = None,
    *,
    keeps_deleted: bool = False,
) -> Outcome:
    """Fold the events of a directory that count; return the rows and findings of `answer`.

    Errors as of `reading_all`.
    """
    target = unit.target
    folded = FoldedDirectory(
        rlmm.file_place(target)[0], rlmm.metadata_partition(target), RemoteStore(keeps_deleted=keeps_deleted)
    )

    folded.here = events_here(unit.targets)

    def read(target: Target, findings: FindingCollector) -> None:
        try:
            with DataFile(target.path) as file, reading(target.path):
                fold(folded, asked.of(events(file, findings, folded.here), folded.here), watch)
        except FileError:
            folded.here.trouble = UNREADABLE
            raise
        folded.here.take(findings.first.values())

    def found() -> Iterator[Item | Finding | FileError]:
        if has_all_segments(unit.targets):
            yield from gone_findings(folded.metadata_partition, folded.dir, folded.here)
        yield from answer(folded)

    return reading_all(unit, read, found)


def reading_all(
    unit: Unit,
    read: Callable[[Target, FindingCollector], None],
    answer: Callable[[], Iterable[Item | Finding | FileError]],
) -> Outcome:
    """Read all files of a unit, then return the rows and findings of `answer`, after those of the files.

    Of files that cannot be read the first is the error, one of `answer` among them; what the others hold
    counts.
    """
    findings, errors = list(log_dir_findings(unit.target)), list[Failure]()
    rows: list[Item] = []
    try:
        for target in unit.targets:
            collector = FindingCollector(target)
            try:
                read(target, collector)
                findings += collector.take()
            except FileError as error:
                outcome = failed(replace(unit, targets=(target,)), error)
                findings += [*collector.take(), *outcome.findings]
                errors += [] if outcome.error is None else [outcome.error]
        for item in answer():
            if isinstance(item, Finding):
                findings.append(item)
            elif isinstance(item, FileError):
                errors.append(failure_of(item))
            else:
                rows.append(item)
    except Exception as error:  # noqa: BLE001 - the one boundary: a bug on one input must not stop the others
        return Outcome(number=unit.number, error=internal_failure(unit.target.shown, error))
    return Outcome(number=unit.number, rows=rows, findings=findings, error=_joined(errors))


def _joined(errors: list[Failure]) -> Failure | None:
    """Return the first error, which says how many more files there are."""
    if not errors:
        return None
    first, *others = errors
    if not others:
        return first
    return first._replace(message=f"{first.message}; {len(others)} more files there cannot be read")


def fold(folded: FoldedDirectory, found: Iterable[Event], watch: Watch | None = None) -> None:
    """Take events in order."""
    apply = folded.store.apply
    for event in found:
        refused = apply(event[1], event[0])
        if watch is not None:
            watch(folded, event, refused)
