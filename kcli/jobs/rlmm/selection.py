"""Events of remote log metadata about some user topics and partitions."""

from collections.abc import Iterator
from dataclasses import replace

from formats.names import PartitionDir
from kcli.engine.contract import Job, Outcome, Unit
from kcli.engine.inline import inline
from kcli.jobs.rlmm.dump import dump
from kcli.logdir.tree import Selection, Target
from kcli.rows import Item
from kcli.rows.remote_metadata import RlmmEventRow, RlmmSnapshotRow

MOST_ROWS = 100_000
"""Rows that are read for a suggestion."""


def dump_selected(unit: Unit, selection: Selection) -> Outcome:
    """Return what `dump` does, its rows only as far as they are about a selected partition of the user's.

    Findings are about the whole file.
    """
    outcome = dump(unit)
    if not selection.names:
        return outcome
    return replace(outcome, rows=[row for row in outcome.rows if _is_selected(row, unit.target, selection)])


def _is_selected(row: Item, target: Target, selection: Selection) -> bool:
    """Whether a row is about a selected partition; an event that cannot be read is about none."""
    if isinstance(row, RlmmEventRow):
        is_known = row.topic is not None and row.partition is not None
        return is_known and selection.wants(PartitionDir(row.topic or "", row.partition or 0))
    return isinstance(row, RlmmSnapshotRow) and target.name is not None and selection.wants(target.name)


def topics(units: list[Unit]) -> Iterator[str]:
    """Yield the user topics that the first events are about."""
    rows = 0
    for outcome in inline(Job(dump), units):
        for row in outcome.rows:
            if isinstance(row, RlmmEventRow) and row.topic is not None:
                yield row.topic
        rows += len(outcome.rows)
        if rows >= MOST_ROWS:
            return
