"""The three indexes of a segment, their entries, and Kafka's own searches in them.

`*.index`, `*.timeindex` and `*.txnindex` lie beside a segment's `*.log`, and in
`remote-log-index-cache`; no header, no checksum. The truth is
`org.apache.kafka.storage.internals.log.{AbstractIndex, OffsetIndex, TimeIndex,
TransactionIndex, AbortedTxn}`.

    *.index      0                 4            8
                 | relative_offset | position   |
    *.timeindex  0                 8            12
                 | timestamp       | rel. offset|
    *.txnindex   0         2             10             18            26                   34
                 | version | producer_id | first_offset | last_offset | last_stable_offset |

An offset index entry names the **last** offset of what was appended and the position where that began; a time
index entry the largest timestamp so far and the last offset of the batch that brought it.

The index of an active segment is preallocated (10485760 and 10485756 bytes) and cut to size on roll and clean
stop only. A truncation moves the end back without wiping: what follows the valid entries is zeros, or stale
entries and then zeros. A broker that opens a file takes it as full to its last whole entry, so the searches
here give what a broker gives only with that count, `size // layout.size`; the valid prefix says where the
entries that mean something end.
"""

import struct
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, overload

from formats.batch import MAX_INT, NO_TIMESTAMP
from formats.layout import INT16, INT32, INT64, Layout
from formats.types import Buffer, Position, RelativeOffset

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

R = TypeVar("R", bound=tuple[Any, ...])

WARM_BYTES = 8192
"""Bytes at the end of an index which AbstractIndex searches first."""

NO_SLOT = -1
TXN_VERSION = 0
"""Brokers refuse any other. Before 4.4 they looked at its first byte alone, and took one below 0 too."""


class OffsetIndexEntry(NamedTuple):
    """An entry of an offset index."""

    relative_offset: Annotated[
        RelativeOffset, INT32, "last offset of the append, minus the segment's base offset"
    ]
    position: Annotated[Position, INT32, "bytes into the .log where the append began"]


class TimeIndexEntry(NamedTuple):
    """An entry of a time index."""

    timestamp: Annotated[int, INT64, "ms; largest in the segment so far"]
    relative_offset: Annotated[
        RelativeOffset, INT32, "last offset of the batch that has it, minus the segment's base offset"
    ]


class AbortedTxn(NamedTuple):
    """An entry of a transaction index: one aborted transaction."""

    version: Annotated[int, INT16, "0; brokers look at the high byte alone"]
    producer_id: Annotated[int, INT64, "id of the producer"]
    first_offset: Annotated[int, INT64, "first offset of the aborted transaction; these do not rise"]
    last_offset: Annotated[int, INT64, "offset of its abort marker; these rise"]
    last_stable_offset: Annotated[int, INT64, "last stable offset once this transaction is closed"]


OFFSET_INDEX_ENTRY = Layout(OffsetIndexEntry, "offset index entry")
TIME_INDEX_ENTRY = Layout(TimeIndexEntry, "time index entry")
TXN_INDEX_ENTRY = Layout(AbortedTxn, "transaction index entry")

ZERO_ENTRY = (0, 0)

OFFSET_FIELDS = OFFSET_INDEX_ENTRY.only("relative_offset", "position")
TIME_FIELDS = TIME_INDEX_ENTRY.only("timestamp", "relative_offset")


@overload
def is_relative(offset: int, base: int) -> bool: ...
@overload
def is_relative(offset: "NDArray[np.int64]", base: int) -> "NDArray[np.bool_]": ...
def is_relative(offset: "int | NDArray[np.int64]", base: int) -> "bool | NDArray[np.bool_]":
    """Whether the indexes of a segment can hold an offset, as `LogSegment.canConvertToRelativeOffset`."""
    return (offset >= base) & (offset - base <= MAX_INT)


def largest_lower_bound_slot(entries: int, value: Callable[[int], int], target: int, entry_size: int) -> int:
    """Return the slot that AbstractIndex.largestLowerBoundSlotFor finds for a target, -1 if none.

    The warm section is searched if it begins below the target, else what is before. In an index that does not
    rise it is where the broker's binary search ends.
    """
    if entries == 0:
        return NO_SLOT
    first_warm = max(0, entries - 1 - WARM_BYTES // entry_size)
    low, high = (first_warm, entries - 1) if value(first_warm) < target else (0, first_warm)
    if low == 0 and value(0) > target:
        return NO_SLOT
    while low < high:
        middle = (low + high + 1) // 2
        probe = value(middle)
        if probe == target:
            return middle
        if probe > target:
            high = middle - 1
        else:
            low = middle
    return low


def offset_index_lookup(
    entries: int, get: Callable[[int], OffsetIndexEntry], base_offset: int, target: int
) -> tuple[int, int]:
    """Return (offset, position) as OffsetIndex.lookup: of the last entry not above, else (base offset, 0)."""
    slot = largest_lower_bound_slot(entries, _offsets(get, base_offset), target, OFFSET_INDEX_ENTRY.size)
    if slot == NO_SLOT:
        return base_offset, 0
    entry = get(slot)
    return base_offset + entry.relative_offset, entry.position


def time_index_lookup(
    entries: int, get: Callable[[int], TimeIndexEntry], base_offset: int, target: int
) -> tuple[int, int]:
    """Return (timestamp, offset) as TimeIndex.lookup: of the last entry not above, else (-1, base offset)."""
    slot = largest_lower_bound_slot(entries, lambda slot: get(slot).timestamp, target, TIME_INDEX_ENTRY.size)
    if slot == NO_SLOT:
        return NO_TIMESTAMP, base_offset
    entry = get(slot)
    return entry.timestamp, base_offset + entry.relative_offset


def _offsets(
    get: Callable[[int], OffsetIndexEntry] | Callable[[int], TimeIndexEntry], base: int
) -> Callable[[int], int]:
    return lambda slot: base + get(slot).relative_offset


def truncated_entries(
    layout: Layout[Any],
    entries: int,
    get: Callable[[int], OffsetIndexEntry] | Callable[[int], TimeIndexEntry],
    base_offset: int,
    target: int,
) -> int:
    """Return how many entries `truncateTo` of either index leaves: those of **offsets** below the target."""
    offset = _offsets(get, base_offset)
    slot = largest_lower_bound_slot(entries, offset, target, layout.size)
    if slot == NO_SLOT:
        return 0
    return slot if offset(slot) == target else slot + 1


def valid_offset_entries(windows: Iterable[Buffer], log_size: int) -> int:
    """Return how many leading entries have offset and position that strictly rise, 0 < position < `log_size`.

    `windows`: the bytes of the file in order, cut anywhere; no more is taken than the answer needs.
    """

    def rises(last: tuple[int, ...], entry: tuple[int, ...]) -> bool:
        return entry[0] > last[0] and last[1] < entry[1] < log_size

    return _valid_entries(OFFSET_FIELDS, windows, rises)


def valid_time_entries(windows: Iterable[Buffer]) -> int:
    """Return how many leading entries have a timestamp that strictly rises, from 0 on, and no falling offset.

    A first entry of zeros counts unless more zeros follow, as in what is preallocated.
    """

    def rises(last: tuple[int, ...], entry: tuple[int, ...]) -> bool:
        return entry[0] > last[0] and entry[1] >= last[1]

    return _valid_entries(TIME_FIELDS, windows, rises)


def _valid_entries(
    fields: struct.Struct,
    windows: Iterable[Buffer],
    rises: Callable[[tuple[int, ...], tuple[int, ...]], bool],
) -> int:
    count, last, remainder = 0, (-1, 0), b""
    for window in windows:
        data = memoryview(remainder + window if remainder else window)
        whole_size = len(data) - len(data) % fields.size
        for entry in fields.iter_unpack(data[:whole_size]):
            if not rises(last, entry):
                return 0 if count == 1 and last == entry == ZERO_ENTRY else count
            last = entry
            count += 1
        remainder = bytes(data[whole_size:])
    return count
