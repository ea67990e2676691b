"""Metrics in Prometheus' text format, for the textfile collector of the node exporter.

A command has a table of `Metric`s in kcli.output.metric_families: each makes one family, kcli_COMMAND_NAME,
of rows of one type. Every command also counts its findings and its errors, and says whether it has bad news
and when it ended.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kcli.kafka.findings.findings import Finding
from kcli.output.metric_families import METRICS, Labels, Metric, Number
from kcli.output.structured import Tail, TextOut
from kcli.output.table import not_whole
from kcli.output.text import unread
from kcli.output.view import View
from kcli.rows import Failure, Item
from kcli.rows.bad_news import FORETELL_A_START, is_bad_finding, is_bad_news
from kcli.rows.declare import type_of, values_of

_LABEL_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Gauges:
    """Sums up rows by the metrics of a command; nothing is kept of a row itself."""

    def __init__(self, view: View) -> None:
        self._prefix = f"kcli_{view.command.replace(' ', '_')}_"
        self._command, self._row_type = view.command, view.types[0].name
        self._has_bad_news = False
        self._series: list[tuple[Metric, dict[Labels, Number]]] = [
            (metric, {}) for metric in METRICS[view.command] if metric.rows in view.types
        ]
        for metric, series in self._series:
            if len(metric.labels.split()) == 1:
                series.update({(value,): 0 for value in metric.every})

    def add(self, row: Item) -> None:
        """Count a row."""
        assert isinstance(row, tuple)
        row_type = type_of(row)
        self._has_bad_news = self._has_bad_news or is_bad_news(row)
        values = dict(zip(row_type.names, values_of(row), strict=True))
        for metric, series in self._series:
            if metric.rows is not row_type:
                continue
            for labels, number in metric.series(row, values):
                for value in metric.every:
                    series.setdefault((*labels[:-1], value), 0)
                is_first = labels not in series
                series[labels] = number if is_first else metric.join(series[labels], number)

    def lines(self, findings: Sequence[Finding], failures: Sequence[Failure]) -> Iterator[str]:
        """Yield the text; it counts errors, so that what could not be read does not look well."""
        for metric, series in self._series:
            yield from self._family(metric.name, metric.help, metric.labels.split(), series)
        codes = Counter((finding.code, finding.severity) for finding in findings)
        yield from self._family(
            "findings", "Findings by code.", ("code", "severity"), dict(sorted(codes.items()))
        )
        lost = (finding for finding in not_whole(self._row_type, findings) if finding.severity == "error")
        count = len([*lost, *(failures if self._command in FORETELL_A_START else unread(failures))])
        yield from self._family("errors", "Inputs that could not be read.", (), {(): count})
        has_bad_news = self._has_bad_news or any(
            finding.severity == "error" or is_bad_finding(self._command, finding) for finding in findings
        )
        text = "1 for bad news, or a finding of severity error: without --fail-on the exit status is 1."
        yield from self._family("bad_news", text, (), {(): int(has_bad_news)})
        now = {(): int(time.time())}
        yield from self._family("timestamp_seconds", f"When kcli {self._command} ended.", (), now)

    def _family(
        self, name: str, text: str, labels: Sequence[str], series: dict[Any, Number] | dict[Any, int]
    ) -> Iterator[str]:
        name = self._prefix + name
        yield f"# HELP {name} {text}\n# TYPE {name} gauge\n"
        for values, number in series.items():
            escaped = (value.translate(_LABEL_ESCAPES) for value in values)
            pairs = ",".join(f'{label}="{text}"' for label, text in zip(labels, escaped, strict=True))
            yield f"{name}{{{pairs}}} {number}\n" if labels else f"{name} {number}\n"


def write_prometheus(rows: Iterable[Item], view: View, out: TextOut, tail: Tail) -> int:
    """Write the metrics of rows once all of them are there; return how many series there are."""
    gauges = Gauges(view)
    for row in view.chosen(rows):
        gauges.add(row)
    lines = [*gauges.lines(*tail())]
    out.writelines(lines)
    return sum(not line.startswith("#") for line in lines)
