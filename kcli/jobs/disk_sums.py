"""`ls --by`: what topics, log dirs or states take on disk, and what goes by itself once the broker runs."""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter

from formats.batch import HEADER_SIZE
from formats.errors import FormatError
from formats.index import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY
from formats.magic import read_header
from formats.names import DELETE, LOG, OFFSET_INDEX, TIME_INDEX, TXN_INDEX, FileName, parse_file
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, answer
from kcli.kafka.storage.log_segment import file_index
from kcli.kafka.storage.retention import written_entries
from kcli.logdir.buffers import DataFile, FileError, file_error
from kcli.logdir.partition import Partition
from kcli.rows import Item
from kcli.rows.partitions import DiskSumRow

BLOCK = 512
"""Bytes of a unit of `st_blocks` (POSIX)."""
GROUP_NAMES: dict[str, Callable[[Partition], str]] = {
    "topic": lambda partition: partition.topic or os.path.basename(partition.shown),
    "log-dir": lambda partition: os.path.dirname(partition.shown) or ".",
    "state": lambda partition: partition.state,
}
"""By the word of --by, what a partition directory is counted to."""
SUMMED = (
    "partitions",
    "segments",
    "log_bytes",
    "index_bytes",
    "preallocated_bytes",
    "other_bytes",
    "leaving_bytes",
    "disk_bytes",
)


def disk_sums(unit: Unit, *, by: str) -> Outcome:
    """Return the row of one partition directory; a DiskSums puts those of a group together."""
    return answer(unit, lambda partition: _sum(partition, by))


def _sum(partition: Partition, by: str) -> Yield:
    """Yield one row. FileError where a file cannot be looked at."""
    row = DiskSumRow(by, GROUP_NAMES[by](partition), partitions=1)
    is_leaving = partition.state == DELETE
    for name in partition.names:
        path = os.path.join(partition.path, name)
        try:
            status = os.lstat(path)
        except FileNotFoundError:  # deleted since it was listed
            continue
        except OSError as error:
            raise file_error(path, error) from error
        if not stat.S_ISDIR(status.st_mode):
            row = _with_file(row, path, parse_file(name), status, is_leaving=is_leaving)
    if by == "log-dir":
        with suppress(OSError):
            system = os.statvfs(partition.path)
            row = row._replace(
                file_system_bytes=system.f_blocks * system.f_frsize,
                file_system_free_bytes=system.f_bavail * system.f_frsize,
            )
    yield row


def _with_file(
    row: DiskSumRow, path: str, file: FileName, status: os.stat_result, *, is_leaving: bool
) -> DiskSumRow:
    disk = status.st_blocks * BLOCK
    row = row._replace(disk_bytes=row.disk_bytes + disk)
    if is_leaving or file.is_inactive:
        return row._replace(leaving_bytes=row.leaving_bytes + disk)
    if file.kind == LOG:
        oldest, newest = _times(path, status.st_size)
        return row._replace(
            segments=row.segments + 1,
            log_bytes=row.log_bytes + status.st_size,
            oldest_timestamp=_least(row.oldest_timestamp, oldest),
            newest_timestamp=_most(row.newest_timestamp, newest),
        )
    if file.kind in {OFFSET_INDEX, TIME_INDEX, TXN_INDEX}:
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


def _times(path: str, size: int) -> tuple[int | None, int | None]:
    """Return the timestamp of the first batch of a log, and the largest of its time index; None for none."""
    oldest = newest = None
    with suppress(FileError, FormatError):
        if size >= HEADER_SIZE:
            with DataFile(path) as log:
                oldest = read_header(log.read(0, HEADER_SIZE)).base_timestamp
        index = file_index(TIME_INDEX_ENTRY, f"{path.removesuffix('log')}timeindex")
        entries = written_entries(index)
        if entries:
            with index.reader() as get:
                newest = get(entries - 1).timestamp
    return _known(oldest), _known(newest)


def _known(timestamp: int | None) -> int | None:
    return None if timestamp is None or timestamp < 0 else timestamp


def _least(one: int | None, other: int | None) -> int | None:
    return min((each for each in (one, other) if each is not None), default=None)


def _most(one: int | None, other: int | None) -> int | None:
    return max((each for each in (one, other) if each is not None), default=None)


@dataclass(slots=True)
class DiskSums:
    """Puts the rows of partition directories together; at the end gives them, the largest first."""

    def __call__(self, left: Outcome | None, right: Outcome | None) -> Outcome:
        """Return two neighbours as one."""
        given = [each for each in (left, right) if each is not None]
        sums: dict[str, DiskSumRow] = {}
        for each in given:
            own = each.partial if isinstance(each.partial, dict) else {}
            for row in (*own.values(), *each.rows):
                assert isinstance(row, DiskSumRow)
                sums[row.name] = _added(sums[row.name], row) if row.name in sums else row
        findings = [finding for each in given for finding in each.findings]
        rows: list[Item] = []
        if right is None:
            rows += sorted(sums.values(), key=attrgetter("disk_bytes"), reverse=True)
        return replace(given[-1], rows=rows, findings=findings, partial=sums)


def _added(one: DiskSumRow, other: DiskSumRow) -> DiskSumRow:
    sums = {name: getattr(one, name) + getattr(other, name) for name in SUMMED}
    return one._replace(
        **sums,
        oldest_timestamp=_least(one.oldest_timestamp, other.oldest_timestamp),
        newest_timestamp=_most(one.newest_timestamp, other.newest_timestamp),
    )
