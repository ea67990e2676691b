"""What findings say about rows: a mark, a style and a few words for each partition."""

from collections.abc import Iterable, Sequence
from typing import Any

from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.output.screen import Symbols
from kcli.output.units import counted

STYLES = {"error": "bold red", "warning": "yellow", "info": "dim", "": "green"}
"""By severity; empty: clean."""


def by_dir(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Return the findings of each directory, the worst first."""
    found: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda one: -SEVERITIES.index(one.severity)):
        if finding.dir is not None:
            found.setdefault(finding.dir, []).append(finding)
    return found


def severity_of(findings: Sequence[Finding]) -> str:
    """Return the worst severity; empty without findings."""
    return max((finding.severity for finding in findings), key=SEVERITIES.index, default="")


def mark(severity: str, symbols: Symbols) -> str:
    """Return the mark of a severity."""
    return {"error": symbols.bad, "warning": symbols.warning, "info": symbols.note}.get(
        severity, symbols.good
    )


def codes(findings: Sequence[Finding]) -> str:
    """Return the codes of findings above info, each once."""
    return ", ".join(dict.fromkeys(finding.code for finding in findings if finding.severity != SEVERITIES[0]))


def findings_line(findings: Sequence[Finding]) -> str:
    """Return how many findings there are by severity, and the command that explains their codes."""
    counts = [
        counted(count, name)
        for severity, name in (("error", "error"), ("warning", "warning"), ("info", "note"))
        if (count := sum(finding.severity == severity for finding in findings))
    ]
    named = sorted({finding.code for finding in findings if finding.severity != SEVERITIES[0]})
    explain = f": kcli explain {' '.join(named)}" if named else ": -v shows them."
    return ", ".join(counts) + explain if counts else ""


def joined(parts: Iterable[Any]) -> str:
    """Return the parts that are not empty with commas between."""
    return ", ".join(str(part) for part in parts if part)
