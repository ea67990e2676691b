"""The views of `check`, `epoch check`, `diff` and `salvage`: what is damaged, what changed, what is lost."""

import os
import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from operator import attrgetter

from rich.console import RenderableType

from formats.names import CLUSTER_METADATA
from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.kafka.kraft.replica_fates import LEFT_RECORDS
from kcli.output.screen import Screen
from kcli.output.table.columns import STYLES, ShownColumn, by_dir, codes
from kcli.output.table.fitted_table import sentences, table
from kcli.output.table.shared_columns import common_dir, name_of
from kcli.output.table.table_view import TableInput, TableView, table_view
from kcli.output.units import counted, joined, size, sums, tally
from kcli.rows.checks import (
    CLEAN,
    DAMAGED,
    VERDICTS,
    WARNING,
    WILL_NOT_LOAD,
    CheckRow,
    EpochCheckRow,
    RunDiffRow,
    SalvageRow,
)

MARKS = {WILL_NOT_LOAD: "error", DAMAGED: "error", WARNING: "warning", CLEAN: ""}
WORST_FIRST = {WILL_NOT_LOAD: 1, DAMAGED: 2, WARNING: 3, CLEAN: 4}
PROCESS_ENDS = "the broker's process ends"
CAUSES, MOST_CAUSES = ("START-009", "START-022", "START-008", "START-014", "START-010"), 2
METADATA_LOG = f"{CLUSTER_METADATA}-0"
MOST_CODES = 3
MORE_OF_A_CAUSE = re.compile("; (?:server.log|to do): ")
STRAY_CODES = {"START-012", "START-013"}
LOSES = {
    "START-019": "begin replicas empty whose records no other replica has",
    "START-020": "discard the records of a log",
}
"""By code what a start does to logs that are no row."""

CHECKED_TOO = "indexes, leader epochs, producers, checkpoints, start-up"
"""What is looked at in a partition directory besides batches."""


def draw_check(answer: TableInput) -> TableView:
    """Return the view of results with the worst finding of each."""
    findings = answer.findings
    of_dir, first_lines = by_dir(findings), _causes(findings)
    dirs = {row.where.dir for row in answer.rows}
    orphans = [finding for finding in findings if (finding.dir or finding.path) and finding.dir not in dirs]

    refused = {finding.dir for finding in findings if finding.code in CAUSES}

    def worst(row: CheckRow) -> str:
        if _is_unserved(row, refused):
            return "; ".join(["its log dir goes offline", *codes(of_dir.get(row.where.dir, ()))[:MOST_CODES]])
        file_findings = [
            finding
            for finding in orphans
            if row.is_log_dir and os.path.dirname(finding.dir or finding.path or "") == row.where.dir
        ]
        return _worst_text([*of_dir.get(row.where.dir, ()), *file_findings], first_lines)

    return table_view(
        RESULT,
        ShownColumn("FOUND", worst, least=24),
        severity=_severity,
        is_listed=lambda row: (row.is_log_dir and row.result != CLEAN) or bool(row.errors or row.warnings),
        order=lambda row: (WORST_FIRST.get(row.result, 0), not row.is_log_dir),
        closing=_checked,
        verdict=lambda rows: "\n".join(
            (*_starts(rows, findings), _verdict(rows, refused), *_cause_lines(rows, first_lines))
        ),
    )


def _starts(rows: Sequence[CheckRow], findings: Sequence[Finding]) -> Iterator[str]:
    """Yield that a broker would not start, and what a start does to logs: their clients then lack records."""
    # a log dir that is offline may hide whether the process ends
    is_sure = all(finding.code != "START-010" for finding in findings)
    ends = any(
        (is_sure and PROCESS_ENDS in finding.message) or os.path.basename(finding.dir or "") == METADATA_LOG
        for finding in findings
        if finding.code == "START-008"
    )
    ends = ends or any(finding.code == "START-009" for finding in findings)
    brokers = {row.where.broker_id for row in rows} - {None}
    if ends and any(row.is_log_dir for row in rows):
        yield f"Broker {brokers.pop()} would not start." if len(brokers) == 1 else "A broker would not start."
    strays = {finding.dir for finding in findings if finding.code in STRAY_CODES}
    if strays:
        yield f"A start would make {counted(len(strays), 'partition')} -stray: kcli explain START-013."
    for code, does in LOSES.items():
        losses = [finding for finding in findings if finding.code == code]
        if losses:
            yield f"A start would {does}: kcli explain {code}."
            yield f"{losses[0].dir}: {losses[0].message}."
    stray_dirs = sum(finding.code == LEFT_RECORDS for finding in findings)
    if stray_dirs:
        hold = "directory holds" if stray_dirs == 1 else "directories hold"
        yield f"{stray_dirs} -stray {hold} records that no broker reads: kcli explain {LEFT_RECORDS}."


def _causes(findings: Sequence[Finding]) -> Sequence[Finding]:
    """Return the first reasons why a process ends, waits or loses a log dir, each with its file."""
    causes: dict[str, Finding] = {}
    for cause in (finding for code in CAUSES for finding in findings if finding.code == code):
        if cause.path:
            causes.setdefault(cause.path, cause)
    return [*causes.values()][:MOST_CAUSES]


def _cause_lines(rows: Sequence[CheckRow], causes: Sequence[Finding]) -> Iterator[str]:
    """Yield the causes, with paths below what the title names; server.log has them whole."""
    log_dirs = (row.where.dir if row.is_log_dir else os.path.dirname(row.where.dir or "") for row in rows)
    below = f"{common_dir(log_dirs)}/"
    for cause in causes:
        clauses = f"{cause.path}: {cause.message}.".split("; ")
        is_short = below not in {"/", "//"}
        yield "; ".join(
            clause.replace(below, "") if is_short and not clause.startswith("server.log: ") else clause
            for clause in clauses
        )


def _severity(row: CheckRow | EpochCheckRow) -> str:
    return MARKS.get(row.result, "error")


def _checked(rows: Sequence[CheckRow]) -> str:
    """Return what was read; of logs alone, and of remote segments, that is the batches."""
    partitions = [row for row in rows if not row.is_log_dir]
    batches, segments, size_read = sums(partitions, "batches", "segments", "log_bytes")
    is_full_check = any(row.log_end_offset is not None or row.errors for row in partitions)
    contents = f"{counted(batches, 'batch', 'batches')} in {counted(segments, 'segment')} ({size(size_read)})"
    return f"Checked: {joined((contents, CHECKED_TOO if is_full_check else ''))}." if partitions else ""


def _worst_text(findings: Sequence[Finding], causes: Sequence[Finding] = ()) -> str:
    """Return what the worst finding says, in short if it is one of `causes`, and the codes of the others."""
    above = [finding for finding in findings if finding.severity != SEVERITIES[0]]
    if not above:
        return ""
    worst, *other_codes = codes(above)
    tail = f"; {' '.join(other_codes[:MOST_CODES])}" if other_codes else ""
    tail += f" +{len(other_codes) - MOST_CODES}" if len(other_codes) > MOST_CODES else ""
    message = above[0].message.removeprefix(f"{above[0].dir}/")
    is_cause = above[0].path in {cause.path for cause in causes if cause.path}
    message = MORE_OF_A_CAUSE.split(message)[0] if is_cause else message
    return f"{worst} {message}{tail}"


def _is_unserved(row: CheckRow, refused: Container[str | None]) -> bool:
    """Whether a log that would load is left with its log dir: none of the directories that are `refused`."""
    return row.result == WILL_NOT_LOAD and not (row.is_log_dir or row.where.dir in refused)


def _verdict(rows: Sequence[CheckRow], refused: Container[str | None]) -> str:
    """Return how many partitions have each result, and how many log dirs are not clean."""
    unserved = sum(_is_unserved(row, refused) for row in rows)
    of_log_dirs = Counter(row.result for row in rows if row.is_log_dir)
    of_partitions = Counter(row.result for row in rows if not row.is_log_dir)
    nouns = ((of_log_dirs, "log dir"), (of_partitions, "partition"))
    counts = joined(counted(results.total(), noun) for results, noun in nouns if results)
    of_partitions[WILL_NOT_LOAD] -= unserved
    failing = [counted(count, noun) for results, noun in nouns if (count := results[WILL_NOT_LOAD])]
    bad_dirs = of_log_dirs[WARNING] + of_log_dirs[DAMAGED]
    troubles = joined(
        (
            f"{' and '.join(failing)} will not load" if failing else "",
            f"{counted(bad_dirs, 'log dir')} with findings" if bad_dirs else "",
            tally({"damaged": of_partitions[DAMAGED], "with warnings": of_partitions[WARNING]}),
        )
    )
    clean = tally({"clean": of_partitions[CLEAN]}) if troubles else "clean"
    offline = f"{unserved} not loaded: their log dir goes offline" if unserved else ""
    return f"{counts}: {joined((troubles, clean, offline))}."


def _epoch_verdict(rows: Sequence[EpochCheckRow]) -> str:
    counts = Counter(row.result for row in rows)
    return f"{counted(len(rows), 'partition')}: {tally({mark: counts[mark] for mark in MARKS})}."


RESULT = ShownColumn("RESULT", "result", style=lambda text: STYLES[MARKS.get(text, "error")])
EPOCH_CHECK = table_view(
    RESULT, ShownColumn("FINDINGS", "findings", "number"), verdict=_epoch_verdict, severity=_severity
)


ERRORS, WARNINGS = VERDICTS[:3], ("gone", "changed")


def _moved(field: str) -> Callable[[RunDiffRow], list[object] | None]:
    """Return what gives the values of a field in both runs, but for nulls; None for none."""
    values = attrgetter(f"{field}_before", f"{field}_after")
    return lambda row: [value for value in values(row) if value is not None] or None


def _grown(row: RunDiffRow) -> int | None:
    before, after = row.log_bytes_before, row.log_bytes_after
    return None if before is None or after is None else after - before


def _diff_verdict(rows: Sequence[RunDiffRow]) -> str:
    verdicts = Counter(row.verdict for row in rows)
    return f"{counted(len(rows), 'partition')}: {tally({name: verdicts[name] for name in VERDICTS})}."


RUN_DIFF = table_view(
    ShownColumn("VERDICT", "verdict"),
    ShownColumn("RESULT", _moved("result"), "changed text", rank=2),
    ShownColumn("LOG START", _moved("log_start_offset"), "change", rank=4),
    ShownColumn("LOG END", _moved("log_end_offset"), "change", rank=1),
    ShownColumn("EPOCH", _moved("latest_epoch"), "change", rank=3),
    ShownColumn("GREW BY", _grown, "size", rank=5),
    ShownColumn("SEGMENTS", _moved("segments"), "change", rank=6),
    ShownColumn("NEW", lambda row: joined(row.findings_new), least=12),
    verdict=_diff_verdict,
    severity=lambda row: "error" if row.verdict in ERRORS else "warning" if row.verdict in WARNINGS else None,
)


LOST = (
    ShownColumn("NOT SAVED", "file"),
    ShownColumn("FROM BYTE", "start", "number"),
    ShownColumn("TO", "end", "number"),
    ShownColumn("SIZE", lambda lost: lost.end - lost.start, "size"),
    ShownColumn("OFFSET", "first_offset", "number"),
    ShownColumn("WHY", "reason"),
)
MOST_RANGES = 25
"""Ranges that are listed."""
FILE_NOT_SAVED, RECORDS_LOST, MAY_BE_LOST = "SALV-004", "SALV-010", "SALV-011"


def draw_salvage(answer: TableInput) -> TableView:
    """Return the view of what was written of each partition, what not, and a verdict."""
    files = [finding.file or "" for finding in answer.findings if finding.code == FILE_NOT_SAVED]
    codes = {finding.code for finding in answer.findings}
    return table_view(
        ShownColumn("SEGMENTS", "segments", "count"),
        ShownColumn("BATCHES", "batches", "count"),
        ShownColumn("SIZE", "bytes", "size", rank=1),
        ShownColumn("OFFSETS", lambda row: (row.log_start_offset, row.log_end_offset), "range"),
        ShownColumn("FILES", lambda row: len(row.files), "count", rank=2),
        ShownColumn("IN", "out_dir", may_overflow=True),
        severity=lambda row: "error" if row.lost or row.batches_lost or row.bytes_lost else "",
        below=_draw_lost,
        verdict=lambda rows: "\n".join(_salvage_verdict(row, files, codes) for row in rows),
    )


def _draw_lost(rows: Sequence[SalvageRow], screen: Screen) -> Iterator[RenderableType]:
    for row in rows:
        if row.lost:
            yield ""
            yield from [sentences(screen, name_of(row.where))] if len(rows) > 1 else []
            yield table(LOST, row.lost[:MOST_RANGES], screen)
        if len(row.lost) > MOST_RANGES:
            yield sentences(screen, f"{len(row.lost) - MOST_RANGES} more: -o json lists them.", style="dim")


def _salvage_verdict(row: SalvageRow, files: Sequence[str], codes: set[str]) -> str:
    lost = [counted(row.batches_lost, "batch", "batches")] if row.batches_lost else []
    lost += [size(row.bytes_lost)] if row.bytes_lost else []
    missing = ["records that no log has"] if RECORDS_LOST in codes else []
    saved = "All batches are saved." if row.batches is not None else "The indexes are written anew."
    if codes & {RECORDS_LOST, MAY_BE_LOST}:
        saved = "All batches that the logs have are saved."
    parts = [f"Not saved: {joined([*lost, *files, *missing])}."] if lost or files or missing else []
    parts += [saved] if not lost else []
    parts += ["Other records may be lost."] if MAY_BE_LOST in codes and not missing else []
    return " ".join(parts)
