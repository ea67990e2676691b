"""Bytes that stay in the process that made them until it is their turn, and are then written from there.

The text of a log's records is several times the log. To send it to the process that asked for it would copy it twice
more, on cores that have work. Where stdout is a regular file, workers have it open, too: they write to it one after the
other, each when told, and the place at which it is moves on for all of them.
"""

import errno
import os
from collections.abc import Callable, Sequence
from threading import Condition
from typing import Any, NamedTuple, TypeAlias

from formats.types import Buffer
from kcli.engine.errors import OutputError
from kcli.rows import Away, EncodedRows, Item, TextBlock, type_name

STDOUT = 1
WORTH_A_TURN = 1 << 16
"""Bytes of a row that stay: fewer are sent as soon as a word about them."""
ROOM = 32 << 20
"""Bytes that a worker keeps at most, but for those that are sent together and are more."""
NUMBER_SIZE, STATUS_SIZE = 8, 4

Ask: TypeAlias = Callable[[bytes], bytes | None]
"""Gives the worker that keeps bytes a word, and returns what it replies; None if it has died."""


class Kept(NamedTuple):
    """What a worker tells of the bytes of a row that it keeps."""

    number: int
    size: int


class Shelf:
    """What a worker keeps, by number: its own thread puts it here, and the one that hears its owner takes it away."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._kept: dict[int, Sequence[Buffer]] = {}
        self._size = 0
        self._count = 0

    def keep(self, rows: Sequence[Item]) -> list[Item] | None:
        """Return what to send in place of rows that are sent together, once there is room for the bytes of the long ones; None if none is."""
        long = {
            place: row.buffers
            for place, row in enumerate(rows)
            if isinstance(row, (TextBlock, EncodedRows)) and size(row.buffers) >= WORTH_A_TURN
        }
        if not long:
            return None
        sent = list(rows)
        needed = sum(map(size, long.values()))
        with self._changed:
            self._changed.wait_for(lambda: not self._kept or self._size + needed <= ROOM)
            self._size += needed
            for place, buffers in long.items():
                self._count += 1
                self._kept[self._count] = buffers
                kept: Any = Kept(self._count, size(buffers))
                sent[place] = Away(type_name(rows[place]), (kept,))
        return sent

    def obey(self, word: bytes) -> bytes:
        """Write to stdout what a word names, if it says so, and forget it; return 0 or the number of the error."""
        number = int.from_bytes(word[1:])
        status = 0
        if word[0]:
            try:
                for buffer in self._kept[number]:
                    write_all(STDOUT, buffer)
            except OSError as error:
                status = error.errno or errno.EIO
        with self._changed:
            self._size -= size(self._kept.pop(number))
            self._changed.notify()
        return status.to_bytes(STATUS_SIZE)


shelf = Shelf()
"""Of this process, if it is a worker."""


def obey(word: bytes) -> bytes:
    """Return what this worker replies to a word of its owner."""
    return shelf.obey(word)


def written(kept: Kept, file: int, ask: Ask) -> int:
    """Have kept bytes written to a file, which is the worker's stdout; return how many are there: not all if the worker has died.

    OutputError when they cannot be written. Whoever dies has moved the file's place on behind what it had written.
    """
    before = os.lseek(file, 0, os.SEEK_CUR)
    reply = ask(_word(kept, is_wanted=True))
    if reply is None:
        return os.lseek(file, 0, os.SEEK_CUR) - before
    status = int.from_bytes(reply)
    if status:
        raise OutputError(status, os.strerror(status))
    return kept.size


def forgotten(kept: Kept, ask: Ask) -> None:
    """Let the worker forget bytes that nobody wants."""
    ask(_word(kept, is_wanted=False))


def _word(kept: Kept, *, is_wanted: bool) -> bytes:
    return bytes([is_wanted]) + kept.number.to_bytes(NUMBER_SIZE)


def size(buffers: Sequence[Buffer]) -> int:
    """Return how many bytes buffers have."""
    return sum(map(len, buffers))


def write_all(file: int, buffer: Buffer) -> None:
    """Write all of a buffer to an open file or pipe; OutputError when it cannot be."""
    view = memoryview(buffer)
    try:
        while view:
            view = view[os.write(file, view) :]
    except OSError as error:
        raise OutputError(*error.args) from error
