"""A log, or a part of one that begins and ends at a batch, read once: its summary, and where it is damaged.

Parts join to what one walk over all of them would have found, or say that they do not: `join` gives None
where the chain does not lead from one to the other, or where damage reaches over the seam.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formats.batch import CONTROL_MASK, LOG_OVERHEAD, MAX_INT, NO_PRODUCER_ID
from formats.bounds import LARGEST_BATCH, LARGEST_CONTROL_BATCH, RAISES_THE_BOUND, describe
from formats.bulk import Fields, marker_types, together
from formats.errors import FormatError
from formats.magic import HEADER_SIZES, is_above_latest, is_legacy
from kcli.kafka.findings.log_findings import (
    checksum_message,
    has_unknown_codec,
    is_out_of_reach,
    magic_message,
    reach_message,
    unknown_codec_text,
)
from kcli.kafka.integrity.damaged import verified_windows
from kcli.kafka.integrity.summary import EMPTY, NOT_OPENED, BatchRun, Summary, merge, summary
from kcli.kafka.storage.producer_state import read_marker
from kcli.logdir.buffers import DataFile
from kcli.logdir.bulk import Window
from kcli.logdir.segment import TORN, DamagedRange, Stop

BATCHES_A_BLOCK = 8192
NO_MARKER = -1
MOST_GAPS = 1000
"""Damaged ranges of one log that are reported one by one."""
Observe: TypeAlias = Callable[[Window, NDArray[np.int8]], None]
"""Takes a window and the types of its end markers, while its bytes are there."""
CLEAN_STOPS = frozenset({"end", "zeros"})


class Defects(NamedTuple):
    """Batches with one defect: how many, the byte position of the first, and what is said of it."""

    batches: int = 0
    position: int = 0
    message: str = ""


class LogPart(NamedTuple):
    """What a walk from byte `start` on found; `stop` says where and why it ended.

    `above_v2`: batches of a magic above 2. `out_of_reach`: those with an offset that the indexes of their
    segment cannot hold. `gaps` are the first MOST_GAPS damaged ranges of `gap_count`, and
    one with no batch after it. `suspect` is where the batches of wrong checksum begin that reach up to the
    end. `grown`: bytes that the file, `size` long when it was opened, has gained since.
    """

    start: int
    stop: Stop
    summary: Summary = EMPTY
    gaps: tuple[DamagedRange, ...] = ()
    gap_count: int = 0
    suspect: int | None = None
    invalid: Defects = Defects()
    above_v2: Defects = Defects()
    out_of_reach: Defects = Defects()
    unreadable: Defects = Defects()
    size: int = 0
    grown: int = 0


class ReadOptions(NamedTuple):
    """What is looked at: checksums, and sizes of decompressed batches up to `largest` bytes.

    `base` is the base offset of a segment; None for another log.
    """

    verify: bool = True
    unpack: bool = False
    largest: int = LARGEST_BATCH
    base: int | None = None


def read_part(
    file: DataFile,
    start: int,
    end: int | None,
    options: ReadOptions,
    *,
    observe: Observe | None = None,
) -> LogPart:
    """Return what lies between two positions of a log.

    After damage the walk goes on as `verified_batches` does. `observe` is called with each window, in order.
    """
    piece = LogPart(start, Stop("end", start))
    parts: list[_Part] = []
    count = 0
    for item in verified_windows(file, start, end, verify=options.verify):
        if isinstance(item, Window):
            parts.append(_part(file, item, options, observe))
            count += len(item.positions)
            if count < BATCHES_A_BLOCK:
                continue  # a call of numpy costs as much for ten batches as for a thousand
        piece = _add(piece, _summed(parts, options.base))
        parts, count = [], 0
        if isinstance(item, DamagedRange):
            is_kept = len(piece.gaps) < MOST_GAPS or item.next_offset is None
            gaps = (*piece.gaps, item) if is_kept else piece.gaps
            suspect = piece.suspect if item.next_offset is None else None
            piece = piece._replace(gaps=gaps, gap_count=piece.gap_count + 1, suspect=suspect)
        elif isinstance(item, Stop):
            piece = piece._replace(stop=item)
    return piece._replace(size=file.size, grown=file.grown(is_torn=piece.stop.reason in TORN))


def join(a: LogPart, b: LogPart) -> LogPart | None:
    """Return what one walk over both would have found; None if the two do not show it."""
    if a.stop.reason != "end" or a.stop.position != b.start or a.gap_count:
        return None
    if a.suspect is not None and (b.gap_count or b.stop.reason not in CLEAN_STOPS):
        return None
    return _add(a, b)._replace(
        stop=b.stop, gaps=b.gaps, gap_count=b.gap_count, size=b.size, grown=max(a.grown, b.grown)
    )


def _add(a: LogPart, b: LogPart) -> LogPart:
    """Return a piece with the batches of the next one; its stop and its damage are those of the first."""
    carries = a.suspect is not None and b.summary.valid == 0
    return a._replace(
        summary=merge(a.summary, b.summary),
        suspect=a.suspect if carries else b.suspect,
        invalid=_added(a.invalid, b.invalid),
        above_v2=_added(a.above_v2, b.above_v2),
        out_of_reach=_added(a.out_of_reach, b.out_of_reach),
        unreadable=_added(a.unreadable, b.unreadable),
    )


def _added(a: Defects, b: Defects) -> Defects:
    return Defects(a.batches + b.batches, *(a if a.batches else b)[1:])


class _Part(NamedTuple):
    """Batches of a window with what only its bytes can tell."""

    window: Window
    ends: NDArray[np.bool_]
    unreadable: Defects
    sizes: "tuple[NDArray[np.int64], NDArray[np.int64]] | None"


def _part(file: DataFile, window: Window, options: ReadOptions, observe: Observe | None) -> _Part:
    fields = window.fields
    good = np.ones(len(fields), np.bool_) if window.valid is None else window.valid
    bad = [
        Defects(
            1,
            int(window.positions[number]),
            unknown_codec_text(int(window.positions[number]), fields[number]),
        )
        for number in (has_unknown_codec(fields) & good).nonzero()[0].tolist()
    ]
    types, broken = end_marker_types(file, window)
    bad += [_trouble(window, one.number, one.error) for one in broken]
    if observe is not None:
        observe(window, types)
    sizes = _sizes(file, window, options, bad) if options.unpack else None
    each = {place.position: place for place in bad}
    unreadable = reduce(_added, (each[position] for position in sorted(each)), Defects())
    return _Part(window._replace(data=window.data[:0]), types != NO_MARKER, unreadable, sizes)


class BrokenMarker(NamedTuple):
    """A control batch that cannot be read: its number in a window, and why."""

    number: int
    error: FormatError


def end_marker_types(file: DataFile, window: Window) -> tuple[NDArray[np.int8], list[BrokenMarker]]:
    """Return ABORT or COMMIT for each batch of a window that ends a transaction, else NO_MARKER; and errors.

    Those that look as every broker writes them at once, others decoded.
    """
    fields, broken = window.fields, list[BrokenMarker]()
    types = np.full(len(fields), NO_MARKER, np.int8)
    is_control = ~is_legacy(fields["magic"]) & (fields["attributes"] & CONTROL_MASK != 0)
    if window.valid is not None:
        is_control &= window.valid
    at = (is_control & (fields["producer_id"] != NO_PRODUCER_ID)).nonzero()[0]
    if not len(at):
        return types, broken
    places = window.positions[at] - window.base
    inside = (places >= 0) & (places + LOG_OVERHEAD <= len(window.data) - fields["batch_length"][at])
    types[at[inside]] = marker_types(window.data, places[inside], fields[at[inside]])
    for number in at[types[at] == NO_MARKER].tolist():
        try:
            marker = read_marker(batch_bytes(file, window, number, LARGEST_CONTROL_BATCH))
        except FormatError as error:
            broken.append(BrokenMarker(number, error))
        else:
            if marker is not None and marker.is_abort is not None:
                types[number] = marker.type
    return types, broken


def batch_bytes(file: DataFile, window: Window, number: int, most: int) -> bytes:
    """Return the bytes of a batch, no more than `most` of them, from the window if they are there."""
    position = int(window.positions[number])
    size = min(LOG_OVERHEAD + int(window.fields["batch_length"][number]), most)
    at = position - window.base
    is_inside = window.base <= position and at + size <= len(window.data)
    return bytes(window.data[at : at + size]) if is_inside else file.read(position, size)


def _trouble(window: Window, number: int, error: FormatError | str) -> Defects:
    """Return why a batch cannot be read, in the words of `dump`."""
    position = int(window.positions[number])
    words = error if isinstance(error, str) else describe(error.moved(position))
    return Defects(1, position, f"offset {window.fields['base_offset'][number]}: {words}")


def _sizes(
    file: DataFile, window: Window, options: ReadOptions, bad: list[Defects]
) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Return the bytes of records of each batch as stored and decompressed, NOT_OPENED where that fails."""
    from formats.message_set import message_set
    from formats.record import unpacked

    fields = window.fields
    old = is_legacy(fields["magic"])
    header_sizes = np.take(HEADER_SIZES, fields["magic"], mode="clip")
    packed = fields["batch_length"].astype(np.int64) + LOG_OVERHEAD - header_sizes
    whole = packed.copy()
    for number in ((fields["attributes"] & 7 != 0) | old).nonzero()[0].tolist():
        packed[number] = whole[number] = NOT_OPENED
        if window.valid is not None and not window.valid[number]:
            continue
        size = LOG_OVERHEAD + int(fields["batch_length"][number])
        if size > options.largest:
            bad.append(_trouble(window, number, f"a batch of {size} bytes{RAISES_THE_BOUND}"))
            continue
        try:
            raw = batch_bytes(file, window, number, size)
            if old[number]:
                opened = message_set(raw, options.largest)
                sizes = (len(raw) - (opened.stream or 0), len(opened.body))
            else:
                sizes = (len(raw) - int(header_sizes[number]), len(unpacked(raw, options.largest)[1]))
            packed[number], whole[number] = sizes
        except FormatError as error:
            bad.append(_trouble(window, number, error))
    return packed, whole


def _summed(parts: list[_Part], base: int | None) -> LogPart:
    """Return a piece of the batches of some windows of a segment."""
    if not parts:
        return LogPart(0, Stop("end", 0))

    def joined(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
        return columns[0] if len(columns) == 1 else np.concatenate(columns)

    fields = together([part.window.fields for part in parts])
    positions = joined([part.window.positions for part in parts])
    verdicts = [part.window.valid for part in parts if part.window.valid is not None]
    valid = joined(verdicts) if verdicts else None
    sizes = [part.sizes for part in parts if part.sizes is not None]
    packed, whole = (
        (joined([pair[0] for pair in sizes]), joined([pair[1] for pair in sizes])) if sizes else (None, None)
    )
    run = BatchRun(fields, valid, joined([part.ends for part in parts]), packed, whole)
    unreadable = reduce(_added, [part.unreadable for part in parts])
    piece = LogPart(0, Stop("end", 0), summary(run), unreadable=unreadable)
    if valid is not None and not valid.all():
        wrong = (~valid).nonzero()[0]
        after = int(valid.nonzero()[0][-1]) + 1 if valid.any() else 0
        suspect = int(positions[after]) if after < len(positions) else None
        piece = piece._replace(
            invalid=_first(wrong, positions, lambda at: checksum_message(fields["base_offset"][at])),
            suspect=suspect,
        )
    is_above = is_above_latest(fields["magic"])
    above = (is_above if valid is None else valid & is_above).nonzero()[0]
    piece = piece._replace(
        above_v2=_first(
            above, positions, lambda at: magic_message(fields["base_offset"][at], fields["magic"][at])
        )
    )
    if base is None or _is_within_reach(piece.summary, fields, base):
        return piece
    is_beyond = is_out_of_reach(fields, base)
    beyond = np.flatnonzero(is_beyond if valid is None else valid & is_beyond)
    return piece._replace(
        out_of_reach=_first(beyond, positions, lambda at: reach_message(int(fields["base_offset"][at]), base))
    )


def _is_within_reach(found: Summary, fields: Fields, base: int) -> bool:
    """Whether offsets that rise from the first to the last show that none is out of reach of a segment.

    A quick look: few logs have others.
    """
    first, last = found.base_offset, found.last_offset
    if first is None or last is None or found.backwards.times or not base <= first <= last <= base + MAX_INT:
        return False
    # a wrong offset between two others is a gap before it; a header may contradict itself
    rises = fields["last_offset_delta"].min() >= 0
    return bool(rises and (not found.gaps.times or fields["base_offset"].max() <= base + MAX_INT))


def _first(which: NDArray[np.int64], positions: NDArray[np.int64], message: Callable[[int], str]) -> Defects:
    """Return how many batches have a defect, and what is said of the first, by its number."""
    if not len(which):
        return Defects()
    first = int(which[0])
    return Defects(len(which), int(positions[first]), message(first))
