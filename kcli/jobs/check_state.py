"""What `check --since` remembers: closed segments that were read and found whole, by their files.

A segment is the same while its log and the indexes beside it have the same sizes, modification times and
inodes. One with a finding above info is never remembered, so that it is read and reported again. A producer
snapshot is held against all batches before it: where one was changed the whole directory is read again.
"""

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from kcli.analysis.checks.epochs import EpochRun
from kcli.analysis.checks.producers import ProducerFacts
from kcli.analysis.checks.segments import GoodEnd, SegmentFacts
from kcli.analysis.findings import SEVERITIES, Finding
from kcli.engine.contract import Unit
from kcli.jobs.scan import is_segment
from kcli.jobs.scan_logs import directory_of
from kcli.logdir.tree import Target

VERSION = 2
EXTENSIONS = ("log", "index", "timeindex", "txnindex", "snapshot")
Files: TypeAlias = tuple[tuple[int, int, int] | None, ...]
UNKNOWN = ProducerFacts(None)
"""The producers of a segment that is not read."""


class StateError(Exception):
    """A file is no state of `check`; the message says why."""


class Remembered(NamedTuple):
    """A segment that was found whole, with the facts that the segments after it need."""

    files: Files
    records: bool
    first: int | None
    end: int | None
    is_compacted: bool
    epochs: tuple[EpochRun, ...]


class State:
    """The segments that were found whole before, and those of this run; changed in place."""

    def __init__(self, entries: dict[str, Remembered], *, records: bool) -> None:
        self.entries = entries
        self.records = records
        self.skipped = 0
        """Segments that are not read again."""
        self._files: dict[str, Files] = {}
        self._left_out: dict[str, list[SegmentFacts]] = {}

    def unread(self, units: Sequence[Unit]) -> list[Unit]:
        """Return the units without the closed segments that did not change since they were found whole."""
        last = _last_segments(units)
        for unit in units:
            if is_segment(unit.target):
                path = _identity(unit.target)
                self._files[path] = _signature(path)
        changed = {os.path.dirname(path) for path in self._files if self._has_other_snapshot(path)}
        kept = []
        for unit in units:
            if not is_segment(unit.target):
                kept.append(unit)
                continue
            path = _identity(unit.target)
            known = self.entries.get(path)
            is_same = known is not None and self._is_same(known, self._files[path])
            if known is None or not is_same or unit.target.path in last or os.path.dirname(path) in changed:
                self.entries.pop(path, None)
                kept.append(unit)
                continue
            directory = directory_of(unit.target).shown
            self._left_out.setdefault(directory, []).append(_facts(unit.target, known))
            self.skipped += 1
        return kept

    def _is_same(self, known: Remembered, files: Files) -> bool:
        return known.files[:-1] == files[:-1] and (known.records or not self.records)

    def _has_other_snapshot(self, path: str) -> bool:
        """Whether a producer snapshot is another one; a release before 2.8 removes old ones."""
        known, now = self.entries.get(path), self._files[path][-1]
        return known is not None and now is not None and now != known.files[-1]

    def left_out(self, directory: str, below: int) -> list[SegmentFacts]:
        """Return, once, the segments of a directory below an offset that are not read."""
        held = self._left_out.get(directory, [])
        self._left_out[directory] = [one for one in held if one.base >= below]
        return [one for one in held if one.base < below]

    def keep(self, facts: SegmentFacts, findings: Iterable[Finding]) -> None:
        """Remember a closed segment that was read, unless there is a finding above info about its files."""
        path = _identity(facts.target)
        stem = facts.target.shown.removesuffix("log")
        if path in self.entries or path not in self._files or facts.is_cut:
            return
        if any(one.severity != SEVERITIES[0] and (one.path or "").startswith(stem) for one in findings):
            return
        self.entries[path] = Remembered(
            self._files[path], self.records, facts.first, facts.end, facts.is_compacted, facts.epochs
        )

    def forget(self, directory: str) -> None:
        """Remember no segment of a directory: all are needed to find again what was found."""
        place = os.path.join(os.path.realpath(directory), "")
        for path in [one for one in self._files if os.path.dirname(one) + os.sep == place]:
            self.entries.pop(path, None)

    def dumps(self) -> str:
        """Return the state as JSON."""
        return json.dumps({"version": VERSION, "segments": self.entries}, separators=(",", ":"))


def loads(text: str, *, records: bool) -> State:
    """Return the state in a file's text; StateError where it is none."""
    try:
        document = json.loads(text)
        if document["version"] != VERSION:
            raise StateError(f"version {document['version']}, expected {VERSION}")
        return State({path: _entry(values) for path, values in document["segments"].items()}, records=records)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StateError("this is no state that kcli check wrote") from error


def _entry(values: Any) -> Remembered:
    files, records, first, end, is_compacted, epochs = values
    return Remembered(
        tuple(None if one is None else (int(one[0]), int(one[1]), int(one[2])) for one in files),
        bool(records),
        None if first is None else int(first),
        None if end is None else int(end),
        bool(is_compacted),
        tuple(EpochRun(*map(int, run)) for run in epochs),
    )


def _last_segments(units: Iterable[Unit]) -> frozenset[str]:
    """Return the path of the last segment of each directory: to it a broker appends."""
    last: dict[str, str] = {}
    for unit in units:
        if is_segment(unit.target):
            last[directory_of(unit.target).path] = unit.target.path
    return frozenset(last.values())


def _identity(target: Target) -> str:
    return os.path.join(os.path.realpath(os.path.dirname(target.path) or "."), os.path.basename(target.path))


def _signature(path: str) -> Files:
    """Return size, modification time (ns) and inode of each file of a segment; None for a missing one."""
    stem = path.removesuffix("log")
    found: list[tuple[int, int, int] | None] = []
    for extension in EXTENSIONS:
        try:
            status = os.stat(stem + extension)
            found.append((status.st_size, status.st_mtime_ns, status.st_ino))
        except OSError:
            found.append(None)
    return tuple(found)


def _facts(target: Target, known: Remembered) -> SegmentFacts:
    """Return what is known of a segment without reading it."""
    size = 0 if known.files[0] is None else known.files[0][0]
    base = int(os.path.basename(target.path).partition(".")[0])
    good = GoodEnd(size, known.end)
    return SegmentFacts(
        base,
        target,
        size,
        good,
        known.first,
        known.end,
        known.is_compacted,
        known.epochs,
        producers=UNKNOWN,
    )
