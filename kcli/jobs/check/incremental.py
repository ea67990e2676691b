"""What `check --since` does not read again: unchanged segments that an earlier run found whole.

A segment is the same while its files have the same sizes, modification times and inodes. The state file
holds what the checks of a partition need of such a segment: its offsets and its leader epochs. Producers are
not in it: after segments that are not read they are unknown, as after deleted ones. Where a partition changed
otherwise than by appends, rolls and retention, all of it is read.
"""

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import Any, TypeAlias
from zlib import crc32

from kcli.engine.contract import Unit
from kcli.jobs.log_pass.log_targets import directory_of
from kcli.jobs.log_pass.scan import is_segment
from kcli.kafka.findings.findings import Finding
from kcli.kafka.integrity.checks.batches import EpochRun
from kcli.kafka.integrity.checks.producers import ProducerFacts
from kcli.kafka.integrity.checks.segments import GoodEnd, SegmentFacts
from kcli.logdir.buffers import UNPACKED, FileError
from kcli.logdir.partition_names import SWAP, listed
from kcli.logdir.targets import PARTITION, Target

STATE_VERSION = 6
EXTENSIONS = ("log", "index", "timeindex", "txnindex", "snapshot")
STALE_INDEX = "IDX-010"
OF_PRODUCERS = ("PROD-", "IDX-008")
"""Findings that all segments show together: the next run must read all of them again."""

FileIdentities: TypeAlias = list[list[int] | None]
"""Size, modification time (ns) and inode of the files of a segment by EXTENSIONS; None for a missing one."""
WholeSegment: TypeAlias = tuple[FileIdentities, list[Any]]
"""The files of a segment that was found whole, and its SegmentFacts as JSON has them."""


class StateError(Exception):
    """A file is no state of `check`; the message says why."""


class IncrementalState:
    """The whole segments of each partition by base offset; `records`: whether a run reads records."""

    def __init__(self, text: str | None, *, records: bool) -> None:
        self.partitions = {} if text is None else _loads(text, records=records)
        self.records = records
        self._files: dict[str, dict[int, FileIdentities]] = {}
        """Of the segments of this run, before they are read."""

    def mark_unchanged(self, units: Sequence[Unit]) -> list[Unit]:
        """Return the units; `known` of those that need not be read is what is known of their segment."""
        marked: list[Unit] = []
        for _, group in groupby(units, key=lambda unit: directory_of(unit.target)):
            directory, *logs = group
            # a log that is named alone is read, and what has just been unpacked
            is_partition = directory.target.kind == PARTITION and UNPACKED not in directory.target.path
            marked += [directory, *(self._mark(directory.target, logs) if is_partition else logs)]
        return marked

    def _mark(self, directory: Target, logs: list[Unit]) -> list[Unit]:
        path = os.path.realpath(directory.path)
        segments = {_base(unit.target): unit.target for unit in logs if is_segment(unit.target)}
        files = self._files[path] = {base: _identities(target.path) for base, target in segments.items()}
        state = self.partitions.setdefault(path, {})
        changed = {
            base for base, (ids, _) in state.items() if base in files and not _is_same(ids, files[base])
        }
        has_grown = all(base == max(state) and _has_grown(state[base][0], files[base]) for base in changed)
        is_torn = any(base > min(files, default=base) for base in state.keys() - files.keys())
        had_snapshots = any(file[-1] for file, _ in state.values())
        lost_snapshots = had_snapshots and not any(file[-1] for file in files.values())
        if is_torn or lost_snapshots or not has_grown or _has_swaps(directory):
            state.clear()
        return [
            replace(unit, facts=_facts(unit.target, state[base][1]))
            if is_segment(unit.target) and (base := _base(unit.target)) in state.keys() - changed
            else unit
            for unit in logs
        ]

    def remember(
        self, directory: Target, segments: Iterable[SegmentFacts], findings: Iterable[Finding]
    ) -> None:
        """Remember the segments of a partition that are whole, and forget the others."""
        path = os.path.realpath(directory.path)
        if UNPACKED in path:
            return
        files = self._files.get(path, {})
        damaged = [
            finding for finding in findings if finding.severity != "info" or finding.code == STALE_INDEX
        ]
        stems = {(finding.path or "").rpartition(".")[0] for finding in damaged}
        has_producers = any(finding.code.startswith(OF_PRODUCERS) for finding in damaged)
        self.partitions[path] = {
            segment.base: (
                files[segment.base],
                [None if isinstance(value, Target | ProducerFacts) else value for value in segment],
            )
            for segment in segments
            if segment.base in files and not (has_producers or segment.is_cut)
            if segment.target.shown.removesuffix(".log") not in stems
        }

    def dumps(self) -> str:
        """Return the state of partitions that are still there: version and CRC-32 in a line, then JSON."""
        partitions = {
            path: segments
            for path, segments in self.partitions.items()
            if os.path.isdir(path) or not os.path.isdir(os.path.dirname(path))
        }
        text = json.dumps(partitions, separators=(",", ":"))
        head = {"version": STATE_VERSION, "records": self.records, "crc": crc32(text.encode())}
        return f"{json.dumps(head)}\n{text}"


def _loads(text: str, *, records: bool) -> dict[str, dict[int, WholeSegment]]:
    """Return the segments in a state file's text; StateError where it is none."""
    advice = "remove it, and the next run reads everything once"
    try:
        first, _, body = text.partition("\n")
        head = json.loads(first)
        if head["version"] != STATE_VERSION:
            raise StateError(
                f"a state of version {head['version']}, this release writes {STATE_VERSION}: {advice}"
            )
        if head["crc"] != crc32(body.encode()):
            raise StateError(f"its checksum does not match: {advice}")
        if records and not head["records"]:
            return {}
        return {
            path: {int(base): (files, facts) for base, (files, facts) in segments.items()}
            for path, segments in json.loads(body).items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StateError("this is no state that kcli check wrote") from error


def _has_swaps(directory: Target) -> bool:
    """Whether a start takes files under other names than theirs."""
    with suppress(FileError):
        return any(name.endswith(SWAP) for name in listed(directory.path)[0])
    return False


def _identities(log: str) -> FileIdentities:
    identities: FileIdentities = []
    for extension in EXTENSIONS:
        try:
            status = os.stat(log.removesuffix("log") + extension)
            identities.append([status.st_size, status.st_mtime_ns, status.st_ino])
        except OSError:
            identities.append(None)
    return identities


def _is_same(before: FileIdentities, now: FileIdentities) -> bool:
    """Whether the files of a segment did not change; releases before 2.8 remove old producer snapshots."""
    return before[:-1] == now[:-1] and now[-1] in (before[-1], None)


def _has_grown(before: FileIdentities, now: FileIdentities) -> bool:
    """Whether a segment is as after an append or a roll, which cuts its indexes."""
    log, grown = before[0], now[0]
    if log is None or grown is None or grown[2] != log[2] or now[-1] not in (before[-1], None):
        return False  # the producers before a new snapshot are not known
    return grown[0] > log[0] or (grown == log and now[3] == before[3])


def _base(log: Target) -> int:
    return int(os.path.basename(log.path).partition(".")[0])


def _facts(target: Target, values: list[Any]) -> SegmentFacts:
    """Return what is known of a segment without reading it."""
    facts = SegmentFacts._make(values)
    return facts._replace(
        target=target,
        good_end=GoodEnd(*facts.good_end),
        epochs=tuple(EpochRun(*run) for run in facts.epochs),
        producers=ProducerFacts(None),
        aborted=(),
        of_indexes=(),
        if_closed=tuple(Finding(*finding) for finding in facts.if_closed),
        holes=(),
        is_remembered=True,
    )
