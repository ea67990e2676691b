"""Leftovers of interrupted deletions, cleanings and swaps, and what a start does with them, by name.

The truth is `LogLoader.removeTempFilesAndCollectSwapFiles`: `.deleted` and `.cleaned` files go, and so do
`.swap` files from the offset of the first `.cleaned` file on; the other `.swap` files lose their suffix. What
a swap replaces goes too, but that is said by what is in it.
"""

from collections.abc import Callable, Collection
from typing import NamedTuple

from formats.batch import MAX_LONG

DELETED, CLEANED, SWAP = ".deleted", ".cleaned", ".swap"
KRAFT_SNAPSHOT_DELETED = ".checkpoint.deleted"


class Leftovers(NamedTuple):
    """Names of files: those that a start deletes, and the swaps that it finishes, in the given order."""

    deleted: tuple[str, ...]
    swaps: tuple[str, ...]


def leftovers(names: Collection[str], offset_of: Callable[[str], int]) -> Leftovers:
    """Return the leftovers among the names of a directory's files.

    `offset_of` returns the offset in a name.
    """
    deleted = [name for name in names if name.endswith(DELETED) and not name.endswith(KRAFT_SNAPSHOT_DELETED)]
    cleaned = [name for name in names if name.endswith(CLEANED)]
    swaps = [name for name in names if name.endswith(SWAP)]
    first_cleaned = min((offset_of(name) for name in cleaned), default=MAX_LONG)
    invalid = [name for name in swaps if offset_of(name) >= first_cleaned]
    return Leftovers((*deleted, *cleaned, *invalid), tuple(name for name in swaps if name not in invalid))
