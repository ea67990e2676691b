"""Index files of a segment, read through small pages: a lookup in 10 MiB reads a few kilobytes.

A broker takes every whole slot of an index file for an entry when it opens one.
The index of a running or killed broker has a preallocated tail of zeros, and in
it sometimes stale entries of before a truncation: `valid_entries` says where
the entries end that recovery would find again.
"""

from collections.abc import Iterator
from typing import Self

from formats.index import (
    OFFSET_INDEX_ENTRY,
    TIME_INDEX_ENTRY,
    OffsetIndexEntry,
    TimeIndexEntry,
    offset_index_lookup,
    time_index_lookup,
    valid_prefix_offset_index,
    valid_prefix_time_index,
)
from kcli.logdir.buffers import DataFile, FileError

PAGE = 8192
PAGES_KEPT = 64


class IndexFile:
    """An index file of fixed-size entries, read by slot."""

    def __init__(self, path: str, entry_size: int) -> None:
        self.file = DataFile(path)
        self.entry_size = entry_size
        self.entries = self.file.size // entry_size
        """Whole entries in the file, preallocated ones included: what the broker counts when it opens it."""
        self.partial_bytes = self.file.size % entry_size
        self._page_size = PAGE - PAGE % entry_size
        self._pages: dict[int, bytes] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def raw(self, slot: int) -> tuple[bytes, int]:
        """Return (page, place in it) of an entry.

        FileError `out-of-range` for a slot that the file has not.
        """
        if not 0 <= slot < self.entries:
            raise FileError(
                self.file.path, "out-of-range", f"the index has {self.entries} entries: no slot {slot}"
            )
        number, at = divmod(slot * self.entry_size, self._page_size)
        page = self._pages.get(number)
        if page is None:
            if len(self._pages) >= PAGES_KEPT:
                self._pages.clear()
            page = self._pages[number] = self.file.read(number * self._page_size, self._page_size)
        return page, at

    def following(self, slot: int) -> memoryview:
        """Return the entries from a slot on, one or more as far as they are read at once.

        FileError as of `raw`.
        """
        page, at = self.raw(slot)
        whole = len(page) - len(page) % self.entry_size
        return memoryview(page)[at:whole]

    def windows(self) -> Iterator[bytes]:
        """Yield the bytes of the file window by window."""
        for position in range(0, self.file.size, self._page_size):
            yield self.file.read(position, self._page_size)

    @property
    def has_empty_tail(self) -> bool:
        """Whether the last of several slots is still zero, as in the index of a running or killed broker."""
        if self.entries < 2:  # a lone entry of zeros may be meant
            return False
        page, at = self.raw(self.entries - 1)
        return page.count(0, at, at + self.entry_size) == self.entry_size


class OffsetIndexFile(IndexFile):
    """A segment's offset index, looked up as `OffsetIndex` does."""

    def __init__(self, path: str, base_offset: int) -> None:
        super().__init__(path, OFFSET_INDEX_ENTRY.size)
        self.base_offset = base_offset

    def get(self, slot: int) -> OffsetIndexEntry:
        """Return an entry as stored."""
        return OFFSET_INDEX_ENTRY.read(*self.raw(slot))

    def entry(self, slot: int) -> tuple[int, int]:
        """Return (offset, position) of an entry.

        (base offset, 0) for slot -1, as where the index has none.
        """
        if slot < 0:
            return self.base_offset, 0
        entry = self.get(slot)
        return self.base_offset + entry.relative_offset, entry.position

    def position(self, slot: int) -> int:
        """Return the file position that an entry holds."""
        return self.get(slot).position

    def lookup(self, target: int, entries: int | None = None) -> tuple[int, int]:
        """Return (offset, position) of the entry with the largest offset at or below `target`.

        (base, 0) if none. `entries` says how many slots count: all, if not given.
        """
        return offset_index_lookup(
            self.entries if entries is None else entries, self.get, self.base_offset, target
        )

    def valid_entries(self, log_size: int) -> int:
        """Return how many entries rise strictly and point into the log: the rest is preallocated or stale.

        If the last slot points into the log all count, as they do for the broker.
        """
        if not self.entries:
            return 0
        last = self.get(self.entries - 1)
        if last.relative_offset > 0 and 0 < last.position < log_size:
            return self.entries
        return valid_prefix_offset_index(self.windows(), log_size).entries


class TimeIndexFile(IndexFile):
    """A segment's time index, looked up as `TimeIndex` does."""

    def __init__(self, path: str, base_offset: int) -> None:
        super().__init__(path, TIME_INDEX_ENTRY.size)
        self.base_offset = base_offset

    def get(self, slot: int) -> TimeIndexEntry:
        """Return an entry as stored."""
        return TIME_INDEX_ENTRY.read(*self.raw(slot))

    def entry(self, slot: int) -> tuple[int, int]:
        """Return (timestamp, offset) of an entry.

        (-1, base offset) for slot -1, as where the index has none.
        """
        if slot < 0:
            return -1, self.base_offset
        entry = self.get(slot)
        return entry.timestamp, self.base_offset + entry.relative_offset

    def lookup(self, timestamp: int, entries: int | None = None) -> tuple[int, int]:
        """Return (timestamp, offset) of the entry with the largest timestamp at or below the given.

        (-1, base) if none. `entries` says how many slots count: all, if not given.
        """
        return time_index_lookup(
            self.entries if entries is None else entries, self.get, self.base_offset, timestamp
        )

    def valid_entries(self) -> int:
        """Return how many entries rise: the rest is preallocated or stale."""
        return valid_prefix_time_index(self.windows()).entries
