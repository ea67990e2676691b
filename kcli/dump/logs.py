"""`dump` of logs and KRaft snapshots: the one loop over their blocks, whatever is made of them."""

from kcli.dump.options import DumpOptions
from kcli.dump.pauses import Pause, Scanned
from kcli.dump.read_blocks import Log, byte_range, last_rows, read_log
from kcli.dump.render.rows import render_rows
from kcli.engine.contract import Unit
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.log_findings import report_growth
from kcli.logdir.remote_objects import open_file


def read_logs(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:
    """Yield what is shown of the blocks of a log, and findings about what is damaged."""
    with open_file(unit.target) as file:
        log = Log(file, unit.target, options, findings)
        items = _shown(log, unit)
        # a tail is short: it is given at once
        yield from (
            items if options.tail is None else (item for item in items if not isinstance(item, Pause))
        )
        if not unit.end:
            report_growth(file, findings)


def _shown(log: Log, unit: Unit) -> Scanned:
    options = log.options
    start, end = byte_range(log)
    start = unit.position or start
    if options.layout:
        from kcli.dump.render.layout import (
            render_layout,
        )

        return render_layout(log, read_log(log, start, end, cut=unit.end), end, cursor=unit.cursor)
    items = read_log(log, start, end, cut=unit.end, cursor=unit.cursor)
    if options.tail is not None:
        items = last_rows(log, items, options.tail)
    if options.text:
        from kcli.dump.render.text import render_text

        return render_text(log, items, end, begins=unit.begins)
    return render_rows(log, items)
