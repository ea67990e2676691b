"""The lines of Kafka's DumpLogSegments 4.3.1, to the letter, and what it says at the end on stderr.

The truth is `org.apache.kafka.tools.DumpLogSegments`. Here are the words alone;
which of them a file gives is the job's affair.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from itertools import islice
from typing import Any, NamedTuple

from formats import java_text
from formats.batch import COMPRESSION_NAMES
from formats.control import (
    ABORT,
    COMMIT,
    KRAFT_VERSION,
    KRAFT_VOTERS,
    LEADER_CHANGE,
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
    ControlRecord,
    control_json,
)
from formats.index import AbortedTxn
from formats.magic import is_legacy
from formats.message_set import LegacyRecord
from formats.messages.converter import json_text
from formats.record import Record
from kcli.dump.render.pairs import Pairs, packed
from kcli.logdir.segment import Batch
from kcli.output.values import one_line
from kcli.rows import Item, Row, TextBlock, type_name, values_of
from kcli.rows.columns import TITLE

LINE = "text"
"""Row type of lines for stdout: (one of them, without its newline,), or Lines."""
BATCH_LINE, RECORD_LINE = "text_batch", "text_record"
"""The same of one line about a batch, or about a record."""
SAID = "text_said"
"""Row type of one line for stderr, told at once: (line,)."""
MISMATCH = "text_mismatch"
"""(absolute path, offset of the index entry, offset in the log)."""
TIME_MISMATCH = "text_time_mismatch"
"""(absolute path, timestamp of the index entry, timestamp in the log)."""
OUT_OF_ORDER = "text_out_of_order"
"""(absolute path, timestamp of the index entry, the one before it)."""
NOT_FOUND = "text_not_found"
"""(absolute path, offset of the index entry, offset in the log)."""
NON_CONSECUTIVE = "text_non_consecutive"
"""(absolute path, pairs as of `kcli.dump.render.pairs`: offset of a record, offset of the next)."""
BEGINS = "text_begins"
"""(absolute path, offset of the first record of a piece of a log, the one before it is in another piece)."""
ENDS = "text_ends"
"""(absolute path, offset of the last record so far)."""

_PRINTED = {TITLE, LINE, BATCH_LINE, RECORD_LINE}

INDENT = "|"
LONG_TEXT = 1 << 16
"""Bytes of which text is made at once."""
LINES_AT_ONCE = 1024
"""Of those told at the end: each call to write them is one of the system."""
LONGEST_SEQUENCE = 4
"""Bytes of UTF-8 that stand for one character."""


class Shown(NamedTuple):
    """What of a record's contents is printed: key and payload as text; None for what is left out."""

    key: str | None
    payload: str | None


def dump_log_lines(rows: Iterable[Item], limit: int | None = None) -> Iterator[str | TextBlock]:
    """Yield the lines for stdout, one or many at a time; write to stderr what the tool writes there, its summaries at the end.

    With a limit, rows of one line each: so many are yielded, and nothing is read behind them.
    """
    with ExitStack() as stack:
        at_end: dict[str, dict[str, Pairs]] = {kind: {} for kind in _CLOSING}
        ends: dict[Any, Any] = {}
        left = sys.maxsize if limit is None else limit
        for row in rows if left else ():
            kind = type_name(row)
            values = values_of(row) if isinstance(row, tuple) else ()
            if kind in _PRINTED:
                yield row if isinstance(row, TextBlock) else str(values[0])
                left -= 1
                if not left:
                    break
            elif kind == SAID:
                sys.stdout.flush()
                sys.stderr.write(one_line(str(values[0])) + "\n")
            elif kind == ENDS:
                ends[values[0]] = values[1]
            else:
                path, told = _pairs(kind, values, ends)
                of_path = at_end[NON_CONSECUTIVE if kind == BEGINS else kind]
                if told and path not in of_path:
                    of_path[path] = stack.enter_context(closing(Pairs()))
                if told:
                    of_path[path].add(told)
        sys.stdout.flush()
        for kind, found in at_end.items():
            for path, pairs in found.items():
                _write_summary(kind, path, pairs)


def _write_summary(kind: str, path: str, pairs: Pairs) -> None:
    title, line, ordered = _CLOSING[kind]
    sys.stderr.write(f"{title}{path}\n")
    # Java keeps the two marked ones in a TreeMap: sorted by the first number, the last value wins.
    lines = (line.format(*pair) for pair in (pairs.by_first(reverse=ordered < 0) if ordered else pairs))
    while some := "".join(islice(lines, LINES_AT_ONCE)):
        sys.stderr.write(some)


def _pairs(kind: str, values: tuple[Any, ...], ends: dict[Any, Any]) -> tuple[Any, bytes]:
    """Return the path and the pairs of what is told at the end; none for a piece that follows well on the one before."""
    path, *told = values
    if kind == NON_CONSECUTIVE:
        return path, told[0]
    if kind != BEGINS:
        return path, packed(*told)
    last = ends.get(path)
    # after the largest offset the sum wraps, as the tool's does
    if last is None or told[0] in {last + 1, last + 1 - (1 << 64)}:
        return path, b""
    return path, packed(last, told[0])


_CLOSING: dict[str, tuple[str, str, int]] = {
    MISMATCH: ("Mismatches in :", "  Index offset: {}, log offset: {}\n", -1),
    TIME_MISMATCH: ("Found timestamp mismatch in :", "  Index timestamp: {}, log timestamp: {}\n", 0),
    OUT_OF_ORDER: (
        "Found out of order timestamp in :",
        "  Index timestamp: {}, Previously indexed timestamp: {}\n",
        0,
    ),
    NOT_FOUND: (
        "The following indexed offsets are not found in :",
        "Indexed offset: {}, found log offset: {}\n",
        0,
    ),
    NON_CONSECUTIVE: ("Non-consecutive offsets in ", "  {} is followed by {}\n", 1),
}


def line(words: str, kind: str = LINE) -> Row:
    """Return the row of one line for stdout."""
    return Row(kind, (words,))


def batch_line(batch: Batch, *, valid: bool) -> str:
    """Return the line of a batch; `position` is where it lies in the file."""
    position, header = batch
    if not is_legacy(header.magic):
        start = (
            f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.records_count}"
            f" baseSequence: {header.base_sequence} lastSequence: {header.last_sequence} producerId: {header.producer_id}"
            f" producerEpoch: {header.producer_epoch} partitionLeaderEpoch: {header.partition_leader_epoch}"
            f" isTransactional: {_bool(header.is_transactional)} isControl: {_bool(header.is_control)}"
            f" deleteHorizonMs: {_optional_long(header.delete_horizon_ms)}"
        )
    else:
        start = f"offset: {header.last_offset}"
    return (
        f"{start} position: {position} {header.timestamp_type}: {header.max_timestamp} size: {header.size} magic: {header.magic}"
        f" compresscodec: {COMPRESSION_NAMES.get(header.codec, str(header.codec))} crc: {header.crc} isvalid: {_bool(valid)}"
    )


def record_line(record: Record | LegacyRecord, timestamp_type: str) -> str:
    """Return what is printed of a record, its contents apart; the timestamp's type is that of its batch."""
    line = f"{INDENT} offset: {record.offset} {timestamp_type}: {record.timestamp}"
    if isinstance(record, LegacyRecord):
        # they may be wrong, and below -1: the tool prints what is stored
        return f"{line} keySize: {record.key_size} valueSize: {record.value_size} isValid: {_bool(record.is_valid)} crc: {record.crc}"
    line += f" keySize: {_size(record.key)} valueSize: {_size(record.value)}"
    keys = ",".join(java_string(key) for key, _ in record.headers)
    return f"{line} sequence: {record.sequence} headerKeys: [{keys}]"


def contents(shown: Shown, prefix: str) -> Iterator[str]:
    """Yield the words of key and payload as they follow a record's line, or stand alone behind the indent."""
    for name, words in zip(Shown._fields, shown, strict=True):
        if words is not None:
            yield f"{prefix}{name}: "
            yield words
            prefix = " "


def plain(record: Record | LegacyRecord) -> Shown:
    """Return key and value as StringDecoder shows them."""
    return Shown(
        None if record.key is None else java_string(record.key),
        None if record.value is None else java_string(record.value),
    )


def control_text(record: ControlRecord) -> str:
    """Return what is printed of a control record behind its line."""
    if record.value is None:
        return f" controlType: {record.name}({record.type})"
    if record.type in {ABORT, COMMIT}:
        epoch = control_json(record.value)["coordinatorEpoch"]
        return f" endTxnMarker: {record.name} coordinatorEpoch: {epoch}"
    return f" {_CONTROL_TITLES[record.type]} {json_text(control_json(record.value))}"


def producer_line(values: tuple[int | None, ...]) -> str:
    """Return the line of a producer, given the values of a DUMP_PRODUCER row behind its file."""
    producer, epoch, coordinator, transaction, last_timestamp, first, last, offset, delta, timestamp = values
    line = (
        f"producerId: {producer} producerEpoch: {epoch} coordinatorEpoch: {coordinator}"
        f" currentTxnFirstOffset: {_optional_long(transaction)} lastTimestamp: {last_timestamp}"
    )
    if offset is None:
        return line
    return f"{line} firstSequence: {first} lastSequence: {last} lastOffset: {offset} offsetDelta: {delta} timestamp: {timestamp}"


def aborted_line(entry: AbortedTxn) -> str:
    """Return the line of an aborted transaction; of its version Kafka reads the high byte alone (AbortedTxn.version)."""
    return (
        f"version: {entry.version >> 8} producerId: {entry.producer_id} firstOffset: {entry.first_offset}"
        f" lastOffset: {entry.last_offset} lastStableOffset: {entry.last_stable_offset}"
    )


def _bool(value: bool) -> str:  # noqa: FBT001 - a value, not a flag
    return "true" if value else "false"


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _optional_long(value: int | None) -> str:
    return "OptionalLong.empty" if value is None else f"OptionalLong[{value}]"


_CONTROL_TITLES = {
    LEADER_CHANGE: "LeaderChange:",
    SNAPSHOT_HEADER: "SnapshotHeader",
    SNAPSHOT_FOOTER: "SnapshotFooter",
    KRAFT_VERSION: "KRaftVersion",
    KRAFT_VOTERS: "KRaftVoters",
}


# Text as Java makes it of bytes


def java_string(data: bytes) -> str:
    """Return the text of bytes as `new String(bytes, UTF_8)` does: Java counts damaged sequences otherwise than Python."""
    return "".join(java_strings(data)) if len(data) > LONG_TEXT else java_text.java_string(data)


def java_strings(data: bytes) -> Iterator[str]:
    """Yield the text of `java_string` in pieces."""
    return map(java_text.java_string, _pieces(data))


def _pieces(data: bytes) -> Iterator[bytes]:
    """Yield bytes in pieces of which each is text by itself: of many damaged sequences at once much would be in memory."""
    start = 0
    while start < len(data):
        end = start + LONG_TEXT
        # a sequence has at most three bytes behind its first; behind so many each is a damaged one of its own
        lead = next(
            (
                at
                for at in range(end, end - LONGEST_SEQUENCE, -1)
                if data[at : at + 1] and data[at] & 0xC0 != 0x80
            ),
            end,
        )
        yield data[start:lead]
        start = lead
