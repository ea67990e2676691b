"""The objects of remote segments in remote storage, by a listing or directories, and what segments lack."""

import os
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from formats.names import (
    INDEXES_EXTENSION,
)
from formats.remote_metadata import RemoteLogSegmentMetadata
from kcli.kafka.remote.cache import COPY_SEGMENT_FINISHED, RemoteCache
from kcli.kafka.remote.objects import (
    LOG_PART,
    MANIFEST_PART,
    RemoteObject,
    StoredObjects,
    remote_object,
    stored,
)
from kcli.logdir.buffers import CANNOT_READ, FileError
from kcli.logdir.remote_objects import read_manifest, stored_objects

WRONG_OBJECTS = "RLMM-021"


class Storage(NamedTuple):
    """Directories and listings of remote storage, and when (ns) they were named: each run reads them once."""

    paths: tuple[str, ...]
    named_at: int


@lru_cache(maxsize=1)
def objects_of(storage: Storage) -> StoredObjects:
    """Return the objects of remote segments that directories or listings hold.

    FileError where one cannot be read, or holds objects and none of a segment.
    """
    objects: list[RemoteObject] = []
    for path in storage.paths:
        before, count = len(objects), 0
        for count, (name, size) in enumerate(stored_objects(path), 1):  # noqa: B007 - counted
            each = remote_object(name, size)
            if each is not None:
                objects.append(each)
        if count and len(objects) == before:
            message = f"none of its {count} objects has the name of a remote segment's"
            raise FileError(path, "nothing-to-read", message)
    return stored(objects)


def absent_segments(cache: RemoteCache, objects: StoredObjects) -> int:
    """Return how many segments of a partition are copied, where none of them has an object; 0 else."""
    copied = [key for key, each in cache.segments.items() if each.state == COPY_SEGMENT_FINISHED]
    return 0 if any(key in objects.objects for key in copied) else len(copied)


def storage_defects(metadata: RemoteLogSegmentMetadata, objects: StoredObjects) -> Iterator[tuple[bool, str]]:
    """Yield whether objects of a copied segment are absent from remote storage, and what is wrong with them.

    FileError where its manifest cannot be read for another reason than what is in it.
    """
    if metadata.state != COPY_SEGMENT_FINISHED:
        return
    lacks = objects.lacks(metadata.segment_id)
    if metadata.segment_id not in objects.objects:
        yield True, "no object of it in remote storage"
    elif lacks:
        yield True, f"{', '.join('.' + part for part in lacks)} not in remote storage"
    log = objects.log(metadata.segment_id)
    if log is not None and log.size != metadata.segment_size_in_bytes:
        yield False, f"its log has {log.size} bytes there, by its event {metadata.segment_size_in_bytes}"
    yield from _against_manifest(metadata, objects)


def _against_manifest(
    metadata: RemoteLogSegmentMetadata, objects: StoredObjects
) -> Iterator[tuple[bool, str]]:
    """Yield what is wrong about a segment by the manifest that the plugin wrote; of a listing nothing."""
    parts = {each.part: each for each in objects.objects.get(metadata.segment_id, ())}
    if MANIFEST_PART not in parts or not os.path.isfile(parts[MANIFEST_PART].name):
        return
    try:
        manifest = read_manifest(parts[MANIFEST_PART].name)
    except FileError as error:
        if error.code in CANNOT_READ:
            raise
        yield False, f"its manifest: {error.message}"
        return
    size = manifest.chunk_index.original_file_size
    if size != metadata.segment_size_in_bytes:
        yield (
            False,
            f"its log had {size} bytes by its manifest, by its event {metadata.segment_size_in_bytes}",
        )
    indexes = max(part.position + part.size for part in manifest.indexes.values())
    for part, expected in ((LOG_PART, manifest.chunk_index.stored_size), (INDEXES_EXTENSION, indexes)):
        if part in parts and parts[part].size != expected and (part != LOG_PART or parts[part].size):
            yield False, f".{part} has {parts[part].size} bytes there, by its manifest {expected}"


def describe_objects(objects: list[RemoteObject], *, named: bool = True) -> str:
    """Return how many objects there are and how large; with the name of one."""
    size = sum(each.size for each in objects)
    count = f"{len(objects)} objects" if len(objects) > 1 else "1 object"
    name = f": {min(each.name for each in objects)}" if named else ""
    return f"{count}, {size} bytes{name}"
