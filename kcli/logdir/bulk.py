"""A log in windows: the walk of `kcli.logdir.segment.Walk`, many batches at a time.

Two buffers are read into alternately; the part of a batch at the end of one is moved to the start of the
other, so nothing is read twice. A batch larger than the buffer is shown by its header, its checksum taken
piece by piece. Without checksums, large batches are hopped over: only their headers are read.
"""

from collections.abc import Generator, Iterator
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formats.bulk import PADDING, Chain, Fields, Headers, chain, checked, headers, rows
from formats.checksums import valid
from formats.magic import LARGEST_HEADER, LATEST, format_of
from kcli.logdir.background import BackgroundCall
from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import SKIP_FROM, Stop, with_zeros

BULK_WINDOW = 4 << 20
WIDE_WINDOW, LARGE_BATCH = 12 << 20, 8 << 10
"""For batches of so many bytes on average, where a thread reads ahead: it is started anew for each window."""
SMALLEST_WINDOW = 1 << 16
EAGER_WINDOW = 1 << 20
WINDOWS_A_SECOND = 10
GROWTH = 4  # windows grow by this factor up to the largest: a walk that breaks off soon has read little
KEPT_MEMORY = 8 << 20
WORTH_A_THREAD = 1 << 18  # fewer bytes are there sooner than another thread begins to read
HOPS = 4096  # headers that one window of hops holds


class Window(NamedTuple):
    """Some batches of a file in a row: their positions (bytes) and fields, and whether their checksums match.

    `valid` is None where checksums were not asked for. `data` is what was read, from byte `base` of the file
    on: it is good until the next window is asked for. Of a batch larger than the buffer there is none.
    """

    positions: NDArray[np.int64]
    fields: Fields
    valid: NDArray[np.bool_] | None
    base: int
    data: memoryview


class BulkWalk:
    """Iterates over the batches of a log in windows, the first large if `eager`; `stop` is set at the end."""

    def __init__(
        self,
        file: DataFile,
        position: int = 0,
        end: int | None = None,
        *,
        verify: bool = True,
        eager: bool = False,
    ) -> None:
        self.file = file
        self.position = position
        self.end = file.size if end is None else min(end, file.size)
        self.verify = verify
        self.stop: Stop | None = None
        size, widest = BULK_WINDOW, WIDE_WINDOW if BackgroundCall.enabled else BULK_WINDOW
        if file.reading.rate:
            widest = size = max(SMALLEST_WINDOW, min(size, file.reading.rate // WINDOWS_A_SECOND))
        self._size, self._widest = size, widest
        # headers alone: the batches may be large, and then most of a window is read for nothing
        is_eager = eager and verify
        first = EAGER_WINDOW if is_eager else SMALLEST_WINDOW
        if is_eager and self.end - position <= GROWTH * first:
            first *= GROWTH  # one window costs less than two
        self._first = min(first, size)

    def __iter__(self) -> Iterator[Window]:
        _keep_memory()
        with BackgroundCall() as reader:
            yield from self._windows(reader)

    def _windows(self, reader: BackgroundCall) -> Iterator[Window]:
        most = self._first
        view, spare = memoryview(b""), memoryview(b"")
        base, filled = self.position, 0
        while self.stop is None:
            remaining_bytes = self.end - base
            size = max(min(most, remaining_bytes), 0)
            if reader.is_running:
                reader.wait()
            else:
                view = _room(view, filled, size)
                self.file.read_into(view[filled:size], base + filled)
            batches = headers(view, size, remaining_bytes, only_whole=self.verify)
            is_large = self.verify and batches.chain.stop is None and not batches.chain.positions
            if is_large and most < self._size:
                filled, most = size, min(most * GROWTH, self._size)
                continue
            is_wide = batches.chain.next >= LARGE_BATCH * max(len(batches.chain.positions), 1)
            most = min(most * GROWTH, self._widest if is_wide else self._size)
            next_base, next_filled = base + batches.chain.next, max(size - batches.chain.next, 0)
            if self.verify and not is_large and batches.chain.stop is None:
                next_size = min(most, self.end - next_base)
                if reader.enabled and next_size - next_filled >= WORTH_A_THREAD:
                    spare = _room(spare, 0, next_size)
                    spare[:next_filled] = view[size - next_filled : size]
                    free_room = spare[next_filled:next_size]
                    reader.begin(partial(self.file.read_into, free_room, next_base + next_filled))
            matches = valid(view, batches) if self.verify else None
            data = view[:size]
            if is_large:
                batches, matches = self._large(view, base, size, remaining_bytes)
                next_base, next_filled = base + batches.chain.next, 0
                data = view[:0]  # the last piece of the batch is there
            if batches.chain.positions:
                yield _window(batches, matches, base, data)
            self._end(batches.chain, base)
            if reader.is_running:
                view, spare = spare, view
            else:
                view[:next_filled] = view[size - next_filled : size]
            base, filled = next_base, next_filled
            if not self.verify and batches.chain.next >= SKIP_FROM * max(len(batches.chain.positions), 1):
                base, filled, most = (yield from self._hops(base)), 0, self._first

    def _end(self, chain: Chain, base: int) -> None:
        if chain.stop is not None:
            self.stop = with_zeros(self.file, Stop(chain.stop, base + chain.next, chain.found), self.end)

    def _large(
        self, view: memoryview, base: int, size: int, remaining_bytes: int
    ) -> "tuple[Headers, NDArray[np.bool_]]":
        """Return the batch that is larger than its buffer, and whether its checksum matches."""
        batches = headers(view, size, remaining_bytes, only_whole=False)
        end = base + batches.chain.next if batches.chain.positions else 0
        form = format_of(int(batches.fields["magic"][0]) if end else LATEST)
        value = form.checksum(view[form.crc_from : size], 0)
        for position in range(base + size, end, self._size):
            piece = view[: min(self._size, end - position)]
            self.file.read_into(piece, position)
            value = form.checksum(piece, value)
        return batches, batches.fields["crc"] == value

    def _hops(self, base: int) -> Generator[Window, None, int]:
        """Yield windows of headers read one by one, while batches are large; return where the next begins."""
        buffer = bytearray(HOPS * LARGEST_HEADER)
        view = memoryview(buffer)
        hop = Chain([], SKIP_FROM, None, None)
        while hop.stop is None and hop.next >= SKIP_FROM:
            positions: list[int] = []
            position = base
            while hop.stop is None and hop.next >= SKIP_FROM and len(positions) < HOPS:
                row = len(positions) * LARGEST_HEADER
                remaining_bytes = self.end - position
                header = view[row : row + max(min(LARGEST_HEADER, remaining_bytes), 0)]
                self.file.read_into(header, position)
                hop = chain(header, len(header), remaining_bytes, only_whole=False)
                positions.extend(position for _ in hop.positions)
                position += hop.next
            links = Chain(positions, position, hop.stop, hop.found)
            batches = checked(
                links, np.array(positions, np.int64), rows(buffer, len(positions)), buffer, LARGEST_HEADER
            )
            if self.file.reading.cold:
                self.file.forget(base, position - base)
            if batches.chain.positions:
                yield _window(batches, None, 0, view[:0])
            self._end(batches.chain, 0)
            base, hop = position, hop if self.stop is None else batches.chain
        return base


@cache
def _keep_memory() -> None:
    """Free a large piece of memory once: glibc keeps what is freed later, else each window page-faults."""
    np.empty(KEPT_MEMORY, np.uint8)


def _room(view: memoryview, filled: int, size: int) -> memoryview:
    """Return a view with room for so many bytes and their padding; the first `filled` bytes stay."""
    if len(view) >= size + PADDING:
        return view
    larger = np.empty(size + PADDING, np.uint8).data
    larger[:filled] = view[:filled]
    return larger


def _window(batches: Headers, matches: NDArray[np.bool_] | None, base: int, data: memoryview) -> Window:
    return Window(batches.positions + base, batches.fields, matches, base, data)
