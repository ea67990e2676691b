"""`dump`: every file of log dirs and partition directories as rows, or in the words of kafka-dump-log."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from formats.names import LOG, REMOTE_LOG_INDEX_CACHE, UNKNOWN, parse_file, parse_partition_dir
from kcli.dump.bytes_as import shown_as, shown_row
from kcli.dump.filter import in_range
from kcli.dump.options import MAX_INT, DumpOptions
from kcli.dump.pauses import Pause, Scanned, read_until_pause
from kcli.dump.readers_by_kind import (
    ACCEPTS,
    LOGS,
    has_lines,
    read_log,
    reader_for,
    row_type_of_a_log,
    row_types_of,
)
from kcli.engine.contract import Outcome, Unit
from kcli.kafka.findings.collector import FindingCollector
from kcli.logdir.buffers import FileError, shown
from kcli.logdir.find import Found
from kcli.logdir.partition_names import listed, unexpected_names
from kcli.logdir.remote_dirs import REMOTE_SEGMENTS
from kcli.logdir.remote_objects import with_parts
from kcli.logdir.targets import PARTITION, Target, entry_of


@dataclass(frozen=True, slots=True)
class Dump:
    """The job with its options: a scan that can be pickled, and what goes before it.

    `only_partitions` leaves out the files of a log dir itself: the selection names topics or partitions.
    """

    options: DumpOptions
    only_partitions: bool = False

    @property
    def comes_in_pieces(self) -> bool:
        """Whether the reader of a log stops where a unit ends."""
        return not (self.options.selects or self.options.layout) and self.options.max_bytes == MAX_INT

    def __call__(self, unit: Unit) -> Outcome:
        """Return the rows of one file, or of the next piece of one; with a tail those of one partition."""
        outcome = self._read(unit)
        if unit.target.kind in LOGS and outcome.findings:
            from kcli.kafka.kraft.partition_start import zeros_as_started

            outcome = replace(outcome, findings=zeros_as_started(unit.target, outcome.findings))
        show = None if self.options.text else shown_as(self.options)
        if show is None:
            return outcome
        return replace(outcome, rows=[shown_row(row, show) for row in outcome.rows])

    def _read(self, unit: Unit) -> Outcome:
        kind = unit.target.kind
        reader = self._tail if kind == PARTITION else reader_for(kind, self.options)
        if reader is not None:
            return read_until_pause(unit, self.options, reader)
        from kcli.jobs.rlmm import dump as rlmm

        return rlmm.dump(unit)

    @property
    def row_type_of_a_log(self) -> str:
        """The name of the row type that logs give."""
        return row_type_of_a_log(self.options)

    def row_types(self, targets: Iterable[Target]) -> frozenset[str]:
        """Return the names of the row types that these targets can give."""
        kinds = {target.kind for target in targets}
        return frozenset(name for kind in kinds for name in row_types_of(kind, self.options))

    def expand(self, found: Found) -> Found:
        """Return the same with one target per file.

        Those of partitions come in their order, then those of log dirs and their index caches.
        """
        result = replace(
            found,
            targets=[],
            notes=[note for note in found.notes if not note.kind.startswith("unknown")],
            failures=list(found.failures),
        )
        for target in found.targets:
            try:
                if target.kind == REMOTE_SEGMENTS:
                    result.targets.extend(self._of_remote_segments(target))
                    continue
                if target.kind != PARTITION:
                    result.targets.extend(with_parts(target))
                    continue
                files, others = listed(target.path)
                result.notes.extend(unexpected_names(target, files, others))
                inside = self._inside(target, files, others) if self.options.tail is None else iter([target])
                result.targets.extend(filter(self._is_shown, inside))
            except FileError as error:
                result.miss(target, error)
        if not (self.only_partitions or self.options.selects):
            for log_dir in found.named_log_dirs:
                try:
                    known = {failure.path for failure in found.failures}
                    result.targets.extend(
                        target
                        for target in _log_dir(log_dir, result.failures)
                        if target.shown not in known and self._is_shown(target)
                    )
                except FileError as error:
                    result.failures.append(FileError(shown(log_dir), *error.args[1:]))
        return result

    def _tail(
        self,
        unit: Unit,
        options: DumpOptions,
        findings: FindingCollector,  # noqa: ARG002 - each log has its own
    ) -> Scanned:
        """Yield the last of a partition from the logs that it lies in: a tail is short, it has no pause."""
        from kcli.dump.read_blocks import tails

        read = reader_for(LOG, options) or read_log
        logs = self._inside(unit.target, *listed(unit.target.path))
        for target, own in tails(list(logs), options):
            of_log = FindingCollector(target)
            items = read(replace(unit, targets=(target,)), own, of_log)
            yield from (item for item in items if not isinstance(item, Pause))
            yield from of_log.take()

    def _is_shown(self, target: Target) -> bool:
        """Whether a file of a directory is shown: in text not those that the tool would only ignore."""
        return not self.options.text or target.kind == PARTITION or has_lines(target)

    def _of_remote_segments(self, target: Target) -> Iterator[Target]:
        """Yield the files of a directory of remote segments; with a selection its logs alone."""
        entries = list(_entries(target, *listed(target.path)))
        logs = [entry for entry in entries if entry.kind == LOG]
        if self.options.selects and logs:
            yield from in_range(logs, self.options.filter)
        else:
            yield from (part for entry in entries for part in with_parts(entry))

    def _inside(self, target: Target, names: list[str], others: list[str]) -> Iterator[Target]:
        files = _entries(target, names, others)
        if not self.options.selects:
            return files
        kinds = (
            LOGS if self.options.tail is None and self.options.filter.offsets is None else {LOG}
        )  # a snapshot has offsets of its own
        logs = [file for file in files if file.kind in kinds]
        return iter(logs if self.options.tail is not None else in_range(logs, self.options.filter))


def _log_dir(log_dir: str, failures: list[FileError]) -> Iterator[Target]:
    """Yield what lies in a log dir besides its partitions, names that Kafka does not know included.

    A directory in it that cannot be listed is added to the failures.
    """
    target = Target(kind=PARTITION, path=log_dir, shown=shown(log_dir), name=None, log_dir=log_dir)
    for file in _entries(target, *listed(log_dir)):
        name = os.path.basename(file.path)
        if not os.path.isdir(file.path):
            yield file
        elif name == REMOTE_LOG_INDEX_CACHE:
            try:
                yield from _entries(file, *listed(file.path))
            except FileError as error:
                failures.append(FileError(file.shown, *error.args[1:]))
        elif parse_partition_dir(name) is None:
            yield file


def _entries(directory: Target, files: list[str], others: list[str]) -> Iterator[Target]:
    """Yield every entry of a directory, as `listed`, sorted by name; what is no file is of kind unknown."""
    for name in sorted([*files, *others]):
        yield entry_of(directory, name, UNKNOWN if name in others else parse_file(name).kind)


__all__ = ["ACCEPTS", "Dump", "DumpOptions"]
