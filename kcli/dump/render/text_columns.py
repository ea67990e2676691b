"""The text of kafka-dump-log for many batches and records at once: the fast twin of `kcli.dump.render.lines`.

A chunk's lines are one join over their pieces. While it is assembled, a byte is a character (Latin-1); what is not ASCII is made Java's text once, at the end:
every key and value lies between ASCII characters, so that none can spoil its neighbour.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from formats.batch import (
    CONTROL_MASK,
    TIMESTAMP_TYPE_MASK,
    TIMESTAMP_TYPES,
)
from formats.control import LONGEST_CONTROL, control_record
from formats.errors import FormatError
from formats.record_columns import RecordColumns
from kcli.dump.render.batch_columns import batch_columns, column_piece
from kcli.dump.render.lines import INDENT, control_text, java_strings
from kcli.dump.render.pairs import packed
from kcli.dump.render.pieces import Piece, either, numerals, side_by_side

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from formats.record_columns import Ints

LINES_AT_ONCE = 1 << 11
"""Lines whose pieces are in memory together. Of many more the interpreter gives the memory back each time, and asks for it again."""

LATIN_1 = "latin-1"

BATCH_LINE = {
    "baseOffset: ": "base_offset",
    " lastOffset: ": "last_offset",
    " count: ": "count",
    " baseSequence: ": "base_sequence",
    " lastSequence: ": "last_sequence",
    " producerId: ": "producer_id",
    " producerEpoch: ": "producer_epoch",
    " partitionLeaderEpoch: ": "partition_leader_epoch",
    " isTransactional: ": "is_transactional",
    " isControl: ": "is_control",
    " deleteHorizonMs: ": "delete_horizon_ms",
    " position: ": "position",
    " ": "timestamp_type",
    ": ": "max_timestamp",
    " size: ": "size",
    " magic: ": "magic",
    " compresscodec: ": "compression",
    " crc: ": "crc",
    " isvalid: ": "is_valid",
}
"""What stands in front of each column of DUMP_BATCH in a batch's line."""

Tell: TypeAlias = "Callable[[Ints], Iterable[Iterable[str]]]"
"""The words that stand behind each of some records, given their numbers in the columns."""


class Trouble(NamedTuple):
    """A record whose contents cannot be told: its batch's number in the columns, its offset, and why."""

    batch: int
    offset: int
    error: FormatError | str


def batch_text(
    headers: "NDArray[np.void]",
    positions: "Sequence[int] | Ints",
    valid: "Sequence[bool] | NDArray[np.bool_]",
) -> str:
    """Return the lines of batches of magic 2, each with its newline, as `dump_log.batch_line` has them.

    `headers` are rows as of `formats.record_columns.headers_at`; `positions` are bytes in the file.
    """
    import numpy as np  # noqa: PLC0415 - heavy: only who asks for bulk pays for it

    made = batch_columns(headers, np.asarray(positions), np.asarray(valid, np.bool_), BATCH_LINE.values())
    columns = {id(column): column for column in made.values()}
    told = {key: column_piece(column, _word, "OptionalLong[{}]".format) for key, column in columns.items()}
    return side_by_side(
        len(headers),
        [*(piece for words, name in BATCH_LINE.items() for piece in (words, told[id(made[name])])), "\n"],
    )


def _word(value: str | None) -> str:
    return "OptionalLong.empty" if value is None else value


def record_text(
    columns: RecordColumns,
    positions: "Sequence[int] | Ints",
    valid: "Sequence[bool] | NDArray[np.bool_]",
    troubles: list[Trouble],
    *,
    contents: bool = True,
    metadata: bool = True,
    tell: "Tell | None" = None,
    longest_control: int = LONGEST_CONTROL,
) -> Iterator[str]:
    """Yield the lines of the columns' batches, each followed by those of its records, each with its newline, in pieces.

    A batch's own line stands where its records begin. They are those of `dump_log.batch_line`, `record_line`, `control_text` and `contents(plain(record))`. `positions`
    and `valid` are those of the columns' batches; `contents` prints keys and payloads, `metadata` what is in front of
    them. With `tell` contents are what it makes of records' numbers in the columns. Control records that cannot be told
    are added to `troubles`; `longest_control` bounds their values as in `control_record`.
    """
    lines = (
        batch_text(columns.headers, positions, valid).splitlines(keepends=True)
        if not columns.before
        else [""]
    )
    text = columns.data.decode(LATIN_1)
    records = len(columns.offset)
    bounds = columns.bounds.tolist()
    begin = 0
    for start in range(0, max(records, 1), LINES_AT_ONCE):
        end = min(start + LINES_AT_ONCE, records)
        until = len(lines) if end == records else bisect_left(bounds, end, begin)
        # what stands before each record, and behind the last
        starts = [""] * (end - start + 1)
        for at, line in zip(bounds[begin:until], lines[begin:until], strict=True):
            starts[at - start] += line
        begin = until
        after = starts.pop()
        found = _records(
            columns,
            slice(start, end),
            text,
            starts,
            troubles,
            contents=contents,
            metadata=metadata,
            tell=tell,
            longest_control=longest_control,
        )
        found = found + after if after else found
        if found.isascii():
            yield found
        else:
            yield from java_strings(found.encode(LATIN_1))


def non_consecutive(columns: RecordColumns, last: int) -> bytes:
    """Return (offset, offset of the next record) wherever the next is not one more, as `kcli.dump.render.pairs` has them.

    `last` stands before the first.
    """
    import numpy as np  # noqa: PLC0415 - heavy: only who asks for bulk pays for it

    offset = columns.offset
    if not len(offset):
        return b""
    first = int(offset[0])
    # nothing follows the largest long, though its sum wraps
    at = np.flatnonzero((offset[1:] != offset[:-1] + 1) | (offset[:-1] == np.iinfo(np.int64).max))
    found = np.stack((offset[at], offset[at + 1]), axis=1).tobytes()
    return found if first == last + 1 else packed(last, first) + found


def _records(
    columns: RecordColumns,
    span: slice,
    text: str,
    starts: list[str],
    troubles: list[Trouble],
    *,
    contents: bool,
    metadata: bool,
    tell: "Tell | None",
    longest_control: int,
) -> str:
    """Return the lines of some records behind what starts each, contents as Latin-1."""
    batch = columns.batch[span]
    attributes = columns.headers["attributes"][batch]
    control = attributes & CONTROL_MASK != 0
    pieces: list[Piece] = [starts]
    if metadata:
        pieces += [
            f"{INDENT} offset: ",
            numerals(columns.offset[span]),
            *_timestamp_type(attributes),
            numerals(columns.timestamp[span]),
            " keySize: ",
            numerals(columns.key_length[span]),
            " valueSize: ",
            numerals(columns.value_length[span]),
            " sequence: ",
            numerals(columns.sequence[span]),
            " headerKeys: [",
            _header_keys(columns, span, text),
            "]",
        ]
        if control.any():
            pieces.append(_control_texts(columns, span, control, troubles, longest_control))
    if contents and tell is not None:
        told = tell((~control).nonzero()[0] + span.start)
        texts = [
            "".join([word if word.isascii() else word.encode().decode(LATIN_1) for word in words])
            for words in told
        ]
        for number in control.nonzero()[0].tolist():
            texts.insert(number, "")
        pieces.append(texts)
    elif contents:
        key = (columns.key_length[span] >= 0) & ~control
        value = (columns.value_length[span] >= 0) & ~control
        prefix = " " if metadata else f"{INDENT} "
        pieces += [
            either(key, f"{prefix}key: ", ""),
            _cut(text, columns.key_start[span], columns.key_length[span] * key),
            either(value, " payload: ", "")
            if metadata or key.all()
            else _first_or_second(key, value, prefix),
            _cut(text, columns.value_start[span], columns.value_length[span] * value),
        ]
    return side_by_side(len(starts), [*pieces, "\n"])


def _first_or_second(key: "NDArray[np.bool_]", value: "NDArray[np.bool_]", prefix: str) -> Piece:
    """Return what stands before payloads where nothing but a key may stand before them."""
    behind = {(True, True): " payload: ", (False, True): f"{prefix}payload: "}
    return [behind.get(has, "") for has in zip(key.tolist(), value.tolist(), strict=True)]


def _header_keys(columns: RecordColumns, span: slice, text: str) -> Piece:
    import numpy as np  # noqa: PLC0415 - heavy: only who asks for bulk pays for it

    count, first = columns.headers_count[span], columns.headers_first[span]
    having = np.flatnonzero(count)
    if not len(having):
        return ""
    begin, end = int(first[having[0]]), int(first[having[-1]] + count[having[-1]])
    keys = _cut(text, columns.header_key_start[begin:end], columns.header_key_length[begin:end])
    bounds = (first - begin).tolist()
    return [
        ",".join(keys[at : at + some]) if some else ""
        for at, some in zip(bounds, count.tolist(), strict=True)
    ]


def _control_texts(
    columns: RecordColumns, span: slice, control: "NDArray[np.bool_]", troubles: list[Trouble], longest: int
) -> list[str]:
    import numpy as np  # noqa: PLC0415 - heavy: only who asks for bulk pays for it

    texts = [""] * len(control)
    for at in np.flatnonzero(control).tolist():
        row = span.start + at
        key, value = (
            _part(columns.data, starts[row], lengths[row]) for starts, lengths in _contents(columns)
        )
        try:
            texts[at] = control_text(control_record(key, value, longest)).encode().decode(LATIN_1)
        except FormatError as error:
            troubles.append(Trouble(int(columns.batch[row]), int(columns.offset[row]), error))
    return texts


def _contents(columns: RecordColumns) -> "tuple[tuple[Ints, Ints], tuple[Ints, Ints]]":
    return (columns.key_start, columns.key_length), (columns.value_start, columns.value_length)


def _part(data: bytes, start: "np.int64", length: "np.int64") -> bytes | None:
    return None if length < 0 else data[start : start + length]


def _timestamp_type(attributes: "NDArray[np.integer]") -> list[Piece]:
    create, append = (f" {name}: " for name in TIMESTAMP_TYPES)
    return [either(attributes & TIMESTAMP_TYPE_MASK != 0, append, create)]


def _cut(text: str, starts: "Ints", lengths: "Ints") -> list[str]:
    """Return the parts of a text; a length of 0 or less gives an empty one."""
    import numpy as np  # noqa: PLC0415 - heavy: only who asks for bulk pays for it

    ends = (starts + np.maximum(lengths, 0)).tolist()
    return [text[start:end] for start, end in zip(starts.tolist(), ends, strict=True)]
