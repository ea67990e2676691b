"""Kafka's integers as types of their own, and the name of a partition.

`NewType`s cost nothing at run time and stop an offset from being used as a file position. Rows keep plain
integers: meaning is added at the edge.
"""

from typing import NamedTuple, NewType, TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview

Offset = NewType("Offset", int)
"""A record's offset in its partition."""

RelativeOffset = NewType("RelativeOffset", int)
"""An offset minus the base offset of its segment, as index files hold it."""

Position = NewType("Position", int)
"""Bytes from the start of a file."""

LeaderEpoch = NewType("LeaderEpoch", int)
"""The leader epoch of a partition; -1 where none is known."""


class TopicPartition(NamedTuple):
    """A topic's name and a partition's number."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
