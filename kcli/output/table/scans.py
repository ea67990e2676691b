"""The views of `scan`: what partitions and segments hold, and a verdict on each."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.output.screen import Screen
from kcli.output.table.grid import COUNT, NUMBER, RANGE, SIZE, TIME, Columns, ShownColumn
from kcli.output.table.marks import STYLES, findings_line, joined, mark, severity_of
from kcli.output.table.tables import TableView, conclusion, draw_table, sentences
from kcli.output.units import counted, number, size
from kcli.rows.scan import ScanPartitionRow, ScanSegmentRow, ScanSummary

MOST_CLEAN = 25
"""Rows without damage that are listed where others have some."""
ZEROS, INCOMPLETE, CHECKSUM, NO_BATCHES = "LOG-004", "LOG-001", "LOG-003", "DUMP-001"
REFUSED = "LOG-009"
IN_WORDS = {REFUSED, ZEROS, INCOMPLETE, CHECKSUM, NO_BATCHES}
"""Findings that the numbers of a row say in words."""
WORDS = {
    "IDX-002": "ends elsewhere by its index",
    "LOG-008": "does not load",
    "START-003": "unfinished change",
}
"""Other findings in words."""
CLEAN = "clean"


def draw_partitions(
    rows: Sequence[ScanPartitionRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield partitions with a verdict each, and one on all; beside damage many clean ones are a number."""
    of_dir: dict[str | None, list[Finding]] = {}
    for finding in findings:
        of_dir.setdefault(finding.dir, []).append(finding)
    known = [of_dir.get(row.where.dir, []) for row in rows]
    yield from _draw(rows, known, screen, findings, (ShownColumn("SEGS", "segments", NUMBER, rank=2),))


def draw_segments(
    rows: Sequence[ScanSegmentRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield segments with a verdict each, and one on all."""
    of_file: dict[tuple[str | None, str | None], list[Finding]] = {}
    for finding in findings:
        of_file.setdefault((finding.dir, finding.file), []).append(finding)
    known = [of_file.get((row.where.dir, row.file), []) for row in rows]
    yield from _draw(rows, known, screen, findings, (ShownColumn("SEGMENT", _segment, NUMBER),))


def _segment(row: ScanSegmentRow) -> str:
    """Return the base offset that names a segment, or the whole name of a file that has another."""
    base, _, suffix = row.file.partition(".")
    return str(int(base)) if suffix == "log" and base.isdecimal() else row.file


COLUMNS: Columns = (
    ShownColumn("BATCHES", "summary.batches", COUNT, rank=-1),
    ShownColumn("RECORDS", "summary.records", COUNT, rank=-2),
    ShownColumn("SIZE", "log_bytes", SIZE),
    ShownColumn("OFFSETS", lambda row: _offsets(row.summary), RANGE, rank=1),
    ShownColumn("EPOCHS", lambda row: _epochs(row.summary), rank=4),
    ShownColumn("NEWEST (UTC)", "summary.max_timestamp", TIME, rank=5),
)


def _offsets(summary: ScanSummary) -> tuple[int, int] | None:
    if summary.base_offset is None or summary.last_offset is None:
        return None
    return summary.base_offset, summary.last_offset + 1


def _epochs(summary: ScanSummary) -> str | None:
    first, last = summary.first_epoch, summary.last_epoch
    return None if first is None else str(first) if first == last else f"{first}..{last}"


def _draw(
    rows: Sequence[Any],
    known: Sequence[list[Finding]],
    screen: Screen,
    findings: Sequence[Finding],
    first: Columns,
) -> Iterator[RenderableType]:
    """Yield the table, what it leaves out, totals and the verdict; `known`: the findings of each row."""
    symbols = screen.symbols
    severities = {id(row): _severity(row, found) for row, found in zip(rows, known, strict=True)}
    results = {id(row): _result(row, found) for row, found in zip(rows, known, strict=True)}
    clean = [row for row in rows if not severities[id(row)]]
    leaves_out = MOST_CLEAN < len(clean) < len(rows)
    view = TableView(
        columns=(
            *first,
            *COLUMNS,
            ShownColumn("RESULT", lambda row: results[id(row)], least=36, style=_result_style),
        ),
        severity=lambda row: severities[id(row)],
    )
    shown = [row for row in rows if severities[id(row)]] if leaves_out else rows
    yield from draw_table(view, shown, screen, title_of=rows)
    if leaves_out:
        yield sentences(
            screen,
            f"{mark('', symbols)}  {number(len(clean))} more without damage: -o wide lists them",
            style=STYLES[""],
        )
    yield ""
    yield sentences(screen, _total(rows))
    count = Counter(severities.values())
    yield from conclusion(screen, _verdict(count, len(rows), first[0]), style="bold")
    if findings:
        yield sentences(screen, findings_line(findings))


def _severity(row: Any, findings: Sequence[Finding]) -> str:
    summary: ScanSummary = row.summary
    if summary.invalid_batches or summary.damaged_ranges or not getattr(row, "is_complete", True):
        return "error"
    return severity_of(findings)


def _result(row: Any, findings: Sequence[Finding]) -> str:
    """Return what is wrong in a few words; transactions that are open are not, but worth saying."""
    summary: ScanSummary = row.summary
    codes = {finding.code for finding in findings}
    tail = ""
    if summary.tail_bytes:
        kind = "zeros at the end" if ZEROS in codes else "incomplete last batch"
        tail = f"{kind}, {size(summary.tail_bytes)}"
    bad = joined(
        (
            "" if getattr(row, "is_complete", True) else "not all segments could be read",
            counted(summary.invalid_batches, "wrong checksum") if summary.invalid_batches else "",
            f"{size(summary.damaged_bytes)} are no batches" if summary.damaged_ranges else "",
            tail,
            *(WORDS.get(code, code) for code in sorted(codes - IN_WORDS)),
        )
    )
    opened = ""
    if summary.open_transactions:
        opened = f"{counted(summary.open_transactions, 'open transaction')} from {summary.first_open_offset}"
    unchecked = "checksums not checked" if summary.unchecked_batches else ""
    return joined((bad, opened, unchecked)) or CLEAN


def _result_style(text: str) -> str:
    return "dim" if text == CLEAN else ""


def _total(rows: Sequence[Any]) -> str:
    """Return what all rows hold, and how many checksums are right."""
    total = {
        name: sum(getattr(row.summary, name) or 0 for row in rows)
        for name in ("batches", "records", "valid_batches", "invalid_batches", "unchecked_batches")
    }
    checksums = [
        f"{number(total['valid_batches'])} checksums right" if total["valid_batches"] else "",
        f"{number(total['invalid_batches'])} wrong" if total["invalid_batches"] else "",
        f"{number(total['unchecked_batches'])} not checked" if total["unchecked_batches"] else "",
    ]
    held = f"{counted(total['batches'], 'batch', 'batches')}, {counted(total['records'], 'record')}"
    read = size(sum(row.log_bytes for row in rows))
    return f"{held} in {read}" + (f": {joined(checksums)}." if joined(checksums) else ".")


def _verdict(count: Counter[str], rows: int, first: Any) -> str:
    noun = "segment" if first.header == "SEGMENT" else "partition"
    if not count["error"] and not count["warning"]:
        return f"No damage in {counted(rows, noun)}."
    return (
        joined(
            (
                f"{counted(count['error'], noun)} damaged" if count["error"] else "",
                f"{number(count['warning'])} with warnings" if count["warning"] else "",
                f"{number(count['info'] + count[''])} without damage",
            )
        )
        + "."
    )
