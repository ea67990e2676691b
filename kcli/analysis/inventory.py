"""What one partition directory amounts to: the facts that `kcli ls` shows, put together from its pieces."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from formats.types import TopicPartition

NORMAL = "normal"


class EntrySize(NamedTuple):
    """One file of a partition directory.

    Its size in bytes, and whether it is left from an interrupted change.
    """

    size: int
    is_leftover: bool


class Totals(NamedTuple):
    """The bytes of all files, and how many of them are leftovers."""

    size_bytes: int
    leftovers: int


def totals(entries: Iterable[EntrySize]) -> Totals:
    """Return the sums over a directory's files."""
    size = leftovers = 0
    for entry in entries:
        size += entry.size
        leftovers += entry.is_leftover
    return Totals(size, leftovers)


def checkpointed(
    offsets: Mapping[TopicPartition, int] | None, topic: str | None, partition: int | None
) -> int | None:
    """Return a partition's offset in a checkpoint file of its log dir.

    None where no line or no file names it.
    """
    if offsets is None or topic is None or partition is None:
        return None
    return offsets.get(TopicPartition(topic, partition))
