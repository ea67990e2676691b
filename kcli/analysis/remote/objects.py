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

LOG = "log"
MANIFEST = MANIFEST_EXTENSION
PARTS_OF_PLUGIN = (LOG, INDEXES_EXTENSION, MANIFEST)
PARTS_OF_LOCAL = (LOG, "index", "timeindex", "snapshot", "leader_epoch_checkpoint")

_OBJECT = re.compile(r"([0-9]{20})-([A-Za-z0-9_-]{22})\.([A-Za-z0-9_.-]+)")

Owner: TypeAlias = tuple[str, str, int]
"""Topic id, topic, partition."""


class RemoteObject(NamedTuple):
    """One object: its name, its size in bytes, what of a segment it is; `owner` None where no path says."""

    name: str
    size: int
    segment_id: str
    part: str
    owner: Owner | None


class Stored(NamedTuple):
    """Objects by segment id; `parts` are those that each whole segment has."""

    objects: dict[str, list[RemoteObject]]
    parts: tuple[str, ...]

    def lacks(self, segment_id: str) -> list[str]:
        """Return the parts of a segment that are not there."""
        there = {one.part for one in self.objects.get(segment_id, ())}
        return [part for part in self.parts if part not in there]

    def log(self, segment_id: str) -> RemoteObject | None:
        """Return a segment's log where it has the bytes that a broker copied.

        None for none, and where manifests say that logs were transformed.
        """
        if MANIFEST in self.parts:
            return None
        return next((one for one in self.objects.get(segment_id, ()) if one.part == LOG), None)


def remote_object(name: str, size: int) -> RemoteObject | None:
    """Return an object of a segment; None for a name of anything else."""
    *directories, base = name.replace("\\", "/").split("/")
    match = _OBJECT.fullmatch(base)
    return None if match is None else RemoteObject(name, size, match[2], match[3], _owner(directories))


def _owner(directories: list[str]) -> Owner | None:
    found = parse_tiered_dir(directories[-1]) if directories else None
    if found is None and len(directories) > 1:
        found = parse_object_dirs(*directories[-2:])
    return None if found is None else (found[1], found[0].topic, found[0].partition)


def stored(objects: Iterable[RemoteObject]) -> Stored:
    """Return objects by segment, and what a whole segment has by what is there at all."""
    found: dict[str, list[RemoteObject]] = {}
    parts: set[str] = set()
    for one in objects:
        found.setdefault(one.segment_id, []).append(one)
        parts.add(one.part)
    for whole in (PARTS_OF_PLUGIN, PARTS_OF_LOCAL):
        if parts & (set(whole) - {LOG}):
            return Stored(found, tuple(part for part in whole if part in parts))
    return Stored(found, (LOG,))
