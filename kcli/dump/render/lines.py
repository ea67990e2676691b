"""The lines of Kafka's DumpLogSegments 4.3.1, to the letter, and what it says at the end on stderr.

The truth is `org.apache.kafka.tools.DumpLogSegments`. Here are the words alone; the job says which of them a
file gives.
"""

import operator
import sys
from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from formats import control, java_text
from formats.index import AbortedTxn
from formats.messages.converter import control_json, json_text
from formats.types import Buffer
from kcli.output.values import one_line
from kcli.rows import Item, TextBlock

PAIR_NUMBER: Final = "q"
"""The type of the numbers of pairs, of which a log may have millions: 16 bytes each."""
RECORD_INDENT = "|"
LONG_TEXT = 1 << 16
"""Bytes of which text is made at once."""
LINES_AT_ONCE = 1024
"""Of those printed at the end: each call to write them is one of the system."""
LONGEST_SEQUENCE = 4
"""Bytes of UTF-8 that stand for one character."""


class Shown(NamedTuple):
    """What of a record's contents is printed: key and payload as text; None for what is left out."""

    key: str | None
    payload: str | None


class ToolSummary(NamedTuple):
    """How the tool prints the pairs that it keeps to the end: by the first number, rising, falling or not."""

    title: str
    line: str
    order: int


MISMATCH = ToolSummary("Mismatches in :", "  Index offset: {}, log offset: {}\n", -1)
TIME_MISMATCH = ToolSummary("Found timestamp mismatch in :", "  Index timestamp: {}, log timestamp: {}\n", 0)
OUT_OF_ORDER = ToolSummary(
    "Found out of order timestamp in :", "  Index timestamp: {}, Previously indexed timestamp: {}\n", 0
)
OFFSET_NOT_FOUND = ToolSummary(
    "The following indexed offsets are not found in :", "Indexed offset: {}, found log offset: {}\n", 0
)
NON_CONSECUTIVE = ToolSummary("Non-consecutive offsets in ", "  {} is followed by {}\n", 1)


class StderrLine(NamedTuple):
    """A line that goes to stderr at once."""

    text: str


class IndexProblem(NamedTuple):
    """An entry of an index that does not fit: its offset or timestamp, and the one that was found instead."""

    summary: ToolSummary
    path: str
    entry: int
    actual: int


class OffsetJumps(NamedTuple):
    """Offsets of a log that do not follow each other, as `packed`, with its absolute path."""

    path: str
    pairs: bytes


class FirstOffset(NamedTuple):
    """The offset of the first record of a range of a log; the one before it is in another range."""

    path: str
    offset: int


class LastOffset(NamedTuple):
    """The offset of the last record of a log so far."""

    path: str
    offset: int


def dump_log_lines(items: Iterable[Item], limit: int | None = None) -> Iterator[TextBlock]:
    """Yield the blocks for stdout, a line each with a limit; write to stderr what the tool writes there."""
    in_order = (MISMATCH, TIME_MISMATCH, OUT_OF_ORDER, OFFSET_NOT_FOUND, NON_CONSECUTIVE)
    summaries: dict[ToolSummary, dict[str, array[int]]] = {summary: {} for summary in in_order}
    last_offsets: dict[str, int] = {}
    remaining_lines = sys.maxsize if limit is None else limit
    for item in items if remaining_lines else ():
        if isinstance(item, TextBlock):
            yield item
            remaining_lines -= 1
            if not remaining_lines:
                break
        elif isinstance(item, StderrLine):
            sys.stdout.flush()
            sys.stderr.write(one_line(item.text) + "\n")
        elif isinstance(item, LastOffset):
            last_offsets[item.path] = item.offset
        else:
            summary, path, pairs = _pairs(item, last_offsets)
            if pairs:
                summaries[summary].setdefault(path, array(PAIR_NUMBER)).frombytes(pairs)
    sys.stdout.flush()
    for summary, of_paths in summaries.items():
        for path, numbers in of_paths.items():
            sys.stderr.write(f"{summary.title}{path}\n")
            lines = (summary.line.format(*pair) for pair in ordered_pairs(numbers, summary.order))
            while text := "".join(islice(lines, LINES_AT_ONCE)):
                sys.stderr.write(text)


def _pairs(item: Item, last_offsets: dict[str, int]) -> tuple[ToolSummary, str, bytes]:
    """Return the pairs of what is kept to the end; none for a range of a log that follows the one before."""
    if isinstance(item, OffsetJumps):
        return NON_CONSECUTIVE, item.path, item.pairs
    if isinstance(item, IndexProblem):
        return item.summary, item.path, packed(item.entry, item.actual)
    assert isinstance(item, FirstOffset)
    last = last_offsets.get(item.path)
    if last is None or is_next(last, item.offset):
        return NON_CONSECUTIVE, item.path, b""
    return NON_CONSECUTIVE, item.path, packed(last, item.offset)


def is_next(last: int, offset: int) -> bool:
    """Whether an offset is the one after another; after the largest the sum wraps, as the tool's does."""
    return offset in {last + 1, last + 1 - (1 << 64)}


def ordered_pairs(numbers: "array[int]", order: int) -> Iterable[tuple[int, int]]:
    """Return pairs in the order of a summary, that of Java's TreeMap: the last value of a number wins."""
    firsts, pairs = numbers[::2], zip(numbers[::2], numbers[1::2], strict=True)
    if not order or (order > 0 and all(map(operator.lt, firsts, firsts[1:]))):
        return pairs
    return sorted(dict(pairs).items(), reverse=order < 0)


def packed(first: int, second: int) -> bytes:
    """Return a pair of 64-bit numbers as `OffsetJumps.pairs` has them, one after the other."""
    return array(PAIR_NUMBER, (first, second)).tobytes()


def line(text: str, *, is_title: bool = False) -> TextBlock:
    """Return one line for stdout."""
    return TextBlock((f"{text}\n".encode(),), is_title)


def control_text(record: control.ControlRecord) -> str:
    """Return what is printed of a control record after its line."""
    if record.value is None:
        return f" controlType: {record.name}({record.type})"
    if record.type in {control.ABORT, control.COMMIT}:
        epoch = control_json(record.value)["coordinatorEpoch"]
        return f" endTxnMarker: {record.name} coordinatorEpoch: {epoch}"
    return f" {_CONTROL_TITLES[record.type]} {json_text(control_json(record.value))}"


def producer_line(values: tuple[int | None, ...]) -> str:
    """Return the line of a producer, given the values of a DumpProducerRow after its file."""
    producer, epoch, coordinator, transaction, last_timestamp, first, last, offset, delta, timestamp = values
    first_offset = "OptionalLong.empty" if transaction is None else f"OptionalLong[{transaction}]"
    line = (
        f"producerId: {producer} producerEpoch: {epoch} coordinatorEpoch: {coordinator}"
        f" currentTxnFirstOffset: {first_offset} lastTimestamp: {last_timestamp}"
    )
    if offset is None:
        return line
    return (
        f"{line} firstSequence: {first} lastSequence: {last} lastOffset: {offset} offsetDelta: {delta}"
        f" timestamp: {timestamp}"
    )


def aborted_line(entry: AbortedTxn) -> str:
    """Return the line of an aborted transaction."""
    return (
        f"version: {entry.version} producerId: {entry.producer_id} firstOffset: {entry.first_offset}"
        f" lastOffset: {entry.last_offset} lastStableOffset: {entry.last_stable_offset}"
    )


_CONTROL_TITLES = {
    control.LEADER_CHANGE: "LeaderChange:",
    control.SNAPSHOT_HEADER: "SnapshotHeader",
    control.SNAPSHOT_FOOTER: "SnapshotFooter",
    control.KRAFT_VERSION: "KRaftVersion",
    control.KRAFT_VOTERS: "KRaftVoters",
}


# Text as Java makes it of bytes


def java_string(data: bytes) -> str:
    """Return the text of bytes as `new String(bytes, UTF_8)`: Java counts damaged sequences its own way."""
    return "".join(java_strings(data)) if len(data) > LONG_TEXT else java_text.java_string(data)


def java_strings(data: Buffer) -> Iterator[str]:
    """Yield the text of `java_string` in pieces."""
    return map(java_text.java_string, _pieces(data))


def _pieces(data: Buffer) -> Iterator[bytes]:
    """Yield bytes in pieces that are text by themselves: many damaged sequences at once take much memory."""
    start = 0
    while start < len(data):
        end = start + LONG_TEXT
        # a sequence has at most three bytes after its first; after so many each is a damaged one of its own
        lead = next(
            (
                position
                for position in range(end, end - LONGEST_SEQUENCE, -1)
                if data[position : position + 1] and data[position] & 0xC0 != 0x80
            ),
            end,
        )
        yield bytes(data[start:lead])
        start = lead
