"""Big logs in pieces: where the offset index leads to a batch, a log can be read by several at once."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from formats.names import LOG
from kcli.analysis.salvage import leads_to_a_batch
from kcli.engine.contract import Engine, Outcome, Scan, Unit
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.files import file_name, sibling
from kcli.logdir.indexes import OffsetIndexFile
from kcli.logdir.tree import Target

PIECE_BYTES = 2 << 20
"""Of a log that is shown: what comes out of a piece waits for its turn in memory."""
WRITTEN_PIECE_BYTES = 64 << 20
"""Of a log whose rows workers write: every piece is a file."""


@dataclass(frozen=True, slots=True)
class InPieces:
    """An engine over another: big logs are scanned in pieces, and come out as one.

    The scan of a piece ends at the unit's `end`, or says that it went beyond: then the pieces behind it are dropped, and
    what a sink has of them counts for nothing. `size` is in bytes, 0 for PIECE_BYTES.
    """

    engine: Engine
    size: int = 0

    def __call__(self, scan: Scan, units: Sequence[Unit]) -> Iterator[Outcome]:
        """Yield the outcomes of units in their order, those of pieces as if each were the rest of the one before."""
        pieces = [
            (place, piece)
            for place, unit in enumerate(units)
            for piece in cut(unit, self.size or PIECE_BYTES)
        ]
        flat = [replace(piece, number=number) for number, (_, piece) in enumerate(pieces)]
        dropped = -1
        for outcome in self.engine(scan, flat):
            place, piece = pieces[outcome.number]
            if place == dropped:
                continue
            rest = outcome.rest
            if rest is None and piece.end:
                if outcome.beyond or outcome.error is not None:
                    dropped = place
                else:
                    rest = flat[outcome.number + 1]
            yield replace(outcome, number=units[place].number, rest=rest)


def cut(unit: Unit, size: int) -> Iterator[Unit]:
    """Yield units of the same log, cut into pieces of about `size` bytes; the unit itself where it is small.

    The first begins at byte 0, the last has no end; each other place is one where a batch of right checksum begins.
    """
    for start, end in pairwise([0, *_places(unit.target, size), 0]):
        yield replace(unit, start=start, end=end)


def _places(target: Target, size: int) -> list[int]:
    """Return byte positions about `size` apart at which batches of right checksum begin; what cannot be read is no place."""
    found: list[int] = []
    try:
        path, base = sibling(target, "index"), file_name(target).base_offset
        if target.kind != LOG or path is None or base is None or os.path.getsize(target.path) < 2 * size:
            return found
        with DataFile(target.path) as file, OffsetIndexFile(path, base) as index:
            entries = index.valid_entries(file.size)
            for wanted in range(size, file.size - size // 2, size):
                place = _at_or_above(index, entries, wanted)
                if (
                    place is not None
                    and place > (found[-1] if found else 0)
                    and leads_to_a_batch(file, place)
                ):
                    found.append(place)
    except (OSError, FileError):
        return found
    return found


def _at_or_above(index: OffsetIndexFile, entries: int, position: int) -> int | None:
    """Return the first position of an index that is not below another; None if there is none."""
    low, high = 0, entries
    while low < high:
        middle = (low + high) // 2
        if index.position(middle) < position:
            low = middle + 1
        else:
            high = middle
    return index.position(low) if low < entries else None


__all__ = ["InPieces", "cut"]
