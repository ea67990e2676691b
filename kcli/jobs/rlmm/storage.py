"""`rlmm check --storage`: remote segments by their events against the objects that remote storage holds.

Each metadata partition knows its own segments. Only together they know which objects are of
none: that is the reduce.
"""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NamedTuple

from formats.names import INDEXES_EXTENSION, REMOTE_LOG_METADATA, PartitionDir
from formats.remote_metadata import RemoteLogSegmentMetadata
from kcli.engine.contract import Outcome
from kcli.jobs.rlmm.locate import ABSENT, lacks, place_of
from kcli.kafka.findings.findings import Finding
from kcli.kafka.remote.cache import COPY_SEGMENT_FINISHED, RemoteCache, UserPartition
from kcli.kafka.remote.objects import LOG, MANIFEST, RemoteObject, Stored, remote_object, stored
from kcli.logdir.buffers import CANNOT_READ, FileError
from kcli.logdir.objects import stored_objects
from kcli.logdir.remote_objects import read_manifest
from kcli.logdir.tree import Found, Selection

MOST_FINDINGS = 1000
"""Segments without an event that are listed; more are counted."""


class Storage(NamedTuple):
    """Directories and listings of remote storage, and when (ns) they were named: each run reads them once."""

    paths: tuple[str, ...]
    named_at: int


@lru_cache(maxsize=1)
def objects_of(storage: Storage) -> Stored:
    """Return the objects of remote segments that directories or listings hold.

    FileError where one cannot be read, or holds objects and none of a segment.
    """
    found: list[RemoteObject] = []
    for path in storage.paths:
        before, count = len(found), 0
        for count, (name, size) in enumerate(stored_objects(path), 1):  # noqa: B007 - counted
            one = remote_object(name, size)
            if one is not None:
                found.append(one)
        if count and len(found) == before:
            message = f"none of its {count} objects has the name of a remote segment's"
            raise FileError(path, "nothing-to-read", message)
    return stored(found)


def absent_segments(cache: RemoteCache, objects: Stored) -> int:
    """Return how many segments of a partition are copied, where none of them has an object; 0 else."""
    copied = [key for key, one in cache.segments.items() if one.state == COPY_SEGMENT_FINISHED]
    return 0 if any(key in objects.objects for key in copied) else len(copied)


def missing(metadata: RemoteLogSegmentMetadata, objects: Stored) -> Iterator[tuple[str, str]]:
    """Yield code and message of what a copied segment lacks in remote storage, and of a wrong size.

    FileError where its manifest cannot be read for another reason than what is in it.
    """
    if metadata.state != COPY_SEGMENT_FINISHED:
        return
    lacks = objects.lacks(metadata.segment_id)
    if metadata.segment_id not in objects.objects:
        yield "RLMM-021", "no object of it in remote storage"
    elif lacks:
        yield "RLMM-021", f"{', '.join('.' + part for part in lacks)} not in remote storage"
    log = objects.log(metadata.segment_id)
    if log is not None and log.size != metadata.segment_size_in_bytes:
        yield "RLMM-022", f"its log has {log.size} bytes there, by its event {metadata.segment_size_in_bytes}"
    yield from _against_manifest(metadata, objects)


def _against_manifest(metadata: RemoteLogSegmentMetadata, objects: Stored) -> Iterator[tuple[str, str]]:
    """Yield what is wrong about a segment by the manifest that the plugin wrote; of a listing nothing."""
    parts = {one.part: one for one in objects.objects.get(metadata.segment_id, ())}
    if MANIFEST not in parts or not os.path.isfile(parts[MANIFEST].name):
        return
    try:
        manifest = read_manifest(parts[MANIFEST].name)
    except FileError as error:
        if error.code in CANNOT_READ:
            raise
        yield "RLMM-031", f"its manifest: {error.message}"
        return
    size = manifest.chunk_index.original_file_size
    if size != metadata.segment_size_in_bytes:
        yield (
            "RLMM-022",
            f"its log had {size} bytes by its manifest, by its event {metadata.segment_size_in_bytes}",
        )
    indexes = max(part.position + part.size for part in manifest.indexes.values())
    for part, said in ((LOG, manifest.chunk_index.stored_size), (INDEXES_EXTENSION, indexes)):
        if part in parts and parts[part].size != said and (part != LOG or parts[part].size):
            yield "RLMM-031", f".{part} has {parts[part].size} bytes there, by its manifest {said}"


def described(objects: list[RemoteObject], *, named: bool = True) -> str:
    """Return how many objects there are and how large; with the name of one."""
    size = sum(one.size for one in objects)
    count = f"{len(objects)} objects" if len(objects) > 1 else "1 object"
    name = f": {min(one.name for one in objects)}" if named else ""
    return f"{count}, {size} bytes{name}"


class Known(NamedTuple):
    """What metadata partitions know: ids of segments that have objects, and user partitions with theirs.

    `metadata_partitions`: the number of each, and why not all its events are here. `sizes`: how many there
    are by the cluster metadata.
    """

    segments: frozenset[str] = frozenset()
    partitions: frozenset[tuple[UserPartition, int | None]] = frozenset()
    metadata_partitions: frozenset[tuple[int | None, str | None]] = frozenset()
    sizes: frozenset[int] = frozenset()


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
        parts = [each.partial for each in given if isinstance(each.partial, Known)]
        known = Known(*(frozenset().union(*sets) for sets in zip(*parts, strict=True))) if parts else Known()
        findings = [finding for each in given for finding in each.findings]
        if right is None:
            findings += self._unknown(known)
        rows = [row for each in given for row in each.rows]
        return replace(given[-1], rows=rows, findings=findings, partial=known)

    def _unknown(self, known: Known) -> Iterator[Finding]:
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
                what = f"{place}segment {segment_id}: no event names it; {described(objects, named=False)}"
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


def _lacks(known: Known, owner: UserPartition | None) -> str | None:
    """Return why not all events about a user partition are here; None where they are.

    Objects without an owner in their names are judged where no metadata partition here lacks events.
    """
    if owner is None:
        numbers = {number for number, _ in known.metadata_partitions}
        found = [lacks(number, known.metadata_partitions) for number in numbers]
        why = next((one for one in found if one is not None), None)
        return None if why is None else f"not all events are here: {why}"
    size = next(iter(known.sizes), None)
    number = place_of(owner, [(key, at) for key, at in known.partitions if at is not None], size)
    if number is None and all(key != owner for key, _ in known.partitions):
        why = ABSENT
    else:
        why = lacks(number, known.metadata_partitions)
    if why is None or why == ABSENT:
        return None if why is None else "their events are in partitions that are not here"
    of = "" if number is None else f"{REMOTE_LOG_METADATA}-{number}: "
    return f"not all events about them are here: {of}{why}"
