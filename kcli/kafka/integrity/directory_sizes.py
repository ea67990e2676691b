"""What one partition directory amounts to: the facts that `kcli ls` shows, put together from its pieces."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from formats.names import LOG, OFFSET_INDEX, TIME_INDEX, TXN_INDEX, FileName
from formats.types import TopicPartition

INDEXES = (OFFSET_INDEX, TIME_INDEX, TXN_INDEX)
BLOCK = 512
"""Bytes of a unit of `st_blocks` (POSIX)."""


class EntrySize(NamedTuple):
    """One file of a partition directory.

    Its kind in `formats.names`, its bytes, those it takes on disk, and whether it is left from an interrupted
    change.
    """

    kind: str
    size: int
    on_disk: int
    is_leftover: bool


class Totals(NamedTuple):
    """The bytes of logs, of indexes and of all other files, those on disk, and how many are leftovers."""

    log_bytes: int
    index_bytes: int
    other_bytes: int
    disk_bytes: int
    leftovers: int


def entry_size(name: FileName, status: os.stat_result) -> EntrySize:
    """Return what counts of a file."""
    return EntrySize(name.kind, status.st_size, status.st_blocks * BLOCK, name.is_inactive)


def totals(entries: Iterable[EntrySize]) -> Totals:
    """Return the sums over a directory's files."""
    sizes: Counter[str] = Counter()
    on_disk = leftovers = 0
    for entry in entries:
        sizes[entry.kind] += entry.size
        on_disk += entry.on_disk
        leftovers += entry.is_leftover
    index_bytes = sum(sizes[kind] for kind in INDEXES)
    return Totals(sizes[LOG], index_bytes, sizes.total() - sizes[LOG] - index_bytes, on_disk, leftovers)


def checkpointed(
    offsets: Mapping[TopicPartition, int] | None, topic: str | None, partition: int | None
) -> int | None:
    """Return a partition's offset in a checkpoint file of its log dir.

    None where no line or no file names it.
    """
    if offsets is None or topic is None or partition is None:
        return None
    return offsets.get(TopicPartition(topic, partition))
