"""Findings and errors on a terminal: those of a code below what it means, in lines that fit."""

import textwrap
from collections.abc import Iterable, Iterator

from kcli.kafka.findings.catalogue import CATALOGUE
from kcli.kafka.findings.findings import Finding
from kcli.output.text import by_code, failure_line, first_of
from kcli.output.values import one_line
from kcli.rows import Failure

COLORS = {"error": "1;31", "warning": "33", "info": "36"}
"""How a terminal is asked for the colour of a severity."""


def grouped_lines(
    findings: Iterable[Finding], *, explained: bool, width: int, is_colored: bool
) -> Iterator[str]:
    """Yield a line for each code: severity, how many findings, and what it means; below it the findings."""
    for severity, code, group in by_code(findings):
        count = f" ({len(group)})" if len(group) > 1 else ""
        yield from _severe(f"{severity} {code}{count}: {CATALOGUE[code].title}", width, is_colored)
        shown, left = first_of(group, all_of_them=explained)
        for finding in shown:
            place = f"{finding.place}: " if finding.place else ""
            yield from _folded(one_line(f"{place}{finding.message}"), width, "  ")
        if left:
            yield f"  {left} more: -v lists them"
        if explained:
            yield from _folded(f"broker: {CATALOGUE[code].broker}", width, "  ")
            yield from _folded(f"what to do: {CATALOGUE[code].action}", width, "  ")


def failure_lines(failures: Iterable[Failure], *, width: int, is_colored: bool) -> Iterator[str]:
    """Yield the lines of errors."""
    for failure in failures:
        yield from _severe(failure_line(failure), width, is_colored)


def _severe(text: str, width: int, is_colored: bool) -> Iterator[str]:  # noqa: FBT001 - private
    first, *more = _folded(text, width, "")
    severity, space, rest = first.partition(" ")
    yield f"\x1b[{COLORS[severity]}m{severity}\x1b[0m{space}{rest}" if is_colored else first
    yield from more


def _folded(text: str, width: int, indent: str) -> list[str]:
    """Return text in lines that fit; a path that is longer than a line is whole."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
