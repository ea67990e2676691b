"""The view of `epoch diff`: the replicas of a partition on the line of offsets, and what each has alone."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.output.screen import Screen
from kcli.output.table.epochs import draw_epochs
from kcli.output.table.grid import COUNT, NUMBER, ShownColumn, table
from kcli.output.table.marks import findings_line
from kcli.output.table.places import name_of
from kcli.output.table.replicas import replicas
from kcli.output.table.tables import TableView, draw_table, sentences
from kcli.output.units import counted
from kcli.rows.epochs import EpochDiffRow, EpochRow, EpochSpan
from kcli.rows.places import Where

MOST_DRAWN = 8
"""Pairs whose replicas are drawn; of more there is a table."""


def draw_diffs(
    rows: Sequence[EpochDiffRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield the epochs of the replicas of each partition side by side, and a table of the pairs."""
    if len(rows) <= MOST_DRAWN and not screen.is_part:
        epochs: dict[EpochRow, None] = {}
        for row in rows:
            there = row.where._replace(dir=row.other_dir, broker_id=row.other_broker_id)
            epochs |= dict.fromkeys((*_epochs(row.where, row.epochs), *_epochs(there, row.other_epochs)))
        yield from draw_epochs(list(epochs), screen, ())
        yield ""
        yield from _pairs(rows, list(epochs), screen)
        yield ""
        yield sentences(screen, _verdict(rows), findings_line(findings))
    else:
        yield from draw_table(PAIRS, rows, screen, findings)


def _pairs(
    rows: Sequence[EpochDiffRow], drawn: Sequence[EpochRow], screen: Screen
) -> Iterator[RenderableType]:
    """Yield a table of the pairs, the replicas by the names that they have in the drawing.

    By their directories where one has no epochs, which is not drawn.
    """
    names = {one.where.dir: one.name for found in replicas(drawn, screen) for one in found}
    if not names.keys() >= {path for row in rows for path in (row.where.dir, row.other_dir)}:
        names = {}
    columns = [
        ShownColumn("REPLICA", lambda row: names.get(row.where.dir, row.where.dir)),
        ShownColumn("OTHER", lambda row: names.get(row.other_dir, row.other_dir)),
        *PAIRS.columns[1:],
    ]
    if len({name_of(row.where) for row in rows}) > 1:
        columns.insert(0, ShownColumn("TOPIC-PARTITION", lambda row: name_of(row.where), may_overflow=True))
    yield table(columns, rows, screen)


def _epochs(where: Where, spans: Sequence[EpochSpan]) -> Iterator[EpochRow]:
    for span in spans:
        yield EpochRow(where, span.epoch, span.start_offset, end_offset=span.end_offset, source="checkpoint")


def _verdict(rows: Sequence[EpochDiffRow]) -> str:
    parted = sum(row.divergence_offset is not None for row in rows)
    unknown = sum(map(_is_unknown, rows))
    pairs = counted(len(rows), "pair")
    words = []
    if unknown:
        words.append(f"In {unknown} of {pairs} a replica has no leader epochs: see kcli replica diff.")
    if parted:
        words.append(f"Epochs part in {parted} of {pairs}.")
        words.append("Next: kcli truncate --dry-run --leader LEADER FOLLOWER")
    elif unknown < len(rows):
        others = "In the others they" if unknown else "The epochs"
        words.append(f"{others} are the same as far as both replicas go.")
    return " ".join(words)


def _is_unknown(row: EpochDiffRow) -> bool:
    """Whether one of the replicas has records, and no epochs to compare."""
    sides = ((row.epochs, row.log_end_offset), (row.other_epochs, row.other_log_end_offset))
    return any(not epochs for epochs, _ in sides) and all(end for _, end in sides)


def _other(row: EpochDiffRow) -> str:
    is_named = row.other_broker_id is not None and row.other_broker_id != row.where.broker_id
    return f"broker {row.other_broker_id}" if is_named else row.other_dir


PAIRS = TableView(
    columns=(
        ShownColumn("OTHER", _other, may_overflow=True),
        ShownColumn("PART AT", "divergence_offset", NUMBER, style="red"),
        ShownColumn("LAST COMMON EPOCH", "last_common_epoch", NUMBER, rank=1),
        ShownColumn("ONLY HERE", "records_only_here", COUNT),
        ShownColumn("ONLY THERE", "records_only_there", COUNT),
    ),
    verdict=_verdict,
)
