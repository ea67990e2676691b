"""Index files of a segment, read through small pages: a lookup in 10 MiB reads a few kilobytes.

A broker takes every whole slot of an index file for an entry when it opens one. The index of a running or
killed broker has a preallocated tail of zeros, and in it sometimes stale entries of before a truncation:
`valid_entries` says where the entries end that recovery would find again.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Generic, Self, TypeAlias, TypeVar

from formats import index
from formats.layout import Layout
from kcli.logdir.buffers import DataFile, FileError

AnyEntry = TypeVar("AnyEntry", index.OffsetIndexEntry, index.TimeIndexEntry)

PAGE = 8192
PAGES_KEPT = 64


class IndexFile:
    """An index file, or one that is open, of fixed-size entries, read by slot."""

    def __init__(self, path: str | DataFile, layout: Layout[Any], base_offset: int = 0) -> None:
        self.file = DataFile(path) if isinstance(path, str) else path
        self.layout = layout
        self.base_offset = base_offset
        entry_size = self.entry_size = layout.size
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
        """Return (page, place in it) of an entry. FileError `out-of-range` for another slot."""
        if not 0 <= slot < self.entries:
            raise FileError(
                self.file.path, "out-of-range", f"the index has {self.entries} entries: no slot {slot}"
            )
        number, start = divmod(slot * self.entry_size, self._page_size)
        page = self._pages.get(number)
        if page is None:
            if len(self._pages) >= PAGES_KEPT:
                self._pages.clear()
            page = self._pages[number] = self.file.read(number * self._page_size, self._page_size)
        return page, start

    def block(self, slot: int, count: int) -> bytes:
        """Return the bytes of so many entries from a slot on; of fewer, where the file has shrunk."""
        raw = self.file.read(slot * self.entry_size, count * self.entry_size)
        return raw[: len(raw) - len(raw) % self.entry_size]

    @cached_property
    def first_trailing_zero(self) -> int:
        """The slot from which on all entries are zeros; a lone entry of zeros may be meant."""
        end = self.entries
        while end:
            start = max(end - PAGE, 0)
            length = len(self.block(start, end - start).rstrip(b"\0"))
            if length:
                return start + -(-length // self.entry_size)
            end = start
        return self.entries if self.entries == 1 else 0

    def windows(self) -> Iterator[bytes]:
        """Yield the bytes of the file window by window."""
        for position in range(0, self.file.size, self._page_size):
            yield self.file.read(position, self._page_size)

    @property
    def has_empty_tail(self) -> bool:
        """Whether the last of several slots is still zero, as in the index of a running or killed broker."""
        if self.entries < 2:  # a lone entry of zeros may be meant
            return False
        page, start = self.raw(self.entries - 1)
        return page.count(0, start, start + self.entry_size) == self.entry_size


class _SearchedIndex(IndexFile, Generic[AnyEntry]):
    """An index whose entries are looked up, and preallocated."""

    entry_layout: Layout[AnyEntry]
    search: Callable[[int, Callable[[int], AnyEntry], int, int], tuple[int, int]]

    def __init__(self, path: str | DataFile, base_offset: int) -> None:
        super().__init__(path, self.entry_layout, base_offset)

    def get(self, slot: int) -> AnyEntry:
        """Return an entry as stored."""
        return self.entry_layout.read(*self.raw(slot))

    def lookup(self, target: int, entries: int | None = None) -> tuple[int, int]:
        """Return the last of the first `entries` at or below the target, as `entry` does; slot -1 if none."""
        return self.search(self.entries if entries is None else entries, self.get, self.base_offset, target)


class OffsetIndexFile(_SearchedIndex[index.OffsetIndexEntry]):
    """A segment's offset index, looked up by offset as `OffsetIndex` does."""

    entry_layout = index.OFFSET_INDEX_ENTRY
    search = staticmethod(index.offset_index_lookup)

    def entry(self, slot: int) -> tuple[int, int]:
        """Return (offset, position) of an entry; (base offset, 0) for slot -1, where there is none."""
        if slot < 0:
            return self.base_offset, 0
        entry = self.get(slot)
        return self.base_offset + entry.relative_offset, entry.position

    def entries_of(self, raw: bytes) -> list[tuple[int, int]]:
        """Return (offset, position) of each of some entries."""
        return [(self.base_offset + offset, start) for offset, start in index.OFFSET_FIELDS.iter_unpack(raw)]

    def position(self, slot: int) -> int:
        """Return the file position that an entry holds."""
        return self.get(slot).position

    def valid_entries(self, log_size: int) -> int:
        """Return how many entries rise and point into the log: all of them if the last one does."""
        if not self.entries:
            return 0
        last = self.get(self.entries - 1)
        if last.relative_offset > 0 and 0 < last.position < log_size:
            return self.entries
        return index.valid_offset_entries(self.windows(), log_size)


class TimeIndexFile(_SearchedIndex[index.TimeIndexEntry]):
    """A segment's time index, looked up by timestamp as `TimeIndex` does."""

    entry_layout = index.TIME_INDEX_ENTRY
    search = staticmethod(index.time_index_lookup)

    def entry(self, slot: int) -> tuple[int, int]:
        """Return (timestamp, offset) of an entry; (-1, base offset) for slot -1, where there is none."""
        if slot < 0:
            return -1, self.base_offset
        entry = self.get(slot)
        return entry.timestamp, self.base_offset + entry.relative_offset

    def entries_of(self, raw: bytes) -> list[tuple[int, int]]:
        """Return (timestamp, offset) of each of some entries."""
        return [
            (timestamp, self.base_offset + offset) for timestamp, offset in index.TIME_FIELDS.iter_unpack(raw)
        ]

    def valid_entries(self) -> int:
        """Return how many entries rise: the rest is preallocated or stale."""
        return index.valid_time_entries(self.windows())


class TxnIndexFile(IndexFile):
    """A segment's transaction index; it is never preallocated."""

    def __init__(self, path: str | DataFile, base_offset: int) -> None:
        super().__init__(path, index.TXN_INDEX_ENTRY, base_offset)

    def entries_of(self, raw: bytes) -> list[index.AbortedTxn]:
        """Return each of some entries."""
        return list(index.TXN_INDEX_ENTRY.rows(raw))

    @cached_property
    def first_trailing_zero(self) -> int:
        """As of IndexFile: an aborted transaction may be all zeros."""
        return self.entries


AnyIndexFile: TypeAlias = OffsetIndexFile | TimeIndexFile | TxnIndexFile
