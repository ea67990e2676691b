"""Findings and errors as lines of stderr."""

from kcli.analysis.findings import Finding
from kcli.output.text import distinct, failure_line, finding_line

from .writing import FAILURE, FINDING


def test_lines_name_severity_code_path_and_message():
    assert finding_line(FINDING) == "warning LOG-001 d/0.log: short"
    assert finding_line(FINDING._replace(path=None)) == "warning LOG-001 d: short"
    assert finding_line(FINDING._replace(path="a/b")) == "warning LOG-001 a/b: short"
    assert failure_line(FAILURE) == "error x: byte 5: crc"
    assert failure_line(FAILURE._replace(path="two\nlines\x1b[0m")) == r"error two\nlines\x1b[0m: byte 5: crc"


def test_a_finding_about_a_file_of_the_log_dir_is_listed_once():
    shared = [Finding("DIR-003", "bad", f"d/p-{n}", "d/meta.properties") for n in range(3)]
    leftover = [Finding("DIR-002", "left out", dir=f"d/p-{n}-delete") for n in range(2)]

    assert distinct([*shared, *leftover, FINDING, FINDING]) == [shared[0], *leftover, FINDING]
