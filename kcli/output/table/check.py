"""The view of `check`: what is not clean, what was looked at in all partitions, and a verdict."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.console import RenderableType

from formats.names import LOG_DIR_FILES
from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.logdir.partition import LEADER_EPOCH_CHECKPOINT
from kcli.output.screen import Screen
from kcli.output.table.columns import NUMBER, ShownColumn
from kcli.output.table.fitted_table import table
from kcli.output.table.severities import STYLES, by_dir, codes, mark_column, severity_of
from kcli.output.table.table_view import TableInput, TableView
from kcli.output.units import counted, joined, number, size
from kcli.rows.checks import CLEAN, DAMAGED, WARNING, WILL_NOT_LOAD, CheckRow, EpochCheckRow

MARKS = {CLEAN: "", WARNING: "warning", DAMAGED: "error", WILL_NOT_LOAD: "error"}
RESULT_STYLES = {result: STYLES[severity] for result, severity in MARKS.items()}
PHASES = {
    "LOG": "batches",
    "DUMP": "batches",
    "IDX": "indexes",
    "EPOCH": "leader epochs",
    "PROD": "producers",
    "CKPT": "checkpoints",
    "DIR": "checkpoints",
    "START": "start-up",
    "RLMM": "tiered metadata",
}
"""By the first word of a finding's code: what was looked at."""
OF_FILES = {
    **dict.fromkeys(("index", "timeindex", "txnindex"), "IDX"),
    "snapshot": "PROD",
    LEADER_EPOCH_CHECKPOINT: "EPOCH",
    **dict.fromkeys(LOG_DIR_FILES, "CKPT"),
}
"""By the extension or the name of a file: what a finding is about that can be of any."""
UNREADABLE = "LOG-008"
OF_A_START = frozenset({"LOG-006", "LOG-009", "DIR-008"})
"""Findings with other codes that say what a start does."""
MOST_CODES = 3
"""Codes of findings of a directory that are named."""


class Phase(NamedTuple):
    """What was looked at in all partitions: the worst severity, "" for none, and the findings in words."""

    name: str
    severity: str
    findings: str


PHASE_COLUMNS = (ShownColumn("CHECKED", "name"), ShownColumn("FOUND", "findings", least=24))


def view_checks(answer: TableInput) -> TableView:
    """Return the view of results with the worst finding of each."""
    findings = answer.findings
    of_dir = by_dir(findings)

    def in_words(row: CheckRow) -> str:
        return _in_words([*of_dir.get(row.where.dir, ()), *_of_log_dir(row, findings)])

    def phases(rows: Sequence[CheckRow], screen: Screen) -> Iterator[RenderableType]:
        partitions = [row for row in rows if not row.is_log_dir]
        if partitions and not screen.is_part:
            if any(row.result != CLEAN for row in rows):
                yield ""
            marks = mark_column(lambda phase: phase.severity, screen.symbols)
            yield table((marks, *PHASE_COLUMNS), list(_phases(partitions, findings)), screen)

    return TableView(
        columns=(
            ShownColumn("RESULT", "result", style=lambda text: RESULT_STYLES.get(text, "")),
            ShownColumn("FOUND", in_words, least=24),
        ),
        severity=lambda row: MARKS.get(row.result, "error"),
        is_listed=lambda row: row.result != CLEAN,
        below=phases,
        verdict=_verdict,
    )


def _phases(partitions: Sequence[CheckRow], findings: Sequence[Finding]) -> Iterator[Phase]:
    """Yield what was looked at, with the codes that were found there.

    Of logs alone, and of remote segments, that is the batches: only a partition directory has a log end.
    """
    are_logs = all(row.log_end_offset is None and not row.errors for row in partitions)
    of_phase: dict[str, list[Finding]] = {phase: [] for phase in PHASES.values()}
    for finding in findings:
        if finding.severity != SEVERITIES[0]:
            of_phase[_phase_of(finding)].append(finding)
    batches, segments, size_read = (
        sum(getattr(row, name) or 0 for row in partitions) for name in ("batches", "segments", "log_bytes")
    )
    read = f"{number(batches)} in {counted(segments, 'segment')}, {size(size_read)}"
    for phase, own in of_phase.items():
        if own or phase == PHASES["LOG"] or not (are_logs or phase == PHASES["RLMM"]):
            count = Counter(finding.code for finding in own)
            words = [f"{code} ({number(times)})" if times > 1 else code for code, times in count.items()]
            yield Phase(phase, severity_of(own), joined((*([read] if phase == "batches" else []), *words)))


def _phase_of(finding: Finding) -> str:
    """Return what a finding is about; a DUMP- code says it by its file."""
    if finding.code in OF_A_START:
        return PHASES["START"]
    word, file = finding.code.partition("-")[0], finding.file or ""
    if word == "DUMP" or finding.code == UNREADABLE:
        word = OF_FILES.get(file, OF_FILES.get(file.rpartition(".")[2], "LOG"))
    return PHASES.get(word, PHASES["LOG"])


def _of_log_dir(row: CheckRow, findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the findings about a log dir that name no partition: they name a file or a directory in it."""
    if row.is_log_dir:
        for finding in findings:
            if finding.dir is None and os.path.dirname(finding.path or "") == row.where.dir:
                yield finding


def _in_words(findings: Sequence[Finding]) -> str:
    """Return what is wrong with a directory: what the worst finding says, and the codes of the others."""
    above = [finding for finding in findings if finding.severity != SEVERITIES[0]]
    if not above:
        return ""
    worst, *others = codes(above)
    more = f"; {' '.join(others[:MOST_CODES])}" if others else ""
    rest = f" +{len(others) - MOST_CODES}" if len(others) > MOST_CODES else ""
    return f"{worst} {above[0].message.removeprefix(f'{above[0].dir}/')}{more}{rest}"


def _verdict(rows: Sequence[CheckRow]) -> str:
    """Return how many partitions have each result, and how many log dirs are not clean."""
    of_log_dirs = Counter(row.result for row in rows if row.is_log_dir)
    of_partitions = Counter(row.result for row in rows if not row.is_log_dir)
    log_dirs, partitions = sum(of_log_dirs.values()), sum(of_partitions.values())
    read = joined(
        counted(count, noun) if count else ""
        for count, noun in ((log_dirs, "log dir"), (partitions, "partition"))
    )
    failing = " and ".join(
        counted(results[WILL_NOT_LOAD], noun)
        for results, noun in ((of_log_dirs, "log dir"), (of_partitions, "partition"))
        if results[WILL_NOT_LOAD]
    )
    bad_dirs = log_dirs - of_log_dirs[CLEAN] - of_log_dirs[WILL_NOT_LOAD]
    words = joined(
        (
            f"{failing} will not load" if failing else "",
            f"{counted(bad_dirs, 'log dir')} with findings" if bad_dirs else "",
            f"{number(of_partitions[DAMAGED])} damaged" if of_partitions[DAMAGED] else "",
            f"{number(of_partitions[WARNING])} with warnings" if of_partitions[WARNING] else "",
        )
    )
    if not words:
        return f"{read}: clean."
    clean = f", {number(of_partitions[CLEAN])} clean" if of_partitions[CLEAN] else ""
    return f"{read}: {words}{clean}."


def _epoch_verdict(rows: Sequence[EpochCheckRow]) -> str:
    counts = Counter(row.result for row in rows)
    results = joined(f"{number(counts[one])} {one}" for one in (DAMAGED, WARNING, CLEAN) if counts[one])
    return f"{counted(len(rows), 'partition')}: {results}."


EPOCH_CHECKS = TableView(
    columns=(
        ShownColumn("RESULT", "result", style=lambda text: RESULT_STYLES.get(text, "")),
        ShownColumn("FINDINGS", "findings", NUMBER),
    ),
    verdict=_epoch_verdict,
    severity=lambda row: MARKS.get(row.result, "error"),
)
