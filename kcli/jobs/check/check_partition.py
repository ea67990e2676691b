"""What the files of a partition directory say to `check` before any segment is read."""

from typing import NamedTuple

from formats.names import CLUSTER_METADATA
from kcli.jobs.check.log_dirs import producer_snapshots
from kcli.jobs.check.partition_start import attempted, start_settings
from kcli.jobs.checkpoint import beginning_findings, is_cleaned, stored_offsets
from kcli.jobs.common import Yield
from kcli.jobs.epoch.epoch import contradicting_lines
from kcli.kafka.integrity.checks.partitions import PartitionJudge
from kcli.kafka.integrity.offset_invariants import Offsets
from kcli.kafka.kraft.broker_start import StartFailure
from kcli.kafka.kraft.metadata_snapshot import damaged_snapshot
from kcli.kafka.kraft.start import Inspected, inspect
from kcli.kafka.kraft.start_settings import KnownSettings
from kcli.kafka.storage.loaded_log import UNKNOWN_SETTINGS, Settings
from kcli.kafka.storage.metadata_log import needs_start as needs_metadata_start
from kcli.kafka.storage.metadata_log import snapshots
from kcli.logdir.files import first_base
from kcli.logdir.leftovers import SWAP
from kcli.logdir.partition import Partition
from kcli.logdir.targets import Target


class DirectoryState(NamedTuple):
    """What the files of a partition directory say, before any segment is read.

    `snapshots` are the offsets of its producer snapshots, `metadata_snapshot` the epoch and the end of the
    newest snapshot that reaches the start of a metadata log. `topic_id` is that of partition.metadata.
    """

    inspected: Inspected
    offsets: Offsets
    snapshots: tuple[int, ...]
    topic_id: str | None = None
    metadata_snapshot: tuple[int, int] | None = None
    needs_start: bool = False
    """Segments lie in .swap files, or the snapshots of a metadata log may keep it from loading: only a start
    says what the log is.
    """
    is_compacted: bool | None = None
    is_tiered: bool | None = None
    settings: Settings = UNKNOWN_SETTINGS

    def judge(self, target: Target) -> PartitionJudge:
        """Return the judge of the partition's segments."""
        found = self.inspected
        return PartitionJudge(
            target,
            found.given,
            None if found.epoch_lines is None else found.epochs,
            self.snapshots,
            is_compacted=self.is_compacted,
            has_log_dir=target.log_dir is not None,
            has_epoch_lines=bool(found.epoch_lines),
            log_start_line=None if self.is_tiered is False else self.offsets.log_start,
        )


def directory_state(
    partition: Partition, known: KnownSettings, states: list[DirectoryState], stops: list[StartFailure]
) -> Yield:
    """Yield what a start finds; keep what the files of the directory say, or why it does not load."""
    settings = start_settings(partition, known)
    found = yield from attempted(partition, inspect(partition, settings), stops)
    if found is None:
        return
    lines = found.epoch_lines or ()
    yield from contradicting_lines(partition, lines)
    is_tiered = known.is_tiered(partition)
    yield from beginning_findings(partition, lines, is_tiered=is_tiered)
    yield from damaged_snapshot(partition)
    offsets = yield from stored_offsets(partition, found.epoch_lines)
    newest = None
    needs_start = any(name.endswith(".log" + SWAP) for name in partition.names)
    if partition.topic == CLUSTER_METADATA:
        log_start = first_base(partition.names)
        newest = max(snapshots(partition.entries, log_start), default=None)
        needs_start |= needs_metadata_start(partition.entries, log_start)
    states.append(
        DirectoryState(
            found,
            offsets,
            producer_snapshots(partition.names),
            found.topic_id,
            newest,
            needs_start,
            is_cleaned(partition, offsets.cleaner_point, known),
            is_tiered,
            settings,
        )
    )
