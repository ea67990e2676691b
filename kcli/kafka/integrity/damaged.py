"""The batches of a log that is damaged: past what cannot be read, on with the next batch that proves itself.

Kafka has nothing like it: its walk ends at the first impossible length. Here a bad range is a value,
`DamagedRange`, and the walk goes on at the next plausible header with a matching checksum.
Nothing is passed over unsaid.
"""

from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from formats.batch import (
    BATCH,
    COMPRESSION_CODEC_MASK,
    HEADER_UP_TO_MAGIC,
    LENGTH_POSITION,
    LOG_OVERHEAD,
)
from formats.bounds import LARGEST_BATCH
from formats.errors import FormatError
from formats.legacy import MESSAGE_V0, MESSAGE_V1
from formats.magic import (
    LARGEST_HEADER,
    LATEST,
    LENGTH_SIZE,
    format_of,
    is_legacy,
    is_valid,
    magic_of,
    read_header,
)
from formats.primitives import nullable_bytes
from kcli.logdir.buffers import DataFile
from kcli.logdir.bulk import BulkWalk, Window
from kcli.logdir.segment import Batch, DamagedRange, Stop, Walk

Ints: TypeAlias = NDArray[np.int64]

WINDOW = 1 << 20
"""Bytes that are read at once, in a search and of a batch that is too large to be read whole."""
SMALLEST_WINDOW, GROWTH = 1 << 12, 4
"""Most damaged ranges are short: a search looks at so many bytes first, then at more."""
LARGEST_FOUND = 64 << 20
"""Bytes of the largest batch that a search finds."""
LEAST_BUDGET = 8 << 30
BUDGET_A_BYTE = 64
"""Bytes that the searches in one file may checksum.

Made of headers that claim megabytes each it must not cost hours.
"""

SALVAGE_STOPS = frozenset({"incomplete", "bad-length", "bad-magic"})
KNOWN_ATTRIBUTES = 0x7F
LEGACY_ATTRIBUTES = 0x0F
HIGHEST_CODEC = 4
SIGN_BIT = 0x80

_LENGTH = BATCH.only("batch_length")


class VerifiedBatch(NamedTuple):
    """A batch and whether its checksum matches; `raw` is None for one too large to be read at once."""

    batch: Batch
    raw: bytes | None
    valid: bool


def leads_to_a_batch(file: DataFile, position: int) -> bool:
    """Whether a batch of right checksum begins at a position: no more than it is read."""
    batch = next(iter(Walk(file, position, ahead=LARGEST_HEADER)), None)
    return batch is not None and verified(file, batch, LARGEST_BATCH).valid


def verified(file: DataFile, batch: Batch, largest: int) -> VerifiedBatch:
    """Return a batch, with its bytes where they are at most `largest`, and whether its checksum matches."""
    raw = file.read(batch.position, batch.header.size) if batch.header.size <= largest else None
    valid = is_valid(raw) if raw is not None else _is_valid_in_parts(file, batch)
    return VerifiedBatch(batch, raw, valid)


def _is_valid_in_parts(file: DataFile, batch: Batch) -> bool:
    """Whether the checksum of a batch matches that is too large to be read at once."""
    header, end = batch.header, batch.position + batch.header.size
    kind, value = format_of(header.magic), 0
    for position in range(batch.position + kind.crc_from, end, WINDOW):
        value = kind.checksum(file.read(position, min(WINDOW, end - position)), value)
    return value == header.crc


Met = TypeVar("Met", VerifiedBatch, Window)


def verified_batches(
    file: DataFile, start: int, end: int | None = None, largest: int = LARGEST_BATCH
) -> Iterator[VerifiedBatch | DamagedRange | Stop]:
    """Yield every batch between two positions, a DamagedRange for each range without one, and last the Stop.

    One of a wrong checksum is yielded; if the chain breaks after it, the search for the next begins in it.
    """
    end = file.size if end is None else min(end, file.size)

    def walked(
        start: int, limit: int, suspect: int | None
    ) -> Generator[VerifiedBatch, None, tuple[Stop | None, int | None]]:
        walk = Walk(file, start, limit)
        for batch in walk:
            checked = verified(file, batch, largest)
            suspect = None if checked.valid else batch.position if suspect is None else suspect
            yield checked
        return walk.stop, suspect

    yield from _past_damage(file, start, end, walked)


def verified_windows(
    file: DataFile, start: int, end: int | None = None, cut: int = 0, *, verify: bool = True
) -> Iterator[Window | DamagedRange | Stop]:
    """Yield what `verified_batches` does, the batches by the window; `verify`: whether checksums are.

    At a `cut`, where a batch of right checksum begins, it stops and says so, if the chain leads there.
    """
    end = file.size if end is None else min(end, file.size)

    def walked(
        position: int, limit: int, suspect: int | None
    ) -> Generator[Window, None, tuple[Stop | None, int | None]]:
        walk = BulkWalk(file, position, limit, verify=verify, eager=position == start)
        for window in walk:
            suspect = _suspect(window, suspect)
            yield window
        return walk.stop, suspect

    yield from _past_damage(file, start, end, walked, cut)


def _suspect(window: Window, before: int | None) -> int | None:
    """Return where the batches of wrong checksum begin that reach up to the end of a window."""
    valid = window.valid
    if valid is None or valid[-1]:
        return None
    good = valid.nonzero()[0]
    first = int(good[-1]) + 1 if len(good) else 0
    return before if before is not None and not len(good) else int(window.positions[first])


def _past_damage(
    file: DataFile,
    start: int,
    end: int,
    walked: Callable[[int, int, int | None], Generator[Met, None, tuple[Stop | None, int | None]]],
    cut: int = 0,
) -> Iterator[Met | DamagedRange | Stop]:
    """Yield what `walked` finds between two positions, given where wrong checksums began, past damage."""
    suspect: int | None = None
    budget = Budget(file.size)
    while True:
        limit = cut if 0 <= start < cut else end
        stop, suspect = yield from walked(start, limit, suspect)
        assert stop is not None, "a walk that has ended says where"
        if limit < end:
            if stop.reason == "end":
                yield Stop("cut", cut)
                return
            start, cut = stop.position, 0
            continue
        gap, stop = next_valid_batch(file, stop, suspect, end, budget)
        if gap is not None:
            yield gap
        if stop is not None:
            yield stop
            return
        if gap is not None:
            # how many damaged ranges there were, and what the searches cost, counts for the whole file
            start, suspect, cut = gap.end, None, 0


class Budget:
    """How many bytes the searches in a file may still checksum."""

    def __init__(self, size: int) -> None:
        self.remaining_bytes = LEAST_BUDGET + BUDGET_A_BYTE * size


def next_valid_batch(
    file: DataFile, stop: Stop, suspect: int | None, end: int, budget: Budget
) -> tuple[DamagedRange | None, Stop | None]:
    """Return the damaged range where a walk stopped, or None, and the stop if no batch follows it.

    `suspect`: where batches of wrong checksum began that reach up to the stop: the search begins there.
    """
    if stop.reason not in SALVAGE_STOPS and (stop.reason != "short" or suspect is None):
        return None, stop
    if stop.reason == "incomplete" and end < file.size:
        return None, stop
    bad = stop.position if suspect is None else suspect
    batch, gave_up = search_batch(file, bad + 1, end, budget)
    if batch is not None:
        next_offset = batch.header.base_offset
        return DamagedRange(bad, batch.position, stop.reason, stop.found, next_offset, stop.position), None
    if stop.reason in {"bad-length", "bad-magic"} or gave_up:
        return DamagedRange(stop.position, end, stop.reason, stop.found, None, stop.position, gave_up), stop
    return None, stop


def search_batch(file: DataFile, position: int, end: int, budget: Budget) -> tuple[Batch | None, bool]:
    """Return the first plausible batch of right checksum from a position on; whether the search gave up."""
    overlap, size = LARGEST_HEADER - 1, SMALLEST_WINDOW
    while position < end - HEADER_UP_TO_MAGIC:
        window = file.read(position, min(size + overlap, end - position))
        for candidate in _candidates(window, position, end, size) if window.strip(b"\0") else ():
            length = LOG_OVERHEAD + _LENGTH.unpack_from(window, candidate)[0]
            budget.remaining_bytes -= length
            if budget.remaining_bytes < 0:
                return None, True
            batch = _batch_at(file, position + candidate, length)
            if batch is not None:
                return batch, False
        position += size
        size = min(size * GROWTH, WINDOW)
    return None, False


def _batch_at(file: DataFile, position: int, length: int) -> Batch | None:
    """Return a batch whose header is plausible, if its checksum matches."""
    raw = file.read(position, length)
    if is_legacy(magic_of(raw)) and not _is_filled(raw):
        return None
    return Batch(position, read_header(raw)) if is_valid(raw) else None


def _candidates(window: bytes, position: int, end: int, most: int) -> list[int]:
    """Return the first places of a window where a header is possible, by lengths and flags only."""
    starts = min(len(window) - HEADER_UP_TO_MAGIC, most)
    if starts <= 0:
        return []
    data = window + bytes(LARGEST_HEADER)
    magics, lengths = BATCH.column(data, "magic"), BATCH.column(data, "batch_length")
    heads = np.flatnonzero(magics[:starts].view(np.uint8) <= LATEST)
    # Offsets are not negative, and no batch that is searched for is larger than LARGEST_FOUND: that decides
    # most places.
    first = np.frombuffer(data, np.uint8)
    heads = heads[(first[heads] < SIGN_BIT) & (first[heads + LENGTH_POSITION] <= LARGEST_FOUND >> 24)]
    size = lengths[heads].astype(np.int64) + LOG_OVERHEAD
    fits = (size <= LARGEST_FOUND) & (size <= end - position - heads)
    heads, size = heads[fits], size[fits]
    magic = magics[heads]
    fits = np.where(
        is_legacy(magic), _plausible_legacy(data, heads, size, magic), _plausible(data, heads, size)
    )
    positions: list[int] = heads[fits].tolist()
    return positions


def _plausible(data: bytes, heads: Ints, size: Ints) -> NDArray[np.bool_]:
    attributes, delta, count = (
        BATCH.column(data, name)[heads].astype(np.int64)
        for name in ("attributes", "last_offset_delta", "records_count")
    )
    is_known = (attributes >= 0) & (attributes <= KNOWN_ATTRIBUTES)
    is_known &= attributes & COMPRESSION_CODEC_MASK <= HIGHEST_CODEC
    result: NDArray[np.bool_] = (
        is_known & (size >= BATCH.size) & (delta >= 0) & (count >= 0) & (count <= delta + 1)
    )
    return result


def _plausible_legacy(data: bytes, heads: Ints, size: Ints, magic: NDArray[np.int8]) -> NDArray[np.bool_]:
    skip = np.where(magic == 1, MESSAGE_V1.size, MESSAGE_V0.size)
    key = np.ndarray((len(data) - LENGTH_SIZE + 1,), ">i4", data, strides=(1,))[heads + skip].astype(np.int64)
    attributes = MESSAGE_V0.column(data, "attributes")[heads].view(np.uint8)
    room = size - skip - 2 * LENGTH_SIZE
    result: NDArray[np.bool_] = (attributes <= LEGACY_ATTRIBUTES) & (room >= 0) & (key >= -1) & (key <= room)
    return result


def _is_filled(raw: bytes) -> bool:
    """Whether key and value fill a message of magic 0 or 1."""
    position = format_of(magic_of(raw)).layout.size
    try:
        for field in ("key", "value"):
            _, position = nullable_bytes(raw, position, field)
    except FormatError:
        return False
    return position == len(raw)
