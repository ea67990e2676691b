"""A log read once: its summary, and where it is damaged."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from formats.batch import CONTROL_MASK, LOG_OVERHEAD, MAX_INT, NO_PRODUCER_ID
from formats.bounds import LARGEST_CONTROL_BATCH, RAISES_THE_BOUND, describe
from formats.bulk import Fields, marker_types, together
from formats.errors import FormatError
from formats.magic import HEADER_SIZES, is_above_latest, is_legacy
from kcli.kafka.findings import log_findings
from kcli.kafka.findings.findings import checksum_message
from kcli.kafka.integrity.damaged import verified_windows
from kcli.kafka.integrity.summary import EMPTY, NOT_OPENED, Summary, merge, summary
from kcli.kafka.storage.producer_state import read_marker
from kcli.logdir.buffers import DataFile
from kcli.logdir.bulk import Window
from kcli.logdir.segment import TORN, DamagedRange, Stop

BATCHES_A_BLOCK = 8192
NO_MARKER = -1
MOST_GAPS = 1000
"""Damaged ranges of one log that are reported one by one."""


class Observer(Protocol):
    """Who looks on while a log is read."""

    def see_window(self, window: Window) -> None:
        """Look at a window while its bytes are there."""

    def see_batches(self, batches: Window, marker_types: NDArray[np.int8]) -> None:
        """Look at the batches of some windows in a row, without their bytes, and the types of end markers."""


class Defects(NamedTuple):
    """Batches with one defect: how many, the byte position of the first, and what is said of it."""

    batches: int = 0
    position: int = 0
    message: str = ""


class LogScan(NamedTuple):
    """What a walk over a log found; `stop` says where and why it ended.

    `defects` of its batches are by the code of their finding. `gaps` are the first MOST_GAPS damaged ranges
    of `gap_count`, and one with no batch after it. `grown`: bytes that the file, `size` long when it was
    opened, has gained since.
    """

    stop: Stop
    summary: Summary = EMPTY
    gaps: tuple[DamagedRange, ...] = ()
    gap_count: int = 0
    defects: Mapping[str, Defects] = MappingProxyType({})
    size: int = 0
    grown: int = 0


def scan_log(
    file: DataFile,
    base: int | None = None,
    *,
    verify: bool = True,
    largest: int | None = None,
    observer: Observer | None = None,
) -> LogScan:
    """Return what lies in a log, past damage; `base` is the base offset of a segment, None for another log.

    `verify`: checksums are looked at. `largest`: bytes of what is decompressed.
    """
    stop, summary, defects = Stop("end", 0), EMPTY, dict[str, Defects]()
    gaps: list[DamagedRange] = []
    scans: list[_Scan] = []
    count = gap_count = 0
    for item in verified_windows(file, 0, verify=verify):
        if isinstance(item, DamagedRange):
            gap_count += 1
            gaps += [item] if len(gaps) < MOST_GAPS or item.next_offset is None else []
        elif isinstance(item, Stop):
            stop = item
        else:
            scans.append(_scan(file, item, largest, observer))
            count += len(item.positions)
        # a call of numpy costs as much for ten batches as for a thousand
        if scans and (count >= BATCHES_A_BLOCK or isinstance(item, Stop)):
            new_summary, new_defects = _summed(scans, base, observer)
            summary = merge(summary, new_summary)
            defects |= {code: _added(defects.get(code, Defects()), new) for code, new in new_defects.items()}
            scans, count = [], 0
    grown = file.grown(is_torn=stop.reason in TORN)
    return LogScan(stop, summary, tuple(gaps), gap_count, defects, file.size, grown)


def _added(a: Defects, b: Defects) -> Defects:
    return Defects(a.batches + b.batches, *(a if a.batches else b)[1:])


class _Scan(NamedTuple):
    """Batches of a window with what only its bytes can tell."""

    window: Window
    marker_types: NDArray[np.int8]
    unreadable: Defects
    sizes: "tuple[NDArray[np.int64], NDArray[np.int64]] | None"


def _scan(file: DataFile, window: Window, largest: int | None, observer: Observer | None) -> _Scan:
    fields = window.fields
    good = np.ones(len(fields), np.bool_) if window.valid is None else window.valid
    bad = []
    for number in (log_findings.has_unknown_codec(fields) & good).nonzero()[0].tolist():
        position = int(window.positions[number])
        bad.append(Defects(1, position, log_findings.unknown_codec_text(position, fields[number])))
    types, broken = end_marker_types(file, window)
    bad += [_trouble(window, number, error) for number, error in broken]
    if observer is not None:
        observer.see_window(window)
    sizes = None if largest is None else _sizes(file, window, largest, bad)
    each = {defect.position: defect for defect in bad}
    unreadable = reduce(_added, (each[position] for position in sorted(each)), Defects())
    return _Scan(window._replace(data=window.data[:0]), types, unreadable, sizes)


def end_marker_types(
    file: DataFile, window: Window
) -> tuple[NDArray[np.int8], list[tuple[int, FormatError]]]:
    """Return ABORT or COMMIT for each batch that ends a transaction, else NO_MARKER.

    With the numbers in the window of control batches that cannot be read, and why.
    """
    fields, broken = window.fields, list[tuple[int, FormatError]]()
    types = np.full(len(fields), NO_MARKER, np.int8)
    is_control = ~is_legacy(fields["magic"]) & (fields["attributes"] & CONTROL_MASK != 0)
    if window.valid is not None:
        is_control &= window.valid
    numbers = (is_control & (fields["producer_id"] != NO_PRODUCER_ID)).nonzero()[0]
    if not len(numbers):
        return types, broken
    places = window.positions[numbers] - window.base
    inside = (places >= 0) & (places + LOG_OVERHEAD <= len(window.data) - fields["batch_length"][numbers])
    types[numbers[inside]] = marker_types(window.data, places[inside], fields[numbers[inside]])
    for number in numbers[types[numbers] == NO_MARKER].tolist():
        try:
            marker = read_marker(batch_bytes(file, window, number, LARGEST_CONTROL_BATCH))
        except FormatError as error:
            broken.append((number, error))
        else:
            if marker is not None and marker.is_abort is not None:
                types[number] = marker.type
    return types, broken


def batch_bytes(file: DataFile, window: Window, number: int, most: int) -> bytes:
    """Return the bytes of a batch, no more than `most` of them, from the window if they are there."""
    position = int(window.positions[number])
    size = min(LOG_OVERHEAD + int(window.fields["batch_length"][number]), most)
    begin = position - window.base
    is_inside = window.base <= position and begin + size <= len(window.data)
    return bytes(window.data[begin : begin + size]) if is_inside else file.read(position, size)


def _trouble(window: Window, number: int, error: FormatError | str) -> Defects:
    """Return why a batch cannot be read, in the words of `dump`."""
    position = int(window.positions[number])
    reason = error if isinstance(error, str) else describe(error.moved(position))
    return Defects(1, position, f"offset {window.fields['base_offset'][number]}: {reason}")


def _sizes(
    file: DataFile, window: Window, largest: int, bad: list[Defects]
) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Return the bytes of records of each batch as stored and decompressed, NOT_OPENED where that fails."""
    from formats.message_set import message_set
    from formats.record import unpacked

    fields = window.fields
    old = is_legacy(fields["magic"])
    header_sizes = np.take(HEADER_SIZES, fields["magic"], mode="clip")
    packed = fields["batch_length"].astype(np.int64) + LOG_OVERHEAD - header_sizes
    decompressed = packed.copy()
    for number in ((fields["attributes"] & 7 != 0) | old).nonzero()[0].tolist():
        packed[number] = decompressed[number] = NOT_OPENED
        if window.valid is not None and not window.valid[number]:
            continue
        size = LOG_OVERHEAD + int(fields["batch_length"][number])
        if size > largest:
            bad.append(_trouble(window, number, f"a batch of {size} bytes{RAISES_THE_BOUND}"))
            continue
        try:
            raw = batch_bytes(file, window, number, size)
            if old[number]:
                opened = message_set(raw, largest)
                sizes = (len(raw) - (opened.stream or 0), len(opened.body))
            else:
                sizes = (len(raw) - int(header_sizes[number]), len(unpacked(raw, largest)[1]))
            packed[number], decompressed[number] = sizes
        except FormatError as error:
            bad.append(_trouble(window, number, error))
    return packed, decompressed


def _side_by_side(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


def _summed(
    scans: list[_Scan], base: int | None, observer: Observer | None
) -> tuple[Summary, dict[str, Defects]]:
    """Return the summary of the batches of some windows of a segment, one or more, and their defects."""
    fields = together([scan.window.fields for scan in scans])
    positions = _side_by_side([scan.window.positions for scan in scans])
    verdicts = [scan.window.valid for scan in scans if scan.window.valid is not None]
    valid = _side_by_side(verdicts) if verdicts else None
    types = _side_by_side([scan.marker_types for scan in scans])
    if observer is not None:
        observer.see_batches(Window(positions, fields, valid, 0, scans[0].window.data), types)
    sizes = [scan.sizes for scan in scans if scan.sizes is not None]
    packed, unpacked = map(_side_by_side, zip(*sizes, strict=True)) if sizes else (None, None)
    summed = summary(fields, valid, types != NO_MARKER, packed, unpacked)
    is_good = np.ones(len(fields), np.bool_) if valid is None else valid
    offsets, magics = fields["base_offset"], fields["magic"]
    is_above = is_good & is_above_latest(magics)
    defects = {
        "LOG-003": _first(~is_good, positions, lambda number: checksum_message(offsets[number])),
        "LOG-017": _first(
            is_above, positions, lambda number: log_findings.magic_message(offsets[number], magics[number])
        ),
        "DUMP-002": reduce(_added, [scan.unreadable for scan in scans]),
    }
    if base is not None and not _is_within_reach(summed, fields, base):
        beyond, below = is_good & log_findings.is_out_of_reach(fields, base), offsets.astype("i8") < base
        for code, which in ((log_findings.ABOVE, beyond & ~below), (log_findings.BELOW, beyond & below)):
            defects[code] = _first(
                which, positions, lambda number: log_findings.reach_message(int(offsets[number]), base)
            )
    return summed, {code: of_code for code, of_code in defects.items() if of_code.batches}


def _is_within_reach(summed: Summary, fields: Fields, base: int) -> bool:
    """Whether offsets that rise from first to last show quickly that none is out of a segment's reach."""
    first, last = summed.base_offset, summed.last_offset
    if first is None or last is None or summed.backwards.times or not base <= first <= last <= base + MAX_INT:
        return False
    # a wrong offset between two others is a gap before it; a header may contradict itself
    rises = fields["last_offset_delta"].min() >= 0
    return bool(rises and (not summed.gaps.times or fields["base_offset"].max() <= base + MAX_INT))


def _first(which: NDArray[np.bool_], positions: NDArray[np.int64], message: Callable[[int], str]) -> Defects:
    """Return how many batches have a defect, and what is said of the first, by its number."""
    if not which.any():
        return Defects()
    number = int(which.argmax())
    return Defects(int(np.count_nonzero(which)), int(positions[number]), message(number))
