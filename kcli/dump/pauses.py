"""Where a scan of a file stops and goes on, so that no call gives more rows than memory should hold."""

import atexit
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from kcli.dump.options import DumpOptions
from kcli.engine.contract import Outcome, ResumePoint, Unit
from kcli.jobs.common import failed, internal_failure
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.findings import Finding
from kcli.logdir.buffers import FileError
from kcli.rows import Item as RowItem
from kcli.rows import TextBlock

ROWS_PER_CALL = 2000
BYTES_PER_CALL = 4 << 20
SMALL_RANGE = 8 << 20
BYTES_PER_RANGE = 32 << 20
"""Of a small part of a log: it is better given at once than when all before it is written."""


class Pause(NamedTuple):
    """A place where a scan can pause: all before `resume` is yielded, of about `bytes` since the last."""

    resume: ResumePoint
    bytes: int = 0


Item: TypeAlias = RowItem | Finding | Pause
Scanned: TypeAlias = Iterator[Item]
Reader: TypeAlias = Callable[[Unit, DumpOptions, FindingCollector], Scanned]

_suspended: dict[tuple[Unit, DumpOptions], "tuple[Scanned, FindingCollector]"] = {}
"""The scan that stopped last in this process, at most one: if it goes on here, nothing is read again."""
# a scan that ends only when the interpreter has been taken apart would complain
atexit.register(_suspended.clear)


def read_until_pause(unit: Unit, options: DumpOptions, reader: Reader) -> Outcome:
    """Return what a reader gives until its rows are many or large, and the unit that goes on there."""
    suspended = _suspended.pop((unit, options), None)
    _suspended.clear()
    if suspended is None:
        findings = FindingCollector(unit.target)
        suspended = reader(unit, options, findings), findings
    items, findings = suspended
    rows: list[RowItem] = []
    earlier: list[Finding] = []
    count = size = 0
    most_bytes = BYTES_PER_RANGE if 0 < unit.end - unit.start <= SMALL_RANGE else BYTES_PER_CALL
    most_rows = ROWS_PER_CALL if options.limit is None else min(max(options.limit, 1), ROWS_PER_CALL)
    error = continuation = None
    try:
        for item in items:
            if isinstance(item, Finding):
                earlier.append(item)
            elif isinstance(item, Pause):
                size += item.bytes
                if count >= most_rows or size >= most_bytes:
                    continuation = replace(unit, resume=item.resume)
                    _suspended[continuation, options] = suspended
                    break
            else:
                count += 1
                before = rows[-1] if rows and options.limit is None else None
                if isinstance(item, TextBlock) and isinstance(before, TextBlock) and not before.is_title:
                    rows[-1] = TextBlock(before.buffers + item.buffers)  # to be written together
                else:
                    rows.append(item)
    except FileError as raised:
        outcome = failed(unit, raised)
        return replace(outcome, rows=rows, findings=[*earlier, *findings.take(), *outcome.findings])
    except Exception as raised:  # noqa: BLE001 - the boundary: a bug on one input stops no other
        error = internal_failure(unit.target.shown, raised)
    return Outcome(
        number=unit.number,
        rows=rows,
        findings=[*earlier, *findings.take()],
        error=error,
        continuation=continuation,
        ran_past_end=findings.ran_past_end and error is None and continuation is None,
    )
