"""The views of `epoch`: leader epochs on the line of offsets, and what leaders answer about them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from rich.console import RenderableType

from formats.checkpoint import EpochEntry
from kcli.kafka.replication.follower import find_divergence
from kcli.output.screen import Screen
from kcli.output.table.columns import STYLES, ShownColumn
from kcli.output.table.fitted_table import Line, StyledLines, command_lines, sentences
from kcli.output.table.shared_columns import SharedColumn, by_partition, log_dir_of, name_of, replica_names
from kcli.output.table.table_view import FEW, TableInput, TableView, table_view
from kcli.output.table.timeline import Timeline
from kcli.output.units import counted, number, tally
from kcli.rows.epochs import EndOffsetRow, EpochDiffRow, EpochRow, EpochSpan, PositionRow
from kcli.rows.partitions import Where

WIDEST_EPOCHS = 100
"""Columns of a line of epochs."""
LEAST_EPOCHS = 20
MOST_ON_A_PAGE = 20
"""Partitions that are drawn."""

Replicas: TypeAlias = dict[Where, list[EpochRow]]


def _partings(replicas: Replicas) -> dict[Where, int]:
    """Return where each replica differs first from the one with the newest epoch, if it does."""
    caches = {
        where: (tuple(EpochEntry(row.epoch, row.start_offset) for row in rows), rows[-1].end_offset)
        for where, rows in replicas.items()
    }
    newest = max(caches.values(), key=lambda cache: (cache[0][-1].epoch, cache[1]))
    partings = {where: find_divergence(*cache, *newest).offset for where, cache in caches.items()}
    return {where: offset for where, offset in partings.items() if offset is not None}


def draw_replicas(rows: Sequence[EpochRow], screen: Screen) -> Iterator[RenderableType]:
    """Yield the epochs of a partition as lines of offsets; of several partitions those that differ."""
    partitions = by_partition(rows)
    names = replica_names(row.where for row in rows)
    drawn = [name for name, replicas in partitions.items() if len(partitions) == 1 or _partings(replicas)]
    most = 0 if screen.is_part else MOST_ON_A_PAGE if screen.is_page else FEW
    for name in drawn[:most]:
        heading = [[(name, "bold")]] if len(partitions) > 1 else []
        yield StyledLines([*heading, *_lines(partitions[name], names, screen)], screen)
        yield ""
    if screen.is_page and len(drawn) > most > 0:
        yield sentences(screen, f"{number(len(drawn) - most)} more differ: the table has them.")


def _lines(replicas: Replicas, names: dict[str, str], screen: Screen) -> Iterator[Line]:
    """Yield the scale, and a line for each replica: its epochs, red from where they differ."""
    partings = _partings(replicas)
    labels = {where: f"{names[where.dir]}  " if len(replicas) > 1 else "" for where in replicas}
    remarks = {where: _remark(where, replicas, partings.get(where)) for where in replicas}
    label_width = max(map(len, labels.values()))
    room = screen.width - label_width - max(map(len, remarks.values())) - 3
    first = min(rows[0].start_offset for rows in replicas.values())
    end = max(rows[-1].end_offset for rows in replicas.values())
    timeline = Timeline(first, end, max(min(room, WIDEST_EPOCHS), LEAST_EPOCHS))
    offsets = {row.start_offset for rows in replicas.values() for row in rows}
    offsets |= {rows[-1].end_offset for rows in replicas.values()}
    scale = timeline.labels((offset, offset) for offset in (first, end, *partings.values(), *sorted(offsets)))
    yield [(" " * label_width + scale, "dim")]
    for where, rows in replicas.items():
        columns = timeline.columns(rows[0].start_offset, rows[-1].end_offset)
        line = " " * columns.start + screen.symbols.line * (columns.stop - columns.start)
        line = timeline.labels(((row.start_offset, row.epoch) for row in rows), line) + screen.symbols.end
        differs = timeline.column(partings[where]) if where in partings else len(line)
        yield [
            (labels[where].ljust(label_width), "bold"),
            (line[:differs], "cyan"),
            (line[differs:].ljust(timeline.width + 3 - differs), "red"),
            (remarks[where], STYLES["error"] if where in partings else "green"),
        ]


def _remark(where: Where, replicas: Replicas, parting: int | None) -> str:
    """Return what a replica has in common with the one with the newest epoch."""
    if len(replicas) == 1:
        return ""
    newest = max(replicas.values(), key=lambda rows: (rows[-1].epoch, rows[-1].end_offset))
    end, lead = replicas[where][-1].end_offset, replicas[where][-1].end_offset - newest[-1].end_offset
    if parting is not None:
        return f"{number(end - parting)} offsets differ from {parting} on"
    if replicas[where] is newest or not lead:
        return "newest epoch" if replicas[where] is newest else "the same"
    return f"the same, {number(abs(lead))} {'more' if lead > 0 else 'behind'}"


def _epochs_verdict(rows: Sequence[EpochRow]) -> str:
    """Return in how many partitions the epochs of replicas differ; of single replicas how many there are."""
    partitions = by_partition(rows)
    several = [replicas for replicas in partitions.values() if len(replicas) > 1]
    partings = [offsets for replicas in several if (offsets := _partings(replicas))]
    if not several and len(partitions) == 1:
        return f"{counted(len(rows), 'epoch')}. Log end {rows[-1].end_offset}, newest epoch {rows[-1].epoch}."
    if not several:
        return f"{counted(len(partitions), 'partition')}, {counted(len(rows), 'epoch')}."
    if not partings:
        return "Replicas have the same epochs as far as they go."
    if len(several) > 1:
        return f"The epochs of replicas differ in {len(partings)} of {counted(len(several), 'partition')}."
    offset = min(partings[0].values())
    return f"Epochs differ from offset {offset} on: a follower truncates there, at the latest."


EPOCH = table_view(
    ShownColumn("EPOCH", "epoch", "number"),
    ShownColumn("START", "start_offset", "number"),
    ShownColumn("END", "end_offset", "number"),
    ShownColumn("OFFSETS", lambda row: row.end_offset - row.start_offset, "count", rank=2),
    verdict=_epochs_verdict,
    facts=lambda rows: [f"from {' and '.join(sorted({row.source for row in rows}))}"],
    merged=lambda row: (row.epoch, row.start_offset, row.end_offset),
    above=draw_replicas,
)


def draw_epoch_diff(answer: TableInput) -> TableView:
    """Return the view of pairs of replicas, with all of them on the line of offsets."""
    replicas = [replica for row in answer.rows for replica in _replicas(row)]
    names = replica_names(where for where, _ in replicas)
    rows = [
        EpochRow(where, *span, "checkpoint") for where, spans in dict.fromkeys(replicas) for span in spans
    ]
    return table_view(
        ShownColumn("REPLICA", lambda row: names[row.where.dir]),
        ShownColumn("OTHER", lambda row: names[row.other_dir]),
        ShownColumn("PART AT", "divergence_offset", "number", style="red"),
        ShownColumn("LAST COMMON EPOCH", "last_common_epoch", "number", rank=1),
        ShownColumn("ONLY HERE", "records_only_here", "count"),
        ShownColumn("ONLY THERE", "records_only_there", "count"),
        names_replicas=True,
        above=lambda _, screen: draw_replicas(rows, screen),
        verdict=_diffs_verdict,
        closing=lambda rows: _next_commands(rows, answer.screen),
    )


def _replicas(row: EpochDiffRow) -> Iterator[tuple[Where, tuple[EpochSpan, ...]]]:
    yield row.where, row.epochs
    yield row.where._replace(dir=row.other_dir, broker_id=row.other_broker_id), row.other_epochs


def _diffs_verdict(rows: Sequence[EpochDiffRow]) -> str:
    parted = sum(row.divergence_offset is not None for row in rows)
    unknown, alone = sum(map(_lacks_epochs, rows)), sum(map(_holds_epoch_alone, rows))
    pairs = counted(len(rows), "pair")
    same = "" if unknown else "The epochs are the same as far as both replicas go."
    verdicts = (
        f"In {unknown} of {pairs} a replica has no leader epochs: see kcli replica diff." if unknown else "",
        f"Epochs differ in {parted} of {pairs}." if parted else same,
        f"In {alone} of {pairs} one replica alone holds an epoch without records." if alone else "",
    )
    return " ".join(filter(None, verdicts))


def _next_commands(rows: Sequence[EpochDiffRow], screen: Screen) -> str:
    """Return the commands that go on from the first pairs that part, over log dirs where these answer all."""
    rows_by_options = {
        (): [row for row in rows if row.divergence_offset is not None],
        ("--broker", "running"): list(filter(_holds_epoch_alone, rows)),
    }
    lines = []
    for options, pair_rows in rows_by_options.items():
        pairs = [sorted(_replicas(row), key=_newest_epoch, reverse=True) for row in pair_rows]
        log_dirs = {tuple(log_dir_of(where) for where, _ in pair) for pair in pairs}
        if pairs:
            dirs = log_dirs.pop() if len(log_dirs) == 1 < len(pairs) else [where.dir for where, _ in pairs[0]]
            lines.append(command_lines(["kcli", "truncate", *options, "--leader", *dirs], screen))
    return "\n".join(["Next:", *lines] if lines else [])


def _newest_epoch(replica: tuple[Where, tuple[EpochSpan, ...]]) -> tuple[int, int]:
    last = replica[1][-1:]
    return (last[0].epoch, last[0].end_offset) if last else (-1, 0)


def _holds_epoch_alone(row: EpochDiffRow) -> bool:
    """Whether one of two running replicas holds an epoch at its log end that the other one lacks."""
    epochs, other_epochs = ({span.epoch for span in spans} for spans in (row.epochs, row.other_epochs))
    last = (*row.epochs[-1:], *row.other_epochs[-1:])
    return any(span.start_offset == span.end_offset and span.epoch in epochs ^ other_epochs for span in last)


def _lacks_epochs(row: EpochDiffRow) -> bool:
    """Whether one of the replicas has records, and no epochs to compare."""
    has_records = row.log_end_offset and row.other_log_end_offset
    return bool(has_records) and not (row.epochs and row.other_epochs)


RULES = {
    "undefined-request": "the epoch asked for is undefined",
    "latest": "the newest epoch: the log end",
    "above-all": "newer than every epoch here",
    "below-all": "older than every epoch here",
    "between": "ends where the next epoch begins",
}
"""What each rule of LeaderEpochFileCache.endOffsetFor means."""
ERROR_TEXTS = {
    "FENCED_LEADER_EPOCH": "FENCED_LEADER_EPOCH: the partition's epoch is newer",
    "UNKNOWN_LEADER_EPOCH": "UNKNOWN_LEADER_EPOCH: the partition's epoch is older",
    "NOT_LEADER_OR_FOLLOWER": "NOT_LEADER_OR_FOLLOWER: this broker does not lead",
    "UNKNOWN_TOPIC_OR_PARTITION": "UNKNOWN_TOPIC_OR_PARTITION: the metadata lacks it",
}
"""What each error of OffsetForLeaderEpoch means."""


def _partition_epoch(row: EndOffsetRow) -> str | None:
    epoch = row.partition_leader_epoch
    return None if epoch is None else f"{epoch} ({row.partition_leader_epoch_source})"


def _reason(row: EndOffsetRow) -> str:
    return RULES.get(row.rule, row.rule) if row.error is None else ERROR_TEXTS.get(row.error, row.error)


def _end_offsets_verdict(rows: Sequence[EndOffsetRow]) -> str:
    """Return how many answers of replicas differ."""
    if all(len(replicas) == 1 for replicas in by_partition(rows).values()):
        return ""
    answers: dict[tuple[str, int], set[Any]] = {}
    for row in rows:
        values = answers.setdefault((name_of(row.where), row.requested_epoch), set())
        values.add((row.leader_epoch, row.end_offset, row.error))
    differ = sum(len(some) > 1 for some in answers.values())
    return f"{differ} of {counted(len(answers), 'answer')} differ." if differ else "All answers are the same."


END_OFFSET = table_view(
    ShownColumn("ASKED FOR", "requested_epoch", "number"),
    ShownColumn("EPOCH", "leader_epoch", "defined"),
    ShownColumn("ENDS AT", "end_offset", "defined", style="bold"),
    ShownColumn("WHY", _reason, rank=2, least=12),
    shared=(
        SharedColumn("", lambda row: f"{row.log_end_offset} ({row.log_end_offset_source})", "log end {}"),
        SharedColumn("", lambda row: row.current_leader_epoch, "request names epoch {}"),
        SharedColumn("", _partition_epoch, "partition in epoch {}"),
    ),
    merged=lambda row: (row.requested_epoch, row.leader_epoch, row.end_offset, row.error or ""),
    verdict=_end_offsets_verdict,
)

KEPT = {"valid": "valid: reads on", "unchecked": "not validated: no epoch to ask for"}


def _answer(row: PositionRow) -> str:
    if row.outcome == "unchecked" or row.error is not None:
        return row.error or ""
    return "undefined" if row.end_offset == -1 else f"epoch {row.leader_epoch} ends at {row.end_offset}"


def _conclusion(row: PositionRow) -> str:
    if row.outcome in KEPT:
        return KEPT[row.outcome]
    if row.outcome == "retry":
        is_newer = row.error == "UNKNOWN_LEADER_EPOCH"
        return "waits for that epoch" if is_newer else "asks again with new metadata"
    if row.exception is not None:
        divergent = f", divergent offset {row.end_offset}" if row.outcome == "truncated" else ""
        return f"{row.exception}{divergent}"
    if row.outcome == "truncated" and row.next_offset is not None:
        return f"truncated: goes back to {row.next_offset}, epoch {row.next_offset_epoch}"
    reason = "out of range" if row.outcome == "out-of-range" else "truncated"
    target = "which is unknown here" if row.next_offset is None else row.next_offset
    return f"{reason}: resets to {row.reset}, {target}"


def _position_severity(row: PositionRow) -> str:
    return "" if row.outcome in KEPT else "warning" if row.outcome == "retry" else "error"


def _positions_verdict(rows: Sequence[PositionRow]) -> str:
    count, of = Counter(map(_position_severity, rows)), f"of {counted(len(rows), 'position')}"
    moves = tally({f"{of} cannot stay": count["error"], f"{of} not answered": count["warning"]})
    return f"{moves or 'The consumer reads on where it is'}."


POSITION = table_view(
    ShownColumn("POSITION", "offset", "number", style="bold"),
    ShownColumn("EPOCH", "offset_epoch", "defined"),
    ShownColumn("ANSWER", _answer, rank=1, least=12),
    ShownColumn("SO THE CONSUMER", _conclusion, least=20),
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
