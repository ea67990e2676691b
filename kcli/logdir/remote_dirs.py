"""Directories that hold files of remote segments: a broker's index cache, and LocalTieredStorage.

    <log dir>/remote-log-index-cache/42_<segment id>.index           also .timeindex .txnindex
    <storage>/topic-0-<topic id>/00000000000000000042-<segment id>.log
                              also .index .timeindex .txnindex .snapshot .leader_epoch_checkpoint

The truth is `RemoteIndexCache`, and of Kafka's tests `LocalTieredStorage`, `RemoteTopicPartitionDirectory`
and `RemoteLogSegmentFileset`.
"""

import os
from collections.abc import Iterable, Iterator

from formats.names import (
    IN_INDEX_CACHE,
    IN_PARTITION,
    IN_TIERED_STORAGE,
    REMOTE_LOG_INDEX_CACHE,
    FileName,
    PartitionDir,
    parse_partition_dir,
    parse_tiered_dir,
)

REMOTE_SEGMENTS = "remote-segments"
"""The kind of a target that is such a directory."""

_SCHEMES = frozenset({IN_INDEX_CACHE, IN_TIERED_STORAGE})


def holds_remote_segments(path: str, files: Iterable[FileName]) -> bool:
    """Whether a directory holds files of remote segments, and none of a log; an empty one by its name."""
    name = os.path.basename(os.path.abspath(path))
    schemes = {file.scheme for file in files}
    if not schemes:
        return name == REMOTE_LOG_INDEX_CACHE
    return bool(schemes & _SCHEMES) and IN_PARTITION not in schemes


def partition_around(path: str) -> PartitionDir | None:
    """Return the partition by the name of a directory, of a log dir or of LocalTieredStorage."""
    name = os.path.basename(os.path.abspath(path))
    found = parse_partition_dir(name)
    tiered = parse_tiered_dir(name) if found is None else None
    return found if tiered is None else tiered[0]


def tiered_dirs(paths: Iterable[str]) -> Iterator[tuple[str, PartitionDir]]:
    """Yield those of the directories that LocalTieredStorage made for a partition, by topic and partition."""
    named = ((path, parse_tiered_dir(os.path.basename(path))) for path in paths)
    found = [(path, parsed[0]) for path, parsed in named if parsed is not None]
    yield from sorted(found, key=lambda each: (each[1].topic, each[1].partition, each[0]))
