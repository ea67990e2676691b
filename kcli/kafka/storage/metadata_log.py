"""The metadata log of KRaft as `KafkaRaftLog.createLog` opens it.

It must not end below its newest snapshot.
"""

import os
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from formats.java_text import EMPTY_FILE, LONG_BITS, NUL_FILE, NUL_TAIL, integer
from formats.names import KRAFT_SNAPSHOT, parse_file, parse_partition_dir, snapshot_file
from kcli.kafka.storage.load_findings import Reporter
from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.kafka.storage.log_segment import ILLEGAL_STATE, NUMBER_FORMAT, BrokerError, LoadedSegment
from kcli.kafka.storage.producer_state import rebuild
from kcli.logdir.buffers import shown
from kcli.logdir.log_dirs import METADATA_DIRECTORY
from kcli.logdir.partition import Partition
from kcli.logdir.segment import only_zeros
from kcli.logdir.targets import PARTITION, Target

OUT_OF_NAME = "StringIndexOutOfBoundsException"
SNAPSHOT_ENDS = (".checkpoint", ".checkpoint.part", ".checkpoint.deleted")


class LostEnd(NamedTuple):
    """What a start cuts of a metadata log, or the log has lost already.

    `path`: the file, or the directory without a .log file. `position`: of the cut, None for none. `end`:
    where the log ends then, `known_end`: where it ended, as other files say. `is_all`: no batch is left.
    """

    path: str
    position: int | None
    message: str
    end: int
    known_end: int
    is_all: bool


def lost_end(loaded: LoadedLog) -> LostEnd | None:
    """Return what a started metadata log has lost by its producer snapshots and epochs; None for nothing."""
    end, lines = loaded.log_end_offset, loaded.epoch_lines or ()
    known_end = max((*loaded.snapshots_before, *(line.start_offset + 1 for line in lines)), default=0)
    is_all = not any(segment.log_size for segment in loaded.segments)
    if loaded.lost:
        segment, position = loaded.lost[0]
        with segment.log() as file:
            zeros, size = only_zeros(file, position, file.size), file.size
        damage = f"the batch at byte {position} is damaged or cut"
        if zeros:
            damage = NUL_FILE.format(size) if position == 0 else NUL_TAIL.format(position)
        return LostEnd(segment.log_path or loaded.path, position, damage, end, known_end, is_all)
    if known_end <= end:
        return None
    path = next((segment.log_path for segment in loaded.segments if segment.log_path), None)
    damage = EMPTY_FILE if is_all else "the last batches are gone"
    return LostEnd(path or loaded.path, None, damage if path else "no .log file", end, known_end, is_all)


def metadata_partition(path: str) -> Partition:
    """Return the metadata log in a directory of a log dir."""
    name, log_dir = parse_partition_dir(METADATA_DIRECTORY), os.path.dirname(path)
    return Partition(Target(kind=PARTITION, path=path, shown=shown(path), name=name, log_dir=log_dir))


def snapshots(entries: Iterable[str], log_start: int) -> dict[tuple[int, int], str]:
    """Return the snapshots that reach the log start, by epoch and end offset: the largest is the newest.

    Of all `entries`, files or not, under the names that a node opens, whether they are there or not.
    """
    return {
        (name.epoch, name.base_offset): snapshot_file(name.base_offset, name.epoch)
        for name in map(parse_file, entries)
        if name.kind == KRAFT_SNAPSHOT and not name.suffix and name.epoch is not None
        if name.base_offset is not None and name.base_offset >= log_start
    }


def name_error(entry: str) -> str | None:
    """Return what `Snapshots.parse` throws at the name of an entry; None where it throws nothing."""
    if not entry.endswith(SNAPSHOT_ENDS) or parse_file(entry).epoch is not None:
        return None
    offset, through_epoch = entry[:20], 31
    if len(offset) == 20 and (integer(offset, LONG_BITS) is None or len(entry) >= through_epoch):
        return NUMBER_FORMAT
    return OUT_OF_NAME


def lacks_snapshot(log_start: int, by_offset: Mapping[tuple[int, int], str]) -> bool:
    """Whether a log begins above offset 0, and none of the `snapshots` reaches its start."""
    return log_start > 0 and not by_offset


def needs_start(entries: Collection[str], log_start: int) -> bool:
    """Whether only `at_latest_snapshot` says if a log with these entries loads."""
    by_offset = snapshots(entries, log_start)
    is_missing = any(name not in entries for name in by_offset.values())
    return is_missing or lacks_snapshot(log_start, by_offset) or any(map(name_error, entries))


def is_behind(latest_epoch: int, log_end: int, snapshot_epoch: int, snapshot_end: int) -> bool:
    """Whether a log ends below its newest snapshot."""
    return snapshot_epoch > latest_epoch or (snapshot_epoch == latest_epoch and snapshot_end > log_end)


def behind_message(latest_epoch: int, log_end: int, snapshot_epoch: int, snapshot_end: int) -> str:
    """Return the message of START-007: the epoch or the offset at which a log is behind its snapshot."""
    if snapshot_epoch > latest_epoch:
        ends = f"ends in leader epoch {latest_epoch}, its newest snapshot in {snapshot_epoch}"
    else:
        ends = f"ends at offset {log_end}, its newest snapshot at {snapshot_end}"
    return f"the log {ends}: all segments go"


def at_latest_snapshot(loaded: LoadedLog, entries: Collection[str], reporter: Reporter) -> LoadedLog:
    """Return the log as `KafkaRaftLog.truncateToLatestSnapshot` leaves it: anew where a snapshot is ahead.

    BrokerError for a malformed name, a log start that no snapshot reaches, an older snapshot to be renamed
    that has another name.
    """
    for entry in entries:
        exception = name_error(entry)
        if exception is not None:
            message = "the name ends like that of a snapshot, and does not begin with an offset and an epoch"
            raise BrokerError(exception, os.path.join(loaded.path, entry), None, message)
    by_offset = snapshots(entries, loaded.log_start_offset)
    epoch, offset = max(by_offset, default=(-1, -1))
    if lacks_snapshot(loaded.log_start_offset, by_offset):
        message = f"the log begins at offset {loaded.log_start_offset}, and no snapshot reaches it"
        raise BrokerError(ILLEGAL_STATE, loaded.path, None, message)
    latest = loaded.epochs[-1].epoch if loaded.epochs else 0
    if not is_behind(latest, loaded.log_end_offset, epoch, offset):
        return loaded
    for snapshot_id, name in sorted(by_offset.items()):
        if snapshot_id < (epoch, offset) and name not in entries:
            message = f"{name} is not there to be renamed: a copy of it has another name"
            raise BrokerError("UncheckedIOException", loaded.path, None, message)
    if any(segment.log_size for segment in loaded.segments):
        message = behind_message(latest, loaded.log_end_offset, epoch, offset)
        reporter.report("START-007", message, None, expected=offset, found=loaded.log_end_offset)
    segments = (LoadedSegment(offset),)
    loaded.producers.start_at(offset)
    rebuild(loaded.producers, segments, offset, offset, clean_start=False)
    return loaded._replace(
        segments=segments,
        epochs=(),
        recovered_epochs=(),
        epochs_written=True,
        log_end_offset=offset,
        log_start_offset=offset,
        recovery_point=min(loaded.recovery_point, offset),
        high_watermark=offset,
        deleted=tuple(sorted({*loaded.deleted, *(s.base_offset for s in loaded.segments if s.log_path)})),
        findings=tuple(reporter.findings),
    )
