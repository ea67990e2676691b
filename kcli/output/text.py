"""Findings and errors for stderr: a line each, or on a terminal those of a code below what it means."""

from collections.abc import Iterable, Iterator

from kcli.kafka.findings.findings import SEVERITIES, Finding, merged
from kcli.output.values import one_line
from kcli.rows import Failure

LINES_A_CODE = 10
NO_UNREAD_INPUT = frozenset({"nothing-matched", "nothing-to-read"})
"""Errors of what is not here, such as a topic that no host needs to have; what cannot be read has others."""


def finding_line(finding: Finding) -> str:
    """Return `severity code path: message`."""
    return one_line(f"{finding.severity} {finding.code} {finding.place or ''}: {finding.message}")


def failure_line(failure: Failure) -> str:
    """Return `error path: message`; the message names the byte, if one is to blame."""
    return one_line(
        f"error {failure.path}: {failure.message}" if failure.path else f"error {failure.message}"
    )


def unread(failures: Iterable[Failure]) -> list[Failure]:
    """Return the errors of what could not be read; none of what is not here."""
    return [failure for failure in failures if failure.error not in NO_UNREAD_INPUT]


def finding_lines(findings: Iterable[Finding], *, explained: bool) -> Iterator[str]:
    """Yield a line for each finding, the worst code first; where explained all of them, with what to do."""
    for severity, code, group in by_code(findings):
        first, remaining = first_of(group, all_of_them=explained)
        yield from map(finding_line, first)
        if remaining:
            yield f"{severity} {code}: {remaining} more; -v lists and explains them"
        if explained:
            from kcli.kafka.findings.catalogue import CATALOGUE

            yield f"  broker: {CATALOGUE[code].broker}"
            yield f"  what to do: {CATALOGUE[code].action}"


def by_code(findings: Iterable[Finding]) -> Iterator[tuple[str, str, list[Finding]]]:
    """Yield each code with its findings and the worst severity of them, the worst code first."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.code, []).append(finding)
    for code, group in sorted(groups.items(), key=lambda item: -_worst(item[1])):
        yield SEVERITIES[_worst(group)], code, group


def first_of(group: list[Finding], *, all_of_them: bool) -> tuple[list[Finding], int]:
    """Return the findings of a code that are listed, and how many are not."""
    first = group if all_of_them or len(group) <= LINES_A_CODE + 1 else group[:LINES_A_CODE]
    return first, len(group) - len(first)


def _worst(findings: Iterable[Finding]) -> int:
    return max(SEVERITIES.index(finding.severity) for finding in findings)


def distinct(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings without repetitions; one about a file of a log dir is no finding of each partition."""
    by_key: dict[tuple[object, ...], Finding] = {}
    for finding in merged(findings):
        shared = finding.code.startswith("DIR-") and finding.path is not None
        key = (*finding[:2], None if shared else finding.dir, *finding[3:])
        by_key.setdefault(key, finding)
    return list(by_key.values())


COLORS = {"error": "1;31", "warning": "33", "info": "36"}
"""How a terminal is asked for the colour of a severity."""


def grouped_lines(
    findings: Iterable[Finding], *, explained: bool, width: int, is_colored: bool
) -> Iterator[str]:
    """Yield a line for each code: severity, how many findings, and what it means; below it the findings."""
    from kcli.kafka.findings.catalogue import CATALOGUE

    for severity, code, group in by_code(findings):
        count = f" ({len(group)})" if len(group) > 1 else ""
        yield from _severe(f"{severity} {code}{count}: {CATALOGUE[code].title}", width, is_colored)
        first, remaining = first_of(group, all_of_them=explained)
        for finding in first:
            prefix = f"{finding.place}: " if finding.place else ""
            yield from _folded(one_line(f"{prefix}{finding.message}"), width, "  ")
        if remaining:
            yield f"  {remaining} more: -v lists them"
        if explained:
            yield from _folded(f"broker: {CATALOGUE[code].broker}", width, "  ")
            yield from _folded(f"what to do: {CATALOGUE[code].action}", width, "  ")


def failure_lines(failures: Iterable[Failure], *, width: int, is_colored: bool) -> Iterator[str]:
    """Yield the lines of errors."""
    for failure in failures:
        yield from _severe(failure_line(failure), width, is_colored)


def _severe(text: str, width: int, is_colored: bool) -> Iterator[str]:  # noqa: FBT001 - private
    first, *lines = _folded(text, width, "")
    severity, space, tail = first.partition(" ")
    yield f"\x1b[{COLORS[severity]}m{severity}\x1b[0m{space}{tail}" if is_colored else first
    yield from lines


def _folded(text: str, width: int, indent: str) -> list[str]:
    """Return text in lines that fit; a path that is longer than a line is whole."""
    from textwrap import wrap

    return wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
