"""The views of `retention`: a bar for each log, the segments of one log, and what the cleaner does."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, chain
from typing import NamedTuple

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.kafka.storage.cleaner import BY_ACTIVE
from kcli.kafka.storage.retention import NO_RULE
from kcli.output.screen import Screen, Symbols
from kcli.output.table.columns import ShownColumn, offsets_column
from kcli.output.table.fitted_table import sentences
from kcli.output.table.table_view import TableInput, TableView, draw_tables, table_view
from kcli.output.table.timeline import Timeline
from kcli.output.units import counted, moment, size, sums
from kcli.rows.partitions import Where
from kcli.rows.retention import CompactPartitionRow, RetentionPartitionRow, RetentionRow
from kcli.words import duration

BAR = 12
"""Columns of a bar."""
DELETE = "delete"
FAILING = frozenset({"log.cleaner.enable", "cleaning-failed", "stray"})
"""Why a cleaning does not come to its end, if it begins at all."""
UNKNOWN_TOPIC, IS_STRAY, LACKING, HIGH_WATERMARK = "META-009", "START-013", "RLMM-025", "high-watermark"
DEFAULTS_COUNT = "Topic settings are not here: Kafka's defaults count."
NAME_THEM = " Name them: --metadata PATH or --config NAME=VALUE."
EVENTS_LACK = "Events of remote storage are not here: --remote-metadata PATH says what is copied."
LOG_END_COUNTS = "High watermarks are not here: the log end counts."


OPTION = "option"
SHOWN_LOGS = 3
"""Logs with a record ahead of the clock that are named."""
MOST_LIMITS = 3
"""Values of a setting that are named."""


class _Log(NamedTuple):
    """A log and its segments, the oldest first; `totals`: its own row, None where it is left out."""

    segments: tuple[RetentionRow, ...]
    totals: RetentionPartitionRow | None = None

    @property
    def where(self) -> Where:
        return self.segments[0].where

    @property
    def going_now(self) -> int | None:
        """The bytes that go without the settings that are tried; None where none is."""
        return None if self.totals is None else self.totals.deletable_bytes_now

    @property
    def size(self) -> int:
        return sum(row.size for row in self.segments)

    @property
    def going(self) -> int:
        return sum(row.size for row in self.segments if row.action == DELETE)

    @property
    def held_back(self) -> int:
        """How many segments are past their time, and wait for an older one."""
        return sum(row.blocked_by is not None for row in self.segments)

    @property
    def reason(self) -> str:
        """Why its oldest segment stays, and what that keeps."""
        oldest = next((row for row in self.segments if row.action != DELETE), None)
        if oldest is None:
            return "all go" if self.segments[0].rule != NO_RULE else self.segments[0].reason
        held_back = self.held_back
        waiting = f"; {counted(held_back, 'later segment')} past their time wait" if held_back else ""
        return f"{oldest.segment_base_offset}: {oldest.reason}{waiting}"


def _cells(symbols: Symbols) -> dict[str, str]:
    """Return the cell of a bar for each state of a segment."""
    waits = dict.fromkeys(("waits", "if copied"), symbols.middle)
    return {"goes": symbols.goes, **waits, "stays": symbols.stays, "active": symbols.half}


def _bar(log: _Log, symbols: Symbols) -> str:
    """Return the bytes of a log by what becomes of them: those that go, wait, stay, and the active one's."""
    cells, ends = _cells(symbols), [*accumulate(row.size for row in log.segments)]
    ranges = ((end - row.size, end, cells[_state(row)]) for end, row in zip(ends, log.segments, strict=True))
    return "".join(Timeline(0, ends[-1], BAR).cells(ranges)) if log.size else ""


def _trial_settings(logs: Sequence[_Log]) -> str:
    """Return the settings that are tried, those of options; each with its value where all logs have one."""
    rows = [log.totals for log in logs if log.totals is not None]
    tried = {name: 0 for row in rows for name, source in row.settings_from.items() if source == OPTION}
    settings = []
    for name in (name for name in tried if f"local.{name}" not in tried):
        setting_rows = [row for row in rows if name in row.settings_from and hasattr(row, _field_of(name))]
        values = {getattr(row, _field_of(name)) for row in setting_rows}
        settings.append(f"{name}={values.pop()}" if len(values) == 1 else f"another {name}")
    return ", ".join(settings)


def _field_of(setting: str) -> str:
    """Return the field that holds a setting, where a row has it."""
    return setting.removeprefix("local.").replace(".", "_")


def _limits(logs: Sequence[_Log], screen: Screen) -> Iterator[RenderableType]:
    """Yield which limits count for logs that lose segments by them, and where these come from."""
    rows = [log.totals for log in logs if log.totals is not None and DELETE in log.totals.cleanup_policy]
    lines = []
    for name, show in (("retention.ms", duration), ("retention.bytes", size)):
        values = Counter(
            (getattr(row, _field_of(name)), row.settings_from[name], f"local.{name}" in row.settings_from)
            for row in rows
        )
        limits = [
            f"{show(value) if value >= 0 else 'none'} ({source}{f', local.{name}' if is_local else ''})"
            + (f" of {counted(count, 'log')}" if len(values) > 1 else "")
            for (value, source, is_local), count in values.most_common(MOST_LIMITS)
        ]
        limits += [counted(len(values) - MOST_LIMITS, "other value")] if len(values) > MOST_LIMITS else []
        lines += [f"{name} {', '.join(limits)}."] if limits else []
    if lines:
        yield sentences(screen, " ".join(lines))
        yield ""


def assumptions(findings: Sequence[Finding], advice: str = "") -> list[str]:
    """Return what an answer rests on that no file here says."""
    codes = {finding.code for finding in findings}
    strays = len({finding.dir for finding in findings if finding.code == IS_STRAY})
    assumed = {
        DEFAULTS_COUNT + advice: UNKNOWN_TOPIC in codes,
        LOG_END_COUNTS: any(finding.found == HIGH_WATERMARK for finding in findings),
        EVENTS_LACK: LACKING in codes,
        f"A start takes {counted(strays, 'log')} for stray ({IS_STRAY}): no look comes to such.": strays,
    }
    return [text for text, is_so in assumed.items() if is_so]


def _verdict(logs: Sequence[_Log]) -> str:
    deleted = [row for log in logs for row in log.segments if row.action == DELETE]
    going = [row for row in deleted if row.rule != NO_RULE]
    held_back = sum(log.held_back for log in logs)
    total = size(sum(log.size for log in logs))
    freed_bytes = sum(row.size for row in going)
    what = f"{counted(len(going), 'segment')}, {size(freed_bytes)}" if going else "nothing"
    waiting = f" Past their time, kept by an older one: {held_back} more." if held_back else ""
    if len(deleted) > len(going):
        leaving = sum(row.size for row in deleted if row.rule == NO_RULE)
        waiting += f" With -delete directories go {size(leaving)}."
    unsure = sum(row.action is None for log in logs for row in log.segments)
    waiting += f" If they are copied: {unsure} more." if unsure else ""
    trial, instead = _trial_settings(logs), ""
    if trial:
        now = sum(log.going_now or 0 for log in logs)
        instead = ", as now" if now == freed_bytes else f", instead of {size(now)} now"
    look = f"With {trial} the next look" if trial else "The next look"
    return f"{look} deletes {what} of {total}{instead}.{waiting}"


def draw_retention(answer: TableInput) -> Iterator[RenderableType]:
    """Yield a line for each log, of one log a line for each of its segments; then what the cleaner does."""
    wholes = {row.where: row for row in answer.rows if isinstance(row, RetentionPartitionRow)}
    segments: dict[Where, list[RetentionRow]] = {}
    for row in answer.rows:
        if isinstance(row, RetentionRow):
            segments.setdefault(row.where, []).append(row)
    logs = [_Log(tuple(rows), wholes.get(where)) for where, rows in segments.items()]
    compacted = [row for row in wholes.values() if row.will_clean is not None]
    rows = [row for log in logs for row in log.segments] if len(logs) == 1 else logs
    view = (RETAINED_SEGMENTS if len(logs) == 1 else _of_logs(logs, answer.screen.symbols))._replace(
        verdict=lambda _: _verdict(logs),
        assumes=partial(assumptions, advice=NAME_THEM),
        above=lambda _, screen: _limits(logs, screen),
        below=lambda *_: chain(_rolls(logs), _future([*wholes.values()])),
    )
    return draw_tables(answer, (view, rows), (RETENTION_PARTITION, compacted))


def _of_logs(logs: Sequence[_Log], symbols: Symbols) -> TableView:
    is_tried = any(log.going_now is not None for log in logs)
    cells = _cells(symbols)
    legend = [f"{cells[state]} {state}" for state in ("goes", "waits", "stays")]
    columns = (
        ShownColumn("SIZE", "size", "size"),
        ShownColumn(
            "",
            lambda log: _bar(log, symbols),
            rank=2,
            legend=f"{', '.join(legend)}, {cells['active']} active segment.",
        ),
        ShownColumn("GOES", "going", "size", style="red"),
        ShownColumn("NOW", "going_now", "size", rank=1),
        ShownColumn("OLDEST THAT STAYS", "reason", least=20),
    )
    # those first that the settings that are tried free most
    return TableView(columns, order=(lambda log: (log.going_now or 0) - log.going) if is_tried else None)


def _state(row: RetentionRow) -> str:
    if row.action == DELETE:
        return "goes"
    if row.action is None:
        return "if copied"
    return "waits" if row.blocked_by is not None else "active" if row.is_active else "stays"


RETAINED_SEGMENTS = table_view(
    ShownColumn("SEGMENT", "segment_base_offset", "number"),
    offsets_column("first_offset", "last_offset", rank=3),
    ShownColumn("SIZE", "size", "size"),
    ShownColumn("NEWEST (UTC)", "max_timestamp", "time", rank=1),
    ShownColumn("", _state, style={"goes": "red", "waits": "yellow"}.get),
    ShownColumn("GOES FROM (UTC)", "deletable_at", "time", rank=2),
    ShownColumn("WHY", "reason", least=20),
)


def _cleaner(row: RetentionPartitionRow) -> str:
    dirty = "" if row.dirty_ratio is None else f", {row.dirty_ratio:.0%} dirty"
    bound = f"{row.first_uncleanable_offset} ({row.uncleanable_because})"
    if row.uncleanable_bytes:
        bound += f": {size(row.uncleanable_bytes)} wait"
    if row.uncleanable_because in FAILING:
        return f"cleans nothing: {row.uncleanable_because}{dirty}"
    if not row.cleanable_bytes:  # whatever the ratio
        return f"may not pass {bound}{dirty}"
    bound_text = "" if row.uncleanable_because == BY_ACTIVE else f", may not pass {bound}"
    if row.will_clean:
        return f"cleans {row.first_dirty_offset}..{(row.end_offset or 0) - 1}{dirty}{bound_text}"
    return f"waits{dirty}, min.cleanable.dirty.ratio {row.min_cleanable_dirty_ratio}{bound_text}"


def _future(rows: Sequence[RetentionPartitionRow]) -> Iterator[RenderableType]:
    """Yield which logs have a record ahead of the clock, those that are furthest first."""
    first = [(row.future_timestamps[0], row) for row in rows if row.future_timestamps]
    first.sort(key=lambda pair: -pair[0].timestamp)
    for record, row in first[:SHOWN_LOGS]:
        producer = "" if record.producer_id is None else f" of producer {record.producer_id}"
        log, time = f"{row.where.topic}-{row.where.partition}", moment(record.timestamp)
        yield f"{log}: the record at offset {record.offset}{producer} is of {time} UTC, ahead of the clock."
    if len(first) > SHOWN_LOGS:
        yield f"And {counted(len(first) - SHOWN_LOGS, 'log')} more with records ahead of the clock: -o json."


def _rolls(logs: Sequence[_Log]) -> Iterator[RenderableType]:
    """Yield when the active segment of the only log rolls."""
    row = logs[0].totals if len(logs) == 1 else None
    if row is not None and row.rolls_at is not None:
        rolls = f"from {moment(row.rolls_at)} UTC on, by segment.ms {duration(row.segment_ms)}"
        yield f"Segment {logs[0].segments[-1].segment_base_offset} rolls with the first append {rolls}."


RETENTION_PARTITION = table_view(
    ShownColumn("POLICY", "cleanup_policy"),
    ShownColumn("CLEAN", "clean_bytes", "size", rank=1),
    ShownColumn("DIRTY", "cleanable_bytes", "size", rank=1),
    ShownColumn("TOMBSTONES GO (UTC)", "tombstones_removable_at", "time", rank=2),
    ShownColumn("THE CLEANER", _cleaner, least=24),
    is_listed=lambda row: row.will_clean is not None,
    folded="not compacted (--only retention_partition)",
)


def _cleaning(rows: Sequence[CompactPartitionRow]) -> str:
    """Return what a cleaning frees, of how many logs it would happen next."""
    bytes_read, bytes_written, picked = sums(rows, "bytes_read", "bytes_written", "picked")
    cleaned = sum(row.passes > 0 for row in rows)
    if not cleaned:
        return "A cleaning finds nothing to clean."
    due = f"{picked} of {counted(len(rows), 'log')} due now" if picked else "no log is due now"
    return f"A cleaning frees {size(max(bytes_read - bytes_written, 0))} of {size(bytes_read)}; {due}."


def _end_of(row: CompactPartitionRow) -> str:
    if not row.passes:
        return "nothing to clean"
    if row.passes > 1:
        return f"keys fill the memory: {row.passes} cleanings to {row.end_offset}"
    return "due" if row.picked else "not due"


COMPACT_SEGMENT = table_view(
    ShownColumn("SEGMENT", "segment_base_offset", "number"),
    ShownColumn("MADE OF", lambda row: " ".join(map(str, row.sources)), rank=2, least=12, is_cut=True),
    ShownColumn("BEFORE", "size_before", "size"),
    ShownColumn("AFTER", "size_after", "size"),
    ShownColumn("RECORDS KEPT", lambda row: f"{row.records_after} of {row.records_before}", "right text"),
    ShownColumn("BATCHES", "batches_after", "number", rank=1),
    is_listed=lambda row: row.size_after != row.size_before or len(row.sources) > 1,
    folded="unchanged (--only compact_segment)",
)
COMPACT_RECORD = table_view(
    ShownColumn("SEGMENT", "segment_base_offset", "number", rank=1),
    ShownColumn("OFFSET", "offset", "number"),
    ShownColumn("GOES BY", "reason"),
)
COMPACT_PARTITION = table_view(
    ShownColumn(
        "CLEANS", lambda row: (row.first_dirty_offset, row.end_offset) if row.passes else None, "range"
    ),
    ShownColumn("FREES", lambda row: max(row.bytes_read - row.bytes_written, 0), "size"),
    ShownColumn("OF", "bytes_read", "size", rank=1),
    ShownColumn("KEYS", "keys", "count", rank=2),
    ShownColumn("TOMBSTONES GO", "tombstones_removed", "count", rank=3),
    ShownColumn("", _end_of, least=16),
    verdict=_cleaning,
    assumes=partial(assumptions, advice=NAME_THEM),
)
