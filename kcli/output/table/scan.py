"""The views of `scan`: what partitions and segments hold, and a verdict on each."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any

from kcli.kafka.findings.findings import Finding
from kcli.output.table.columns import ShownColumn, offsets_column, severity_of
from kcli.output.table.table_view import ROWS_OF_A_SCREEN, TableInput, TableView, table_view
from kcli.output.units import counted, joined, size, sums, tally
from kcli.rows.scan import ScanSegmentRow, ScanSummary

ZEROS = "LOG-004"
IN_NUMBERS = {"LOG-009", ZEROS, "LOG-001", "LOG-003", "LOG-002"}
"""Findings that the numbers of a row say in words."""
CODE_TEXTS = {
    "IDX-002": "ends elsewhere by its index",
    "LOG-008": "does not load",
    "START-003": "unfinished change",
}
"""Other findings in words."""
CLEAN = "clean"
SEGMENT_NOUN = "segment"


def draw_scan_partition(answer: TableInput) -> TableView:
    """Return the view of partitions with a verdict each, and one on all."""
    return _view(answer, SEGMENT_COUNT, "partition")


def draw_scan_segment(answer: TableInput) -> TableView:
    """Return the view of segments with a verdict each, and one on all."""
    return _view(answer, SEGMENT_CELL, SEGMENT_NOUN, "file")


def _segment(row: ScanSegmentRow) -> str:
    """Return the base offset that names a segment, or the whole name of a file that has another."""
    base, _, suffix = row.file.partition(".")
    return str(int(base)) if suffix == "log" and base.isdecimal() else row.file


def _view(answer: TableInput, first: ShownColumn, noun: str, *file: str) -> TableView:
    finding_key, row_key = attrgetter("dir", *file), attrgetter("where.dir", *file)
    findings: dict[Any, list[Finding]] = {}
    for finding in answer.findings:
        findings.setdefault(finding_key(finding), []).append(finding)

    after = {
        row_key(row): _segment(following)
        for row, following in pairwise(answer.rows)
        if noun == SEGMENT_NOUN and row.where.dir == following.where.dir
    }

    def severity(row: Any) -> str:
        summary: ScanSummary = row.summary
        if summary.invalid_batches or summary.damaged_ranges or not getattr(row, "is_complete", True):
            return "error"
        return severity_of(findings.get(row_key(row), ()))

    def verdict(rows: Sequence[Any]) -> str:
        count = Counter(map(severity, rows))
        if not count["error"] and not count["warning"]:
            return f"No damage in {counted(len(rows), noun)}."
        counts = {"with warnings": count["warning"], "without damage": count["info"] + count[""]}
        damaged = f"{counted(count['error'], noun)} damaged" if count["error"] else ""
        return f"{joined((damaged, tally(counts)))}."

    def result(row: Any) -> str:
        return _result(row, findings.get(row_key(row), ()), after.get(row_key(row)))

    has_ratios = any(_ratio(row) for row in answer.rows)
    is_folded = noun != SEGMENT_NOUN and not has_ratios and len(answer.rows) > ROWS_OF_A_SCREEN
    return table_view(
        first,
        ShownColumn("BATCHES", "summary.batches", "count", rank=6),
        ShownColumn("RECORDS", "summary.records", "count", rank=7),
        ShownColumn("SIZE", "log_bytes", "size"),
        offsets_column("summary.base_offset", "summary.last_offset", rank=1),
        *([RATIO] if has_ratios else []),
        ShownColumn("EPOCHS", lambda row: _epochs(row.summary), rank=8),
        ShownColumn("NEWEST (UTC)", "summary.max_timestamp", "time", rank=9),
        ShownColumn("RESULT", result, least=36, style={CLEAN: "dim"}.get),
        severity=severity,
        is_listed=(lambda row: result(row) != CLEAN) if is_folded else None,
        folded="without damage",
        closing=_total,
        verdict=verdict,
    )


def _ratio(row: Any) -> str:
    """Return how well each codec does; empty where no batch was decompressed."""
    return joined(
        f"{use.codec}:{use.ratio}" for use in row.summary.codecs if use.ratio and use.codec != "none"
    )


def _epochs(summary: ScanSummary) -> str | None:
    first, last = summary.first_epoch, summary.last_epoch
    return None if first is None else str(first) if first == last else f"{first}..{last}"


def _result(row: Any, findings: Sequence[Finding], after: str | None) -> str:
    """Return what is wrong, and which transactions are open, in the last segment or up to the one `after`."""
    summary: ScanSummary = row.summary
    codes = {finding.code for finding in findings}
    tail = "zeros at the end" if ZEROS in codes else "incomplete last batch"
    transactions = counted(summary.open_transactions or 0, "transaction")
    state = "open at the end" if after is None else f"going on in {after}"
    parts = (
        "" if getattr(row, "is_complete", True) else "not all segments could be read",
        counted(summary.invalid_batches, "wrong checksum") if summary.invalid_batches else "",
        f"{size(summary.damaged_bytes)} are no batches" if summary.damaged_ranges else "",
        f"{tail}, {size(summary.tail_bytes)}" if summary.tail_bytes else "",
        *(CODE_TEXTS.get(code, code) for code in sorted(codes - IN_NUMBERS)),
        f"{transactions} from {summary.first_open_offset}, {state}" if summary.open_transactions else "",
        "checksums not checked" if summary.unchecked_batches else "",
    )
    return joined(parts) or CLEAN


def _total(rows: Sequence[Any]) -> str:
    """Return what all rows hold, and how many checksums are right."""
    summaries = [row.summary for row in rows]
    batches, records, right = sums(summaries, "batches", "records", "valid_batches")
    wrong, unchecked = sums(summaries, "invalid_batches", "unchecked_batches")
    checksums = tally({"checksums right": right, "wrong": wrong, "not checked": unchecked})
    contents = f"{counted(batches, 'batch', 'batches')}, {counted(records, 'record')}"
    log_bytes = size(sum(row.log_bytes for row in rows))
    return f"{contents} in {log_bytes}" + (f": {checksums}." if checksums else ".")


RATIO = ShownColumn("RATIO", _ratio, least=12)
SEGMENT_COUNT = ShownColumn("SEGS", "segments", "number", rank=2)
SEGMENT_CELL = ShownColumn("SEGMENT", _segment, "number")
