"""Results for machines that know only passed and failed: JUnit's XML, and Prometheus' text format.

Rows are those of `check`. A result other than clean or warning is a failed test case. The text of Prometheus
is for the textfile collector of the node exporter; it says when it was made.
"""

import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.output.structured import Tail, TextOut
from kcli.output.text import finding_line
from kcli.output.view import View
from kcli.rows import Item
from kcli.rows.checks import CLEAN, DAMAGED, WARNING, WILL_NOT_LOAD, CheckRow

RESULTS = (CLEAN, WARNING, DAMAGED, WILL_NOT_LOAD)
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
    for row in checks:
        about = [one for one in findings if one.severity != SEVERITIES[0] and one.dir == row.where.dir]
        _write_case(row, about, out)
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


def write_prometheus(rows: Iterable[Item], view: View, out: TextOut, tail: Tail) -> None:
    """Write gauges: the result of each row, findings by code, errors, and the time in seconds."""
    checks = [row for row in view.chosen(rows) if isinstance(row, CheckRow)]
    findings, failures = tail()
    results = {
        _labels(
            dir=row.where.dir,
            topic=row.where.topic or "",
            partition="" if row.where.partition is None else str(row.where.partition),
            result=row.result,
        ): 1
        for row in checks
    }
    meaning = "1 for the result of kcli check of a partition or a log dir."
    _write_gauge("kcli_check_result", meaning, results, out)
    _write_gauge(
        "kcli_check_results",
        "How many partitions and log dirs have a result.",
        {_labels(result=result): sum(row.result == result for row in checks) for result in RESULTS},
        out,
    )
    codes = Counter((finding.code, finding.severity) for finding in findings)
    values = {_labels(code=one, severity=word): count for (one, word), count in sorted(codes.items())}
    _write_gauge("kcli_check_findings", "Findings by code.", values, out)
    _write_gauge("kcli_check_errors", "Inputs that could not be read.", {"": len(failures)}, out)
    _write_gauge("kcli_check_timestamp_seconds", "When the check ended.", {"": int(time.time())}, out)


def _write_gauge(name: str, meaning: str, values: dict[str, int], out: TextOut) -> None:
    out.write(f"# HELP {name} {meaning}\n# TYPE {name} gauge\n")
    out.writelines(f"{name}{labels} {value}\n" for labels, value in values.items())


def _labels(**values: str) -> str:
    """Return labels as Prometheus reads them."""
    escapes = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
    return "{" + ",".join(f'{name}="{value.translate(escapes)}"' for name, value in values.items()) + "}"
