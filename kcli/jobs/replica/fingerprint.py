"""`replica fingerprint`, and `replica diff` with what it has written instead of a replica."""

import json
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from formats.names import UNKNOWN, PartitionDir
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.checkpoint import COMPACTED_TOPICS, is_compacted
from kcli.jobs.common import Yield, answer, where
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.start import start
from kcli.kafka.replication.fingerprints import (
    Fingerprint,
    LogFingerprint,
    compare_fingerprints,
    fingerprint_within,
    fingerprints,
)
from kcli.kafka.replication.replica_diff import (
    ReplicaLog,
    ReplicaRange,
    lacks_batches,
    neighbours_joined,
    settled,
)
from kcli.kafka.storage.start_findings import stop_finding
from kcli.logdir.buffers import DataFile, FileError, read_whole
from kcli.logdir.find import Found
from kcli.logdir.partition import Partition
from kcli.logdir.select import Selection
from kcli.logdir.targets import PARTITION, Target
from kcli.rows.fingerprints import FingerprintRow
from kcli.rows.places import Where

MANIFEST = "fingerprints"
"""The kind of a target that is a partition of a manifest."""
ACCEPTS = frozenset({PARTITION, MANIFEST})
_BEGINS = b'{"type"'


class Fingerprinted(NamedTuple):
    """Where fingerprints were taken, and what they are."""

    where: Where
    log: LogFingerprint


def show(unit: Unit, *, width: int) -> Outcome:
    """Return a row for each range of a replica."""
    return answer(unit, lambda partition: _show(partition, width))


def _show(partition: Partition, width: int) -> Yield:
    loaded = yield from start(partition)
    with closing(ReplicaLog(loaded)) as log:
        place, ends = where(partition), (loaded.log_start_offset, loaded.log_end_offset)
        parts = fingerprints(log, width)
        empty = Fingerprint(ends[1], ends[1] - 1, leader_epoch=-1, batches=0, size=0, hash="")
        last = next(parts, empty)
        for part in parts:
            yield _row(place, ends, width, last, is_last=False)
            last = part
        yield _row(place, ends, width, last, is_last=True)
        for path, stop in log.broken:
            yield from stop_finding(partition, path, stop)


def _row(
    place: Where, ends: tuple[int, int], width: int, part: Fingerprint, *, is_last: bool
) -> FingerprintRow:
    first, last, epoch, batches, size, digest = part
    return FingerprintRow(place, *ends, width, first, last, epoch, batches, size, digest, is_last)


def expand(found: Found, selection: Selection) -> Found:
    """Return the same with a target for each partition of the manifests that were named."""
    targets: list[Target] = []
    failures = list(found.failures)
    for target in found.targets:
        if target.kind != UNKNOWN or not is_manifest(target.path):
            if selection.wants(target.name):
                targets.append(target)
            continue
        try:
            targets += [
                replace(target, kind=MANIFEST, shown=taken.where.dir, name=name)
                for name, taken in manifest(target.path).items()
                if selection.wants(name)
            ]
        except FileError as error:
            failures.append(error)
    return replace(found, targets=targets, failures=failures)


def is_manifest(path: str) -> bool:
    """Whether a path leads to a file that begins as ndjson does."""
    try:
        with DataFile(path) as file:
            return file.read(0, len(_BEGINS)) == _BEGINS
    except FileError:
        return False


@cache
def manifest(path: str) -> dict[PartitionDir, Fingerprinted]:
    """Return the fingerprints in a file of ndjson by partition; lines of other types are left out.

    FileError, with the byte, for a line that is no fingerprint.
    """
    found: dict[PartitionDir, list[FingerprintRow]] = {}
    position = 0
    for line in read_whole(path).splitlines(keepends=True):
        row = _read_row(path, line, position)
        position += len(line)
        if row is not None:
            name = PartitionDir(row.where.topic or "", row.where.partition or 0)
            found.setdefault(name, []).append(row)
    return {name: _taken(path, rows) for name, rows in found.items()}


def _read_row(path: str, line: bytes, position: int) -> FingerprintRow | None:
    try:
        fields: dict[str, Any] = json.loads(line)
        if fields.pop("type") != "fingerprint":
            return None
        place = Where(*(fields.pop(name) for name in Where._fields))
        row = FingerprintRow(place, **fields)
        texts, numbers = (row.hash, place.dir), row[1:-2]
        is_good = all(isinstance(text, str) for text in texts) and all(
            type(number) is int for number in (*numbers, place.partition)
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _bad(path, position) from error
    if (
        not is_good
        or not isinstance(row.is_last, bool)
        or row.range_offsets < 1
        or not isinstance(place.topic, str)
    ):
        raise _bad(path, position)
    return row


def _bad(path: str, position: int) -> FileError:
    message = "expected a line of kcli replica fingerprint -o ndjson"
    return FileError(path, "corrupt", message, position)


def _taken(path: str, rows: Sequence[FingerprintRow]) -> Fingerprinted:
    first, name = rows[0], f"{rows[0].where.topic}-{rows[0].where.partition}"
    if len({row[:4] for row in rows}) > 1 or sum(row.is_last for row in rows) > 1:
        raise FileError(path, "corrupt", f"{name} is there twice; name one replica in a file")
    if not rows[-1].is_last:
        raise FileError(path, "corrupt", f"{name}: the last of its fingerprints is missing")
    ranges = tuple(Fingerprint(*row[4:-1]) for row in rows if row.batches)
    return Fingerprinted(first.where, LogFingerprint(*first[1:4], ranges))


def is_of_manifests(unit: Unit) -> bool:
    """Whether one of a unit's replicas is fingerprints alone."""
    return any(target.kind == MANIFEST for target in unit.targets)


def compare(unit: Unit) -> Generator[Finding, None, tuple[list[Where], list[ReplicaRange]]]:
    """Yield what a start says of a replica that is there; return the places of both, and their ranges."""
    known = {
        target: manifest(target.path)[_named(target)] for target in unit.targets if target.kind == MANIFEST
    }
    widths = {side.log.width for side in known.values()}
    if len(widths) > 1:
        words = " and ".join(map(str, sorted(widths)))
        message = f"fingerprints of ranges of {words} offsets cannot be compared"
        raise FileError(unit.targets[1].path, "corrupt", message)
    other = next(iter(known.values())).log
    sides: list[Fingerprinted] = []
    of_logs: list[Partition] = []
    for target in unit.targets:
        if target in known:
            sides.append(known[target])
            continue
        partition = Partition(target)
        of_logs.append(partition)
        loaded = yield from start(partition)
        with closing(ReplicaLog(loaded)) as log:
            sides.append(Fingerprinted(where(partition), fingerprint_within(log, other)))
            for path, stop in log.broken:
                yield from stop_finding(partition, path, stop)
    found = neighbours_joined(compare_fingerprints(sides[0].log, sides[1].log))
    if lacks_batches(found):
        found = settled(found, is_compacted=(yield from _is_compacted(unit, of_logs)))
    return [side.where for side in sides], found


def _is_compacted(unit: Unit, logs: Sequence[Partition]) -> Generator[Finding, None, bool | None]:
    name = unit.targets[0].name
    if name is not None and name.topic in COMPACTED_TOPICS:
        return True
    return (yield from is_compacted(*logs))


def _named(target: Target) -> PartitionDir:
    if target.name is None:
        raise AssertionError("a partition of a manifest has a name")
    return PartitionDir(target.name.topic, target.name.partition)
