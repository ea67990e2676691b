"""What a start makes of each file of a partition directory, once its background work is done.

The truth is what `LogLoader.load` and the constructor of `UnifiedLog` do to the files: deletions that wait,
epochs that are flushed, and the indexes of the active segment at their full size. The start itself is
`kcli.kafka.storage.log_loader`; here its result is held against the directory.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from formats.index import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY, TXN_INDEX_ENTRY
from formats.names import CLUSTER_METADATA, KRAFT_SNAPSHOT, FileName, canonical_name, parse_file
from kcli.kafka.storage.leader_epochs import EpochCache
from kcli.kafka.storage.loaded_log import METADATA_TOPIC_ID, LoadedLog
from kcli.kafka.storage.log_segment import Index, LoadedSegment, bytes_on_disk, size_of
from kcli.kafka.storage.producer_state import EMPTY_SNAPSHOT, Producer
from kcli.kafka.storage.surviving_files import offset_of
from kcli.logdir.buffers import DataFile
from kcli.logdir.log_dirs import PARTITION_METADATA_FILE
from kcli.logdir.partition import LEADER_EPOCH_CHECKPOINT, Partition

DELETE_FILE: Final = "delete"
FileAction: TypeAlias = Literal["keep", "create", "delete", "truncate", "rewrite", "rename"]

LOG, INDEX, TIME_INDEX, TXN_INDEX, SNAPSHOT = ".log", ".index", ".timeindex", ".txnindex", ".snapshot"
TEMPORARY = ".tmp"
ENTRY_SIZES = {INDEX: OFFSET_INDEX_ENTRY.size, TIME_INDEX: TIME_INDEX_ENTRY.size}
DISK_BLOCK = 4096
"""Bytes of a block of most file systems."""
SMALLEST_TABLE = 16
"""Buckets of a new `java.util.HashMap`."""


class FileChange(NamedTuple):
    """What happens to one file; sizes in bytes, None where there is no file.

    `file`: its name before the start, or the new one; `truncate` leaves a beginning of what was there.
    """

    file: str
    action: FileAction
    size_before: int | None
    size_after: int | None
    reason: str


class _After(NamedTuple):
    """A file after the start, and why; None: its size stays, its bytes are not new. Zeros fill new ones."""

    size: int | None
    content: bytes | None
    reason: str


WHY_DELETED = {
    LOG: "its segment goes",
    **dict.fromkeys((INDEX, TIME_INDEX, TXN_INDEX), "its segment is not there, or goes"),
    SNAPSHOT: "outside the log, or at no segment's base offset",
    TEMPORARY: "left by an interrupted write of the checkpoint",
}
UNCHANGED = "nothing to do"
REBUILT = "rebuilt by recovery"
AS_IT_IS = _After(None, None, UNCHANGED)


def file_changes(partition: Partition, log: LoadedLog) -> tuple[FileChange, ...]:
    """Return what a start that gives `log` makes of each file of the directory, by name; FileError."""
    deleted, renamed = log.files.deleted, log.files.renamed
    names = [name for name in partition.names if name not in deleted]
    paths = {renamed.get(name, name): os.path.join(partition.path, name) for name in names}
    later = dict(_files_after(partition, paths, log))
    changes = [_change(partition, name, renamed.get(name, name), later) for name in names]
    for name, reason in deleted.items():
        is_back = name in later and name not in renamed.values()
        change = _change(partition, name, name, later) if is_back else _deleted(partition, name, reason)
        changes.append(change)
    changes += [FileChange(name, "create", None, after.size, after.reason) for name, after in later.items()]
    return tuple(sorted(changes))


def bytes_needed(path: str, log: LoadedLog, changes: Iterable[FileChange]) -> int:
    """Return the bytes of disk, in blocks, that a start takes for files that it makes or rewrites.

    Preallocated parts of indexes take none before there are entries; epochs are written beside the old file.
    """
    entries = {
        f"{segment.base_offset:020d}{suffix}": index.entries * ENTRY_SIZES[suffix]
        for segment in log.segments
        for suffix, index in ((INDEX, segment.offset_index), (TIME_INDEX, segment.time_index))
    }
    total = 0
    for change in changes:
        if change.action in {"create", "rewrite"}:
            after = min(change.size_after or 0, entries.get(change.file, change.size_after or 0))
            there = change.action == "rewrite" and change.file != LEADER_EPOCH_CHECKPOINT
            before = bytes_on_disk(os.path.join(path, change.file)) if there else 0
            total += max(0, in_blocks(after) - before)
    return total


def in_blocks(size: int) -> int:
    """Return the bytes that a file takes of a disk."""
    return -(-size // DISK_BLOCK) * DISK_BLOCK


def all_deleted(partition: Partition, reason: str) -> tuple[FileChange, ...]:
    """Return that every file of a directory goes."""
    return tuple(_deleted(partition, name, reason) for name in partition.names)


def _deleted(partition: Partition, name: str, reason: str) -> FileChange:
    return FileChange(name, DELETE_FILE, size_of(os.path.join(partition.path, name)), None, reason)


def _change(partition: Partition, name: str, new_name: str, later: dict[str, _After]) -> FileChange:
    """Return what happens to a file, and take what it is after the start from `later`."""
    after = later.pop(new_name, None)
    if after is None:
        return _deleted(partition, name, WHY_DELETED.get(os.path.splitext(new_name)[1], "not needed"))
    path = os.path.join(partition.path, name)
    before = size_of(path)
    size = before if after.size is None else after.size
    if new_name != name:
        return FileChange(name, "rename", before, size, f"takes the name {new_name}")
    action: FileAction = "keep" if size == before else "truncate" if size < before else "rewrite"
    if after.content is not None:
        with DataFile(path) as file:
            if size > before or not _begins_as(file, after.content, min(before, size)):
                action = "rewrite"
    return FileChange(name, action, before, size, UNCHANGED if action == "keep" else after.reason)


def _begins_as(file: DataFile, content: bytes, size: int) -> bool:
    """Whether a file has some bytes, then zeros, up to a size."""
    head = file.read(0, size)
    content = content[:size]
    return head.startswith(content) and not head[len(content) :].strip(b"\0")


def _files_after(
    partition: Partition, paths: Mapping[str, str], log: LoadedLog
) -> Iterator[tuple[str, _After]]:
    """Yield every file after the start, by its name then; `paths` are those before it, by these names."""
    for name in paths:
        if _stays(partition, log, name):
            yield name, AS_IT_IS
    for segment in log.segments:
        yield from _segment_files(paths, log, segment, is_active=segment is log.segments[-1])
    for offset, snapshot in log.producers.disk.items():
        if isinstance(snapshot, str):
            name = os.path.basename(snapshot)
            yield log.files.renamed.get(name, name), AS_IT_IS
        else:
            content = snapshot_bytes(snapshot)
            yield f"{offset:020d}{SNAPSHOT}", _After(len(content), content, "the producers at this offset")
    if log.epochs_written:
        content = epoch_bytes(log.epochs)
        reason = "written anew: the epochs between log start and log end"
        yield LEADER_EPOCH_CHECKPOINT, _After(len(content), content, reason)
    else:
        yield LEADER_EPOCH_CHECKPOINT, _After(0, b"", "opening the epoch cache creates it")
        for name in (LEADER_EPOCH_CHECKPOINT, LEADER_EPOCH_CHECKPOINT + TEMPORARY):
            if name in paths:
                yield name, AS_IT_IS
    if partition.topic == CLUSTER_METADATA and PARTITION_METADATA_FILE not in paths:
        size = len(topic_id_bytes(METADATA_TOPIC_ID))
        yield PARTITION_METADATA_FILE, _After(size, None, "there was none")


def _stays(partition: Partition, log: LoadedLog, name: str) -> bool:
    """Whether a file is none that the loader decides on, and none of those that it does not look at."""
    suffix = os.path.splitext(name)[1]
    if suffix in {LOG, INDEX, TIME_INDEX, TXN_INDEX}:
        return name != canonical_name(name) and offset_of(partition, name) in log.files.logs
    if suffix == SNAPSHOT or name.startswith(LEADER_EPOCH_CHECKPOINT):
        return False
    parsed = parse_file(name)
    if partition.topic != CLUSTER_METADATA or parsed.kind != KRAFT_SNAPSHOT or parsed.base_offset is None:
        return True
    if parsed.suffix or parsed.base_offset < log.log_start_offset:
        return False
    if log.high_watermark is None or not parsed.is_canonical:
        return True
    return parsed == _snapshot_at(partition, log.log_end_offset)


def _snapshot_at(partition: Partition, offset: int) -> FileName | None:
    """Return the snapshot at which a metadata log begins anew: of several at its offset the newest epoch."""
    snapshots = [name for _, name in partition.files if name.kind == KRAFT_SNAPSHOT and not name.suffix]
    at_offset = [name for name in snapshots if name.base_offset == offset and name.is_canonical]
    return max(at_offset, key=lambda name: name.epoch or 0, default=None)


def _segment_files(
    paths: Mapping[str, str], log: LoadedLog, segment: LoadedSegment, *, is_active: bool
) -> Iterator[tuple[str, _After]]:
    stem = f"{segment.base_offset:020d}"
    reason = "the segment is recovered" if segment.log_path else "the log begins with this segment"
    yield stem + LOG, _After(segment.log_size, None, reason)
    if log.high_watermark is not None:
        return  # a metadata log that begins anew: its indexes are made at the first append
    rebuilt = segment.base_offset in log.recovered or segment.log_path is None
    for suffix, index in ((INDEX, segment.offset_index), (TIME_INDEX, segment.time_index)):
        after = _index_after(log, suffix, index, rebuilt=rebuilt, is_active=is_active)
        if segment.base_offset in log.untrimmed:
            after = after._replace(content=_stale(paths.get(stem + suffix), index.data, after.size or 0))
        yield stem + suffix, after
    name = stem + TXN_INDEX
    if segment.log_path is None:
        return
    if rebuilt and (segment.aborted or name in paths):
        content = b"".join(map(TXN_INDEX_ENTRY.pack, segment.aborted))
        yield name, _After(len(content), content, REBUILT)
    elif name in paths:
        yield name, AS_IT_IS


def _index_after(log: LoadedLog, suffix: str, index: Index[Any], *, rebuilt: bool, is_active: bool) -> _After:
    """Return an index after the start: a rebuilt one has its entries alone, an active one its full size."""
    entry_size = ENTRY_SIZES[suffix]
    full = log.settings.index_size // entry_size * entry_size
    reason = REBUILT if rebuilt else "there was none"
    content = index.data[: index.entries * entry_size] if rebuilt or index.path is None else None
    size = size_of(str(index.path)) if content is None else len(content)
    if is_active and size != full:
        size = full
        if not rebuilt:
            reason = "of the active segment: set to segment.index.bytes"
    return _After(size, content, reason)


def _stale(path: str | None, entries: bytes, size: int) -> bytes:
    """Return an index in which recovery wrote entries over what was there, and took them back by a count."""
    if path is None:
        return entries
    with DataFile(path) as file:
        return entries + file.read(0, min(file.size, size))[len(entries) :]


def topic_id_bytes(topic_id: str) -> bytes:
    """Return partition.metadata as a broker writes it."""
    return f"version: 0\ntopic_id: {topic_id}".encode()


def epoch_bytes(entries: EpochCache) -> bytes:
    """Return leader-epoch-checkpoint as a broker writes it."""
    lines = [f"{entry.epoch} {entry.start_offset}\n" for entry in entries]
    return "".join(("0\n", f"{len(lines)}\n", *lines)).encode()


def snapshot_bytes(producers: Mapping[int, Producer]) -> bytes:
    """Return a producer snapshot as `ProducerStateManager.writeSnapshot` writes it."""
    if not producers:
        return EMPTY_SNAPSHOT
    from formats.crc import crc32c
    from formats.producer_snapshot import (
        PRODUCER_ENTRY,
        PRODUCER_SNAPSHOT_HEADER,
        PRODUCER_SNAPSHOT_VERSION,
        SNAPSHOT_CRC_FROM,
        ProducerEntry,
        ProducerSnapshotHeader,
    )

    body = b""
    for number in _in_java_order(producers):
        timestamp, open_since, epoch, *last_batch, coordinator_epoch = producers[number]
        first_open = -1 if open_since is None else open_since
        entry = ProducerEntry._make((number, epoch, *last_batch, timestamp, coordinator_epoch, first_open))
        body += PRODUCER_ENTRY.pack(entry)
    header = ProducerSnapshotHeader(PRODUCER_SNAPSHOT_VERSION, 0, len(producers))
    count = PRODUCER_SNAPSHOT_HEADER.pack(header)[SNAPSHOT_CRC_FROM:]
    return PRODUCER_SNAPSHOT_HEADER.pack(header._replace(crc=crc32c(count + body))) + body


def _in_java_order(numbers: Collection[int]) -> list[int]:
    """Return producer ids in the order in which a `java.util.HashMap` of them is walked."""
    table = SMALLEST_TABLE
    while len(numbers) > table * 3 // 4:
        table *= 2

    def bucket(number: int) -> int:
        folded = (number ^ (number >> 32)) & 0xFFFFFFFF
        return (folded ^ (folded >> 16)) & (table - 1)

    return sorted(numbers, key=bucket)
