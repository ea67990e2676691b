"""Pairs of numbers that are printed at the end: many of them, a log may have millions, wait in a file."""

import operator
from array import array
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import Final

from kcli.logdir.scratch import scratch_directory

NUMBER: Final = "q"
PAIR_SIZE = 2 * array(NUMBER).itemsize
IN_MEMORY = 4 << 20
"""Bytes of pairs beyond which they wait in a temporary file."""
PAIRS_AT_ONCE = 4096


def packed(first: int, second: int) -> bytes:
    """Return a pair as `Pairs.add` takes it."""
    return array(NUMBER, (first, second)).tobytes()


def _bytes_in_memory() -> int:
    """Return IN_MEMORY, or 0, which means all, where no directory takes a temporary file."""
    try:
        scratch_directory()
    except FileNotFoundError:
        return 0
    return IN_MEMORY


class Pairs:
    """Pairs of 64-bit numbers in the order in which they were added, or sorted by the first."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(_bytes_in_memory())  # noqa: SIM115 - `close` closes it
        self._last: int | None = None
        self._rises = True

    def add(self, pairs: bytes) -> None:
        """Add pairs, packed one after the other."""
        firsts = array(NUMBER, pairs)[::2]
        if self._last is not None:
            firsts.insert(0, self._last)
        self._rises = self._rises and all(map(operator.lt, firsts, firsts[1:]))
        self._last = firsts[-1] if firsts else None
        self._file.write(pairs)

    def close(self) -> None:
        """Give up the pairs."""
        self._file.close()

    def __iter__(self) -> Iterator[tuple[int, int]]:
        self._file.seek(0)
        while data := self._file.read(PAIR_SIZE * PAIRS_AT_ONCE):
            numbers = array(NUMBER, data)
            yield from zip(numbers[::2], numbers[1::2], strict=True)

    def by_first(self, *, reverse: bool = False) -> Iterator[tuple[int, int]]:
        """Yield the pairs sorted by their first number; of those that have the same the last one counts."""
        if self._rises and not reverse:
            yield from self
        else:
            yield from sorted(dict(self).items(), reverse=reverse)
