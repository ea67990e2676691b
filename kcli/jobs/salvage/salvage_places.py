"""Places in a copy as places in the partition that it is made of: of bytes taken out of it, and of errors."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from kcli.kafka.integrity.saved_batches import LeftOut
from kcli.kafka.storage.log_segment import BrokerError
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.concurrent_changes import SHRANK, removal
from kcli.logdir.partition import Partition
from kcli.logdir.segment import Walk
from kcli.logdir.targets import Target, shown_as

CHUNK = 4 << 20


@dataclass(slots=True)
class SavedLog:
    """The copy of a log: `name` is that of the source, `pieces` its bytes that are in the copy, in order.

    Changed in place.
    """

    name: str
    pieces: list[tuple[int, int]] = field(default_factory=list)

    def add(self, start: int, end: int) -> None:
        """Add bytes of the source at the end of the copy."""
        if self.pieces and self.pieces[-1][1] == start:
            start, _ = self.pieces.pop()
        self.pieces.append((start, end))

    def take_out(self, copy: str, start: int, end: int, reason: str) -> list[LeftOut]:
        """Take out the bytes between two positions of the copy; return where they are in the source.

        `copy` is the file, which still has them.
        """
        kept, out, position = [], [], 0
        with DataFile(copy) as log:
            for first, last in self.pieces:
                ahead = first - position  # by so much a position in the source is larger
                begin, stop = (min(max(at + ahead, first), last) for at in (start, end))
                if begin < stop:
                    offsets = [one.base_offset for _, one in Walk(log, begin - ahead, stop - ahead)]
                    out.append(LeftOut(begin, stop, next(iter(offsets), None), reason, len(offsets)))
                kept += [(first, begin), (stop, last)]
                position += last - first
        self.pieces = [(first, last) for first, last in kept if first < last]
        return out


def copy_bytes(file: DataFile, start: int, end: int, write: Callable[[bytes], object]) -> None:
    """Write the bytes of a file between two positions; FileError where they cannot be read."""
    for position in range(start, end, CHUNK):
        write(file.read(position, min(CHUNK, end - position)))


def cut_out(path: str, start: int, end: int) -> None:
    """Write a file anew, without its bytes between two positions."""
    before = path + ".old"
    os.rename(path, before)
    with DataFile(before) as file, open(path, "wb") as into:
        copy_bytes(file, 0, start, into.write)
        copy_bytes(file, end, file.size, into.write)
    os.unlink(before)


def of_source(error: FileError, target: Target) -> FileError:
    """Return an error as one about a file of the partition; it may be of the copy.

    What a broker removed is a change of the partition: there is no copy then.
    """
    if error.path != target.path:
        error = FileError(os.path.join(target.path, os.path.basename(error.path)), *error.args[1:])
    gone = removal(error)
    if gone is not None:
        return FileError(shown_as(target, gone.path), SHRANK, gone.message)
    return FileError(shown_as(target, error.path), *error.args[1:])


def load_failed(partition: Partition, copy: Target, error: BrokerError) -> FileError:
    """Return an error about the copy as one about the file of the partition that it is made of."""
    path = os.path.normpath(os.path.join(partition.path, os.path.relpath(error.path, copy.path)))
    return FileError(path, "load-failed", str(error), error.position)
