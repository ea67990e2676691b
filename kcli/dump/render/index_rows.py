"""Entries of indexes as rows."""

from collections.abc import Callable
from contextlib import ExitStack

from formats.names import OFFSET_INDEX, TIME_INDEX, TXN_INDEX
from kcli.dump.indexes import LogOfIndex, is_zero, open_index, read_index, report_sanity_error
from kcli.dump.options import DumpOptions
from kcli.dump.resume import Pause, Scanned
from kcli.engine.contract import ResumePoint, Unit
from kcli.jobs.common import source_of
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.log_findings import report_moving_index
from kcli.logdir.indexes import TxnIndexFile
from kcli.rows import AnyRow
from kcli.rows.dump import DumpIndexRow, DumpTimeindexRow, DumpTxnindexRow

_ROWS: dict[str, Callable[..., AnyRow]] = {
    OFFSET_INDEX: DumpIndexRow,
    TIME_INDEX: DumpTimeindexRow,
    TXN_INDEX: lambda source, _version, *values: DumpTxnindexRow(source, *values),
}


def index_rows(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:
    """Yield the row of every entry but zeros; report what does not fit the log."""
    source, row = source_of(unit.target, options.facts), _ROWS[unit.target.kind]
    with ExitStack() as stack:
        index = open_index(stack, unit.target)
        log = LogOfIndex(stack, unit.target, index, options, findings)
        is_txn = isinstance(index, TxnIndexFile)
        if options.index_sanity_check and not is_txn:
            report_sanity_error(index, findings)
            return
        shows = (is_txn or not options.verify_index_only) and not options.only_findings
        for block in read_index(index, unit.position, findings):
            if block.slot > unit.position:
                yield Pause(ResumePoint(block.slot))
            entries = [
                (slot, entry)
                for slot, entry in enumerate(block.entries, block.slot)
                if not is_zero(index, slot, entry)
            ]
            if shows:
                yield from (row(source, *entry) for _, entry in entries)
            log.compare(entries)
        report_moving_index(index, log.log, findings)
