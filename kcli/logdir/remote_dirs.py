"""Directories that hold files of remote segments: a broker's index cache, and remote storage.

    <log dir>/remote-log-index-cache/42_<segment id>.index           also .timeindex .txnindex
    <storage>/topic-0-<topic id>/00000000000000000042-<segment id>.log
                              also .index .timeindex .txnindex .snapshot .leader_epoch_checkpoint
    <storage>/topic-<topic id>/0/00000000000000000042-<segment id>.log
                              also .indexes .rsm-manifest

The truth is `RemoteIndexCache`, of Kafka's tests `LocalTieredStorage`, `RemoteTopicPartitionDirectory`
and `RemoteLogSegmentFileset`, and of Aiven's plugin `ObjectKeyFactory`.
"""

import os
from collections.abc import Iterable, Iterator

from formats import names
from kcli.logdir.buffers import file_error

REMOTE_SEGMENTS = "remote-segments"  # the kind of a target that is such a directory

_SCHEMES = frozenset({names.IN_INDEX_CACHE, names.IN_TIERED_STORAGE})


def holds_remote_segments(path: str, files: Iterable[names.FileName]) -> bool:
    """Whether a directory holds files of remote segments, and none of a log; an empty one by its name."""
    name = os.path.basename(os.path.abspath(path))
    schemes = {file.scheme for file in files}
    if not schemes:
        return name == names.REMOTE_LOG_INDEX_CACHE
    return bool(schemes & _SCHEMES) and names.IN_PARTITION not in schemes


def partition_around(path: str) -> names.PartitionDir | None:
    """Return the partition by the name of a directory, of a log dir or of remote storage."""
    above, name = os.path.split(os.path.abspath(path))
    tiered = names.parse_tiered_dir(name) or names.parse_object_dirs(os.path.basename(above), name)
    return names.parse_partition_dir(name) or (None if tiered is None else tiered[0])


def tiered_dirs(paths: Iterable[str]) -> Iterator[tuple[str, names.PartitionDir]]:
    """Yield the directories of partitions in remote storage among some and a level below. FileError."""
    dirs = []
    for path in paths:
        inside = list(_object_dirs(path))
        dirs += inside
        above, name = os.path.split(os.path.abspath(path))
        parsed = (
            None
            if inside
            else names.parse_tiered_dir(name) or names.parse_object_dirs(os.path.basename(above), name)
        )
        if parsed is not None:
            dirs.append((path, parsed[0]))
    yield from sorted(dirs, key=lambda each: (each[1].topic, each[1].partition, each[0]))


def _object_dirs(path: str) -> Iterator[tuple[str, names.PartitionDir]]:
    """Yield the directories of partitions in the directory that the plugin made for a topic."""
    topic = os.path.basename(os.path.abspath(path))
    if names.parse_object_dirs(topic, "0") is None:
        return
    try:
        with os.scandir(path) as listing:
            inside = [
                (entry.path, names.parse_object_dirs(topic, entry.name))
                for entry in listing
                if entry.is_dir()
            ]
    except OSError as error:
        raise file_error(path, error) from error
    yield from ((each, parsed[0]) for each, parsed in inside if parsed is not None)
