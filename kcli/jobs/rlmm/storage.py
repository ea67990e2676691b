"""The files of remote segments in directories of remote storage: LocalTieredStorage and Aiven's plugin."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace

from formats.index import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY
from formats.names import (
    INDEXES_EXTENSION,
    OFFSET_INDEX,
    TIERED_EXTENSION_KINDS,
    TIME_INDEX,
    file_prefix,
)
from kcli.kafka.remote.cache import CachedSegment
from kcli.kafka.storage.log_segment import (
    NO_OFFSETS,
    NO_TIMES,
    LoadedSegment,
    file_index,
    memory_index,
    size_of,
)
from kcli.logdir.buffers import file_error
from kcli.logdir.find import file_target
from kcli.logdir.remote_objects import manifest_path, open_log, read_target


def stored_path(segment: CachedSegment, storage: Iterable[str]) -> str | None:
    """Return the path of a remote segment in directories of remote storage, without its extension.

    None where none of them has its log. FileError where that cannot be seen.
    """
    return next((path for path in _paths(segment, storage) if _is_there(f"{path}.log")), None)


def _paths(segment: CachedSegment, storage: Iterable[str]) -> Iterator[str]:
    """Yield the paths, without extension, that a remote segment can have in directories of remote storage."""
    metadata = segment.metadata
    topic, partition, topic_id = metadata.topic, str(metadata.partition), metadata.topic_id
    stem = f"{file_prefix(metadata.start_offset)}-{metadata.segment_id}"
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
    """Return a remote segment from directories of remote storage; None where none has its log.

    FileError where the plugin encrypted it.
    """
    path = stored_path(segment, storage)
    return None if path is None else segment_at(segment.metadata.start_offset, path)


def fetched_index(segment: CachedSegment, storage: Iterable[str], kind: str) -> tuple[str, bytes] | None:
    """Return what RemoteStorageManager.fetchIndex does, with its path; None for not found.

    It does not look for the segment's log. The plugin begins with the manifest.
    """
    paths = _paths(segment, storage)
    return next((found for path in paths if (found := stored_file(path, kind)) is not None), None)


def stored_file(stem: str, kind: str) -> tuple[str, bytes] | None:
    """Return a small file that was uploaded with a segment, its path and bytes; None where it has none.

    FileError where that cannot be seen.
    """
    extension = next(name for name, each in TIERED_EXTENSION_KINDS.items() if each == kind)
    of_plugin, own = f"{stem}.{INDEXES_EXTENSION}", f"{stem}.{extension}"
    path = of_plugin if _is_there(of_plugin) and manifest_path(of_plugin) is not None else own
    return (path, read_target(replace(file_target(path), kind=kind))[1]) if _is_there(path) else None


def segment_at(base_offset: int, path: str, *, with_log: bool = True) -> LoadedSegment:
    """Return a segment whose files are at a path with their extensions.

    Of one that the plugin stored the indexes are in memory, and the log is unpacked where it is read.
    """
    log, index, times = f"{path}.log", f"{path}.index", f"{path}.timeindex"
    if with_log and manifest_path(log) is not None:
        return _unpacked(base_offset, path)
    return LoadedSegment(
        base_offset,
        log if with_log else None,
        size_of(log) if with_log else 0,
        file_index(OFFSET_INDEX_ENTRY, index) if os.path.lexists(index) else NO_OFFSETS,
        file_index(TIME_INDEX_ENTRY, times) if os.path.lexists(times) else NO_TIMES,
    )


def _unpacked(base_offset: int, path: str) -> LoadedSegment:
    with open_log(f"{path}.log") as log:
        size = log.size
    offsets, times = stored_file(path, OFFSET_INDEX), stored_file(path, TIME_INDEX)
    return LoadedSegment(
        base_offset,
        f"{path}.log",
        size,
        NO_OFFSETS if offsets is None else memory_index(OFFSET_INDEX_ENTRY, offsets[1]),
        NO_TIMES if times is None else memory_index(TIME_INDEX_ENTRY, times[1]),
        opened=open_log,
    )
