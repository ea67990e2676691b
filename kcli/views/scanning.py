"""A view read by an engine of this machine: units of a query, and the map that gives their Arrow batches."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from kcli.analysis.findings import Finding
from kcli.engine.contract import Outcome, Unit
from kcli.engine.inline import mapped
from kcli.rows import ArrowBlock, Item
from kcli.views.definitions import FINDINGS
from kcli.views.planning import Plan, Work
from kcli.views.reading import (
    ROWS_A_BATCH,
    ArrowSchema,
    RecordBatch,
    Rows,
    Task,
    as_batches,
    record_batches,
    rows_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkUnit(Unit):
    """Works that are read one after the other."""

    works: tuple[Work, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewScan:
    """The map of a view: its rows as Arrow batches of a schema, with the findings and errors of their files.

    The view of findings has them as rows, and nothing else.
    """

    view: str
    scan_time: datetime
    schema: ArrowSchema

    def __call__(self, unit: Unit) -> Outcome:
        """Return some rows of a WorkUnit; its continuation has the works that are left."""
        assert isinstance(unit, WorkUnit)
        if self.view == FINDINGS:
            task = Task(view=self.view, scan_time=self.scan_time, works=unit.works)
            return Outcome(number=unit.number, rows=self.blocks(record_batches(task, self.schema)))
        left = deque(unit.works)
        read: list[Rows] = []
        findings: list[Finding] = []
        error, count = None, 0
        while left and error is None and count < ROWS_A_BATCH:
            work = left.popleft()
            outcome = next(mapped(work.scan, [work.unit]))
            if outcome.continuation is not None:
                left.appendleft(work._replace(unit=outcome.continuation))
            read.append(rows_of(self.view, work, outcome))
            count += _count(read[-1][1])
            findings += outcome.findings
            error = outcome.error
        rows = self.blocks(as_batches(self.view, self.scan_time, read, self.schema))
        return Outcome(
            number=unit.number,
            rows=rows,
            findings=findings,
            error=error,
            continuation=replace(unit, works=tuple(left)) if left else None,
        )

    def blocks(self, batches: Iterable[RecordBatch]) -> list[Item]:
        """Return batches as rows of an outcome."""
        return [ArrowBlock(self.view, batch) for batch in batches]

    def known(self, plan: Plan) -> list[Item]:
        """Return the rows of the view that planning knows."""
        task = Task(view=self.view, scan_time=self.scan_time, failures=plan.failures, findings=plan.findings)
        return self.blocks(record_batches(task, self.schema)) if plan.failures or plan.findings else []


def _count(rows: Iterable[Item]) -> int:
    return sum(row.batch.num_rows if isinstance(row, ArrowBlock) else 1 for row in rows)


def units_of(plan: Plan) -> list[Unit]:
    """Return a unit for each bin of a plan, in the order of its rows."""
    return [
        WorkUnit(number=number, targets=tuple(work.unit.target for work in works), works=tuple(works))
        for number, works in enumerate(plan.bins)
    ]
