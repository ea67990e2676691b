"""`replica diff` and `replica fingerprint`: replicas in pairs, the first with each of the others."""

import json
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from formats import names
from formats.names import PartitionDir
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import (
    Yield,
    answer,
    directory_findings,
    other_identity,
    partition_job,
    undisturbed,
    where,
)
from kcli.jobs.replica_pairs import report_alone
from kcli.kafka.findings.findings import Finding
from kcli.kafka.integrity.compacted import COMPACTED_TOPICS, is_compacted
from kcli.kafka.kraft.partition_start import start
from kcli.kafka.replication import replica_diff
from kcli.kafka.replication.fingerprints import (
    UNKNOWN_VERDICT,
    Fingerprint,
    LogFingerprint,
    compare_fingerprints,
    fingerprints,
)
from kcli.kafka.storage.load_findings import stop_finding
from kcli.logdir.buffers import DataFile, FileError, read_whole
from kcli.logdir.find import FileSet
from kcli.logdir.log_dirs import version_of
from kcli.logdir.partition import Partition
from kcli.logdir.targets import PARTITION, Selection, Target
from kcli.rows.partitions import Where
from kcli.rows.replicas import FingerprintRow, ReplicaRangeRow

MANIFEST = "fingerprints"  # the kind of a target that is a partition of a manifest
REPLICA_KINDS = frozenset({PARTITION, MANIFEST})
_BEGINS = b'{"type"'


class Fingerprinted(NamedTuple):
    """Where fingerprints were taken, and what they are."""

    where: Where
    log: LogFingerprint


@partition_job
def fingerprint(partition: Partition, *, width: int) -> Yield:
    """Yield a row for each range of a replica."""
    loaded = yield from start(partition)
    with closing(replica_diff.ReplicaLog(loaded)) as log:
        begin, end = loaded.log_start_offset, loaded.log_end_offset
        empty = Fingerprint(end, end - 1, leader_epoch=-1, batches=0, size=0, hash="")
        ranges = [*fingerprints(log, width)] or [empty]
        for span in ranges:
            yield FingerprintRow(where(partition), begin, end, width, *span, span is ranges[-1])
        for path, stop in log.broken:
            yield from stop_finding(partition, path, stop)


def with_manifests(file_set: FileSet, selection: Selection) -> FileSet:
    """Return the same with a target for each partition of the manifests that were named."""
    targets: list[Target] = []
    failures = list(file_set.failures)
    for target in file_set.targets:
        if target.kind != names.UNKNOWN or not is_manifest(target.path):
            if selection.wants(target.name):
                targets.append(target)
            continue
        try:
            targets += [
                replace(target, kind=MANIFEST, shown=replica.where.dir, name=name)
                for name, replica in manifest(target.path).items()
                if selection.wants(name)
            ]
        except FileError as error:
            failures.append(error)
    return replace(file_set, targets=targets, failures=failures)


def is_manifest(path: str) -> bool:
    """Whether a path leads to a file that begins as ndjson does."""
    try:
        with DataFile(path) as file:
            return file.read(0, len(_BEGINS)) == _BEGINS
    except FileError:
        return False


def manifest(path: str) -> dict[PartitionDir, Fingerprinted]:
    """Return the fingerprints in a file of ndjson by partition. FileError with the byte of a bad line."""
    return _manifest(path, version_of(path))


@lru_cache(maxsize=64)
def _manifest(path: str, _version: object) -> dict[PartitionDir, Fingerprinted]:
    rows_of: dict[PartitionDir, list[FingerprintRow]] = {}
    position = 0
    for line in read_whole(path).splitlines(keepends=True):
        try:
            row = _read_row(line)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            message = "expected a line of kcli replica fingerprint -o ndjson"
            raise FileError(path, "corrupt", message, position) from error
        position += len(line)
        if row is not None:
            name = PartitionDir(row.where.topic or "", row.where.partition or 0)
            rows_of.setdefault(name, []).append(row)
    return {name: _fingerprinted(path, rows) for name, rows in rows_of.items()}


def _read_row(line: bytes) -> FingerprintRow | None:
    """Return the row of a line, None for one of another type; an error for what is none."""
    fields: dict[str, Any] = json.loads(line)
    if fields.pop("type") != "fingerprint":
        return None
    origin = Where(*(fields.pop(name) for name in Where._fields))
    row = FingerprintRow(origin, *(fields[name] for name in FingerprintRow._fields[1:]))
    texts, numbers = (row.hash, origin.dir, origin.topic), (*row[1:-2], origin.partition)
    is_good = all(isinstance(text, str) for text in texts) and all(type(number) is int for number in numbers)
    if not is_good or not isinstance(row.is_last, bool) or row.range_offsets < 1:
        raise ValueError(line)
    return row


def _fingerprinted(path: str, rows: Sequence[FingerprintRow]) -> Fingerprinted:
    first, name = rows[0], f"{rows[0].where.topic}-{rows[0].where.partition}"
    if len({row[:4] for row in rows}) > 1 or sum(row.is_last for row in rows) > 1:
        raise FileError(path, "corrupt", f"{name} is there twice; name one replica in a file")
    if not rows[-1].is_last:
        raise FileError(path, "corrupt", f"{name}: the last of its fingerprints is missing")
    ranges = tuple(Fingerprint(*row[4:-1]) for row in rows if row.batches)
    return Fingerprinted(first.where, LogFingerprint(*first[1:4], ranges))


def diff(unit: Unit, *, ignore_compression: bool = False) -> Outcome:
    """Return the ranges of two replicas, and a finding where they differ first or that one is alone."""
    if len(unit.targets) == 1:
        return answer(unit, lambda partition: [report_alone(partition)])
    if any(target.kind == MANIFEST for target in unit.targets):
        return answer(unit, lambda _: _by_fingerprints(unit))
    _, other_target = unit.targets

    def work(partition: Partition) -> Yield:
        return _by_batches(partition, Partition(other_target), ignore_compression=ignore_compression)

    return undisturbed(other_target, lambda: answer(unit, work))


def _by_fingerprints(unit: Unit) -> Yield:
    """Yield what a start says of a replica that is there, and the ranges by fingerprints."""
    by_target = {
        target: manifest(target.path)[PartitionDir(target.name.topic, target.name.partition)]
        for target in unit.targets
        if target.kind == MANIFEST and target.name is not None
    }
    widths = {side.log.width for side in by_target.values()}
    if len(widths) > 1:
        sizes = " and ".join(map(str, sorted(widths)))
        message = f"fingerprints of ranges of {sizes} offsets cannot be compared"
        raise FileError(unit.targets[1].path, "corrupt", message)
    (width,) = widths
    sides: list[Fingerprinted] = []
    of_logs: list[Partition] = []
    for target in unit.targets:
        if target in by_target:
            sides.append(by_target[target])
            continue
        partition = Partition(target)
        of_logs.append(partition)
        loaded = yield from start(partition)
        with closing(replica_diff.ReplicaLog(loaded)) as log:
            spans = tuple(fingerprints(log, width))
            log_fingerprint = LogFingerprint(loaded.log_start_offset, loaded.log_end_offset, width, spans)
            sides.append(Fingerprinted(where(partition), log_fingerprint))
            for path, stop in log.broken:
                yield from stop_finding(partition, path, stop)
    own, other = sides
    ranges = replica_diff.neighbours_joined(compare_fingerprints(own.log, other.log))
    if replica_diff.lacks_batches(ranges):
        name = unit.target.name
        is_internal = name is not None and name.topic in COMPACTED_TOPICS
        is_cleaned = is_internal or (yield from is_compacted(*of_logs))
        ranges = replica_diff.settled(ranges, is_compacted=is_cleaned)
    yield from _report(own.where, other.where, ranges or [replica_diff.ReplicaRange.empty(0)])


def _by_batches(partition: Partition, other_partition: Partition, *, ignore_compression: bool) -> Yield:
    yield from other_identity(partition, other_partition)
    loaded = yield from start(partition)
    other = yield from start(other_partition)
    with closing(replica_diff.ReplicaLog(loaded)) as first, closing(replica_diff.ReplicaLog(other)) as second:
        ranges = replica_diff.compare_logs(first, second, ignore_compression=ignore_compression)
    if replica_diff.lacks_batches(ranges):
        is_cleaned = yield from is_compacted(partition, other_partition)
        ranges = replica_diff.settled(ranges, is_compacted=is_cleaned)
    for replica, log in ((partition, first), (other_partition, second)):
        for path, stop in log.broken:
            yield from stop_finding(replica, path, stop)
    origins = where(partition), where(other_partition)
    damaged = [origin.dir for origin, log in zip(origins, (first, second), strict=True) if log.broken]
    ranges = ranges or [replica_diff.ReplicaRange.empty(loaded.log_end_offset)]
    yield from _report(*origins, ranges, damaged)
    yield from directory_findings(other_partition)


def _report(
    origin: Where, other: Where, ranges: Sequence[replica_diff.ReplicaRange], damaged: Collection[str] = ()
) -> Yield:
    """Yield the rows, what each replica lacks, maybe behind damage, and where they first differ."""
    for span in ranges:
        yield ReplicaRangeRow(
            origin,
            other.dir,
            other.broker_id,
            first_offset=span.first_offset,
            last_offset=span.last_offset,
            verdict=span.verdict,
            reason=span.reason,
            leader_epoch=span.here.epoch,
            other_leader_epoch=span.there.epoch,
            batches=span.here.batches,
            other_batches=span.there.batches,
            bytes=span.here.size,
            other_bytes=span.there.size,
        )
    yield from _missing(origin, other, ranges, damaged)
    first = {span.verdict: span for span in reversed(ranges)}
    if replica_diff.DIFFERS in first:
        span = first[replica_diff.DIFFERS]
        epochs = f"leader epoch {span.here.epoch} here, {span.there.epoch} there"
        holder = origin
        message = f"differs from {other.dir} from offset {span.first_offset} on: {epochs} ({span.reason})"
        if span.reason == replica_diff.REPEATED:
            holder = origin if span.here.batches else other
            offsets = f"offsets {span.first_offset} to {span.last_offset}"
            message = f"{offsets} come again, or after higher ones: kcli check shows where"
        yield Finding("REPL-001", message, dir=holder.dir, found=span.first_offset)
    elif UNKNOWN_VERDICT in first:
        span = first[UNKNOWN_VERDICT]
        message = (
            f"offsets {span.first_offset} to {span.last_offset} cannot be compared with {other.dir}: "
            "one of both has one fingerprint of them, and the log of the other ends among them"
        )
        yield Finding("REPL-003", message, dir=origin.dir)


def _missing(
    origin: Where, other: Where, ranges: Sequence[replica_diff.ReplicaRange], damaged: Collection[str]
) -> Iterable[Finding]:
    """Yield for each replica the first offsets that it lacks, though its log goes on after them."""
    for replica, verdict in ((origin, replica_diff.ONLY_THERE), (other, replica_diff.ONLY_HERE)):
        lacking = [span for span in ranges if span.reason == replica_diff.MISSING and span.verdict == verdict]
        if not lacking:
            continue
        first = lacking[0]
        count = f", the first of {len(lacking)} such ranges," if len(lacking) > 1 else ""
        message = (
            f"offsets {first.first_offset} to {first.last_offset}{count} are missing here, and nothing shows "
            "that the log cleaner removed them"
        )
        if replica.dir in damaged:
            message += "; some may lie behind damage in a segment, where kcli salvage finds them"
        yield Finding("REPL-005", message, dir=replica.dir, found=first.first_offset)
