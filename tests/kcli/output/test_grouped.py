"""Findings on a terminal: grouped by their code, in lines that fit."""

from kcli.kafka.findings.catalogue import CATALOGUE
from kcli.kafka.findings.findings import Finding
from kcli.output.grouped import grouped_lines


def test_findings_of_a_code_lie_below_what_it_means():
    title, rule = CATALOGUE["LOG-003"].title, CATALOGUE["LOG-003"]
    findings = [Finding("LOG-003", f"number {number}", "d", f"d/{number}", number) for number in range(2)]

    lines = list(grouped_lines(findings, explained=False, width=500, is_colored=False))

    assert lines == [
        f"{rule.severity} LOG-003 (2): {title}",
        "  d/0: number 0",
        "  d/1: number 1",
    ]


def test_lines_fit_but_for_a_path_that_is_longer():
    path = "d/" + "x" * 60
    (first, *lines) = grouped_lines(
        [Finding("LOG-003", "some words " * 10, "d", path)], explained=True, width=40, is_colored=True
    )

    assert first.startswith("\x1b[") and "\x1b[0m" in first
    assert [line for line in lines if len(line) > 40] == [f"  {path}:"]
