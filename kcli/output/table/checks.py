"""The view of `check`: a result for each directory with what is wrong in words, and a verdict on all."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.console import RenderableType

from formats.names import LOG_DIR_FILES
from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.logdir.partition import LEADER_EPOCH_CHECKPOINT
from kcli.output.screen import Screen
from kcli.output.table.grid import ShownColumn, table
from kcli.output.table.marks import STYLES, by_dir, findings_line, joined, mark
from kcli.output.table.places import log_dir_column, title
from kcli.output.table.tables import TableView, conclusion, draw_table, sentences
from kcli.output.units import counted, number, size
from kcli.rows.check import CLEAN, DAMAGED, WARNING, WILL_NOT_LOAD, CheckRow

MOST_CLEAN = 5
"""Clean rows that are listed where others are not clean."""
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
OF_A_START = frozenset({"LOG-006", "LOG-009", "DIR-009"})
"""Findings with other codes that say what a start does."""
MOST_CODES = 3
"""Codes of findings of a directory that are named."""


class Phase(NamedTuple):
    """What was looked at in all partitions: the worst severity, "" for none, and what was found."""

    name: str
    severity: str
    found: str


def draw_checks(
    rows: Sequence[CheckRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield a table of results, the worst findings below it, and a verdict."""
    partitions = [row for row in rows if not row.is_log_dir]
    clean = [row for row in partitions if row.result == CLEAN]
    leaves_out = MOST_CLEAN < len(clean) < len(partitions)
    of_dir = by_dir(findings)

    def found(row: CheckRow) -> str:
        return _found([*of_dir.get(row.where.dir, ()), *_of_log_dir(row, findings)])

    def severity(row: CheckRow) -> str:
        return MARKS.get(row.result, "error")

    result = ShownColumn("RESULT", "result", style=lambda text: RESULT_STYLES.get(text, ""))
    what = ShownColumn("FOUND", found, least=24)
    bad = [row for row in rows if row.is_log_dir and row.result != CLEAN]
    if bad or not partitions:
        marks = ShownColumn("", lambda row: mark(severity(row), screen.symbols))
        log_dir, under = log_dir_column(bad or rows, lambda row: str(row.where.dir))
        if under:
            yield title(under, screen)
        yield table((marks, log_dir, result, what), bad or rows, screen)
        yield ""
    if partitions:
        shown = [row for row in partitions if row.result != CLEAN] if leaves_out else partitions
        view = TableView(columns=(result, what), severity=severity)
        yield from draw_table(view, shown, screen, title_of=partitions)
    if leaves_out:
        line = f"{mark('', screen.symbols)}  {number(len(clean))} more are clean: -o wide lists them"
        yield sentences(screen, line, style=STYLES[""])
    if partitions and not screen.is_part:
        yield ""
        yield table(
            (
                ShownColumn("", lambda phase: mark(phase.severity, screen.symbols)),
                ShownColumn("CHECKED", "name"),
                ShownColumn("FOUND", "found", least=24),
            ),
            list(_phases(partitions, findings)),
            screen,
        )
    yield ""
    yield from conclusion(screen, _verdict(rows), style="bold")
    if findings:
        yield sentences(screen, findings_line(findings))


def _phases(partitions: Sequence[CheckRow], findings: Sequence[Finding]) -> Iterator[Phase]:
    """Yield what was looked at, with the codes that were found there.

    Of logs alone, and of remote segments, that is the batches: only a partition directory has a log end.
    """
    are_logs = all(row.log_end_offset is None and not row.errors for row in partitions)
    found: dict[str, list[Finding]] = {phase: [] for phase in PHASES.values()}
    for one in findings:
        if one.severity != SEVERITIES[0]:
            found[_phase_of(one)].append(one)
    batches, segments, size_read = (
        sum(getattr(row, name) or 0 for row in partitions) for name in ("batches", "segments", "log_bytes")
    )
    read = f"{number(batches)} in {counted(segments, 'segment')}, {size(size_read)}"
    for phase, some in found.items():
        if some or phase == PHASES["LOG"] or not (are_logs or phase == PHASES["RLMM"]):
            codes = Counter(one.code for one in some)
            words = [f"{code} ({number(count)})" if count > 1 else code for code, count in codes.items()]
            severity = max((one.severity for one in some), key=SEVERITIES.index, default="")
            yield Phase(phase, severity, joined((*([read] if phase == "batches" else []), *words)))


def _phase_of(finding: Finding) -> str:
    """Return what a finding is about; a DUMP- code says it by its file."""
    if finding.code in OF_A_START:
        return PHASES["START"]
    word, file = finding.code.partition("-")[0], finding.file or ""
    if word == "DUMP" or finding.code == UNREADABLE:
        word = OF_FILES.get(file, OF_FILES.get(file.rpartition(".")[2], "LOG"))
    return PHASES.get(word, PHASES["LOG"])


def _of_log_dir(row: CheckRow, findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the findings about a log dir that have none: they name a file or a directory in it."""
    if row.is_log_dir:
        for finding in findings:
            if finding.dir is None and os.path.dirname(finding.path or "") == row.where.dir:
                yield finding


def _found(findings: Sequence[Finding]) -> str:
    """Return what is wrong with a directory: what the worst finding says, and the codes of the others."""
    above = [one for one in findings if one.severity != SEVERITIES[0]]
    if not above:
        return ""
    others = list(dict.fromkeys(one.code for one in above if one.code != above[0].code))
    more = f"; {' '.join(others[:MOST_CODES])}" if others else ""
    rest = f" +{len(others) - MOST_CODES}" if len(others) > MOST_CODES else ""
    message = above[0].message.removeprefix(f"{above[0].dir}/")
    return f"{above[0].code} {message}{more}{rest}"


def _verdict(rows: Sequence[CheckRow]) -> str:
    """Return how many partitions have each result, and how many log dirs are not clean."""
    of_log_dirs = Counter(row.result for row in rows if row.is_log_dir)
    of_partitions = Counter(row.result for row in rows if not row.is_log_dir)
    partitions, log_dirs = sum(of_partitions.values()), sum(of_log_dirs.values())
    bad_dirs = log_dirs - of_log_dirs[CLEAN]
    failing = " and ".join(
        counted(found[WILL_NOT_LOAD], word)
        for found, word in ((of_log_dirs, "log dir"), (of_partitions, "partition"))
        if found[WILL_NOT_LOAD]
    )
    read = joined(
        (
            counted(log_dirs, "log dir") if log_dirs else "",
            counted(partitions, "partition") if partitions else "",
        )
    )
    if of_partitions[CLEAN] == partitions and not bad_dirs:
        return f"{read}: clean."
    words = joined(
        (
            f"{failing} will not load" if failing else "",
            f"{counted(other, 'log dir')} with findings"
            if (other := bad_dirs - of_log_dirs[WILL_NOT_LOAD])
            else "",
            f"{number(of_partitions[DAMAGED])} damaged" if of_partitions[DAMAGED] else "",
            f"{number(of_partitions[WARNING])} with warnings" if of_partitions[WARNING] else "",
            f"{number(of_partitions[CLEAN])} clean" if of_partitions[CLEAN] else "",
        )
    )
    return f"{read}: {words}."
