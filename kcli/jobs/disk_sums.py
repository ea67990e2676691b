"""`ls --by`: what topics, log dirs or states take on disk, and what goes by itself once the broker runs."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from operator import attrgetter

from formats.batch import NO_TIMESTAMP
from formats.index import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY
from formats.names import DELETE, LOG, OFFSET_INDEX, REMOTE_LOG_INDEX_CACHE, TIME_INDEX, FileName
from kcli.engine.contract import Reduce, at_end
from kcli.jobs.common import YieldAndReturn, partition_job
from kcli.jobs.log_times import ends_of
from kcli.jobs.ls import BLOCK, INDEXES, files_of
from kcli.kafka.findings.findings import Finding
from kcli.kafka.storage.log_segment import BrokerError, file_index, segment_of_files
from kcli.kafka.storage.retention import newest_timestamp, written_entries
from kcli.logdir.buffers import FileError
from kcli.logdir.partition import Partition
from kcli.logdir.partition_names import SWAP
from kcli.rows.partitions import DiskSumRow

GROUP_NAMES: dict[str, Callable[[Partition], str]] = {
    "topic": lambda partition: partition.topic or os.path.basename(partition.shown),
    "log-dir": lambda partition: os.path.dirname(partition.shown) or ".",
    "state": lambda partition: partition.state,
}
"""By the word of --by, what a partition directory is counted to."""
SUMMED = DiskSumRow._fields[2:10]  # from `partitions` to `disk_bytes`


@partition_job
def disk_sums(partition: Partition, *, by: str) -> YieldAndReturn:
    """Return the row of one partition directory for `sums`. FileError where a file cannot be looked at."""
    row = DiskSumRow(by, GROUP_NAMES[by](partition), partitions=1)
    problems: list[FileError] = []
    for file, status in files_of(partition, problems):
        row = _with_file(row, partition, file, status)
    for problem in problems:
        if problem.code != "not-found":  # deleted since it was listed
            raise problem
    if by == "log-dir":
        with suppress(OSError):
            system = os.statvfs(partition.path)
            row = row._replace(
                file_system_bytes=system.f_blocks * system.f_frsize,
                file_system_free_bytes=system.f_bavail * system.f_frsize,
            )
    yield from ()
    return row


def _with_file(row: DiskSumRow, partition: Partition, file: FileName, status: os.stat_result) -> DiskSumRow:
    disk, path = status.st_blocks * BLOCK, os.path.join(partition.path, file.name)
    row = row._replace(disk_bytes=row.disk_bytes + disk)
    if partition.state == DELETE or (file.is_inactive and file.suffix != SWAP):
        return row._replace(leaving_bytes=row.leaving_bytes + disk)
    if file.kind == LOG and not file.suffix:
        is_last = file.base_offset == partition.segments[-1].base_offset
        oldest, newest = _times(file.base_offset or 0, path.removesuffix(".log"), is_last=is_last)
        return row._replace(
            segments=row.segments + 1,
            log_bytes=row.log_bytes + status.st_size,
            oldest_timestamp=min(_timestamps(row.oldest_timestamp, oldest), default=None),
            newest_timestamp=max(_timestamps(row.newest_timestamp, newest), default=None),
        )
    if file.kind in INDEXES and not file.suffix:
        entries_bytes = _entries_bytes(path, file.kind, status.st_size)
        return row._replace(
            index_bytes=row.index_bytes + entries_bytes,
            preallocated_bytes=row.preallocated_bytes + status.st_size - entries_bytes,
        )
    return row._replace(other_bytes=row.other_bytes + status.st_size)


def _entries_bytes(path: str, kind: str, size: int) -> int:
    """Return how many bytes of an index are written: a running or killed broker leaves zeros after them."""
    with suppress(FileError):
        if kind == OFFSET_INDEX:
            return written_entries(file_index(OFFSET_INDEX_ENTRY, path)) * OFFSET_INDEX_ENTRY.size
        if kind == TIME_INDEX:
            return written_entries(file_index(TIME_INDEX_ENTRY, path)) * TIME_INDEX_ENTRY.size
    return size


def _times(base_offset: int, path: str, *, is_last: bool) -> tuple[int | None, int | None]:
    """Return the timestamps of the first and of the newest record of a segment; None for none."""
    oldest, newest = NO_TIMESTAMP, None
    with suppress(FileError, BrokerError):
        segment = segment_of_files(base_offset, path)
        oldest = ends_of(segment, with_last=False).first_timestamp
        newest = newest_timestamp(segment, reads_tail=is_last)
    return None if oldest < 0 else oldest, newest


def _timestamps(*times: int | None) -> list[int]:
    return [time for time in times if time is not None]


def sums(log_dirs: Mapping[str, str]) -> Reduce:
    """Return the reduce step that sums the rows of groups, the largest first.

    `log_dirs`: by the names of rows, those whose cache of remote indexes is added.
    """

    def finish(rows: list[DiskSumRow]) -> tuple[list[DiskSumRow], list[Finding]]:
        groups: dict[str, DiskSumRow] = {}
        for row in rows:
            groups[row.name] = _added(groups[row.name], row) if row.name in groups else row
        totals = (_with_cache(row, log_dirs.get(row.name)) for row in groups.values())
        return sorted(totals, key=attrgetter("disk_bytes"), reverse=True), []

    return at_end(finish)


def _with_cache(row: DiskSumRow, log_dir: str | None) -> DiskSumRow:
    with suppress(OSError):
        for entry in os.scandir(os.path.join(log_dir, REMOTE_LOG_INDEX_CACHE)) if log_dir else ():
            status = entry.stat(follow_symlinks=False)
            other_bytes, disk = row.other_bytes + status.st_size, row.disk_bytes + status.st_blocks * BLOCK
            row = row._replace(other_bytes=other_bytes, disk_bytes=disk)
    return row


def _added(total: DiskSumRow, row: DiskSumRow) -> DiskSumRow:
    return total._replace(
        **{name: getattr(total, name) + getattr(row, name) for name in SUMMED},
        oldest_timestamp=min(_timestamps(total.oldest_timestamp, row.oldest_timestamp), default=None),
        newest_timestamp=max(_timestamps(total.newest_timestamp, row.newest_timestamp), default=None),
    )
