"""The views of `epoch`: epochs on the line of offsets, of one replica or of several side by side."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.output.screen import Screen, Symbols
from kcli.output.table.bars import OffsetAxis, labels
from kcli.output.table.grid import COUNT, NUMBER, TEXT, DrawnColumn, Line, Lines, ShownColumn, span, stacked
from kcli.output.table.marks import STYLES
from kcli.output.table.places import name_of, place_parts, title
from kcli.output.table.replicas import Parting, Replica, column_name, draw_by_partition, parting
from kcli.output.table.tables import TableView
from kcli.output.units import counted, number
from kcli.rows.epochs import EpochRow


def draw_epochs(
    rows: Sequence[EpochRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield the epochs of partitions of one replica as one table, those of several replicas side by side."""
    yield from draw_by_partition(
        rows, EPOCHS, screen, findings, side_by_side=_side_by_side, agree=_agree, verdict=_verdict
    )


def _ranges(rows: Sequence[Any], symbols: Symbols) -> Callable[[Any, int], str]:
    """Draw each epoch where it lies on the offsets of its partition."""
    bounds: dict[Any, tuple[int, int]] = {}
    for row in rows:
        first, end = bounds.get(row.where, (row.start_offset, row.end_offset))
        bounds[row.where] = min(first, row.start_offset), max(end, row.end_offset)

    def draw(row: EpochRow, width: int) -> str:
        left, right = OffsetAxis(*bounds[row.where], width).stretch(row.start_offset, row.end_offset)
        return " " * left + symbols.stays * (right - left)

    return draw


def _epoch_total(rows: Sequence[EpochRow]) -> str:
    partitions = {row.where: row for row in rows}
    if len(partitions) > 1:
        return f"{counted(len(partitions), 'partition')}, {counted(len(rows), 'epoch')}."
    (last,) = partitions.values()
    return f"{counted(len(rows), 'epoch')}. Log end {last.end_offset}, newest epoch {last.epoch}."


def _source(rows: Sequence[EpochRow]) -> list[str]:
    sources = {row.source for row in rows}
    return [f"from {' and '.join(sorted(sources))}"]


EPOCHS = TableView(
    columns=(
        ShownColumn("EPOCH", "epoch", NUMBER),
        ShownColumn("START", "start_offset", NUMBER),
        ShownColumn("END", "end_offset", NUMBER),
        ShownColumn("OFFSETS", lambda row: row.end_offset - row.start_offset, COUNT, rank=2),
        DrawnColumn("", _ranges, least=8, most=40, rank=3),
    ),
    verdict=_epoch_total,
    facts=_source,
)


def _side_by_side(found: Sequence[Replica], screen: Screen) -> Iterator[RenderableType]:
    """Yield the histories of the replicas of a partition as lines, and as a table of a column for each."""
    newest = _newest(found)
    partings = [parting(one.rows, newest.rows) for one in found]
    offsets = [one.offset for one in partings if one.offset is not None]
    words = f"their epochs part at offset {min(offsets)}" if offsets else "the same epochs"
    heading = [name_of(found[0].where), f"{len(found)} replicas", words]
    yield title([*heading, *place_parts([one.where for one in found])], screen)
    yield ""
    yield Lines(_timelines(found, newest, partings, screen), screen.width)
    yield ""
    first, *columns, last = _replica_columns(found, newest)
    yield from stacked(first, columns, [last], _epoch_lines(found), screen)


def _agree(found: Sequence[Replica]) -> bool:
    return all(parting(one.rows, found[0].rows).is_same for one in found)


def _verdict(several: Sequence[Sequence[Replica]]) -> str:
    """Return in how many partitions the epochs of replicas part."""
    parted = [found for found in several if min(_parted(found), default=None) is not None]
    if not parted:
        return "Replicas have the same epochs as far as they go."
    if len(several) > 1:
        return f"In {len(parted)} of {counted(len(several), 'partition')} the replicas' epochs part."
    (found,) = several
    offset = min(_parted(found))
    first = min(one.rows[0].start_offset for one in found)
    common = f"Same epochs: offsets {span(first, offset)}. " if offset > first else ""
    return f"{common}From {offset} on they differ: a follower truncates there, at the latest."


def _parted(found: Sequence[Replica]) -> list[int]:
    newest = _newest(found)
    partings = [parting(one.rows, newest.rows) for one in found]
    return [one.offset for one in partings if one.offset is not None]


def _newest(found: Sequence[Replica]) -> Replica:
    return max(found, key=lambda one: (one.rows[-1].epoch, one.rows[-1].end_offset))


def _timelines(
    found: Sequence[Replica], newest: Replica, partings: Sequence[Parting], screen: Screen
) -> Iterator[Line]:
    """Yield the axis, a line for each replica, and where they have the same epochs."""
    symbols = screen.symbols
    remarks = [_remark(one, newest, part) for one, part in zip(found, partings, strict=True)]
    names = max(len(one.name) for one in found)
    room = screen.width - names - 2 - 2 - max(map(len, remarks)) - 1
    is_wide = room >= 30
    width = min(room if is_wide else screen.width - names - 3, 100)
    first = min(one.rows[0].start_offset for one in found)
    end = max(one.rows[-1].end_offset for one in found)
    axis = OffsetAxis(first, end, width)
    parted = [one.offset for one in partings if one.offset is not None]
    starts = sorted(
        {row.start_offset for one in found for row in one.rows} | {o.rows[-1].end_offset for o in found}
    )
    numbers = labels(axis, [first, end, *parted, *starts], width + 1)
    yield [(f"{'':{names}}  {numbers}", "dim")]
    for one, part, remark in zip(found, partings, remarks, strict=True):
        line: Line = [(f"{one.name:{names}}  ", "bold")]
        line += _timeline(one, axis, part, symbols)
        if is_wide:
            used = sum(len(text) for text, _ in line[1:])
            line.append((" " * (width + 3 - used) + remark, _remark_style(part, is_newest=one is newest)))
        yield line
        if not is_wide:
            yield [(f"{'':{names}}  {remark}", _remark_style(part, is_newest=one is newest))]


def _timeline(one: Replica, axis: OffsetAxis, part: Parting, symbols: Symbols) -> Line:
    """Return one replica's epochs as a line: each number where its epoch begins, red from where it parts."""
    begin, end = axis.column(one.rows[0].start_offset), axis.column(one.rows[-1].end_offset)
    drawn = [symbols.line] * max(end - begin, 1)
    free = 0
    for row in one.rows:
        at, text = axis.column(row.start_offset) - begin, str(row.epoch)
        if at >= free and at + len(text) <= len(drawn):
            drawn[at : at + len(text)] = text
            free = at + len(text) + 1
    text = "".join(drawn)
    split = len(text) if part.offset is None else max(axis.column(part.offset) - begin, 0)
    return [
        (" " * begin, ""),
        (text[:split], "cyan"),
        (text[split:] + symbols.end, "red" if split < len(text) else "cyan"),
    ]


def _remark(one: Replica, newest: Replica, part: Parting) -> str:
    if one is newest:
        return "newest epoch"
    end = one.rows[-1].end_offset
    if part.offset is not None:
        return f"{number(end - part.offset)} offsets differ from {part.offset} on"
    if part.is_same:
        return f"as {newest.name}"
    behind = newest.rows[-1].end_offset - end
    return (
        f"as {newest.name}, {number(behind)} behind"
        if behind >= 0
        else f"as {newest.name}, {number(-behind)} more"
    )


def _remark_style(part: Parting, *, is_newest: bool) -> str:
    if part.offset is not None:
        return STYLES["error"]
    return "green" if is_newest or part.is_same else ""


class _EpochLine(NamedTuple):
    """One epoch as each replica has it: None for one that has not."""

    epoch: int
    ranges: tuple[tuple[int, int] | None, ...]


def _epoch_lines(found: Sequence[Replica]) -> list[_EpochLine]:
    known = [{row.epoch: (row.start_offset, row.end_offset) for row in one.rows} for one in found]
    epochs = sorted({epoch for one in known for epoch in one})
    return [_EpochLine(epoch, tuple(one.get(epoch) for one in known)) for epoch in epochs]


def _replica_columns(found: Sequence[Replica], newest: Replica) -> list[ShownColumn]:
    columns = [ShownColumn("EPOCH", "epoch", NUMBER)]
    for place, one in enumerate(found):
        of = partial(_range, place)
        columns.append(ShownColumn(column_name(one), of, TEXT))
    place = list(found).index(newest)
    columns.append(
        ShownColumn(
            "",
            partial(_difference, found, place, parted=bool(_parted(found))),
            rank=1,
            style=_difference_style,
        )
    )
    return columns


def _range(place: int, line: _EpochLine) -> str | None:
    found = line.ranges[place]
    return None if found is None else span(*found)


ALONE, OTHER_ENDS = "alone", "other ends"


def _difference(found: Sequence[Replica], newest: int, line: _EpochLine, *, parted: bool) -> str:
    have = [one.name for one, span in zip(found, line.ranges, strict=True) if span is not None]
    if len(have) == 1:
        return f"{have[0]} {ALONE}" if line.ranges[newest] is None else ""
    spans = {span for span in line.ranges if span is not None}
    return OTHER_ENDS if parted and len(spans) > 1 else ""


def _difference_style(text: str) -> str:
    return STYLES["error"] if text.endswith(ALONE) else STYLES["warning"] if text else ""


EPOCH_AT = TableView(
    columns=(
        ShownColumn("OFFSET", "offset", NUMBER),
        ShownColumn("EPOCH", "epoch", NUMBER, style="bold"),
        ShownColumn("BEGINS AT", "start_offset", NUMBER),
    ),
)
