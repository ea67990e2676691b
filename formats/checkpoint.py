r"""Text checkpoints: leader epochs of a partition, offsets of all partitions of a log directory.

`leader-epoch-checkpoint` lies in a partition's directory; `recovery-point-`, `log-start-`, `replication-` and
`cleaner-offset-checkpoint` in a log directory; `_rlmm_committed_offsets` in the log directory of the remote
log metadata manager of 3.1 to 3.5. The broker writes a `.tmp` beside the file, then renames it. The truth is
`org.apache.kafka.server.common.CheckpointFile`, with the entries of `LeaderEpochCheckpointFile`,
`OffsetCheckpointFile` and, up to 3.7, `CommittedOffsetsFile`.

    <version>\n        0
    <entry count>\n
    <entry>\n          epoch start_offset | topic partition offset | metadata_partition committed_offset
    ...

A file of 0 bytes and a file with a version alone hold no entries. Everything
else must fit: every line, and the count. Blanks may separate and may end an
entry's line, not begin it; the version and the count tolerate none.
"""

from collections.abc import Sequence
from typing import NamedTuple

from formats.errors import CorruptError, FormatError, UnsupportedError
from formats.java_text import BLANKS, INT_BITS, LONG_BITS, Line, integer, lines, split
from formats.types import Buffer, TopicPartition

CHECKPOINT_VERSION = 0
FIRST_ENTRY_LINE = 3


class EpochEntry(NamedTuple):
    """A leader epoch and the first offset written in it."""

    epoch: int
    start_offset: int


class OffsetEntry(NamedTuple):
    """One line of an offset checkpoint, in the order of the file."""

    topic: str
    partition: int
    offset: int


def read_leader_epoch_checkpoint(data: Buffer) -> list[EpochEntry]:
    """Return the entries of a leader-epoch-checkpoint in the order of the file, not as a broker holds them.

    UnsupportedError for another version, CorruptError where `LeaderEpochCheckpointFile.read` throws.
    """
    return [EpochEntry(*numbers) for _, (_, *numbers) in _entries(data, "epoch start_offset")]


def check_epoch_entries(entries: Sequence[EpochEntry], data: Buffer = b"") -> None:
    """Raise CorruptError for the first entry on which a broker's load of the epochs fails: a negative number.

    `LeaderEpochFileCache.assign` throws there. The error names the line, with `data` its byte position, too.
    """
    for number, entry in enumerate(entries, FIRST_ENTRY_LINE):
        if entry.epoch < 0 or entry.start_offset < 0:
            position = next((line.position for line in lines(data) if line.number == number), 0)
            values = f"{entry.epoch} {entry.start_offset}"
            raise CorruptError(position, f"line {number}", "no negative number", values)


def read_offset_entries(data: Buffer) -> list[OffsetEntry]:
    """Return every line of a `*-offset-checkpoint` in the order of the file, repeated partitions included."""
    return [OffsetEntry(*entry) for _, entry in _entries(data, "topic partition offset")]


def read_offset_checkpoint(data: Buffer) -> dict[TopicPartition, int]:
    """Return partition -> offset as `OffsetCheckpointFile.read` does: the last line of a partition wins."""
    return {TopicPartition(entry.topic, entry.partition): entry.offset for entry in read_offset_entries(data)}


def read_committed_offsets(data: Buffer) -> dict[int, int]:
    """Return metadata partition -> committed offset of `_rlmm_committed_offsets`, each once."""
    offsets: dict[int, int] = {}
    for line, (_, partition, offset) in _entries(data, "metadata_partition committed_offset"):
        if partition in offsets:
            raise line.corrupt("each metadata partition once")
        offsets[partition] = offset
    return offsets


class NotNumbersError(CorruptError):
    """An entry of the right number of words, which are no numbers."""


COUNT_FIELD = "the number of entries"
IO_EXCEPTION = "IOException"


def java_exception(error: FormatError) -> str:
    """Return what Kafka's reader of these files throws for an error: nearly always IOException."""
    if isinstance(error, NotNumbersError):
        return "NumberFormatException"
    if error.expected == COUNT_FIELD and integer(str(error.found).strip("'"), INT_BITS) is not None:
        return "IllegalArgumentException"
    return IO_EXCEPTION


def lacks_lines(error: FormatError) -> bool:
    """Whether a file has fewer entries than it says."""
    entries, count = error.found, error.expected
    is_count = error.field.endswith(COUNT_FIELD)
    return is_count and isinstance(entries, int) and isinstance(count, int) and entries < count


def _entries(data: Buffer, names: str) -> list[tuple[Line, tuple[str, int, int]]]:
    text_lines = lines(data)
    first = next(text_lines, None)
    if first is None:
        return []
    version = _number(first, "the version")
    if version != CHECKPOINT_VERSION:
        raise UnsupportedError(first.position, "version", CHECKPOINT_VERSION, version)
    second = next(text_lines, None)
    if second is None:
        return []
    count = _number(second, COUNT_FIELD)
    if count < 0:
        raise second.corrupt(COUNT_FIELD)
    entries = [(line, _entry(line, names)) for line in text_lines]
    if len(entries) != count:
        raise CorruptError(second.position, f"{second.field}, the number of entries", count, len(entries))
    return entries


def _number(line: Line, what: str) -> int:
    value = integer(line.text, INT_BITS)
    if value is None:
        raise line.corrupt(what)
    return value


def _entry(line: Line, names: str) -> tuple[str, int, int]:
    """Return the first token of an entry, and the last two, an i32 and an i64; `names`: of all."""
    tokens = split(BLANKS, line.text)
    is_whole = len(tokens) == len(names.split())
    if is_whole:
        small, large = integer(tokens[-2], INT_BITS), integer(tokens[-1], LONG_BITS)
        if small is not None and large is not None:
            return tokens[0], small, large
    error = line.corrupt(names)
    raise NotNumbersError(*error.args) if is_whole else error
