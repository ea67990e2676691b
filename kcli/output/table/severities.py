"""What findings say about rows: a mark, a style and a few words for each partition."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.output.screen import Symbols
from kcli.output.table.columns import ShownColumn
from kcli.output.units import counted, joined

STYLES = {"error": "bold red", "warning": "yellow", "info": "dim", "": "green"}
"""By severity; empty: clean."""


def by_dir(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Return the findings of each directory, the worst first."""
    of_dir: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda finding: -SEVERITIES.index(finding.severity)):
        if finding.dir is not None:
            of_dir.setdefault(finding.dir, []).append(finding)
    return of_dir


def severity_of(findings: Iterable[Finding]) -> str:
    """Return the worst severity; empty without findings."""
    return max((finding.severity for finding in findings), key=SEVERITIES.index, default="")


def mark_column(severity: Callable[[Any], str | None], symbols: Symbols) -> ShownColumn:
    """Return a column of the marks of severities; a row without one has no mark."""
    marks = {"error": symbols.bad, "warning": symbols.warning, "info": symbols.note, "": symbols.good}
    styles = {mark: STYLES[word] for word, mark in marks.items()}
    return ShownColumn(
        "",
        lambda row: "" if (word := severity(row)) is None else marks[word],
        style=lambda mark: styles.get(mark, ""),
    )


def codes(findings: Iterable[Finding]) -> list[str]:
    """Return the codes of findings above info, each once."""
    return list(dict.fromkeys(finding.code for finding in findings if finding.severity != SEVERITIES[0]))


def findings_line(findings: Sequence[Finding]) -> str:
    """Return how many findings there are by severity, and the command that explains their codes."""
    counts = [
        counted(count, name)
        for severity, name in (("error", "error"), ("warning", "warning"), ("info", "note"))
        if (count := sum(finding.severity == severity for finding in findings))
    ]
    named = sorted(codes(findings))
    explain = f": kcli explain {' '.join(named)}" if named else ": -v shows them."
    return joined(counts) + explain if counts else ""
