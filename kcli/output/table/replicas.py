"""Several replicas of a partition: their names, their views, and how far their epoch histories agree."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from rich.console import RenderableType

from formats.checkpoint import EpochEntry
from kcli.kafka.findings.findings import Finding
from kcli.kafka.replication.epoch_comparison import part
from kcli.output.screen import Screen
from kcli.output.table.grid import ShownColumn, ascii_only, table
from kcli.output.table.marks import findings_line
from kcli.output.table.places import log_dir_of, name_of, place_parts, short_dirs, title, where_of
from kcli.output.table.tables import TableView, draw_table, sentences
from kcli.output.units import counted
from kcli.output.values import one_line
from kcli.rows.epochs import EpochRow
from kcli.rows.places import Where

MOST_DRAWN = 4
"""Partitions whose replicas are drawn where they agree, too."""


class Replica(NamedTuple):
    """One replica's rows, and the name that the others of its partition do not have."""

    name: str
    where: Where
    rows: tuple[Any, ...]


def replicas(rows: Iterable[Any], screen: Screen) -> list[list[Replica]]:
    """Return the replicas of each partition with their rows, in the order of the first of each."""
    partitions: dict[str, dict[Where, list[Any]]] = {}
    for row in rows:
        where = where_of(row)
        assert where is not None
        partitions.setdefault(name_of(where), {}).setdefault(where, []).append(row)
    return [_named(found, screen) for found in partitions.values()]


def column_name(one: Replica) -> str:
    """Return the header of a replica's column; a path stays as it is."""
    return one.name.upper() if one.name.startswith("broker ") else one.name


def draw_by_partition(
    rows: Sequence[Any],
    alone: TableView,
    screen: Screen,
    findings: Sequence[Finding],
    *,
    side_by_side: Callable[[Sequence[Replica], Screen], Iterable[RenderableType]],
    agree: Callable[[Sequence[Replica]], bool],
    verdict: Callable[[Sequence[Sequence[Replica]]], str],
) -> Iterator[RenderableType]:
    """Yield a table of the partitions with one replica; those of others side by side, and a verdict.

    Of many partitions those whose replicas agree are one table, of the first replica.
    """
    if screen.is_part:
        yield from draw_table(alone, rows, screen, findings)
        return
    partitions = replicas(rows, screen)
    single = [row for found in partitions if len(found) == 1 for row in found[0].rows]
    several = [found for found in partitions if len(found) > 1]
    if single:
        yield from draw_table(alone, single, screen, () if several else findings)
    same = [found for found in several if agree(found)] if len(several) > MOST_DRAWN else []
    if same:
        if single:
            yield ""
        yield from _agreeing(same, alone, screen)
    for place, found in enumerate(one for one in several if one not in same):
        if place or single or same:
            yield ""
        yield from side_by_side(found, screen)
    if several:
        yield ""
        yield sentences(screen, verdict(several), findings_line(findings))


def _agreeing(
    several: Sequence[Sequence[Replica]], view: TableView, screen: Screen
) -> Iterator[RenderableType]:
    places = [one.where for found in several for one in found]
    parts = place_parts(places)
    yield title([counted(len(several), "partition"), "all replicas agree", *parts], screen)
    yield ""
    first = [row for found in several for row in found[0].rows]
    name = ShownColumn("TOPIC-PARTITION", lambda row: name_of(row.where), may_overflow=True)
    yield table((name, *view.columns), first, screen)


def _named(found: dict[Where, list[Any]], screen: Screen) -> list[Replica]:
    places = list(found)
    brokers = [place.broker_id for place in places]
    by_broker = None not in brokers and len(set(brokers)) == len(brokers)
    dirs = short_dirs(map(log_dir_of, places))
    if not screen.is_utf8:
        dirs = {path: ascii_only(short) for path, short in dirs.items()}
    return [
        Replica(
            f"broker {place.broker_id}" if by_broker else one_line(dirs[log_dir_of(place)]),
            place,
            tuple(rows),
        )
        for place, rows in found.items()
    ]


class Parting(NamedTuple):
    """How one epoch history relates to another.

    `offset` is the first at which they have different epochs; None where one is the beginning of the other.
    """

    offset: int | None
    is_same: bool


def parting(one: Sequence[EpochRow], other: Sequence[EpochRow]) -> Parting:
    """Return where two histories part: epochs of their offsets differ from there on."""
    caches = [tuple(EpochEntry(row.epoch, row.start_offset) for row in rows) for rows in (one, other)]
    ends = [rows[-1].end_offset for rows in (one, other)]
    found = part(caches[0], ends[0], caches[1], ends[1])
    is_same = found.offset is None and ends[0] == ends[1] and one[-1].epoch == other[-1].epoch
    return Parting(found.offset, is_same)
