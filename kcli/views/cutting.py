"""Big logs as several pieces, so that one log need not be one task.

A task cannot take back the rows of another. So a log is cut only where one walk over all of it is certain to
pass: at a batch of right checksum that the chain of batches, from the log's first byte on, leads to. There
are no cuts after the place where a chain breaks. The chain is followed when the query is planned, by headers
alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from kcli.engine.contract import Unit
from kcli.jobs.scan.log_ranges import cut
from kcli.logdir.buffers import FileError
from kcli.logdir.bulk import BulkWalk
from kcli.logdir.remote_objects import open_log
from kcli.logdir.targets import Target

PIECE_BYTES = 64 << 20
"""A log of twice this size can be cut."""


def in_pieces(unit: Unit) -> list[Unit]:
    """Return units that together give exactly the rows of the unit, in its order.

    Itself where it is small, or cannot be read. Each is a log from byte `start` to `end`, 0 for its own; all
    but the last are of about PIECE_BYTES.
    """
    candidates = [piece.start for piece in cut(unit, PIECE_BYTES)][1:]
    places = sorted(_on_chain(unit.target, candidates)) if candidates else []
    return [replace(unit, start=start, end=end) for start, end in pairwise([0, *places, 0])]


def _on_chain(target: Target, candidates: Sequence[int]) -> Iterator[int]:
    """Yield the candidates at which a batch of the log's unbroken chain begins."""
    try:
        with open_log(target.path) as file:
            for window in BulkWalk(file, verify=False):
                yield from window.positions[np.isin(window.positions, candidates)].tolist()
                if window.positions[-1] >= candidates[-1]:
                    return
    except FileError:
        return  # the cuts so far are right; the task that reads the log reports the error


__all__ = ["PIECE_BYTES", "in_pieces"]
