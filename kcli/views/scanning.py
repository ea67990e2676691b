"""A view read by an engine of this machine: units of a query, and the map that gives their Arrow batches."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from kcli.engine.contract import Engine, Job, Outcome, Unit
from kcli.engine.inline import mapped
from kcli.jobs.scan.scan import DirectoryScan, fold_directories, piece_bytes, split_segments
from kcli.kafka.findings.findings import Finding
from kcli.rows import ArrowBlock, Item
from kcli.views.definitions import FINDINGS, SEGMENTS
from kcli.views.planning import SEGMENT, Plan, Work
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

    def outcomes(self, plan: Plan, engine: Engine, jobs: int) -> Iterator[Outcome]:
        """Yield the outcomes of a plan, without the findings that planning knows."""
        if self.view != FINDINGS:
            for failure in plan.failures:
                yield Outcome(number=0, error=failure)
        if not plan.bins:
            return
        yield from (
            self._segments(plan, engine, jobs) if self.view == SEGMENTS else engine(Job(self), units_of(plan))
        )

    def _segments(self, plan: Plan, engine: Engine, jobs: int) -> Iterator[Outcome]:
        """Yield the outcomes of `kcli scan`: findings about a whole directory, too."""
        whole = [work.unit for works in plan.bins for work in works]
        units = split_segments(whole, piece_bytes(jobs) if jobs > 1 else 0)
        for outcome in engine(
            Job(SEGMENT.read, fold_directories(lambda: DirectoryScan(SEGMENT.read))), units
        ):
            rows = [(units[outcome.number].target, outcome.rows)]
            batches = as_batches(self.view, self.scan_time, rows, self.schema)
            yield replace(outcome, rows=self.blocks(batches))

    def blocks(self, batches: Iterable[RecordBatch]) -> list[Item]:
        """Return batches as rows of an outcome."""
        return [ArrowBlock(self.view, batch) for batch in batches]

    def known(self, plan: Plan) -> list[Item]:
        """Return the rows of the view of findings that planning knows."""
        if self.view != FINDINGS:
            return []
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
