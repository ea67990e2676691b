"""The columns of tables: how values are shown, which columns go first, and marks for what findings say."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeAlias

from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.output import units
from kcli.output.long_values import beginning
from kcli.output.screen import Symbols
from kcli.output.units import counted, joined
from kcli.output.values import cell, one_line
from kcli.words import duration

KindName: TypeAlias = (
    Literal["text", "right text", "number", "defined", "count", "size", "time", "time of day"]  # noqa: PYI030
    | Literal["clock", "duration", "range", "change", "changed text", "contents"]
)
"""How the values of a column are shown, a word of SHOWN_AS."""


def span(first: int, end: int) -> str:
    """Return a range of offsets with the last of them: 0..59; of an empty range where it would begin."""
    return f"{first}..{end - 1}" if end > first else f"{first}.."


def change(pair: tuple[Any, Any], symbols: Symbols) -> str:
    """Return the values of a pair, before and after a change, or the one that both are."""
    texts = dict.fromkeys("none" if value is None else str(value) for value in pair)
    return f" {symbols.arrow} ".join(texts)


def _time(value: int, symbols: Symbols, **parts: bool) -> str:
    return units.moment(value, **parts) if value >= 0 else symbols.null


MOST_BYTES_SHOWN = 300
"""Of a key or a value: no terminal shows more in a column."""
YES_OR_NO = {True: "yes", False: "no", None: "?"}


def contents(value: Any, most: int = MOST_BYTES_SHOWN) -> str:
    """Return the beginning of a key or value: text as it is, other bytes in hex, the rest as JSON."""
    if isinstance(value, bytes):
        try:
            text = value[:most].decode()
        except UnicodeDecodeError as error:
            # a character that is cut in two is no reason for hex
            is_cut = error.start > most - 4
            text = value[: error.start].decode() if is_cut else f"0x{value[:most].hex()}"
        return one_line(text)
    if isinstance(value, (list, dict)):
        return one_line(beginning(value, most))
    return one_line(value[:most] if isinstance(value, str) else cell(value))


def _contents(value: Any, symbols: Symbols) -> str:
    is_cut = isinstance(value, (str, bytes)) and len(value) > MOST_BYTES_SHOWN
    return contents(value) + (symbols.ellipsis if is_cut else "")


SHOWN_AS: dict[KindName, Callable[[Any, Symbols], str]] = {
    "text": lambda value, _: str(value),
    "right text": lambda value, _: str(value),
    "number": lambda value, _: str(value),  # that identifies: offsets, epochs, positions
    "defined": lambda value, symbols: str(value) if value >= 0 else symbols.null,  # -1 where there is none
    "count": lambda value, _: units.number(value),
    "size": lambda value, _: units.size(value),
    "time": _time,  # epoch milliseconds in UTC; negative where there is none
    "time of day": _time,  # a clock, with the day in the title, where all rows have the same day
    "clock": partial(_time, with_day=False, with_ms=True),
    "duration": lambda milliseconds, _: duration(milliseconds),
    "range": lambda value, _: span(*value),  # of offsets: the first, and one past the last
    "change": change,  # numbers before and after
    "changed text": change,
    "contents": _contents,
}
LEFT_KINDS: frozenset[KindName] = frozenset({"text", "changed text", "contents"})
"""Kinds of texts; others are numbers, whose ends are below each other."""


class ShownColumn(NamedTuple):
    """One column of a table.

    `value` is the path of an attribute of the row, or a function of the row. `rank` 0 is always shown; of
    those above the highest goes first where there is no room. One whose values are all null or empty goes,
    too. `least` is the width that it may be narrowed to, on more lines; None: it is never narrowed. `is_cut`:
    what is too wide is cut instead: contents of records. `style`: of a value. `may_overflow`: of names, a few
    of which are far longer than the others: these have lines of their own. `legend`: what its symbols mean,
    said below the table.
    """

    header: str
    value: str | Callable[[Any], Any]
    kind: KindName = "text"
    rank: int = 0
    least: int | None = None
    style: Callable[[Any], str | None] | str = ""
    may_overflow: bool = False
    is_cut: bool = False
    legend: str = ""

    @property
    def is_right(self) -> bool:
        """Whether values end below each other."""
        return self.kind not in LEFT_KINDS

    def value_of(self, row: Any) -> Any:
        """Return the value of a row."""
        return attrgetter(self.value)(row) if isinstance(self.value, str) else self.value(row)


def offsets_column(first: str, last: str, header: str = "OFFSETS", rank: int = 0) -> ShownColumn:
    """Return a column of ranges, which two columns give with their last offset; empty where one is null."""

    def pair(row: Any) -> tuple[int, int] | None:
        begin, end = attrgetter(first, last)(row)
        return None if begin is None or end is None else (begin, end + 1)

    return ShownColumn(header, pair, "range", rank)


STYLES = {"error": "bold red", "warning": "yellow", "info": "dim", "": "green"}
"""By severity; empty: clean."""


def by_dir(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Return the findings of each directory, the worst first."""
    of_dir: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda finding: -SEVERITIES.index(finding.severity)):
        if finding.dir is not None:
            of_dir.setdefault(finding.dir, []).append(finding)
    return of_dir


def severity_of(findings: Iterable[Finding]) -> str:
    """Return the worst severity; empty without findings."""
    return max((finding.severity for finding in findings), key=SEVERITIES.index, default="")


def mark_column(severity: Callable[[Any], str | None], symbols: Symbols) -> ShownColumn:
    """Return a column of the marks of severities; a row without one has no mark."""
    marks = {"error": symbols.bad, "warning": symbols.warning, "info": symbols.note, "": symbols.good}
    return ShownColumn(
        "",
        lambda row: "" if (level := severity(row)) is None else marks[level],
        style={mark: STYLES[level] for level, mark in marks.items()}.get,
    )


def codes(findings: Iterable[Finding]) -> list[str]:
    """Return the codes of findings above info, each once."""
    return list(dict.fromkeys(finding.code for finding in findings if finding.severity != SEVERITIES[0]))


def findings_line(findings: Sequence[Finding], *, explained: bool) -> str:
    """Return how many findings there are by severity, and what explains them unless they are explained."""
    counts = [
        counted(count, name)
        for severity, name in (("error", "error"), ("warning", "warning"), ("info", "note"))
        if (count := sum(finding.severity == severity for finding in findings))
    ]
    names = sorted(codes(findings))
    explain = "." if explained else ": -v shows them."
    explain = f": kcli explain {' '.join(names)}" if names else explain
    return joined(counts) + explain if counts else ""
