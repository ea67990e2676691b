"""The view of `check`: what is not clean, what was looked at, and a verdict."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence

from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.output.table.columns import NUMBER, ShownColumn
from kcli.output.table.severities import STYLES, by_dir, codes
from kcli.output.table.table_view import TableInput, TableView
from kcli.output.units import counted, joined, size, tally
from kcli.rows.checks import CLEAN, DAMAGED, WARNING, WILL_NOT_LOAD, CheckRow, EpochCheckRow

MARKS = {WILL_NOT_LOAD: "error", DAMAGED: "error", WARNING: "warning", CLEAN: ""}
MOST_CODES = 3
"""Codes of findings of a directory that are named."""


CHECKED_TOO = "indexes, leader epochs, producers, checkpoints, start-up"
"""What is looked at in a partition directory besides batches."""


def view_checks(answer: TableInput) -> TableView:
    """Return the view of results with the worst finding of each."""
    findings = answer.findings
    of_dir = by_dir(findings)
    return TableView(
        columns=(
            RESULT,
            ShownColumn(
                "FOUND",
                lambda row: _in_words([*of_dir.get(row.where.dir, ()), *_of_log_dir(row, findings)]),
                least=24,
            ),
        ),
        severity=_severity,
        is_listed=lambda row: row.result != CLEAN,
        closing=_checked,
        verdict=_verdict,
    )


def _severity(row: CheckRow | EpochCheckRow) -> str:
    return MARKS.get(row.result, "error")


def _checked(rows: Sequence[CheckRow]) -> str:
    """Return what was read; of logs alone, and of remote segments, that is the batches."""
    partitions = [row for row in rows if not row.is_log_dir]
    batches, segments, size_read = (
        sum(getattr(row, name) or 0 for row in partitions) for name in ("batches", "segments", "log_bytes")
    )
    more = any(row.log_end_offset is not None or row.errors for row in partitions)
    read = f"{counted(batches, 'batch', 'batches')} in {counted(segments, 'segment')} ({size(size_read)})"
    return f"Checked: {joined((read, CHECKED_TOO if more else ''))}." if partitions else ""


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
    nouns = ((of_log_dirs, "log dir"), (of_partitions, "partition"))
    read = joined(counted(results.total(), noun) for results, noun in nouns if results)
    failing = " and ".join(
        counted(results[WILL_NOT_LOAD], noun) for results, noun in nouns if results[WILL_NOT_LOAD]
    )
    bad_dirs = of_log_dirs[WARNING] + of_log_dirs[DAMAGED]
    words = (
        f"{failing} will not load" if failing else "",
        f"{counted(bad_dirs, 'log dir')} with findings" if bad_dirs else "",
        tally({"damaged": of_partitions[DAMAGED], "with warnings": of_partitions[WARNING]}),
    )
    clean = tally({"clean": of_partitions[CLEAN]}) if any(words) else "clean"
    return f"{read}: {joined((*words, clean))}."


def _epoch_verdict(rows: Sequence[EpochCheckRow]) -> str:
    counts = Counter(row.result for row in rows)
    return f"{counted(len(rows), 'partition')}: {tally({one: counts[one] for one in MARKS})}."


RESULT = ShownColumn("RESULT", "result", style=lambda text: STYLES[MARKS.get(text, "error")])
EPOCH_CHECKS = TableView(
    columns=(RESULT, ShownColumn("FINDINGS", "findings", NUMBER)), verdict=_epoch_verdict, severity=_severity
)
