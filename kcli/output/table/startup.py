"""The view of `startup`: what becomes of each partition and log dir, and whether the broker starts."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType

from formats.names import CLUSTER_METADATA
from kcli.kafka.storage.file_actions import REBUILT
from kcli.output.screen import Screen
from kcli.output.table.columns import STYLES, ShownColumn
from kcli.output.table.fitted_table import sentences, table
from kcli.output.table.shared_columns import SharedColumn, name_of
from kcli.output.table.table_view import FEW, ROWS_OF_A_SCREEN, TableInput, draw_table, table_view
from kcli.output.units import counted, joined, number, size, tally
from kcli.rows.startup import (
    CREATED_EMPTY,
    DEGRADED,
    FAILS,
    LOADS,
    OFFLINE,
    WAITS,
    StartedLogDir,
    StartupBrokerRow,
    StartupReleaseRow,
    StartupRow,
)
from kcli.words import duration

MOST_REASONS = 2
MOST_FILES = 12
"""Files that are listed of a partition, and partitions whose errors are."""
LONGEST_SECONDS = 1e12
"""Of an estimate, so that it can be counted in ms."""
DONE = {"truncate": "cut", "delete": "deleted", "rename": "renamed"}
OUTCOME_WORDS = {
    FAILS: "would not load",
    "stray": "made -stray",
    "deleted": "deleted",
    "future-promoted": "-future made current",
    "created-empty": "begun empty",
    "not-started": "not loaded",
    LOADS: "loaded",
}
LOSE = {CREATED_EMPTY, "stray", "deleted"}
IN_STRAY_DIRECTORIES = "in -stray directories"
"""Of replicas that the start does not rename: they lie there."""
NEWS = {"begun empty": ("created-empty",), "made -stray": ("stray",), "not loaded": (FAILS, "not-started")}
"""What the first line says of replicas -> their outcomes."""
ACTION_STYLES = {
    "truncate": "yellow",
    "delete": "red",
    "create": "green",
    "rewrite": "cyan",
    "rename": "cyan",
}


def draw_startup(answer: TableInput) -> Iterator[RenderableType]:
    """Yield the partitions, of few of them the files, the log dirs, and the verdict."""
    partitions = [row for row in answer.rows if isinstance(row, StartupRow)]
    brokers = [row for row in answer.rows if isinstance(row, StartupBrokerRow)]
    broker = brokers[0] if len(brokers) == 1 else None

    def below(rows: Sequence[StartupRow], screen: Screen) -> Iterator[RenderableType]:
        if len(rows) <= FEW:
            for row in rows:
                yield from _files(row, screen)
        dirs = [log_dir for row in brokers for log_dir in _log_dirs_of(row) if broker or _is_offline(log_dir)]
        if len(dirs) > 1 or any(map(_is_offline, dirs)):
            yield from [""] if rows else []
            yield table((*LOG_DIR_COLUMN.column(dirs), *LOG_DIRS), dirs, screen)
        failing = [row for row in rows if row.outcome == FAILS]
        if failing and (broker is None or len(failing) > 1):
            yield ""
            for row in failing[:MOST_FILES]:
                text = f"{screen.symbols.bad} {name_of(row.where)}: {row.error}: {row.error_message}"
                yield sentences(screen, text, style=STYLES["error"], indent="  ")

    def verdict(rows: Sequence[StartupRow]) -> str:
        lines = [line for row in brokers for line in _verdict(row, rows, _voters_condition(row, brokers))]
        return "\n".join([*_quorum(brokers), *lines, *([_total(rows)] if rows else [])])

    view = PARTITIONS._replace(below=below, verdict=verdict)
    if len(partitions) > ROWS_OF_A_SCREEN:
        view = view._replace(
            is_listed=lambda row: _severity(row) is not None, folded="load, and lose nothing"
        )
    yield from draw_table(view, answer._replace(rows=partitions))


draw_startup_broker = draw_startup


def _log_dirs_of(broker: StartupBrokerRow) -> Iterator[StartedLogDir]:
    """Yield the log dirs of a broker: one that does not start reaches none."""
    for log_dir in broker.log_dirs:
        is_reached = broker.outcome not in {FAILS, WAITS} or _is_offline(log_dir)
        yield log_dir if is_reached else log_dir._replace(outcome=NOT_REACHED)


def _quorum(brokers: Sequence[StartupBrokerRow]) -> Iterator[str]:
    """Yield of each quorum with several voters here whether they are a majority, and who of them may lead."""
    for cluster in dict.fromkeys(row.cluster_id for row in brokers):
        voters_read = [row for row in brokers if row.cluster_id == cluster and row.broker_id in row.voters]
        if len(voters_read) > 1:
            voters, nodes = {*voters_read[0].voters}, {row.broker_id for row in voters_read}
            lead = " or ".join(str(row.broker_id) for row in voters_read if row.electable)
            behind = joined(str(row.broker_id) for row in voters_read if row.electable is False)
            verdict = f"Quorum: {len(nodes)} of {counted(len(voters), 'voter')} would start here, "
            verdict += "" if len(nodes) > len(voters) // 2 else "no majority, "
            verdict += f"node {lead} may lead" if lead else "no node here may lead without the others"
            yield f"{verdict}{f'; behind: {behind}' if behind else ''}."


def _voters_condition(row: StartupBrokerRow, brokers: Sequence[StartupBrokerRow]) -> str:
    """Return on which voters a broker depends; nothing where a majority of them would start here."""
    voters = {*row.voters}
    nodes = voters & {node.broker_id for node in brokers if node.cluster_id == row.cluster_id and node.voters}
    if len(nodes) > len(voters) // 2 or not voters:
        return ""
    return f", if a majority of its voters answers: {len(nodes)} of {len(voters)} here"


def _is_stray(row: StartupRow) -> bool:
    """Whether a row is of a directory that is -stray already."""
    return row.outcome == "stray" and str(row.where.dir).endswith("-stray")


def _reasons(rows: Sequence[StartupRow]) -> Iterator[str]:
    """Yield why replicas are renamed, discarded or begun empty, the most frequent reasons first."""
    counts = Counter(
        (row.outcome, row.reason)
        for row in rows
        if row.outcome in LOSE
        and not _is_stray(row)
        and (row.records_lost != 0 or row.outcome == CREATED_EMPTY)
    )
    for (outcome, reason), number_of_rows in counts.most_common(MOST_REASONS):
        yield f"{counted(number_of_rows, 'replica')} {OUTCOME_WORDS[outcome]}: {reason}."


def _verdict(row: StartupBrokerRow, replicas: Sequence[StartupRow], condition: str) -> list[str]:
    """Return whether the broker starts, on which `condition`, the cause, and what loses records."""
    name = _name(row.broker_id)
    release = f"(Kafka {row.kafka_version})"
    cause = [f"{row.cause_path}: {row.reason}."] if row.cause_path else []
    cause += [f"server.log: {row.server_log}"] if row.server_log else []
    cause += [f"To do: {row.remedy}."] if row.remedy else []
    if row.outcome == FAILS:
        return [f"{name} would not start {release}: {row.error}.", *cause]
    if row.outcome == WAITS:
        return [f"{name} would wait for ever {release}, and never be ready.", *cause]
    offline = sum(map(_is_offline, row.log_dirs))
    without = f", without {counted(offline, 'log dir')}" if offline else ""
    time = "less than a second"
    if row.seconds >= 1:
        time = f"about {duration(round(min(row.seconds, LONGEST_SECONDS) * 1000))}"
    cost = f"{size(row.bytes_read)} of logs to read, {time}; {size(row.bytes_needed)} of disk must be free"
    dirs = {log_dir.dir for log_dir in row.log_dirs}
    strays = [log for log in replicas if _is_stray(log) and os.path.dirname(str(log.where.dir)) in dirs]
    counts = Counter(row.partitions_by_outcome)
    counts["stray"] -= len(strays)
    lacking = {stray.reason for stray in strays if stray.records_lost != 0}
    strays = [stray for stray in strays if stray.reason in lacking]  # but for former replicas
    stray_records = sum(stray.records_lost or 0 for stray in strays)
    lost = (row.records_lost or 0) - stray_records
    lie = "replica lies in a -stray directory" if len(strays) == 1 else "replicas lie in -stray directories"
    affected = ((text, sum(counts[outcome] for outcome in outcomes)) for text, outcomes in NEWS.items())
    news = joined(
        (
            f"{len(strays)} {lie} ({counted(stray_records, 'record')})" if strays else "",
            *(f"{counted(count, 'replica')} {text}" for text, count in affected if count),
            f"{counted(lost, 'record')} lost" if lost else "",
        )
    )
    details = news or (cost if not condition else "")
    if not cause:
        cause = [*_reasons([replica for replica in replicas if replica.where.broker_id == row.broker_id])]
    colon = "" if not details else "; " if condition else ": "
    reasons = (
        f"{counted(count, '-stray directory', '-stray directories')}: {reason}."
        for reason, count in Counter(stray.reason for stray in strays).items()
    )
    lines = [f"{name} would start {release}{without}{condition}{colon}{details}.", *cause, *reasons]
    lines += [f"{cost[0].upper()}{cost[1:]}."] if news or condition else []
    if row.metadata_path is None and not counts["stray"]:
        lacks = "whole" if CLUSTER_METADATA in (row.cause_path or "") else "readable"
        gap = "what the metadata decides is not judged (--metadata PATH)"
        lines.append(f"No {lacks} metadata log is here: {gap}.")
    return lines


def _is_offline(log_dir: StartedLogDir) -> bool:
    return log_dir.outcome == OFFLINE


NOT_REACHED: Any = "not reached"
"""Of a log dir of a broker that does not start: it is neither online nor offline."""


def _severity(row: StartupRow) -> str | None:
    if row.outcome == FAILS:
        return "error"
    is_usual = row.outcome in {LOADS, "deleted"} or _is_stray(row)
    return None if is_usual and row.records_lost == 0 else "warning"


def _stop(row: StartupRow | StartedLogDir) -> str:
    return "cleanly" if row.clean else "not cleanly"


def _changes(row: StartupRow) -> str:
    """Return in words how many segments are cut, deleted and renamed, and how many indexes are rebuilt."""
    logs = [change for change in row.files if change.file.endswith((".log", ".log.swap"))]
    counts = Counter(DONE[change.action] for change in logs if change.action in DONE)
    counts["rebuilt"] = sum(
        change.reason == REBUILT and change.file.endswith(".index") for change in row.files
    )
    return tally(counts) or str(row.error or "")


def _total(rows: Sequence[StartupRow]) -> str:
    """Return how many replicas have each outcome, and how many records are lost."""
    outcomes = Counter(IN_STRAY_DIRECTORIES if _is_stray(row) else row.outcome for row in rows)
    lost = sum(row.records_lost or 0 for row in rows)
    unknown = [row for row in rows if row.records_lost is None and row.outcome != FAILS]
    doubt = ""
    if unknown:
        partitions = counted(len(unknown), "partition") if len(unknown) > 1 else name_of(unknown[0].where)
        reason = "" if len(unknown) > 1 else f": {unknown[0].reason}"
        doubt = f"of {partitions} an unknown number{reason}"
    losses = joined((counted(lost, "record") if lost else "", doubt))
    none = "no record that is here" if CREATED_EMPTY in outcomes else "no record"
    texts = {**OUTCOME_WORDS, IN_STRAY_DIRECTORIES: IN_STRAY_DIRECTORIES}
    become = tally({text: outcomes[name] for name, text in texts.items()})
    become = "all load" if set(outcomes) == {LOADS} else become
    return f"{counted(len(rows), 'partition')}: {become}; lost by this start: {losses or none}."


def _of_releases(rows: Sequence[StartupReleaseRow]) -> Iterator[str]:
    """Yield for each broker the releases that start it."""
    for broker_id in dict.fromkeys(row.broker_id for row in rows):
        starts = [row for row in rows if row.broker_id == broker_id and row.outcome not in {FAILS, WAITS}]
        starting, exceptions = (
            joined(row.kafka_version for row in starts if (row.reason is None) == is_usual)
            for is_usual in (True, False)
        )
        releases = f"Kafka {starting}" if starting else "no release of Kafka that kcli knows"
        exceptions = f"; with {exceptions} as WHY says" if exceptions else ""
        yield f"{_name(broker_id)} would start with {releases}{exceptions}."


def _name(broker_id: int | None) -> str:
    return "The broker" if broker_id is None else f"Broker {broker_id}"


def _reason(row: StartupReleaseRow) -> str:
    """Return why a release does not start as usual; of a log dir that goes offline which file it is."""
    if row.outcome != DEGRADED or row.reason is None:
        return ": ".join(filter(None, (row.error, row.reason)))
    file = "/".join(str(row.cause_path).split("/")[-2:])
    return f"a log dir goes offline: {file}: {row.reason.split('; ')[0]}"


def _files(row: StartupRow, screen: Screen) -> Iterator[RenderableType]:
    """Yield the files of a partition that do not stay as they are."""
    changes = [change for change in row.files if change.action != "keep"]
    if changes:
        stay = len(row.files) - len(changes)
        yield ""
        yield sentences(screen, f"{name_of(row.where)}: {counted(len(changes), 'file')} change, {stay} stay.")
        yield table(FILE_COLUMNS, changes[:MOST_FILES], screen)
    if len(changes) > MOST_FILES:
        yield sentences(screen, f"{number(len(changes) - MOST_FILES)} more: -o json")


PARTITIONS = table_view(
    ShownColumn("OUTCOME", "outcome"),
    ShownColumn("SEGS", "segments", "number", rank=6),
    ShownColumn("START", "log_start_offset", "number", rank=3),
    ShownColumn("END", "log_end_offset", "number"),
    ShownColumn("READS", "bytes_read", "size", rank=5),
    ShownColumn("LOSES", "records_lost", "count", rank=1),
    ShownColumn("RECOVERY", _changes, least=24, rank=2, style=STYLES["warning"]),
    shared=(SharedColumn("STOPPED", _stop, "stopped {}", rank=4),),
    severity=_severity,
)
STARTUP_RELEASE = table_view(
    ShownColumn("OUTCOME", "outcome"),
    ShownColumn("WHY", _reason, least=30, rank=1),
    shared=(
        SharedColumn("BROKER", lambda row: row.broker_id, "broker {}", kind="number"),
        SharedColumn("KAFKA", lambda row: row.kafka_version, "Kafka {}"),
    ),
    severity=lambda row: "error" if row.outcome in {FAILS, WAITS} else "warning" if row.reason else None,
    verdict=lambda rows: "\n".join(_of_releases(rows)),
)
LOG_DIR_COLUMN = SharedColumn("LOG DIR", lambda log_dir: log_dir.dir, are_paths=True)
LOG_DIRS = (
    ShownColumn("STOPPED", _stop, rank=2),
    ShownColumn("OUTCOME", "outcome", style={OFFLINE: STYLES["error"]}.get),
    ShownColumn("PARTITIONS", "partitions", "count", rank=4),
    ShownColumn("FAIL", lambda log_dir: log_dir.failing_partitions or None, "count", rank=3),
    ShownColumn("READS", "bytes_read", "size", rank=5),
    ShownColumn("WHY", "error", least=12, rank=1),
)
FILE_COLUMNS = (
    ShownColumn("", "action", style=ACTION_STYLES.get),
    ShownColumn("FILE", "file"),
    ShownColumn("BEFORE", "size_before", "size", rank=2),
    ShownColumn("AFTER", "size_after", "size", rank=2),
    ShownColumn("WHY", "reason", least=16, rank=1, style="dim"),
)
