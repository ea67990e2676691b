"""The objects of remote segments, listed or in directories: which segment each is of, what segments lack.

    topic-0-<topic id>/00000000000000000042-<segment id>.log     LocalTieredStorage
                      also .index .timeindex .snapshot .leader_epoch_checkpoint, and .txnindex if there is one
    topic-<topic id>/0/00000000000000000042-<segment id>.log     Aiven's plugin
                      also .indexes .rsm-manifest

with any directories before.
The truth is `RemoteLogSegmentFileset` of Kafka's tests, and `ObjectKeyFactory` of the plugin.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from formats import names
from formats.index import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY
from formats.remote_metadata import RemoteLogSegmentMetadata
from kcli.kafka.remote.cache import COPY_SEGMENT_FINISHED, CachedSegment, RemoteCache, UserPartition
from kcli.kafka.storage.log_segment import (
    EMPTY_OFFSET_INDEX,
    EMPTY_TIME_INDEX,
    LoadedSegment,
    memory_index,
    segment_of_files,
)
from kcli.logdir.archives import archive_of
from kcli.logdir.buffers import CANNOT_READ, FileError, file_error
from kcli.logdir.find import file_target
from kcli.logdir.remote_objects import manifest_path, open_log, read_manifest, read_target, stored_objects

WRONG_OBJECTS = "RLMM-021"
LOG_PART = "log"
MANIFEST_PART = names.MANIFEST_EXTENSION
PARTS_OF_PLUGIN = (LOG_PART, names.INDEXES_EXTENSION, MANIFEST_PART)
PARTS_OF_LOCAL = (LOG_PART, "index", "timeindex", "snapshot", "leader_epoch_checkpoint")

_OBJECT = re.compile(r"([0-9]{20})-([A-Za-z0-9_-]{22})\.([A-Za-z0-9_.-]+)")


class RemoteObject(NamedTuple):
    """One object: its name, its size in bytes, what of a segment it is; `owner` None where no path says.

    `layout`: what a whole segment has there, by the directories or by what this object is; None for unknown.
    """

    name: str
    size: int
    segment_id: str
    part: str
    owner: UserPartition | None
    layout: tuple[str, ...] | None


class StoredObjects(NamedTuple):
    """Objects by segment id; `parts` are those that each whole segment has."""

    objects: dict[str, list[RemoteObject]]
    parts: tuple[str, ...]

    def lacks(self, segment_id: str) -> list[str]:
        """Return the parts of a segment that are not there."""
        there = {each.part for each in self.objects.get(segment_id, ())}
        return [part for part in self.parts if part not in there]

    def log(self, segment_id: str) -> RemoteObject | None:
        """Return a segment's log where its size is that of what was copied: not beside manifests."""
        log = next((each for each in self.objects.get(segment_id, ()) if each.part == LOG_PART), None)
        return None if log is not None and log.size and MANIFEST_PART in self.parts else log


def remote_object(name: str, size: int) -> RemoteObject | None:
    """Return an object of a segment; None for a name of anything else."""
    *directories, base = name.replace("\\", "/").split("/")
    match = _OBJECT.fullmatch(base)
    if match is None:
        return None
    part = match[3]
    local = names.parse_tiered_dir(directories[-1]) if directories else None
    plugin = names.parse_object_dirs(*directories[-2:]) if local is None and len(directories) > 1 else None
    named = local or plugin
    owner = None if named is None else (named[1], named[0].topic, named[0].partition)
    layout = None
    for parts, directory in ((PARTS_OF_PLUGIN, plugin), (PARTS_OF_LOCAL, local)):
        if directory is not None or (named is None and part in parts[1:]):
            layout = parts
    return RemoteObject(name, size, match[2], part, owner, layout)


def stored(objects: Iterable[RemoteObject]) -> StoredObjects:
    """Return objects by segment, and what a whole segment has: its log alone where no name says more."""
    by_segment: dict[str, list[RemoteObject]] = {}
    named_layouts: set[tuple[str, ...] | None] = set()
    for each in objects:
        by_segment.setdefault(each.segment_id, []).append(each)
        named_layouts.add(each.layout)
    layouts = (parts for parts in (PARTS_OF_PLUGIN, PARTS_OF_LOCAL) if parts in named_layouts)
    return StoredObjects(by_segment, next(layouts, (LOG_PART,)))


class Storage(NamedTuple):
    """Directories and listings of remote storage, and when (ns) they were named: each run reads them once."""

    paths: tuple[str, ...]
    named_at: int


@lru_cache(maxsize=1)
def objects_of(storage: Storage) -> StoredObjects:
    """Return the objects of directories or listings; FileError for one that has none of a segment."""
    objects: list[RemoteObject] = []
    for path in storage.paths:
        refuse_archive(path)
        before, count = len(objects), 0
        for count, (name, size) in enumerate(stored_objects(path), 1):  # noqa: B007 - counted
            each = remote_object(name, size)
            if each is not None:
                objects.append(each)
        if count and len(objects) == before:
            message = f"none of its {count} objects has the name of a remote segment's"
            raise FileError(path, "nothing-to-read", message)
    return stored(objects)


def refuse_archive(path: str) -> None:
    """Raise FileError for an archive, and for what is in one."""
    if archive_of(path) is not None:
        message = "expected a directory, not an archive: unpack it, and name what is in it"
        raise FileError(path, "wrong-kind", message)


def storage_directories(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths of directories of remote storage; FileError for anything else."""
    directories = tuple(paths)
    for path in directories:
        refuse_archive(path)
        try:
            os.scandir(path).close()
        except OSError as error:
            raise file_error(path, error) from error
    return directories


def absent_segments(cache: RemoteCache, objects: StoredObjects) -> int:
    """Return how many segments of a partition are copied, where none of them has an object; 0 else."""
    copied = [key for key, segment in cache.segments.items() if segment.state == COPY_SEGMENT_FINISHED]
    return 0 if any(key in objects.objects for key in copied) else len(copied)


def storage_defects(metadata: RemoteLogSegmentMetadata, objects: StoredObjects) -> Iterator[tuple[bool, str]]:
    """Yield whether objects of a copied segment are absent, and what is wrong with them. FileError."""
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
        by_event = f"by its event {metadata.segment_size_in_bytes}"
        yield False, f"its log had {size} bytes by its manifest, {by_event}"
    indexes = max(part.position + part.size for part in manifest.indexes.values())
    for part, expected in ((LOG_PART, manifest.chunk_index.stored_size), (names.INDEXES_EXTENSION, indexes)):
        if part in parts and parts[part].size != expected and (part != LOG_PART or parts[part].size):
            yield False, f".{part} has {parts[part].size} bytes there, by its manifest {expected}"


def describe_objects(objects: list[RemoteObject], *, named: bool = True) -> str:
    """Return how many objects there are and how large; with the name of one."""
    size = sum(each.size for each in objects)
    count = f"{len(objects)} objects" if len(objects) > 1 else "1 object"
    name = f": {min(each.name for each in objects)}" if named else ""
    return f"{count}, {size} bytes{name}"


# Files of one segment in directories


def _paths(segment: CachedSegment, storage: Iterable[str]) -> Iterator[str]:
    """Yield the paths, without extension, that a remote segment can have in directories of remote storage."""
    metadata = segment.metadata
    topic, partition, topic_id = metadata.topic, str(metadata.partition), metadata.topic_id
    stem = f"{names.file_prefix(metadata.start_offset)}-{metadata.segment_id}"
    above = ((f"{topic}-{partition}-{topic_id}",), (f"{topic}-{topic_id}", partition), (partition,), ())
    return (os.path.join(root, *inner, stem) for root in storage for inner in above)


def _is_there(path: str) -> bool:
    """Whether there is an object; FileError where its directory may not be searched."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise file_error(path, error) from error
    return True


def stored_segment(segment: CachedSegment, storage: Iterable[str]) -> LoadedSegment | None:
    """Return a remote segment whose log storage has; None without, FileError where it is encrypted."""
    path = next((path for path in _paths(segment, storage) if _is_there(f"{path}.log")), None)
    return None if path is None else segment_at(segment.metadata.start_offset, path)


def fetched_index(segment: CachedSegment, storage: Iterable[str], kind: str) -> tuple[str, bytes] | None:
    """Return what RemoteStorageManager.fetchIndex does, with its path; None for not found."""
    paths = _paths(segment, storage)
    return next((stored for path in paths if (stored := stored_file(path, kind)) is not None), None)


def stored_file(stem: str, kind: str) -> tuple[str, bytes] | None:
    """Return path and bytes of a small file uploaded with a segment; None for none, or FileError."""
    extension = next(name for name, each in names.TIERED_EXTENSION_KINDS.items() if each == kind)
    of_plugin, own = f"{stem}.{names.INDEXES_EXTENSION}", f"{stem}.{extension}"
    path = of_plugin if _is_there(of_plugin) and manifest_path(of_plugin) is not None else own
    return (path, read_target(replace(file_target(path), kind=kind))[1]) if _is_there(path) else None


def segment_at(base_offset: int, path: str, *, with_log: bool = True) -> LoadedSegment:
    """Return a segment whose files are at a path; one that the plugin stored is unpacked where it is read."""
    if with_log and manifest_path(f"{path}.log") is not None:
        return _unpacked(base_offset, path)
    return segment_of_files(base_offset, path, with_log=with_log)


def _unpacked(base_offset: int, path: str) -> LoadedSegment:
    with open_log(f"{path}.log") as log:
        size = log.size
    offsets, times = stored_file(path, names.OFFSET_INDEX), stored_file(path, names.TIME_INDEX)
    return LoadedSegment(
        base_offset,
        f"{path}.log",
        size,
        EMPTY_OFFSET_INDEX if offsets is None else memory_index(OFFSET_INDEX_ENTRY, offsets[1]),
        EMPTY_TIME_INDEX if times is None else memory_index(TIME_INDEX_ENTRY, times[1]),
        opened=open_log,
    )
