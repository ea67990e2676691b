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
from typing import Any, NamedTuple, TypeAlias
from zlib import crc32

from kcli.engine.contract import Unit
from kcli.jobs.scan.log_targets import directory_of
from kcli.jobs.scan.scan import is_segment
from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.kafka.integrity.checks.epochs import EpochRun
from kcli.kafka.integrity.checks.producers import ProducerFacts
from kcli.kafka.integrity.checks.segments import GoodEnd, SegmentFacts
from kcli.logdir.buffers import FileError
from kcli.logdir.log_dirs import directory_facts
from kcli.logdir.partition_names import SWAP, listed
from kcli.logdir.targets import PARTITION, Target

VERSION = 4
EXTENSIONS = ("log", "index", "timeindex", "txnindex", "snapshot")
STALE_INDEX = "IDX-010"
OF_PRODUCERS = ("PROD-", "IDX-008")
"""Findings that all segments show together: the next run must read all of them again."""

FileIdentity: TypeAlias = tuple[int, int, int] | None
"""Size, modification time (ns) and inode of a file; None where it is missing."""
FileIdentities: TypeAlias = tuple[FileIdentity, ...]
"""Of the files of a segment, in the order of EXTENSIONS."""


class StateError(Exception):
    """A file is no state of `check`; the message says why."""


class WholeSegment(NamedTuple):
    """A segment that was found whole, with what the checks of its partition need of it."""

    files: FileIdentities
    has_read_records: bool
    first: int | None
    end: int | None
    is_compacted: bool
    is_sparse: bool
    has_messages: bool
    is_open: bool
    """Its indexes are as a broker leaves them while it appends: they are wrong once it is closed."""
    epochs: tuple[EpochRun, ...]


class IncrementalState:
    """The whole segments of each partition, by its real path and their base offsets; changed in place.

    `records`: whether this run reads records.
    """

    def __init__(self, partitions: dict[str, dict[int, WholeSegment]], *, records: bool) -> None:
        self.partitions = partitions
        self.records = records
        self._files: dict[str, dict[int, FileIdentities]] = {}
        """Of the segments of this run, before they are read."""

    def mark_unchanged(self, units: Sequence[Unit]) -> list[Unit]:
        """Return the units; `known` of those that need not be read is what is known of their segment."""
        marked: list[Unit] = []
        for _, group in groupby(units, key=lambda unit: directory_of(unit.target)):
            directory, *logs = group
            is_partition = directory.target.kind == PARTITION  # a log that is named alone is read
            marked += [directory, *(self._mark(directory.target, logs) if is_partition else logs)]
        return marked

    def _mark(self, directory: Target, logs: list[Unit]) -> list[Unit]:
        path = os.path.realpath(directory.path)
        known = self.partitions.setdefault(path, {})
        files = {
            _base(unit.target): _identities(unit.target.path) for unit in logs if is_segment(unit.target)
        }
        self._files[path] = files
        changed = {
            base for base, one in known.items() if base in files and not _is_same(one.files, files[base])
        }
        if _has_swaps(directory) or not self._is_continued(known, files, changed):
            known.clear()
        is_stopped = directory.log_dir is not None and directory_facts(directory.log_dir).clean_shutdown
        closed = {base for base, one in known.items() if one.is_open and (is_stopped or base != max(files))}
        return [
            replace(unit, known=_facts(unit.target, known[base]))
            if is_segment(unit.target) and (base := _base(unit.target)) in known.keys() - changed - closed
            else unit
            for unit in logs
        ]

    def _is_continued(
        self, known: dict[int, WholeSegment], files: dict[int, FileIdentities], changed: set[int]
    ) -> bool:
        """Whether a partition changed as an append, a roll and retention change it, and nothing else."""
        has_grown = all(base == max(known) and _has_grown(known[base].files, files[base]) for base in changed)
        is_torn = any(base > min(files, default=base) for base in known.keys() - files.keys())
        had_snapshots = any(one.files[-1] for one in known.values())
        lost_snapshots = had_snapshots and not any(one[-1] for one in files.values())
        needs_records = self.records and not all(one.has_read_records for one in known.values())
        return has_grown and not (is_torn or lost_snapshots or needs_records)

    def remember(
        self, directory: Target, segments: Iterable[SegmentFacts], findings: Iterable[Finding]
    ) -> None:
        """Remember the segments of a partition that are whole, and forget the others."""
        path = os.path.realpath(directory.path)
        before, files = self.partitions.pop(path, {}), self._files.get(path, {})
        damaged = [one for one in findings if one.severity != SEVERITIES[0] or one.code == STALE_INDEX]
        stems = {(one.path or "").rpartition(".")[0] for one in damaged}
        whole = [
            one
            for one in segments
            if one.base in files and not (one.is_cut or one.target.shown.removesuffix(".log") in stems)
        ]
        if any(one.code.startswith(OF_PRODUCERS) for one in damaged):
            whole = []
        self.partitions[path] = {
            facts.base: WholeSegment(
                files=files[facts.base],
                has_read_records=before[facts.base].has_read_records if facts.is_remembered else self.records,
                first=facts.first,
                end=facts.end,
                is_compacted=facts.is_compacted,
                is_sparse=facts.is_sparse,
                has_messages=facts.has_messages,
                is_open=bool(facts.if_closed) or (facts.is_remembered and before[facts.base].is_open),
                epochs=facts.epochs,
            )
            for facts in whole
        }

    def dumps(self) -> str:
        """Return the state: a line with its version and the CRC-32 of the rest, then the segments as JSON.

        Left out are partitions that are gone from a log dir which is there.
        """
        kept = {
            path: segments
            for path, segments in self.partitions.items()
            if os.path.isdir(path) or not os.path.isdir(os.path.dirname(path))
        }
        text = json.dumps(kept, separators=(",", ":"))
        return f"{json.dumps({'version': VERSION, 'crc': crc32(text.encode())})}\n{text}"


def loads(text: str) -> dict[str, dict[int, WholeSegment]]:
    """Return the segments in a state file's text; StateError where it is none."""
    again = "remove it, and the next run reads everything once"
    try:
        first, _, rest = text.partition("\n")
        head = json.loads(first)
        if head["version"] != VERSION:
            raise StateError(f"a state of version {head['version']}, this release writes {VERSION}: {again}")
        if head["crc"] != crc32(rest.encode()):
            raise StateError(f"its checksum does not match: {again}")
        return {
            path: {int(base): _segment(fields) for base, fields in segments.items()}
            for path, segments in json.loads(rest).items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StateError("this is no state that kcli check wrote") from error


def _segment(fields: list[Any]) -> WholeSegment:
    segment = WholeSegment._make(fields)
    files = tuple(None if one is None else (one[0], one[1], one[2]) for one in segment.files)
    return segment._replace(files=files, epochs=tuple(EpochRun(*run) for run in segment.epochs))


def _has_swaps(directory: Target) -> bool:
    """Whether a start takes files under other names than theirs."""
    with suppress(FileError):
        return any(name.endswith(SWAP) for name in listed(directory.path)[0])
    return False


def _identities(log: str) -> FileIdentities:
    identities: list[FileIdentity] = []
    for extension in EXTENSIONS:
        try:
            status = os.stat(log.removesuffix("log") + extension)
            identities.append((status.st_size, status.st_mtime_ns, status.st_ino))
        except OSError:
            identities.append(None)
    return tuple(identities)


def _is_same(before: FileIdentities, now: FileIdentities) -> bool:
    """Whether the files of a segment did not change; releases before 2.8 remove old producer snapshots."""
    return before[:-1] == now[:-1] and now[-1] in {before[-1], None}


def _has_grown(before: FileIdentities, now: FileIdentities) -> bool:
    """Whether a segment is as after an append or a roll, which cuts its indexes."""
    log, grown = before[0], now[0]
    if log is None or grown is None or grown[2] != log[2] or now[-1] not in {before[-1], None}:
        return False  # the producers before a new snapshot are not known
    return grown[0] > log[0] or (grown == log and now[3] == before[3])


def _base(log: Target) -> int:
    return int(os.path.basename(log.path).partition(".")[0])


def _facts(target: Target, known: WholeSegment) -> SegmentFacts:
    """Return what is known of a segment without reading it."""
    size = 0 if known.files[0] is None else known.files[0][0]
    return SegmentFacts(
        base=_base(target),
        target=target,
        size=size,
        good_end=GoodEnd(size, known.end),
        first=known.first,
        end=known.end,
        is_compacted=known.is_compacted,
        epochs=known.epochs,
        producers=ProducerFacts(None),
        is_sparse=known.is_sparse,
        has_messages=known.has_messages,
        is_remembered=True,
    )
