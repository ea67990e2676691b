"""Results for machines that know only passed and failed: JUnit's XML.

Rows are those of `check`. A result other than clean or warning is a failed test case.
"""

import re
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.output.structured import Tail, TextOut
from kcli.output.text import finding_line
from kcli.output.view import View
from kcli.rows import Item
from kcli.rows.checks import DAMAGED, WILL_NOT_LOAD, CheckRow

FAILED = frozenset({DAMAGED, WILL_NOT_LOAD})
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may hold."""


def write_junit(rows: Iterable[Item], view: View, out: TextOut, tail: Tail) -> None:
    """Write one XML document: a test case for each row, and one for each input that could not be read."""
    checks = [row for row in view.chosen(rows) if isinstance(row, CheckRow)]
    findings, failures = tail()
    failed = sum(row.result in FAILED for row in checks)
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    counts = f'tests="{len(checks) + len(failures)}" failures="{failed}" errors="{len(failures)}"'
    out.write(f'<testsuites name="kcli check" {counts}>\n  <testsuite name="kcli check" {counts}>\n')
    above = [finding for finding in findings if finding.severity != SEVERITIES[0]]
    for row in checks:
        _write_case(row, [finding for finding in above if finding.dir == row.where.dir], out)
    for failure in failures:
        out.write(f'    <testcase classname="kcli" name={_quoted(failure.path or "kcli")}>\n')
        out.write(f"      <error type={_quoted(failure.error)} message={_quoted(failure.message)}/>\n")
        out.write("    </testcase>\n")
    out.write("  </testsuite>\n</testsuites>\n")


def _write_case(row: CheckRow, findings: Sequence[Finding], out: TextOut) -> None:
    kind = "log dir" if row.is_log_dir else "partition"
    out.write(f'    <testcase classname="{kind}" name={_quoted(row.where.dir)}>\n')
    lines = "\n".join(map(finding_line, findings))
    if row.result in FAILED:
        counts = f"{row.errors} errors, {row.warnings} warnings"
        out.write(
            f"      <failure type={_quoted(row.result)} message={_quoted(counts)}>{_text(lines)}</failure>\n"
        )
    elif lines:
        out.write(f"      <system-out>{_text(lines)}</system-out>\n")
    out.write("    </testcase>\n")


def _text(text: str) -> str:
    return escape(NOT_XML.sub("\ufffd", text))


def _quoted(text: str) -> str:
    return quoteattr(NOT_XML.sub("\ufffd", text))
