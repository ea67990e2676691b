"""Findings and errors as lines of stderr."""

import pytest

from kcli.kafka.findings.findings import Finding
from kcli.output.text import distinct, failure_line, finding_line, finding_lines

from .writing import FAILURE, FINDING


def test_lines_name_severity_code_path_and_message():
    assert finding_line(FINDING) == "warning LOG-001 d/0.log: short"
    assert finding_line(FINDING._replace(path=None)) == "warning LOG-001 d: short"
    assert finding_line(FINDING._replace(path="a/b")) == "warning LOG-001 a/b: short"
    assert failure_line(FAILURE) == "error x: byte 5: crc"
    assert failure_line(FAILURE._replace(path="two\nlines\x1b[0m")) == r"error two\nlines\x1b[0m: byte 5: crc"


@pytest.mark.parametrize(("count", "listed"), [(1, 1), (10, 10), (11, 11), (12, 10), (30, 10)])
def test_of_a_code_with_many_findings_some_are_listed_and_the_others_counted(count, listed):
    """One line more takes no more room than its count."""
    group = [FINDING._replace(path=f"d/{number}.log") for number in range(count)]
    lines = [finding_line(finding) for finding in group[:listed]]
    left = [f"warning LOG-001: {count - listed} more; -v lists and explains them"] if count > listed else []

    assert list(finding_lines(group, explained=False)) == [*lines, *left]
    explained = list(finding_lines(group, explained=True))
    assert explained[:count] == [finding_line(finding) for finding in group]
    assert [line.split(":")[0] for line in explained[count:]] == ["  broker", "  what to do"]


def test_the_worst_code_comes_first_and_findings_of_a_code_together():
    info, error = FINDING._replace(code="START-006"), FINDING._replace(code="LOG-006")
    lines = list(finding_lines([info, FINDING, error, info], explained=False))

    assert [line.split()[:2] for line in lines] == [
        ["error", "LOG-006"],
        ["warning", "LOG-001"],
        ["info", "START-006"],
        ["info", "START-006"],
    ]


def test_a_finding_about_a_file_of_the_log_dir_is_listed_once():
    shared = [Finding("DIR-005", "bad", f"d/p-{n}", "d/meta.properties") for n in range(3)]
    leftover = [Finding("DIR-002", "left out", dir=f"d/p-{n}-delete") for n in range(2)]

    assert distinct([*shared, *leftover, FINDING, FINDING]) == [shared[0], *leftover, FINDING]
