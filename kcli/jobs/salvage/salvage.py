"""`salvage`: a clean copy of a partition elsewhere, its indexes and producers as recovery would write them.

The batches that can be read are copied first; then the copy is started as after an unclean stop, and what
that start would write is written. So the rules of recovery are those of `kcli.kafka.storage.log_loader`.
"""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from formats.checkpoint import EpochEntry, check_epoch_entries, read_leader_epoch_checkpoint
from formats.index import TXN_INDEX_ENTRY
from formats.names import CLUSTER_METADATA, file_prefix, parse_file
from formats.properties import read_partition_metadata
from formats.quorum import read_quorum_state
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import failure_of, log_dir_findings, until_whole, where
from kcli.jobs.salvage.salvage_epochs import EMPTY, MISSING, Lacks, fitting_epochs, unsaved_epochs
from kcli.jobs.salvage.salvage_losses import Losses, checkpoint_losses, logs_and_orphans
from kcli.jobs.salvage.salvage_places import SavedLog, copy_bytes, cut_out, load_failed, of_source
from kcli.jobs.salvage.salvage_snapshots import BEHIND, copy_snapshots, superseded
from kcli.kafka.findings.findings import Finding
from kcli.kafka.integrity.saved_batches import OFFSETS, SNAPSHOT, TRANSACTION, LeftOut, OpenLogs, sorted_out
from kcli.kafka.kraft.log_settings import NO_KNOWN_SETTINGS, KnownSettings
from kcli.kafka.kraft.partition_start import load
from kcli.kafka.storage.file_actions import ENTRY_SIZES, INDEX, TIME_INDEX, epoch_bytes, snapshot_bytes
from kcli.kafka.storage.loaded_log import LoadedLog, Settings
from kcli.kafka.storage.log_segment import BrokerError, LoadedSegment
from kcli.logdir.buffers import CANNOT_READ, DataFile, FileError, read_optional, reading, shown
from kcli.logdir.log_dirs import QUORUM_STATE, lacks_quorum_state
from kcli.logdir.partition import LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA, Partition
from kcli.logdir.segment import next_batch
from kcli.logdir.targets import Target
from kcli.rows import Failure
from kcli.rows.salvage import LostRange, SalvageRow, SavedFile

ALL, INDEXES = "all", "indexes"
MOST_LOST = 1000
"""Ranges that a row lists."""
MOST_REFUSED = 1000
"""Batches that recovery refuses, for other reasons than their bytes, and that are left out one by one."""


@dataclass(slots=True)
class _Copy:
    """What goes into a copy and what is left out; changed in place.

    `held`: batches of each segment in the copy, by its base offset; `saved`: its log. `lacks_records`: some
    are in no log. `epochs_trouble`: why the leader-epoch-checkpoint of the partition says nothing, None where
    it does.
    """

    held: Counter[int] = field(default_factory=Counter)
    batches_lost: int = 0
    bytes_lost: int = 0
    saved: dict[int, SavedLog] = field(default_factory=dict)
    lost: list[LostRange] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    lacks_records: bool = False
    epochs_trouble: str | None = None

    def report(self, code: str, partition: Partition, name: str, words: str) -> None:
        """Add a finding about a small file of the partition."""
        self.findings.append(Finding(code, words, partition.shown, os.path.join(partition.shown, name)))

    def leave_out(self, partition: Partition, name: str, one: LeftOut) -> None:
        """Count and report bytes that are left out."""
        self.batches_lost += one.batches
        self.bytes_lost += one.end - one.start
        if len(self.lost) < MOST_LOST:
            self.lost.append(LostRange(name, one.start, one.end, one.first_offset, one.reason))
        place = f"bytes {one.start} to {one.end}"
        offset = f", offset {one.first_offset}" if one.first_offset is not None else ""
        path = os.path.join(partition.shown, name)
        words = f"{place}{offset}: not in the copy ({one.reason})"
        self.findings.append(Finding("SALV-001", words, partition.shown, path, one.start))

    def take_out(self, partition: Partition, path: str, start: int, end: int, reason: str) -> None:
        """Count and report bytes of a log of the copy, which still has them, that do not stay in it."""
        base = parse_file(os.path.basename(path)).base_offset or 0
        for one in self.saved[base].take_out(path, start, end, reason):
            self.leave_out(partition, self.saved[base].name, one)
            self.held[base] -= one.batches


@contextmanager
def new_directory(path: str) -> Iterator[str]:
    """Give a directory that takes a path when it is complete; nothing is left of it otherwise."""
    parent, name = os.path.split(os.path.abspath(path))
    made = tempfile.mkdtemp(prefix=f".{name}.", dir=parent)
    try:
        yield made
        os.chmod(made, 0o777 & ~_umask())
        os.rename(made, path)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def _umask() -> int:
    """Return which permissions new files lack; asking changes it for a moment."""
    found = os.umask(0)
    os.umask(found)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvage:
    """The job: `out` is the directory to write, `what` ALL or INDEXES, `now_ms` the broker's clock."""

    out: str
    now_ms: int
    what: str = ALL
    index_interval_bytes: int | None = None
    known: KnownSettings = NO_KNOWN_SETTINGS

    def __call__(self, unit: Unit) -> Outcome:
        """Write the copy of a partition; return its row and what could not be saved.

        Written anew where a broker removes files that were listed, or cuts one.
        """
        return until_whole(unit, lambda: self._attempt(unit), lambda outcome: outcome.error)

    def _attempt(self, unit: Unit) -> Outcome:
        copy = _Copy()
        partition = Partition(unit.target)
        try:
            row = self._written(partition, copy)
        except FileError as error:
            failure = failure_of(of_source(error, unit.target))
            return Outcome(number=unit.number, findings=copy.findings, error=failure)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            failure = Failure(self.out, "not-written", None, None, f"cannot write: {reason}")
            return Outcome(number=unit.number, findings=copy.findings, error=failure)
        return Outcome(number=unit.number, rows=[row], findings=copy.findings)

    def _written(self, partition: Partition, copy: _Copy) -> SalvageRow:
        known = self.known.of(partition, now_ms=self.now_ms, index_interval_bytes=self.index_interval_bytes)
        settings = known._replace(remote_storage=None)  # the copy lies in no log dir
        copy.findings.extend(log_dir_findings(partition.target, partition.directory))
        with new_directory(self.out) as made:
            if self.what == INDEXES:
                loaded = _loaded(partition, settings)
                copy.findings.extend(loaded.findings)
            else:
                _copy_logs(partition, made, copy, self.known)
                _copy_others(partition, made, copy)
                target = replace(partition.target, path=made, shown=partition.shown, log_dir=None)
                loaded = _recovered(partition, target, settings, copy)
                copy.findings.extend(one for one in loaded.findings if one.code == BEHIND)
                for path in superseded(loaded, made):
                    copy.take_out(partition, path, 0, os.stat(path).st_size, SNAPSHOT)
                copy.findings.extend(
                    checkpoint_losses(partition, loaded, is_tiered=self.known.is_tiered(partition))
                )
                _write_rest(loaded, made)
                _write_epochs(partition, loaded, made, copy, remote_storage=known.remote_storage)
            _write_indexes(loaded, made)
            if self.what == ALL:
                _write_snapshots(_started(partition, target, loaded, settings), made)
            return _row(partition, self, made, loaded, copy)


def _row(partition: Partition, job: Salvage, made: str, loaded: LoadedLog, copy: _Copy) -> SalvageRow:
    return SalvageRow(
        where(partition),
        out_dir=shown(job.out),
        what=job.what,
        segments=len(loaded.segments),
        batches=copy.held.total() if job.what == ALL else None,
        bytes=sum(one.log_size for one in loaded.segments),
        log_start_offset=loaded.log_start_offset,
        log_end_offset=loaded.log_end_offset,
        batches_lost=copy.batches_lost,
        bytes_lost=copy.bytes_lost,
        lost=tuple(sorted(copy.lost, key=lambda one: (one.file, one.start))),
        files=tuple(SavedFile(name, _size(made, name)) for name in sorted(os.listdir(made))),
    )


def _size(directory: str, name: str) -> int:
    return os.stat(os.path.join(directory, name)).st_size


def _loaded(partition: Partition, settings: Settings) -> LoadedLog:
    """Return the log as recovery of all of it leaves it; FileError where it fails."""
    try:
        return load(partition, clean=False, recovery_point=0, log_start_offset=0, settings=settings)
    except BrokerError as error:
        raise FileError(error.path, "load-failed", str(error), error.position) from error


def _copy_logs(partition: Partition, made: str, copy: _Copy, known: KnownSettings) -> None:
    """Write the batches of each log that can be read, and say which records are in none.

    A segment without any is left out. Not the last one, nor the first: the log begins at its base offset, and
    cleaning leaves it empty. The last one, too, where its batches contradict its name.
    """
    logs, orphans = logs_and_orphans(partition)
    new = {base: os.path.join(made, f"{file_prefix(base)}.log") for base in logs}
    copy.saved.update((base, SavedLog(os.path.basename(path))) for base, path in logs.items())
    for path in new.values():
        _write(*os.path.split(path), b"")
    saved, damaged, misplaced = set(), set(), set()
    losses = Losses(partition, logs, orphans)
    with OpenLogs(logs) as opened, closing(sorted_out(opened, losses)) as found:
        for base, pieces in groupby(found, key=itemgetter(0)):
            opened.close_before(base)
            log_of_copy = copy.saved[base]
            with open(new[base], "wb") as into:
                for _, one in pieces:
                    if isinstance(one, LeftOut):
                        copy.leave_out(partition, log_of_copy.name, one)
                        damaged.add(base)
                        if one.reason == OFFSETS:
                            misplaced.add(base)
                        continue
                    saved.add(base)
                    copy.held[base] += one.batches
                    log_of_copy.add(one.start, one.end)
                    copy_bytes(opened.open(base), one.start, one.end, into.write)
    if not saved:
        for path in logs.values():  # FileError of one that cannot be read: it is no empty log
            DataFile(path).close()
    first, last = min(logs, default=0), max(logs, default=0)
    for base in new.keys() - saved - {first, *({last} - misplaced)}:
        os.unlink(new[base])
    lost = list(losses.findings(known, damaged))
    copy.findings.extend(lost)
    copy.lacks_records = any(one.severity == "error" for one in lost)


def _copy_others(partition: Partition, made: str, copy: _Copy) -> None:
    """Copy the files that are no batches and cannot be made from them, if they are whole.

    The topic id; the epochs, which go back beyond the batches; of a metadata log its snapshots, without which
    it does not load, and the vote of this replica. The topic id of a metadata log is always the same, and
    KRaft writes the file where there is none.
    """
    trouble = _copied(partition, made, PARTITION_METADATA, read_partition_metadata)
    if trouble is not None and partition.topic != CLUSTER_METADATA:
        words = f"{trouble}: the copy has none, and a KRaft broker renames such a directory to -stray"
        if trouble != MISSING:
            copy.report("SALV-006", partition, PARTITION_METADATA, words)
        elif _has_topic_ids(partition):
            copy.report("SALV-007", partition, PARTITION_METADATA, words)
    trouble = _copied(partition, made, QUORUM_STATE, read_quorum_state)
    is_metadata = partition.topic == CLUSTER_METADATA
    if trouble is not None and (trouble != MISSING or (is_metadata and lacks_quorum_state(partition.path))):
        copy.report("SALV-008", partition, QUORUM_STATE, f"{trouble}: the copy has no vote")
    copy.findings.extend(copy_snapshots(partition, made, copy.held))
    lines: list[EpochEntry] = []

    def read_epochs(data: bytes) -> None:
        lines.extend(read_leader_epoch_checkpoint(data))
        check_epoch_entries(lines, data)

    trouble = _copied(partition, made, LEADER_EPOCH_CHECKPOINT, read_epochs)
    copy.epochs_trouble = EMPTY if trouble is None and not lines else trouble


def _copied(partition: Partition, made: str, name: str, read: Callable[[bytes], object]) -> str | None:
    """Copy a small file if it is whole; return what is wrong with it in words, None for nothing."""
    path = os.path.join(partition.path, name)
    try:
        data = read_optional(path)
        if data is None:
            return MISSING
        with reading(path):
            read(data)
    except FileError as error:
        return f"{'cannot be read' if error.code in CANNOT_READ else 'damaged'} ({error.message})"
    _write(made, name, data)
    return None


def _has_topic_ids(partition: Partition) -> bool:
    """Whether the broker knew topic ids: one of KRaft does, and one that wrote such a file here."""
    log_dir = partition.target.log_dir
    return partition.directory.is_kraft or (
        log_dir is not None and any(Path(log_dir).glob(f"*/{PARTITION_METADATA}"))
    )


def _write(directory: str, name: str, data: bytes) -> None:
    with open(os.path.join(directory, name), "wb") as file:
        file.write(data)


def _recovered(partition: Partition, target: Target, settings: Settings, copy: _Copy) -> LoadedLog:
    """Return the copy as recovery leaves it; a batch that it refuses is left out as well."""
    for _ in range(MOST_REFUSED):
        try:
            loaded = load(
                Partition(target), clean=False, recovery_point=0, log_start_offset=0, settings=settings
            )
            for segment, position in loaded.lost:
                copy.take_out(partition, segment.log_path or "", position, segment.log_size, OFFSETS)
        except BrokerError as error:
            if error.position is None or not error.path.endswith(".log"):
                raise load_failed(partition, target, error) from error
            _take_out(partition, error, copy)
        else:
            return loaded
    raise FileError(partition.path, "load-failed", f"recovery refuses more than {MOST_REFUSED} batches")


def _started(partition: Partition, target: Target, loaded: LoadedLog, settings: Settings) -> LoadedLog:
    """Return the copy as a clean start holds it; FileError where that is not what recovery left."""
    try:
        started = load(
            Partition(target),
            clean=True,
            recovery_point=loaded.log_end_offset,
            log_start_offset=0,
            settings=settings,
        )
    except BrokerError as error:
        raise load_failed(partition, target, error) from error
    if started.log_end_offset != loaded.log_end_offset:
        ends = f"{started.log_end_offset} instead of {loaded.log_end_offset}"
        raise FileError(partition.path, "load-failed", f"the copy would end at offset {ends}")
    return started


def _take_out(partition: Partition, error: BrokerError, copy: _Copy) -> None:
    """Write a log of the copy without the batch that recovery refuses."""
    position = error.position or 0
    with DataFile(error.path) as log:
        found = next_batch(log, position, log.size)
        end = log.size if found is None else position + found.size
    copy.take_out(partition, error.path, position, end, TRANSACTION)
    cut_out(error.path, position, end)


def _write_indexes(loaded: LoadedLog, made: str) -> None:
    for segment in loaded.segments:
        stem = file_prefix(segment.base_offset)
        for suffix, index in ((INDEX, segment.offset_index), (TIME_INDEX, segment.time_index)):
            _write(made, stem + suffix, index.data[: index.entries * ENTRY_SIZES[suffix]])
        if segment.aborted:
            _write(made, f"{stem}.txnindex", b"".join(map(TXN_INDEX_ENTRY.pack, segment.aborted)))


def _write_rest(loaded: LoadedLog, made: str) -> None:
    """Write logs as far as recovery keeps them, and producer snapshots."""
    for base in loaded.deleted:
        os.unlink(os.path.join(made, f"{file_prefix(base)}.log"))
    for segment in loaded.segments:
        _write_log(segment, made)
    _write_snapshots(loaded, made)


def _write_epochs(
    partition: Partition, loaded: LoadedLog, made: str, copy: _Copy, *, remote_storage: bool | None
) -> None:
    """Write a leader-epoch-checkpoint that fits the batches, if that of the partition does not.

    Report what it is then, and what may be missing in it.
    """
    cache, findings = fitting_epochs(partition, loaded)
    if loaded.epochs_written or cache != loaded.epochs:
        _write(made, LEADER_EPOCH_CHECKPOINT, epoch_bytes(cache))
    elif loaded.epoch_lines is None:
        _write(made, LEADER_EPOCH_CHECKPOINT, b"")
    copy.findings.extend(findings)
    if copy.epochs_trouble is not None:
        batches = copy.held.total()
        lacks = Lacks(copy.epochs_trouble, batches, is_damaged=bool(copy.lost) or copy.lacks_records)
        copy.findings.extend(unsaved_epochs(partition, loaded, cache, lacks, remote_storage=remote_storage))


def _write_snapshots(loaded: LoadedLog, made: str) -> None:
    """Write the producer snapshots of a start, and remove those that it removes."""
    for name in os.listdir(made):
        if name.endswith(".snapshot") and parse_file(name).base_offset not in loaded.producers.disk:
            os.unlink(os.path.join(made, name))
    for offset, snapshot in loaded.producers.disk.items():
        if not isinstance(snapshot, str):
            _write(made, f"{file_prefix(offset)}.snapshot", snapshot_bytes(snapshot))


def _write_log(segment: LoadedSegment, made: str) -> None:
    path = os.path.join(made, f"{file_prefix(segment.base_offset)}.log")
    if segment.log_path is None:
        _write(made, os.path.basename(path), b"")
    elif os.stat(path).st_size > segment.log_size:
        os.truncate(path, segment.log_size)
