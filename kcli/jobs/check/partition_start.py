"""What `check` learns of a partition directory before its segments are read, and from a start of its log."""

from collections.abc import Generator, Iterator
from typing import NamedTuple

from formats.names import CLUSTER_METADATA, DELETE, NORMAL
from kcli.engine.contract import Unit
from kcli.jobs.checkpoint import beginning_findings, contradictions, is_cleaned, stored_offsets
from kcli.jobs.common import Yield, answer
from kcli.kafka.findings.findings import Finding
from kcli.kafka.integrity.checks.partitions import PartitionJudge
from kcli.kafka.integrity.checks.producer_files import producer_snapshots
from kcli.kafka.integrity.offset_invariants import Offsets
from kcli.kafka.kraft.log_settings import KnownSettings
from kcli.kafka.kraft.meta_properties import StartFailure
from kcli.kafka.kraft.metadata_snapshot import damaged_snapshot
from kcli.kafka.kraft.partition_start import Inspected, attempt, inspect, start
from kcli.kafka.storage.load_findings import contradicting_lines
from kcli.kafka.storage.loaded_log import UNKNOWN_SETTINGS, Settings
from kcli.kafka.storage.metadata_log import needs_start as needs_metadata_start
from kcli.kafka.storage.metadata_log import snapshots
from kcli.logdir.find import find
from kcli.logdir.partition import Partition
from kcli.logdir.partition_names import SWAP, first_base
from kcli.logdir.targets import PARTITION, Selection, Target

REFUSED = "START-008"
OF_A_RECOVERY = frozenset(
    {
        "START-001",
        "START-007",
        "START-015",
        REFUSED,
        "LOG-006",
        "LOG-009",
        "LOG-025",
        "CKPT-001",
        "DIR-005",
    }
)
"""Findings of a start that a walk over the batches does not make itself."""


class PartitionFiles(NamedTuple):
    """What the files of a partition directory say, before any segment is read.

    `snapshots` are the offsets of its producer snapshots, `metadata_snapshot` the epoch and the end of the
    newest snapshot that reaches the start of a metadata log. `topic_id` is that of partition.metadata.
    """

    inspected: Inspected
    offsets: Offsets
    snapshots: tuple[int, ...]
    topic_id: str | None
    metadata_snapshot: tuple[int, int] | None
    needs_start: bool
    """Segments lie in .swap files, or the snapshots of a metadata log may keep it from loading: only a start
    says what the log is.
    """
    is_compacted: bool | None
    is_tiered: bool | None
    settings: Settings = UNKNOWN_SETTINGS

    def judge(self, target: Target) -> PartitionJudge:
        """Return the judge of the partition's segments."""
        inspected = self.inspected
        return PartitionJudge(
            target,
            inspected.given,
            None if inspected.epoch_lines is None else inspected.epochs,
            self.snapshots,
            is_compacted=self.is_compacted,
            has_log_dir=target.log_dir is not None,
            has_epoch_lines=bool(inspected.epoch_lines),
            log_start_line=None if self.is_tiered is False else self.offsets.log_start,
        )


class StartEffect(NamedTuple):
    """What a start finds that a walk over the batches does not, and the log end offset that it leaves.

    The log end is None where the start fails: `failure` says why.
    """

    findings: list[Finding]
    log_end: int | None
    failure: StartFailure | None


def inspect_files(
    partition: Partition, known: KnownSettings
) -> Generator[Finding, None, PartitionFiles | StartFailure]:
    """Yield what a start finds; return what the files of the directory say, or why the log does not load."""
    settings = start_settings(partition, known)
    inspected = yield from attempt(partition, inspect(partition, settings))
    if isinstance(inspected, StartFailure):
        return inspected
    lines = inspected.epoch_lines or ()
    yield from contradicting_lines(partition, lines)
    is_tiered = known.is_tiered(partition)
    yield from beginning_findings(partition, lines, is_tiered=is_tiered)
    yield from damaged_snapshot(partition)
    offsets = yield from stored_offsets(partition, inspected.epoch_lines)
    newest = None
    needs_start = any(name.endswith(".log" + SWAP) for name in partition.names)
    if partition.topic == CLUSTER_METADATA:
        log_start = first_base(partition.names)
        newest = max(snapshots(partition.entries, log_start), default=None)
        needs_start |= needs_metadata_start(partition.entries, log_start)
    return PartitionFiles(
        inspected=inspected,
        offsets=offsets,
        snapshots=producer_snapshots(partition.names),
        topic_id=inspected.topic_id,
        metadata_snapshot=newest,
        needs_start=needs_start,
        is_compacted=is_cleaned(partition, offsets.cleaner_point, known),
        is_tiered=is_tiered,
        settings=settings,
    )


def start_settings(partition: Partition, known: KnownSettings) -> Settings:
    """Return the settings of the start of a directory: a -delete one is not recovered."""
    name = partition.target.name
    return known.of(partition)._replace(as_deleted=name is not None and name.kind == DELETE)


def start_log(target: Target, known: KnownSettings) -> StartEffect:
    """Return what a start cuts, deletes or refuses, and what contradicts the log that it leaves."""
    log_end: int | None = None
    why: StartFailure | None = None

    def started(partition: Partition) -> Yield:
        nonlocal log_end, why
        loaded = yield from attempt(partition, start(partition, settings=start_settings(partition, known)))
        if isinstance(loaded, StartFailure):
            log_end, why = None, loaded
            return
        log_end, why = loaded.log_end_offset, None
        offsets = yield from stored_offsets(partition, loaded.epoch_lines)
        yield from contradictions(partition.target, offsets._replace(log_end=log_end))

    outcome = answer(Unit(number=0, targets=(target,)), started)
    findings = [one for one in outcome.findings if one.code in OF_A_RECOVERY]
    return StartEffect(findings, log_end, why)


def log_end_now(target: Target, before: int | None) -> int | None:
    """Return the log end offset by headers: a broker may have begun segments since they were listed."""
    log_end = before

    def started(partition: Partition) -> Yield:
        nonlocal log_end
        loaded = yield from start(partition, exact=False)
        log_end = loaded.log_end_offset

    answer(Unit(number=0, targets=(target,)), started)
    return log_end


def start_leftovers(log_dir: Target, known: KnownSettings) -> Iterator[StartEffect]:
    """Yield what a start finds in each -delete, -future and -stray directory of a log dir: it loads them."""
    for target in find([log_dir.path], Selection(include_leftovers=True), log_dir.server).targets:
        if target.kind == PARTITION and target.name is not None and target.name.kind != NORMAL:
            yield start_log(target, known)
