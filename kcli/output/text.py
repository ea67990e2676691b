"""Findings and errors as one line each, for stderr."""

from collections.abc import Iterable, Iterator

from kcli.analysis.catalogue import CATALOGUE
from kcli.analysis.findings import Finding
from kcli.analysis.merging import merged
from kcli.output.values import one_line
from kcli.rows import Failure


def finding_line(finding: Finding) -> str:
    """Return `severity code path: message`."""
    return one_line(f"{finding.severity} {finding.code} {finding.place or ''}: {finding.message}")


def failure_line(failure: Failure) -> str:
    """Return `error path: message`; the message names the byte, if one is to blame."""
    return one_line(
        f"error {failure.path}: {failure.message}" if failure.path else f"error {failure.message}"
    )


def finding_lines(findings: Iterable[Finding], *, explained: bool) -> Iterator[str]:
    """Yield a line for each finding.

    Explained ones are followed by what the broker does and a person should do.
    """
    for finding in findings:
        yield finding_line(finding)
        if explained:
            yield f"  broker: {CATALOGUE[finding.code].broker}"
            yield f"  what to do: {CATALOGUE[finding.code].action}"


def distinct(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings without repetitions.

    One about a log dir's own file is listed once, not for every partition.
    """
    seen: dict[tuple[object, ...], Finding] = {}
    for finding in merged(findings):
        shared = finding.code.startswith("DIR-") and finding.path is not None
        key = (*finding[:2], None if shared else finding.dir, *finding[3:])
        seen.setdefault(key, finding)
    return list(seen.values())
