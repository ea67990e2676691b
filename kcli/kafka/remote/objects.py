"""Objects in remote storage, by their names: which segment each is of, and what a whole segment has.

    topic-0-<topic id>/00000000000000000042-<segment id>.log     LocalTieredStorage
                      also .index .timeindex .snapshot .leader_epoch_checkpoint, and .txnindex if there is one
    topic-<topic id>/0/00000000000000000042-<segment id>.log     Aiven's plugin
                      also .indexes .rsm-manifest

with any directories before.
The truth is `RemoteLogSegmentFileset` of Kafka's tests, and `ObjectKeyFactory` of the plugin.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from formats.names import INDEXES_EXTENSION, MANIFEST_EXTENSION, parse_object_dirs, parse_tiered_dir

LOG_PART = "log"
MANIFEST_PART = MANIFEST_EXTENSION
PARTS_OF_PLUGIN = (LOG_PART, INDEXES_EXTENSION, MANIFEST_PART)
PARTS_OF_LOCAL = (LOG_PART, "index", "timeindex", "snapshot", "leader_epoch_checkpoint")

_OBJECT = re.compile(r"([0-9]{20})-([A-Za-z0-9_-]{22})\.([A-Za-z0-9_.-]+)")

Owner: TypeAlias = tuple[str, str, int]
"""Topic id, topic, partition."""


class RemoteObject(NamedTuple):
    """One object: its name, its size in bytes, what of a segment it is; `owner` None where no path says.

    `whole`: what a whole segment has there, by the directories or by what this object is; None for unknown.
    """

    name: str
    size: int
    segment_id: str
    part: str
    owner: Owner | None
    whole: tuple[str, ...] | None


class StoredObjects(NamedTuple):
    """Objects by segment id; `parts` are those that each whole segment has."""

    objects: dict[str, list[RemoteObject]]
    parts: tuple[str, ...]

    def lacks(self, segment_id: str) -> list[str]:
        """Return the parts of a segment that are not there."""
        there = {each.part for each in self.objects.get(segment_id, ())}
        return [part for part in self.parts if part not in there]

    def log(self, segment_id: str) -> RemoteObject | None:
        """Return a segment's log where its size says how many bytes a broker copied.

        None for none, and where manifests say that logs were transformed. That makes no log empty.
        """
        log = next((each for each in self.objects.get(segment_id, ()) if each.part == LOG_PART), None)
        return None if log is not None and log.size and MANIFEST_PART in self.parts else log


def remote_object(name: str, size: int) -> RemoteObject | None:
    """Return an object of a segment; None for a name of anything else."""
    *directories, base = name.replace("\\", "/").split("/")
    match = _OBJECT.fullmatch(base)
    if match is None:
        return None
    part = match[3]
    local = parse_tiered_dir(directories[-1]) if directories else None
    plugin = parse_object_dirs(*directories[-2:]) if local is None and len(directories) > 1 else None
    named = local or plugin
    owner = None if named is None else (named[1], named[0].topic, named[0].partition)
    whole = None
    for parts, directory in ((PARTS_OF_PLUGIN, plugin), (PARTS_OF_LOCAL, local)):
        if directory is not None or (named is None and part in parts[1:]):
            whole = parts
    return RemoteObject(name, size, match[2], part, owner, whole)


def stored(objects: Iterable[RemoteObject]) -> StoredObjects:
    """Return objects by segment, and what a whole segment has: its log alone where no name says more."""
    by_segment: dict[str, list[RemoteObject]] = {}
    whole: set[tuple[str, ...] | None] = set()
    for each in objects:
        by_segment.setdefault(each.segment_id, []).append(each)
        whole.add(each.whole)
    known = (parts for parts in (PARTS_OF_PLUGIN, PARTS_OF_LOCAL) if parts in whole)
    return StoredObjects(by_segment, next(known, (LOG_PART,)))
