"""`dump -o text`: what DumpLogSegments prints for a file; kcli goes on where the tool dies."""

from formats.names import KRAFT_SNAPSHOT, LOG, PRODUCER_SNAPSHOT
from kcli.analysis.collector import FindingCollector
from kcli.dump.indexes import INDEX_FILES
from kcli.dump.options import DumpOptions
from kcli.dump.render.index_text import index_text, producers_text
from kcli.dump.render.lines import StderrLine, line
from kcli.dump.resume import Reader, Scanned
from kcli.engine.contract import Unit
from kcli.logdir.files import file_name


def print_file(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:
    """Yield the lines of a file; a file that the tool does not know is named as the tool names it."""
    target = unit.target
    if unit.begins:
        yield line(f"Dumping {target.shown}", is_title=True)
    reader = _READERS.get(target.kind)
    if reader is None or file_name(target).suffix:
        yield StderrLine(f"Ignoring unknown file {target.shown}")
        return
    yield from reader(unit, options, findings)


def _read_logs(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:
    from kcli.dump.logs import read_logs  # noqa: PLC0415 - numpy

    return read_logs(unit, options, findings)


_READERS: dict[str, Reader] = {
    LOG: _read_logs,
    KRAFT_SNAPSHOT: _read_logs,
    **dict.fromkeys(INDEX_FILES, index_text),
    PRODUCER_SNAPSHOT: producers_text,
}
