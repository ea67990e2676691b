"""`rlmm check`: what is wrong with the remote segments of each partition, by their events.

With `--storage` against the objects that remote storage holds: each metadata partition knows its own
segments, and only together they know which objects are of none: that is the reduce. With `--leader` against
the leader's epochs and offsets, as KIP-405 demands of a leader: remote storage ends below its last stable
offset, every offset from its log start on is in a tier, and what is copied is of its own history.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from formats.names import REMOTE_LOG_METADATA, REMOTE_LOG_SNAPSHOT, PartitionDir
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.rlmm.event_checks import MOST_FINDINGS, EventChecks, KnownSegments, RemoteCheck
from kcli.jobs.rlmm.locate import ABSENT, lacks, metadata_partition_of
from kcli.jobs.rlmm.read import fold_unit
from kcli.jobs.rlmm.snapshots import SnapshotVisitor, replay
from kcli.jobs.rlmm.stored_objects import (
    Storage,
    describe_objects,
    objects_of,
)
from kcli.kafka.findings.findings import Finding
from kcli.kafka.remote.cache import (
    UserPartition,
)
from kcli.kafka.remote.events import EventQuery
from kcli.logdir.find import Found
from kcli.logdir.targets import Selection


def check(unit: Unit, *, query: EventQuery, options: RemoteCheck) -> Outcome:
    """Return a row for each user partition of the unit's metadata partition, and what is wrong with it.

    The partial is what a StorageReducer works on.
    """
    objects = objects_of(options.storage) if options.storage else None

    def visitor() -> SnapshotVisitor:
        checks = EventChecks(options, objects)
        return SnapshotVisitor(lambda file: checks.results(file.partition), checks.watch)

    if unit.target.kind == REMOTE_LOG_SNAPSHOT:
        return replay(unit, query, visitor)
    checks = EventChecks(options, objects)
    outcome = fold_unit(unit, query, checks.results, checks.watch)
    return replace(outcome, partial=checks.known(unit.target))


def reducer(storage: Storage, selection: Selection, _: Found) -> "StorageReducer":
    """Return the reduce of a check against remote storage."""
    return StorageReducer(storage, selection)


@dataclass(slots=True)
class StorageReducer:
    """Puts together what metadata partitions know; at the end gives the objects that no event is about."""

    storage: Storage
    selection: Selection

    def __call__(self, left: Outcome | None, right: Outcome | None) -> Outcome:
        """Return two neighbours as one."""
        given = [each for each in (left, right) if each is not None]
        parts = [each.partial for each in given if isinstance(each.partial, KnownSegments)]
        known = (
            KnownSegments(*(frozenset().union(*sets) for sets in zip(*parts, strict=True)))
            if parts
            else KnownSegments()
        )
        findings = [finding for each in given for finding in each.findings]
        if right is None:
            findings += self._unknown(known)
        rows = [row for each in given for row in each.rows]
        return replace(given[-1], rows=rows, findings=findings, partial=known)

    def _unknown(self, known: KnownSegments) -> Iterator[Finding]:
        """Yield findings about objects of segments that no event names."""
        listed, unjudged = 0, Counter[str]()
        lacking = lru_cache(partial(_lacks, known))
        for segment_id, objects in objects_of(self.storage).objects.items():
            owner = objects[0].owner
            if segment_id in known.segments or not self._is_selected(owner):
                continue
            why = lacking(owner)
            if why is not None:
                unjudged[why] += 1
                continue
            listed += 1
            if listed <= MOST_FINDINGS:
                place = "" if owner is None else f"{owner[1]}-{owner[2]}: "
                there = describe_objects(objects, named=False)
                what = f"{place}segment {segment_id}: no event names it; {there}"
                yield Finding("RLMM-020", what, path=objects[0].name)
        if listed > MOST_FINDINGS:
            yield Finding("RLMM-020", f"{listed - MOST_FINDINGS} more segments that no event names")
        for why, count in sorted(unjudged.items()):
            segments = "1 segment" if count == 1 else f"{count} segments"
            yield Finding("RLMM-025", f"{segments} in remote storage: {why}", path=self.storage.paths[0])

    def _is_selected(self, owner: UserPartition | None) -> bool:
        if not self.selection.names:
            return True
        return owner is not None and self.selection.wants(PartitionDir(owner[1], owner[2]))


def _lacks(known: KnownSegments, owner: UserPartition | None) -> str | None:
    """Return why not all events about a user partition are here; None where they are.

    Objects without an owner in their names are judged where no metadata partition here lacks events.
    """
    if owner is None:
        numbers = {number for number, _ in known.metadata_partitions}
        found = [lacks(number, known.metadata_partitions) for number in numbers]
        why = next((each for each in found if each is not None), None)
        return None if why is None else f"not all events are here: {why}"
    size = next(iter(known.sizes), None)
    number = metadata_partition_of(owner, [(key, at) for key, at in known.partitions if at is not None], size)
    if number is None and all(key != owner for key, _ in known.partitions):
        why = ABSENT
    else:
        why = lacks(number, known.metadata_partitions)
    if why is None or why == ABSENT:
        return None if why is None else "their events are in partitions that are not here"
    of = "" if number is None else f"{REMOTE_LOG_METADATA}-{number}: "
    return f"not all events about them are here: {of}{why}"
