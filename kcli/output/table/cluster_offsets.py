"""The view of `rlmm bootstrap` about offsets: what the cluster answers, and below it what the disk gives."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.output.screen import Screen
from kcli.output.table.grid import NUMBER, ShownColumn
from kcli.output.table.tables import TableView, draw_table
from kcli.output.units import counted
from kcli.rows.remote_tier import RlmmClusterOffsetRow

QUERIES = {
    "earliest": "EARLIEST",
    "earliest-local": "EARLIEST LOCAL",
    "latest-tiered": "LATEST TIERED",
    "earliest-pending-upload": "NOT COPIED FROM",
    "latest": "LATEST",
    "max-timestamp": "NEWEST LOCAL",
}
RANKS = {"max-timestamp": 2, "earliest-pending-upload": 1}
"""Columns that go first where there is no room."""


class _Side(NamedTuple):
    """A line: the offsets of a partition by the cluster or by a directory; None and -1 for none."""

    partition: str
    by: str | None
    offsets: dict[str, int | None]


def draw_offsets(
    rows: Sequence[RlmmClusterOffsetRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield a line for each partition, and one for each directory on disk below it."""
    differing = sum(row.agrees is False for row in rows)
    compared = sum(row.agrees is not None for row in rows)
    closing = f"{compared - differing} of {counted(compared, 'offset')} on disk as in the cluster."
    view = TableView(
        columns=(
            ShownColumn("PARTITION", "partition"),
            *([ShownColumn("BY", "by", least=12)] if compared else []),
            *(
                ShownColumn(header, _offset(query), NUMBER, rank=RANKS.get(query, 0))
                for query, header in QUERIES.items()
            ),
        ),
        verdict=lambda _: closing if compared else "",
    )
    yield from draw_table(view, list(_sides(rows)), screen, findings)


def _sides(rows: Sequence[RlmmClusterOffsetRow]) -> Iterator[_Side]:
    for (topic, partition), found in groupby(rows, lambda row: (row.topic, row.partition)):
        answers = list(found)
        has_disk = any(row.dir is not None for row in answers)
        in_cluster = {row.query: row.cluster_offset for row in answers}
        yield _Side(f"{topic}-{partition}", "cluster" if has_disk else None, in_cluster)
        directories = {row.dir: None for row in answers if row.dir is not None}
        for directory in directories:
            offsets = {row.query: row.disk_offset for row in answers if row.dir == directory}
            yield _Side("", directory, offsets)


def _offset(query: str) -> Callable[[_Side], int | None]:
    def value(side: _Side) -> int | None:
        found = side.offsets.get(query)
        return None if found is None or found < 0 else found

    return value
