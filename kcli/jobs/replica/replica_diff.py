"""`replica diff`: the replicas of each partition in pairs, the first with each of the others."""

import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import replace

from kcli.engine.contract import Outcome, Unit
from kcli.jobs.checkpoint import is_compacted
from kcli.jobs.common import Yield, answer, directory_findings, failed, other_identity, undisturbed, where
from kcli.jobs.replica.fingerprint import compare, is_of_manifests
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.start import start
from kcli.kafka.replication.fingerprints import UNKNOWN
from kcli.kafka.replication.replica_diff import (
    DIFFERS,
    MISSING,
    ONLY_HERE,
    ONLY_THERE,
    REPEATED,
    ReplicaLog,
    ReplicaRange,
    compared,
    lacks_batches,
    settled,
)
from kcli.kafka.storage.start_findings import stop_finding
from kcli.logdir.buffers import FileError
from kcli.logdir.partition import Partition
from kcli.logdir.targets import Target
from kcli.rows.places import Where
from kcli.rows.replicas import ReplicaRangeRow


def diff(unit: Unit, *, ignore_compression: bool = False) -> Outcome:
    """Return the ranges of two replicas, and a finding where they differ first or that one is alone."""
    if len(unit.targets) == 1:
        return answer(unit, _alone)
    if is_of_manifests(unit):
        return answer(unit, lambda _: _by_fingerprints(unit))
    here, there = unit.targets
    return undisturbed(there, lambda: _attempt(replace(unit, targets=(here,)), there, ignore_compression))


def _alone(partition: Partition) -> Yield:
    yield Finding("REPL-002", "no other replica of it was named", dir=partition.shown)


def _attempt(unit: Unit, there: Target, ignore_compression: bool) -> Outcome:  # noqa: FBT001
    of_other: list[FileError] = []

    def work(partition: Partition) -> Yield:
        of_other.clear()
        try:
            yield from _diff(partition, Partition(there), ignore_compression)
        except FileError as error:
            if there.path not in {error.path, os.path.dirname(error.path)}:
                raise
            of_other.append(error)

    outcome = answer(unit, work)
    if not of_other:
        return outcome
    trouble = failed(replace(unit, targets=(there,)), of_other[0])
    return replace(trouble, findings=[*outcome.findings, *trouble.findings])


def _diff(here: Partition, there: Partition, ignore_compression: bool) -> Yield:  # noqa: FBT001
    yield from other_identity(here, there)
    loaded = yield from start(here)
    other = yield from start(there)
    with closing(ReplicaLog(loaded)) as first, closing(ReplicaLog(other)) as second:
        ranges = compared(first, second, ignore_compression=ignore_compression)
    if lacks_batches(ranges):
        ranges = settled(ranges, is_compacted=(yield from is_compacted(here, there)))
    for partition, log in ((here, first), (there, second)):
        for path, stop in log.broken:
            yield from stop_finding(partition, path, stop)
    places = where(here), where(there)
    yield from (_row(*places, found) for found in ranges or [ReplicaRange.empty(loaded.log_end_offset)])
    damaged = [place.dir for place, log in zip(places, (first, second), strict=True) if log.broken]
    yield from _differs(*places, ranges, damaged)
    yield from directory_findings(there)


def _by_fingerprints(unit: Unit) -> Yield:
    (here, there), ranges = yield from compare(unit)
    yield from (_row(here, there, found) for found in ranges or [ReplicaRange.empty(0)])
    yield from _differs(here, there, ranges)


def _row(here: Where, there: Where, found: ReplicaRange) -> ReplicaRangeRow:
    return ReplicaRangeRow(
        here,
        there.dir,
        there.broker_id,
        first_offset=found.first_offset,
        last_offset=found.last_offset,
        verdict=found.verdict,
        reason=found.reason,
        leader_epoch=found.here.epoch,
        other_leader_epoch=found.there.epoch,
        batches=found.here.batches,
        other_batches=found.there.batches,
        bytes=found.here.size,
        other_bytes=found.there.size,
    )


def _differs(
    here: Where, there: Where, ranges: Sequence[ReplicaRange], damaged: Collection[str] = ()
) -> Iterable[Finding]:
    """Yield what each replica lacks, and the first offset at which they differ or cannot be compared.

    `damaged` are the directories of those of which a segment could not be read to its end.
    """
    yield from _missing(here, there, ranges, damaged)
    for found in ranges:
        if found.verdict == DIFFERS and found.reason == REPEATED:
            holder = here if found.here.batches else there
            words = f"offsets {found.first_offset} to {found.last_offset} come again, or after higher ones"
            yield Finding(
                "REPL-001", f"{words}: kcli check shows where", dir=holder.dir, found=found.first_offset
            )
            return
        if found.verdict == DIFFERS:
            message = (
                f"differs from {there.dir} from offset {found.first_offset} on: leader epoch "
                f"{found.here.epoch} here, {found.there.epoch} there ({found.reason})"
            )
            yield Finding("REPL-001", message, dir=here.dir, found=found.first_offset)
            return
    for found in ranges:
        if found.verdict == UNKNOWN:
            message = (
                f"offsets {found.first_offset} to {found.last_offset} cannot be compared with {there.dir}: "
                "one of both has one fingerprint of them, and the log of the other ends among them"
            )
            yield Finding("REPL-004", message, dir=here.dir)
            return


def _missing(
    here: Where, there: Where, ranges: Sequence[ReplicaRange], damaged: Collection[str]
) -> Iterable[Finding]:
    """Yield for each replica the first offsets that it lacks, though its log goes on after them."""
    for replica, verdict in ((here, ONLY_THERE), (there, ONLY_HERE)):
        lacking = [one for one in ranges if one.reason == MISSING and one.verdict == verdict]
        if not lacking:
            continue
        first = lacking[0]
        more = f", the first of {len(lacking)} such ranges," if len(lacking) > 1 else ""
        message = (
            f"offsets {first.first_offset} to {first.last_offset}{more} are missing here, and nothing shows "
            "that the log cleaner removed them"
        )
        if replica.dir in damaged:
            message += "; some may lie behind damage in a segment, where kcli salvage finds them"
        yield Finding("REPL-005", message, dir=replica.dir, found=first.first_offset)
