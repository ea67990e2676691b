"""Ranges of offsets and times: blocks of columns are read and filtered.

`kcli dump` looks at batches and records one by one where it selects. Here a log is read as a whole from the
place that the indexes give, and blocks of columns are filtered. It ends where `kcli dump` ends: after two
consecutive batches with rising offsets, both after the range.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from formats.batch import LOG_OVERHEAD
from formats.magic import is_legacy
from kcli.dump.filter import HIGHEST, LOWEST, RecordFilter
from kcli.dump.job import Dump, DumpOptions
from kcli.dump.log_blocks import Log, byte_range
from kcli.dump.options import EVERYTHING
from kcli.engine.contract import Outcome, Unit
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.integrity.damaged import verified_windows
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.bulk import Window
from kcli.logdir.remote_objects import open_log
from kcli.rows import ArrowBlock, Item, row_types, type_name, values_of
from kcli.rows.arrow_arrays import booleans
from kcli.views.definitions import BATCHES, RECORDS
from kcli.views.options import RANGES

NAMES = {row_type.name: row_type.names for row_type in row_types("dump")}


@dataclass(frozen=True, slots=True)
class Ranged:
    """The job of `kcli dump` for a range of offsets or times.

    Rows of batches or records, findings about what was read.
    """

    options: DumpOptions

    @property
    def in_blocks(self) -> bool:
        """Whether nothing else is selected: else batches and records are read one by one."""
        return not replace(self.options.filter, offsets=None, times=None)

    @property
    def read(self) -> RecordFilter:
        """The filter while reading; times of batches are compared here, by the largest alone."""
        if self.in_blocks:
            return EVERYTHING
        limits = self.options.filter
        return (
            limits
            if self.options.records or limits.times is None
            else replace(limits, times=(limits.times[0], HIGHEST))
        )

    def __call__(self, unit: Unit) -> Outcome:
        """Return the next rows in the range of a log."""
        if self.in_blocks and unit.begins:
            unit = self._narrowed(unit)
        outcome = Dump(replace(self.options, filter=self.read))(unit)
        return replace(outcome, rows=[row for row in map(self._kept, outcome.rows) if row is not None])

    def _narrowed(self, unit: Unit) -> Unit:
        """Return the part of a log from where the indexes lead to, up to where `kcli dump` stops reading."""
        try:
            with open_log(unit.target.path) as file:
                start = byte_range(Log(file, unit.target, self.options, FindingCollector(unit.target)))[0]
                offsets = self.options.filter.offsets
                end = 0 if offsets is None or offsets[1] == HIGHEST else _end_after(file, start, offsets[1])
        except FileError:
            return unit  # the job that reads the log reports the error
        return replace(unit, start=start, end=end)

    def _bounds(self) -> Iterator[tuple[str, int, int]]:
        """Yield columns with the lowest and the highest value of a row in the range."""
        view = RECORDS if self.options.records else BATCHES
        for name, limits in (("offsets", self.options.filter.offsets), ("times", self.options.filter.times)):
            low, high = limits or (LOWEST, HIGHEST)
            upper, lower = RANGES[name][view]
            yield upper, low, HIGHEST
            yield lower, LOWEST, high

    def _kept(self, row: Item) -> Item | None:
        """Return the rows of a row or block that are in the range; None for none."""
        if isinstance(row, ArrowBlock):
            masks = [
                (values >= low) & (values <= high)
                for name, low, high in self._bounds()
                for values in [_numbers(row, name)]
            ]
            mask = reduce(lambda one, other: one & other, masks)
            if mask.all():
                return row
            return ArrowBlock(row.type_name, row.batch.filter(booleans(mask))) if mask.any() else None
        assert isinstance(row, tuple)
        values: dict[str, Any] = dict(zip(NAMES[type_name(row)], values_of(row), strict=True))
        bounds = [
            (name, low, high)
            for name, low, high in self._bounds()
            if name != "base_offset" or not _is_wrapper(values)
        ]
        return row if all(low <= values[name] <= high for name, low, high in bounds) else None


def _end_after(file: DataFile, start: int, last: int) -> int:
    """Return the end of the second of two consecutive batches with rising offsets above `last`.

    0 where there are none. One batch alone proves nothing: no checksum covers its base offset.
    """
    passed: int | None = None
    for window in verified_windows(file, start):
        if not isinstance(window, Window):
            continue
        fields = window.fields
        beyond = (
            ~is_legacy(fields["magic"]) & (fields["base_offset"] > last) & (fields["last_offset_delta"] >= 0)
        )
        if window.valid is not None:
            beyond &= window.valid
        before = -1
        for number in beyond.nonzero()[0].tolist():
            first = int(fields["base_offset"][number])
            follows = before == number - 1
            if follows and passed is not None and first > passed:
                return int(window.positions[number]) + LOG_OVERHEAD + int(fields["batch_length"][number])
            before, passed = number, first + int(fields["last_offset_delta"][number])
        if before != len(window.positions) - 1:
            passed = None
    return 0


def _numbers(block: ArrowBlock, column: str) -> Any:
    return block.batch.column(column).to_numpy()


def _is_wrapper(values: dict[str, Any]) -> bool:
    """Whether a row is a batch of magic 0 or 1 that is stored with its last offset.

    It may begin anywhere before.
    """
    return "count" in values and values["count"] is None
