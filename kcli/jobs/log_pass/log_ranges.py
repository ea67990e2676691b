"""Large logs in ranges: where the offset index leads to a batch, several workers can read one log at once."""

import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from formats.names import LOG
from kcli.engine.contract import Outcome, Unit
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.indexes import OffsetIndexFile
from kcli.logdir.partition_names import file_name, sibling
from kcli.logdir.targets import Target

SHOWN_RANGE = 2 << 20
"""Bytes of a log that is shown: what comes out of a range is held in memory until all before it is shown."""
BATCHES_RANGE = 16 << 20
"""The same where batches alone are shown: a range costs, and would have few large ones."""
WRITTEN_RANGE = 64 << 20  # bytes of a log whose rows workers write: every range is a file


def split_logs(units: Sequence[Unit], size: int) -> list[Unit]:
    """Return units with large logs in ranges of about `size` bytes; the ranges of a log are a group."""
    ranges = [replace(piece, group=group) for group, unit in enumerate(units) for piece in cut(unit, size)]
    return [replace(piece, number=number) for number, piece in enumerate(ranges)]


def drop_after_end(left: Outcome | None, right: Outcome | None) -> Outcome:
    """Reduce ranges of a log: after one that ran past its end, or has an error, the others are dropped."""
    if right is None or (left is not None and _has_ended(left)):
        assert left is not None
        return replace(left, partial=_has_ended(left), number=(right or left).number)
    if left is None:
        return replace(right, partial=_has_ended(right))
    return replace(
        right,
        rows=[*left.rows, *right.rows],
        findings=[*left.findings, *right.findings],
        written_rows=left.written_rows + right.written_rows,
        parts=left.parts + right.parts,
        partial=_has_ended(right),
    )


def _has_ended(outcome: Outcome) -> bool:
    return bool(outcome.partial) or outcome.ran_past_end or outcome.error is not None


def cut(unit: Unit, size: int) -> Iterator[Unit]:
    """Yield units of a log in ranges of about `size` bytes, cut where batches of right checksum begin."""
    for start, end in pairwise([0, *_cuts(unit.target, size), 0]):
        yield replace(unit, start=start, end=end)


def _cuts(target: Target, size: int) -> list[int]:
    """Return positions about `size` apart at which whole batches begin; none where these are unknown."""
    cuts: list[int] = []
    try:
        path, base = sibling(target, "index"), file_name(target).base_offset
        if target.kind != LOG or path is None or base is None or os.path.getsize(target.path) < 2 * size:
            return cuts
        from kcli.kafka.integrity.damaged import leads_to_a_batch  # it imports numpy, and few logs are cut

        with DataFile(target.path) as file, OffsetIndexFile(path, base) as index:
            entries = index.valid_entries(file.size)
            for position in range(size, file.size - size // 2, size):
                slot = bisect_left(range(entries), position, key=index.position)
                batch_position = index.position(slot) if slot < entries else 0
                if batch_position > (cuts[-1] if cuts else 0) and leads_to_a_batch(file, batch_position):
                    cuts.append(batch_position)
    except (OSError, FileError):
        return cuts
    return cuts
