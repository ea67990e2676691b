"""The views of `epoch`: leader epochs on the line of offsets, and what leaders answer about them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from rich.console import RenderableType

from formats.checkpoint import EpochEntry
from kcli.kafka.replication.epoch_comparison import find_divergence
from kcli.output.screen import Screen, Symbols
from kcli.output.table.columns import COUNT, DEFINED, NUMBER, DrawnColumn, ShownColumn
from kcli.output.table.fitted_table import Line, StyledLines
from kcli.output.table.replica_names import by_partition, replica_names
from kcli.output.table.severities import STYLES
from kcli.output.table.shared_columns import SharedColumn, name_of
from kcli.output.table.table_view import FEW, TableInput, TableView
from kcli.output.table.timeline import Timeline
from kcli.output.units import counted, joined, number
from kcli.rows.epochs import EndOffsetRow, EpochDiffRow, EpochRow, EpochSpan, PositionRow
from kcli.rows.partitions import Where

WIDEST = 100
"""Columns of a line of offsets."""


def parted_at(epochs: Sequence[EpochRow], other: Sequence[EpochRow]) -> int | None:
    """Return the first offset that two replicas have in different epochs; None where they agree so far."""
    caches = [tuple(EpochEntry(row.epoch, row.start_offset) for row in rows) for rows in (epochs, other)]
    return find_divergence(caches[0], epochs[-1].end_offset, caches[1], other[-1].end_offset).offset


def _newest(replicas: Iterable[Sequence[EpochRow]]) -> Sequence[EpochRow]:
    return max(replicas, key=lambda rows: (rows[-1].epoch, rows[-1].end_offset))


def _parted(replicas: dict[Where, list[EpochRow]]) -> int | None:
    """Return the first offset at which the epochs of replicas differ; None where they do not."""
    newest = _newest(replicas.values())
    offsets = [offset for rows in replicas.values() if (offset := parted_at(rows, newest)) is not None]
    return min(offsets, default=None)


def draw_replicas(rows: Sequence[EpochRow], screen: Screen) -> Iterator[RenderableType]:
    """Yield the epochs of replicas as lines of offsets; of several partitions those that differ."""
    several = {name: replicas for name, replicas in by_partition(rows).items() if len(replicas) > 1}
    names = replica_names(row.where for row in rows)
    drawn = [name for name in several if len(several) == 1 or _parted(several[name]) is not None]
    for name in drawn[: 0 if screen.is_part else FEW]:
        heading = name if len(several) > 1 else ""
        yield StyledLines(_lines(several[name], heading, names, screen), screen)
        yield ""


def _lines(
    replicas: dict[Where, list[EpochRow]], heading: str, names: dict[str, str], screen: Screen
) -> Iterator[Line]:
    """Yield the scale, and a line for each replica: its epochs, red from where they differ."""
    newest = _newest(replicas.values())
    labels = {where: names[where.dir] for where in replicas}
    remarks = {where: _remark(rows, newest) for where, rows in replicas.items()}
    left = max(map(len, labels.values())) + 2
    room = screen.width - left - max(map(len, remarks.values())) - 3
    is_wide = room >= 30
    first = min(rows[0].start_offset for rows in replicas.values())
    end = max(rows[-1].end_offset for rows in replicas.values())
    timeline = Timeline(first, end, min(room if is_wide else screen.width - left - 1, WIDEST))
    offsets = {row.start_offset for row in chain(*replicas.values())}
    offsets |= {rows[-1].end_offset for rows in replicas.values()}
    parted = _parted(replicas)
    scale = timeline.labels(
        (offset, offset) for offset in (first, end, parted, *sorted(offsets)) if offset is not None
    )
    if heading:
        yield [(heading, "bold")]
    yield [(" " * left + scale, "dim")]
    for where, rows in replicas.items():
        line = _epochs_line(rows, timeline, screen.symbols)
        differs = timeline.width if parted is None or rows is newest else timeline.column(parted)
        style = STYLES["error"] if "differ" in remarks[where] else "green"
        yield [
            (f"{labels[where]:{left}}", "bold"),
            (line[:differs], "cyan"),
            (line[differs:], "red" if "differ" in remarks[where] else "cyan"),
            *([(" " * (timeline.width + 3 - len(line)) + remarks[where], style)] if is_wide else []),
        ]
        if not is_wide:
            yield [(" " * left + remarks[where], style)]


def _epochs_line(rows: Sequence[EpochRow], timeline: Timeline, symbols: Symbols) -> str:
    """Return a line with the number of each epoch where it begins."""
    columns = timeline.columns(rows[0].start_offset, rows[-1].end_offset)
    line = " " * columns.start + symbols.line * (columns.stop - columns.start)
    return timeline.labels(((row.start_offset, row.epoch) for row in rows), line) + symbols.end


def _remark(rows: Sequence[EpochRow], newest: Sequence[EpochRow]) -> str:
    if rows is newest:
        return "newest epoch"
    end, newest_end = rows[-1].end_offset, newest[-1].end_offset
    parted = parted_at(rows, newest)
    if parted is not None:
        return f"{number(end - parted)} offsets differ from {parted} on"
    if end == newest_end:
        return "the same"
    return (
        f"the same, {number(newest_end - end)} behind"
        if end < newest_end
        else f"the same, {number(end - newest_end)} more"
    )


def _ranges(rows: Sequence[EpochRow], symbols: Symbols) -> Callable[[EpochRow, int], str]:
    """Draw each epoch where it lies on the offsets of its partition."""
    bounds: dict[str, tuple[int, int]] = {}
    for row in rows:
        first, end = bounds.get(name_of(row.where), (row.start_offset, row.end_offset))
        bounds[name_of(row.where)] = min(first, row.start_offset), max(end, row.end_offset)

    def draw(row: EpochRow, width: int) -> str:
        timeline = Timeline(*bounds[name_of(row.where)], width)
        return "".join(timeline.cells([(row.start_offset, row.end_offset, symbols.stays)]))

    return draw


def _epochs_verdict(rows: Sequence[EpochRow]) -> str:
    """Return in how many partitions the epochs of replicas differ; of single replicas how many there are."""
    partitions = by_partition(rows)
    several = [replicas for replicas in partitions.values() if len(replicas) > 1]
    parted = [offset for replicas in several if (offset := _parted(replicas)) is not None]
    if not several:
        of = f"{counted(len(partitions), 'partition')}, " if len(partitions) > 1 else ""
        end = "" if of else f" Log end {rows[-1].end_offset}, newest epoch {rows[-1].epoch}."
        return f"{of}{counted(len(rows), 'epoch')}.{end}"
    if not parted:
        return "Replicas have the same epochs as far as they go."
    if len(several) > 1:
        return f"The epochs of replicas differ in {len(parted)} of {counted(len(several), 'partition')}."
    return f"Epochs differ from offset {parted[0]} on: a follower truncates there, at the latest."


EPOCHS = TableView(
    columns=(
        ShownColumn("EPOCH", "epoch", NUMBER),
        ShownColumn("START", "start_offset", NUMBER),
        ShownColumn("END", "end_offset", NUMBER),
        ShownColumn("OFFSETS", lambda row: row.end_offset - row.start_offset, COUNT, rank=2),
        DrawnColumn("", _ranges, least=8, most=40, rank=3),
    ),
    verdict=_epochs_verdict,
    facts=lambda rows: [f"from {' and '.join(sorted({row.source for row in rows}))}"],
    merged=lambda row: (row.epoch, row.start_offset, row.end_offset),
    above=draw_replicas,
)


def view_diffs(answer: TableInput) -> TableView:
    """Return the view of pairs of replicas, with all of them on the line of offsets."""
    replicas = [replica for row in answer.rows for replica in _replicas(row)]
    names = replica_names(where for where, _ in replicas)
    rows = [
        EpochRow(where, *span, "checkpoint") for where, spans in dict.fromkeys(replicas) for span in spans
    ]
    return TableView(
        columns=(
            ShownColumn("REPLICA", lambda row: names[row.where.dir]),
            ShownColumn("OTHER", lambda row: names[row.other_dir]),
            ShownColumn("PART AT", "divergence_offset", NUMBER, style="red"),
            ShownColumn("LAST COMMON EPOCH", "last_common_epoch", NUMBER, rank=1),
            ShownColumn("ONLY HERE", "records_only_here", COUNT),
            ShownColumn("ONLY THERE", "records_only_there", COUNT),
        ),
        names_replicas=True,
        above=lambda _, screen: draw_replicas(rows, screen),
        verdict=_diffs_verdict,
    )


def _replicas(row: EpochDiffRow) -> Iterator[tuple[Where, tuple[EpochSpan, ...]]]:
    yield row.where, row.epochs
    yield row.where._replace(dir=row.other_dir, broker_id=row.other_broker_id), row.other_epochs


def _diffs_verdict(rows: Sequence[EpochDiffRow]) -> str:
    parted = sum(row.divergence_offset is not None for row in rows)
    unknown = sum(map(_lacks_epochs, rows))
    pairs = counted(len(rows), "pair")
    words = []
    if unknown:
        words.append(f"In {unknown} of {pairs} a replica has no leader epochs: see kcli replica diff.")
    if parted:
        words.append(f"Epochs differ in {parted} of {pairs}.")
        words.append("Next: kcli truncate --dry-run --leader LEADER FOLLOWER")
    elif unknown < len(rows):
        others = "In the others they" if unknown else "The epochs"
        words.append(f"{others} are the same as far as both replicas go.")
    return " ".join(words)


def _lacks_epochs(row: EpochDiffRow) -> bool:
    """Whether one of the replicas has records, and no epochs to compare."""
    sides = ((row.epochs, row.log_end_offset), (row.other_epochs, row.other_log_end_offset))
    return any(not epochs for epochs, _ in sides) and all(end for _, end in sides)


RULES = {
    "undefined-request": "the epoch asked for is undefined",
    "latest": "the newest epoch: the log end",
    "above-all": "newer than every epoch here",
    "below-all": "older than every epoch here",
    "between": "ends where the next epoch begins",
}
"""What each rule of LeaderEpochFileCache.endOffsetFor means."""
ERRORS = {
    "FENCED_LEADER_EPOCH": "FENCED_LEADER_EPOCH: the partition's epoch is newer",
    "UNKNOWN_LEADER_EPOCH": "UNKNOWN_LEADER_EPOCH: the partition's epoch is older",
    "NOT_LEADER_OR_FOLLOWER": "NOT_LEADER_OR_FOLLOWER: this broker does not lead",
    "UNKNOWN_TOPIC_OR_PARTITION": "UNKNOWN_TOPIC_OR_PARTITION: the metadata lacks it",
}
"""What each error of OffsetForLeaderEpoch means."""


def _partition_epoch(row: EndOffsetRow) -> str | None:
    if row.partition_leader_epoch is None:
        return None
    return f"{row.partition_leader_epoch} ({row.partition_leader_epoch_source})"


def _why(row: EndOffsetRow) -> str:
    return RULES.get(row.rule, row.rule) if row.error is None else ERRORS.get(row.error, row.error)


def _end_offsets_verdict(rows: Sequence[EndOffsetRow]) -> str:
    """Return how many answers of replicas differ."""
    if all(len(replicas) == 1 for replicas in by_partition(rows).values()):
        return ""
    answers: dict[tuple[str, int], set[Any]] = {}
    for row in rows:
        asked = answers.setdefault((name_of(row.where), row.requested_epoch), set())
        asked.add((row.leader_epoch, row.end_offset, row.error))
    differ = sum(len(some) > 1 for some in answers.values())
    return f"{differ} of {counted(len(answers), 'answer')} differ." if differ else "All answers are the same."


END_OFFSETS = TableView(
    columns=(
        ShownColumn("ASKED FOR", "requested_epoch", NUMBER),
        ShownColumn("EPOCH", "leader_epoch", DEFINED),
        ShownColumn("ENDS AT", "end_offset", DEFINED, style="bold"),
        ShownColumn("WHY", _why, rank=2, least=12),
    ),
    shared=(
        SharedColumn("", lambda row: f"{row.log_end_offset} ({row.log_end_offset_source})", "log end {}"),
        SharedColumn("", lambda row: row.current_leader_epoch, "request names epoch {}"),
        SharedColumn("", _partition_epoch, "partition in epoch {}"),
    ),
    merged=lambda row: (row.requested_epoch, row.leader_epoch, row.end_offset, row.error or ""),
    verdict=_end_offsets_verdict,
)

UNDEFINED = -1
KEPT = {"valid": "valid: reads on", "unchecked": "not validated: no epoch to ask for"}


def _answer(row: PositionRow) -> str:
    if row.outcome == "unchecked":
        return ""
    if row.error is not None:
        return row.error
    return (
        "undefined" if row.end_offset == UNDEFINED else f"epoch {row.leader_epoch} ends at {row.end_offset}"
    )


def _conclusion(row: PositionRow) -> str:
    if row.outcome in KEPT:
        return KEPT[row.outcome]
    if row.outcome == "retry":
        return "asks again with new metadata"
    if row.exception is not None:
        divergent = f", divergent offset {row.end_offset}" if row.outcome == "truncated" else ""
        return f"{row.exception}{divergent}"
    if row.outcome == "truncated" and row.next_offset is not None:
        return f"truncated: goes back to {row.next_offset}, epoch {row.next_offset_epoch}"
    why = "out of range" if row.outcome == "out-of-range" else "truncated"
    target = "which is unknown here" if row.next_offset is None else row.next_offset
    return f"{why}: resets to {row.reset}, {target}"


def _position_severity(row: PositionRow) -> str:
    return "" if row.outcome in KEPT else "warning" if row.outcome == "retry" else "error"


def _positions_verdict(rows: Sequence[PositionRow]) -> str:
    truncated = sum(row.outcome in {"truncated", "undefined", "out-of-range"} for row in rows)
    retried = sum(row.outcome == "retry" for row in rows)
    positions = counted(len(rows), "position")
    words = (
        f"{truncated} of {positions} cannot stay" if truncated else "",
        f"{retried} of {positions} not answered" if retried else "",
    )
    return f"{joined(words) or 'The consumer reads on where it is'}."


POSITIONS = TableView(
    columns=(
        ShownColumn("POSITION", "offset", NUMBER, style="bold"),
        ShownColumn("EPOCH", "offset_epoch", DEFINED),
        ShownColumn("ANSWER", _answer, rank=1, least=12),
        ShownColumn(
            "SO THE CONSUMER",
            _conclusion,
            least=20,
            style=lambda text: "" if text in KEPT.values() else STYLES["warning"],
        ),
    ),
    shared=(
        SharedColumn(
            "LOG",
            lambda row: f"{row.log_start_offset} to {row.log_end_offset} ({row.log_end_offset_source})",
            "log {}",
            rank=2,
            is_last=True,
        ),
    ),
    verdict=_positions_verdict,
    severity=_position_severity,
)
