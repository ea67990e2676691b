"""The view of `startup`: what becomes of each partition and log dir, and whether the broker starts."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.broker_start import FAILS, OFFLINE
from kcli.kafka.storage.start_files import KEEP, REBUILT, FileChange
from kcli.output.screen import Screen
from kcli.output.table.grid import COUNT, NUMBER, SIZE, ShownColumn, table
from kcli.output.table.marks import STYLES, findings_line, joined
from kcli.output.table.places import log_dir_column, name_of, title
from kcli.output.table.tables import TableView, conclusion, draw_table, sentences
from kcli.output.units import counted, number, size
from kcli.rows.startup import StartedLogDir, StartupBrokerRow, StartupRow
from kcli.times import duration

MOST_PLANS = 3
"""Partitions whose files are listed; of more there is the table alone."""
MOST_FILES = 12
"""Files that are listed of a partition."""
LONGEST_SECONDS = 1e12
"""Of an estimate, so that it can be counted in ms."""
CLEAN, UNCLEAN = "clean", "unclean"
DONE = {"truncate": "cut", "delete": "deleted", "rename": "renamed"}
ACTION_STYLES = {
    "truncate": "yellow",
    "delete": "red",
    "create": "green",
    "rewrite": "cyan",
    "rename": "cyan",
}


def draw_startup(
    rows: Sequence[StartupRow | StartupBrokerRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield the partitions, of few of them the files, the log dirs, and the verdict."""
    partitions = [row for row in rows if isinstance(row, StartupRow)]
    broker = next((row for row in rows if isinstance(row, StartupBrokerRow)), None)
    if partitions:
        yield from draw_table(_partitions(partitions), partitions, screen)
        yield ""
    if len(partitions) <= MOST_PLANS:
        for row in partitions:
            yield from _files(row, screen)
    if broker is not None and (len(broker.log_dirs) > 1 or any(map(_is_offline, broker.log_dirs))):
        column, under = log_dir_column(broker.log_dirs, lambda one: str(one.dir))
        if under:
            yield title(under, screen)
        yield table((column, *LOG_DIRS), broker.log_dirs, screen)
        yield ""
    failing = [row for row in partitions if row.outcome == FAILS]
    for row in failing[:MOST_FILES] if broker is None or len(failing) > 1 else ():
        text = f"{screen.symbols.bad} {name_of(row.where)}: {row.error}: {row.error_message}"
        yield sentences(screen, text, style=STYLES["error"], indent="  ")
    if broker is not None:
        yield from _verdict(broker, screen)
    if partitions:
        yield from conclusion(screen, _total(partitions), style="" if broker else "bold")
    if findings:
        yield sentences(screen, findings_line(findings))


def _partitions(rows: Sequence[StartupRow]) -> TableView:
    """Return the view of partitions: how their broker stopped is in the title where that is one answer."""
    stops = {_stop(row) for row in rows}
    if len(stops) > 1:
        return PARTITIONS._replace(columns=(STOP, *PARTITIONS.columns))
    fact = "stopped cleanly" if stops == {CLEAN} else "not stopped cleanly"
    return PARTITIONS._replace(facts=lambda _: [fact])


def _verdict(row: StartupBrokerRow, screen: Screen) -> Iterator[RenderableType]:
    name = "The broker" if row.broker_id is None else f"Broker {row.broker_id}"
    if row.outcome == FAILS:
        text = f"{name} would not start (Kafka {row.kafka_version}): {row.error}."
        yield sentences(screen, text, style="bold red")
        yield sentences(screen, row.error_message or "", style=STYLES["error"], indent="  ")
        return
    offline = sum(map(_is_offline, row.log_dirs))
    without = f", without {counted(offline, 'log dir')}" if offline else ""
    seconds = "less than a second"
    if row.seconds >= 1:
        seconds = f"about {duration(round(min(row.seconds, LONGEST_SECONDS) * 1000))}"
    text = (
        f"{name} would start (Kafka {row.kafka_version}){without}: {size(row.bytes_read)} of logs to read, "
        f"{seconds}."
    )
    yield sentences(screen, text, style="bold")


def _is_offline(one: StartedLogDir) -> bool:
    return one.outcome == OFFLINE


def _severity(row: StartupRow) -> str | None:
    if row.outcome == FAILS:
        return "error"
    return "warning" if row.records_lost or row.records_lost is None else None


def _stop(row: StartupRow | StartedLogDir) -> str:
    return CLEAN if row.clean else UNCLEAN


def _changes(row: StartupRow) -> str:
    """Return in words how many segments are cut, deleted and renamed, and how many indexes are rebuilt."""
    logs = [change for change in row.files if change.file.endswith((".log", ".log.swap"))]
    counts = Counter(DONE[change.action] for change in logs if change.action in DONE)
    indexes = sum(change.reason == REBUILT and change.file.endswith(".index") for change in row.files)
    counts["rebuilt"] = indexes
    return joined(f"{count} {word}" for word, count in counts.items() if count) or str(row.error or "")


def _total(rows: Sequence[StartupRow]) -> str:
    failing = sum(row.outcome == FAILS for row in rows)
    lost = sum(row.records_lost or 0 for row in rows)
    unknown = sum(row.records_lost is None and row.outcome != FAILS for row in rows)
    removes = joined(
        (
            counted(lost, "record") if lost else "",
            f"of {counted(unknown, 'partition')} an unknown number" if unknown else "",
        )
    )
    loads = f"{failing} would not load" if failing else "all load"
    return f"{counted(len(rows), 'partition')}: {loads}; recovery removes {removes or 'no record'}."


def _files(row: StartupRow, screen: Screen) -> Iterator[RenderableType]:
    """Yield the files of a partition that do not stay as they are."""
    changes = [change for change in row.files if change.action != KEEP]
    if not changes:
        return
    kept = len(row.files) - len(changes)
    yield sentences(screen, f"{name_of(row.where)}: {counted(len(changes), 'file')} change, {kept} stay.")
    yield table(FILES, changes[:MOST_FILES], screen)
    if len(changes) > MOST_FILES:
        yield sentences(screen, f"{number(len(changes) - MOST_FILES)} more: -o json")
    yield ""


def _action_style(text: str) -> str:
    return ACTION_STYLES.get(text, "")


def _file_action(change: FileChange) -> str:
    return change.action


STOP = ShownColumn("STOP", _stop, rank=4)
PARTITIONS = TableView(
    columns=(
        ShownColumn("OUTCOME", "outcome"),
        ShownColumn("SEGS", "segments", NUMBER, rank=6),
        ShownColumn("START", "log_start_offset", NUMBER, rank=3),
        ShownColumn("END", "log_end_offset", NUMBER),
        ShownColumn("READS", "bytes_read", SIZE, rank=5),
        ShownColumn("LOSES", "records_lost", COUNT, rank=1),
        ShownColumn("RECOVERY", _changes, least=26, rank=2, style=STYLES["warning"]),
    ),
    severity=_severity,
)

LOG_DIRS = (
    ShownColumn("STOP", _stop, rank=2),
    ShownColumn("OUTCOME", "outcome", style=lambda text: STYLES["error"] if text == OFFLINE else ""),
    ShownColumn("PARTITIONS", "partitions", COUNT, rank=4),
    ShownColumn("FAIL", lambda one: one.failing_partitions or None, COUNT, rank=3),
    ShownColumn("READS", "bytes_read", SIZE, rank=5),
    ShownColumn("WHY", "error", least=12, rank=1),
)

FILES = (
    ShownColumn("", _file_action, style=_action_style),
    ShownColumn("FILE", "file"),
    ShownColumn("BEFORE", "size_before", SIZE, rank=2),
    ShownColumn("AFTER", "size_after", SIZE, rank=2),
    ShownColumn("WHY", "reason", least=16, rank=1, style="dim"),
)
