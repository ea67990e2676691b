"""`dump`: every file of log dirs and partition directories as rows, or in the words of kafka-dump-log."""

import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from formats import names
from formats.batch import MAX_INT
from formats.names import parse_file, parse_partition_dir
from kcli.dump.bytes_as import shown_as, shown_row
from kcli.dump.options import DumpOptions, in_range
from kcli.dump.pauses import Pause, Reader, Scanned, read_until_pause
from kcli.dump.render.indexes import INDEX_FILES, index_rows, index_text, producers_text
from kcli.dump.render.lines import StderrLine, line
from kcli.dump.small_files import SMALL_FILES, name_file, read_file
from kcli.engine.contract import Outcome, Unit
from kcli.kafka.findings.collector import FindingCollector
from kcli.logdir.buffers import FileError, shown
from kcli.logdir.classify import REMOTE_SEGMENTS
from kcli.logdir.find import FileSet
from kcli.logdir.partition_names import file_name, listed, unexpected_names
from kcli.logdir.remote_objects import open_file, with_parts
from kcli.logdir.targets import PARTITION, Target, entry_of
from kcli.rows import dump
from kcli.rows.declare import declared_type, names_of
from kcli.rows.remote_metadata import ROW_TYPES_OF_KIND

if TYPE_CHECKING:
    from kcli.dump.read_blocks import Log

LOG_KINDS = frozenset({names.LOG, names.KRAFT_SNAPSHOT})


def read_log(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:
    """Yield what the options ask for of a log or KRaft snapshot, and findings about what is damaged."""
    from kcli.dump.read_blocks import Log
    from kcli.kafka.findings.log_findings import report_growth

    with open_file(unit.target) as file:
        for item in _render_log(Log(file, unit.target, options, findings), unit):
            # a tail is short: it is given at once
            if options.tail is None or not isinstance(item, Pause):
                yield item
        if not unit.end:
            report_growth(file, findings)


def _render_log(log: "Log", unit: Unit) -> Scanned:
    from kcli.dump.read_blocks import byte_range, last_rows, read_blocks

    options = log.options
    start, end = byte_range(log)
    start = unit.position or start
    if options.layout:
        from kcli.dump.render.layout import render_layout

        return render_layout(log, read_blocks(log, start, end, cut=unit.end), end, cursor=unit.cursor)
    items = read_blocks(log, start, end, cut=unit.end, cursor=unit.cursor)
    if options.tail is not None:
        items = last_rows(log, items, options.tail)
    if options.text:
        from kcli.dump.render.text import render_text

        return render_text(log, items, end, begins=unit.begins)
    from kcli.dump.render.rows import render_rows

    return render_rows(log, items)


def _print_file(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:
    """Yield the lines of a file; a file that the tool does not know is named as the tool names it."""
    target = unit.target
    if unit.begins:
        yield line(f"Dumping {target.shown}", is_title=True)
    reader = _TEXT_READERS.get(target.kind)
    if reader is None or file_name(target).suffix:
        yield StderrLine(f"Ignoring unknown file {target.shown}")
    else:
        yield from reader(unit, options, findings)


def _refuse_indexes(unit: Unit, *_: object) -> Scanned:
    """Raise why the parts of an `.indexes` cannot be found: where they can, each is a target of its own."""
    open_file(unit.target).close()
    yield from ()


_ROW_READERS: dict[str, Reader] = {
    **dict.fromkeys(LOG_KINDS, read_log),
    **dict.fromkeys(INDEX_FILES, index_rows),
    **dict.fromkeys(SMALL_FILES, read_file),
    names.REMOTE_INDEXES: _refuse_indexes,
    names.LOCK: name_file,
    names.UNKNOWN: name_file,
}
_TEXT_READERS: dict[str, Reader] = {
    **dict.fromkeys(LOG_KINDS, read_log),
    **dict.fromkeys(INDEX_FILES, index_text),
    names.PRODUCER_SNAPSHOT: producers_text,
    names.REMOTE_INDEXES: _refuse_indexes,
}
NAMES_OF_KIND = {
    names.OFFSET_INDEX: names_of(dump.DumpIndexRow),
    names.TIME_INDEX: names_of(dump.DumpTimeindexRow),
    names.TXN_INDEX: names_of(dump.DumpTxnindexRow),
    **{kind: names_of(row) for kind, (row, _) in SMALL_FILES.items()},
    **ROW_TYPES_OF_KIND,
}
DUMP_ACCEPTS = frozenset({*_ROW_READERS, names.REMOTE_LOG_SNAPSHOT, names.COMMITTED_OFFSETS, PARTITION})


def reader_for(kind: str, options: DumpOptions) -> Reader | None:
    """Return the reader of files of a kind; None for those whose rows are the ones of `rlmm dump`."""
    if kind == names.REMOTE_INDEXES:
        return _refuse_indexes
    if options.layout:
        from kcli.dump.render.layout import LAYOUT_KINDS

        return read_log if kind in LOG_KINDS else LAYOUT_KINDS.get(kind, name_file)
    return _print_file if options.text else _ROW_READERS.get(kind)


@dataclass(frozen=True, slots=True)
class Dump:
    """The job with its options; `only_partitions`: a selection leaves out the files of log dirs."""

    options: DumpOptions
    only_partitions: bool = False

    @property
    def comes_in_pieces(self) -> bool:
        """Whether the reader of a log stops where a unit ends."""
        return not (self.options.selects or self.options.layout) and self.options.max_bytes == MAX_INT

    def __call__(self, unit: Unit) -> Outcome:
        """Return the rows of one file, or of the next piece of one; with a tail those of one partition."""
        outcome = self._outcome_of(unit)
        if unit.target.kind in LOG_KINDS and outcome.findings:
            from kcli.kafka.kraft.partition_start import zeros_as_started

            outcome = replace(outcome, findings=zeros_as_started(unit.target, outcome.findings))
        show = None if self.options.text else shown_as(self.options)
        if show is None:
            return outcome
        return replace(outcome, rows=[shown_row(row, show) for row in outcome.rows])

    def _outcome_of(self, unit: Unit) -> Outcome:
        kind = unit.target.kind
        reader = self._tail if kind == PARTITION else reader_for(kind, self.options)
        if reader is not None:
            return read_until_pause(unit, self.options, reader)
        from kcli.jobs.rlmm import dump as rlmm

        return rlmm.dump(unit)

    @property
    def row_type_of_a_log(self) -> str:
        """The name of the row type that logs give."""
        of_data = dump.DumpRecordRow if self.options.records else dump.DumpBatchRow
        return declared_type(dump.DumpLayoutRow if self.options.layout else of_data).name

    def row_types(self, targets: Iterable[Target]) -> frozenset[str]:
        """Return the names of the row types that these targets can give."""
        kinds = {target.kind for target in targets}
        return frozenset(name for kind in kinds for name in self._row_types_of(kind))

    def _row_types_of(self, kind: str) -> Collection[str]:
        if kind in {*LOG_KINDS, PARTITION}:
            return {self.row_type_of_a_log}
        if self.options.layout:
            from kcli.dump.render.layout import LAYOUT_KINDS

            return names_of(dump.DumpLayoutRow if kind in LAYOUT_KINDS else dump.DumpFileRow)
        return NAMES_OF_KIND.get(kind, names_of(dump.DumpFileRow))

    def expand(self, file_set: FileSet) -> FileSet:
        """Return the same with a target per file: of partitions in order, then of log dirs and caches."""
        result = replace(
            file_set,
            targets=[],
            notes=[note for note in file_set.notes if not note.kind.startswith("unknown")],
            failures=list(file_set.failures),
        )
        for target in file_set.targets:
            try:
                if target.kind == REMOTE_SEGMENTS:
                    result.targets.extend(self._of_remote_segments(target))
                elif target.kind != PARTITION:
                    result.targets.extend(with_parts(target))
                else:
                    files, non_files = listed(target.path)
                    result.notes.extend(unexpected_names(target, files, non_files))
                    has_tail = self.options.tail is not None
                    targets = iter([target]) if has_tail else self._inside(target, files, non_files)
                    result.targets.extend(filter(self._is_shown, targets))
            except FileError as error:
                result.miss(target, error)
        failed = {failure.path for failure in file_set.failures}
        for log_dir in () if self.only_partitions or self.options.selects else file_set.named_log_dirs:
            try:
                entries = (entry for entry in _log_dir(log_dir, result.failures) if entry.shown not in failed)
                result.targets.extend(filter(self._is_shown, entries))
            except FileError as error:
                result.failures.append(FileError(shown(log_dir), *error.args[1:]))
        return result

    def _tail(self, unit: Unit, options: DumpOptions, _: FindingCollector) -> Scanned:
        """Yield the last of a partition from the logs that it lies in, with findings about each."""
        from kcli.dump.read_blocks import tails

        reader = reader_for(names.LOG, options) or read_log
        logs = self._inside(unit.target, *listed(unit.target.path))
        for target, tail_options in tails(list(logs), options):
            of_log = FindingCollector(target)
            yield from reader(replace(unit, targets=(target,)), tail_options, of_log)
            yield from of_log.take()

    def _is_shown(self, target: Target) -> bool:
        """Whether a file of a directory is shown: in text not those that the tool would only ignore."""
        return not self.options.text or target.kind in {PARTITION, names.UNKNOWN, *_TEXT_READERS}

    def _of_remote_segments(self, target: Target) -> Iterator[Target]:
        """Yield the files of a directory of remote segments; with a selection its logs alone."""
        entries = list(_entries(target, *listed(target.path)))
        logs = [entry for entry in entries if entry.kind == names.LOG]
        if self.options.selects and logs:
            yield from in_range(logs, self.options.filter)
        else:
            yield from (file for entry in entries for file in with_parts(entry))

    def _inside(self, target: Target, listed_files: list[str], non_files: list[str]) -> Iterator[Target]:
        files = _entries(target, listed_files, non_files)
        if not self.options.selects:
            return files
        tail, filters = self.options.tail, self.options.filter
        # a snapshot has offsets of its own
        kinds = LOG_KINDS if tail is None and filters.offsets is None else {names.LOG}
        logs = [file for file in files if file.kind in kinds]
        return iter(logs if tail is not None else in_range(logs, filters))


def _log_dir(log_dir: str, failures: list[FileError]) -> Iterator[Target]:
    """Yield what lies in a log dir besides partitions; directories that cannot be listed are failures."""
    target = Target(kind=PARTITION, path=log_dir, shown=shown(log_dir), name=None, log_dir=log_dir)
    for file in _entries(target, *listed(log_dir)):
        name = os.path.basename(file.path)
        if not os.path.isdir(file.path):
            yield file
        elif name == names.REMOTE_LOG_INDEX_CACHE:
            try:
                yield from _entries(file, *listed(file.path))
            except FileError as error:
                failures.append(FileError(file.shown, *error.args[1:]))
        elif parse_partition_dir(name) is None:
            yield file


def _entries(directory: Target, files: list[str], non_files: list[str]) -> Iterator[Target]:
    """Yield every entry of a directory, as `listed`, sorted by name; what is no file is of kind unknown."""
    for name in sorted([*files, *non_files]):
        yield entry_of(directory, name, names.UNKNOWN if name in non_files else parse_file(name).kind)
