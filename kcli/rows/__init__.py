"""What commands give, row by row: the one source of JSON Schema, CSV header, table, Arrow and Spark types.

`declare` makes a row type of a NamedTuple class. The classes are in a module for each family of commands,
which is imported when one of its commands runs. Jobs yield rows one by one, or many at once as columns or as
text; these blocks are plain classes: each answer imports them, and a dataclass takes half a millisecond to
make.
"""

import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

from formats.types import Buffer
from kcli.rows.declare import AnyRow, RowType, declared_type, type_of

COMMANDS = {
    "epoch show": "epochs.EpochRow",
    "epoch end-offset": "epochs.EndOffsetRow",
    "epoch at": "epochs.EpochAtRow",
    "epoch validate": "epochs.PositionRow",
    "epoch diff": "epochs.EpochDiffRow",
    "epoch check": "checks.EpochCheckRow",
    "startup": "startup.StartupRow startup.StartupBrokerRow startup.StartupReleaseRow",
    "truncate": "truncation.TruncationRow",
    "checkpoint show": "partitions.CheckpointRow",
    "replica diff": "replicas.ReplicaRangeRow",
    "replica fingerprint": "replicas.FingerprintRow",
    "replica elect": "replicas.ElectionRow",
    "replica simulate": "replicas.SimulationRow replicas.ScenarioRow",
    "failover": "replicas.FailoverRow replicas.FailoverControllerRow",
    "rlmm dump": (
        "remote_metadata.RlmmEventRow remote_metadata.RlmmSnapshotRow remote_metadata.RlmmCommittedOffsetRow "
        "remote_metadata.RlmmKipEventRow remote_metadata.RlmmKipFileRow"
    ),
    "rlmm partition": "remote_metadata.RlmmPartitionRow",
    "rlmm offsets": "remote_tiers.RlmmOffsetsRow",
    "rlmm state": (
        "remote_segments.RemoteSegmentRow remote_segments.RemoteHighestRow remote_segments.RemoteHistoryRow "
        "remote_segments.RemoteReplayRow"
    ),
    "rlmm lookup offset": "remote_tiers.RlmmLookupOffsetRow",
    "rlmm lookup timestamp": "remote_tiers.RlmmLookupTimestampRow",
    "rlmm coverage": "remote_tiers.RlmmCoverageRow",
    "rlmm retention": "remote_tiers.RlmmRetentionRow",
    "rlmm follow": "remote_tiers.RlmmFollowRow",
    "rlmm bootstrap": (
        "remote_segments.RemoteSegmentRow remote_tiers.RlmmClusterOffsetRow remote_metadata.RlmmEventRow"
    ),
    "rlmm check": "remote_segments.RemoteCheckRow",
    "lookup offset": "lookups.LookupOffsetRow",
    "lookup timestamp": "lookups.LookupTimestampRow",
    "partition-for": "lookups.PartitionForRow",
    "uuid": "lookups.UuidRow",
    "metadata show": (
        "metadata.MetadataSummaryRow metadata.MetadataTopicRow metadata.MetadataPartitionRow "
        "metadata.MetadataBrokerRow metadata.MetadataControllerRow metadata.MetadataConfigRow "
        "metadata.MetadataFeatureRow metadata.MetadataAclRow metadata.MetadataQuotaRow "
        "metadata.MetadataScramRow metadata.MetadataTokenRow metadata.MetadataProducerIdsRow "
        "metadata.MetadataVoterRow"
    ),
    "metadata history": "metadata.MetadataChangeRow",
    "metadata diff": "metadata.MetadataDifferenceRow",
    "metadata export": "metadata.MetadataCommandRow",
    "group list": "groups.GroupRow groups.GroupStorageRow",
    "group offsets": "groups.GroupOffsetRow",
    "group members": "groups.GroupMemberRow",
    "group history": "groups.GroupCommitRow",
    "producers": "transactions.ProducerRow",
    "txn list": "transactions.TransactionRow",
    "txn open": "transactions.OpenTransactionRow",
    "retention": "retention.RetentionRow retention.RetentionPartitionRow",
    "compact": "retention.CompactPartitionRow retention.CompactSegmentRow retention.CompactRecordRow",
    "ls": "partitions.PartitionRow partitions.DiskSumRow",
    "scan": "scan.ScanSegmentRow scan.ScanPartitionRow",
    "check": "checks.CheckRow",
    "diff": "checks.RunDiffRow",
    "salvage": "checks.SalvageRow",
    "bundle": "bundles.BundleRow",
    "dump": (
        "dump.DumpBatchRow dump.DumpRecordRow dump.DumpIndexRow dump.DumpTimeindexRow dump.DumpTxnindexRow "
        "dump.DumpProducerRow dump.DumpLeaderEpochRow dump.DumpOffsetRow dump.DumpMetaPropertiesRow "
        "dump.DumpPartitionMetadataRow dump.DumpQuorumStateRow dump.DumpRsmManifestRow "
        "dump.DumpCleanShutdownRow remote_metadata.RlmmSnapshotRow remote_metadata.RlmmEventRow "
        "remote_metadata.RlmmCommittedOffsetRow dump.DumpLayoutRow dump.DumpFileRow"
    ),
}
"""The row types that each command can print, first the usual one: `module.Class` of each."""

ONE_TYPE_AT_A_TIME = frozenset({"ls"})
"""Commands of several types of rows, of which an option chooses one: rows do not name it."""

READ_NO_FILES = frozenset({"rlmm partition", "partition-for", "uuid", "replica simulate", "diff"})
"""Commands whose rows come from their arguments alone, or from other runs."""

ASK_CLUSTERS = frozenset({"rlmm bootstrap"})
"""Commands that ask brokers; what they read of files is compared with that."""


def row_types(command: str) -> tuple[RowType, ...]:
    """Return the row types that a command can print, first the usual one."""
    names = (name.split(".") for name in COMMANDS[command].split())
    return tuple(declared_type(getattr(import_module(f"kcli.rows.{module}"), name)) for module, name in names)


class ArrowBlock:
    """Many rows of one type as an Arrow RecordBatch with all of its columns, for who asks for columns."""

    __slots__ = ("batch", "type_name")

    def __init__(self, type_name: str, batch: Any) -> None:
        self.type_name = type_name
        self.batch = batch


class TextBlock:
    """Lines of text as UTF-8 in buffers, which travel without copies; `is_title`: they answer nothing yet."""

    __slots__ = ("buffers", "is_title")

    def __init__(
        self,
        buffers: tuple[Buffer, ...],
        is_title: bool = False,  # noqa: FBT001, FBT002 - pickled by position
    ) -> None:
        self.buffers = buffers
        self.is_title = is_title

    def __reduce__(self) -> tuple[Callable[..., "TextBlock"], tuple[Any, ...]]:
        from pickle import PickleBuffer

        return TextBlock, (tuple(map(PickleBuffer, self.buffers)), self.is_title)


Item: TypeAlias = AnyRow | ArrowBlock | TextBlock


def type_name(item: Item) -> str:
    """Return the name of the type of a row, or of the rows of a block; KeyError for what has no type."""
    return item.type_name if isinstance(item, ArrowBlock) else type_of(item).name


class Failure(NamedTuple):
    """An input that could not be answered; `position` in bytes, path as reached from the argument."""

    path: str
    error: str
    position: int | None
    field: str | None
    message: str


def described(error: BaseException) -> str:
    """Return in words an exception that no job foresees, with the place in the code that raised it."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({frame.filename.rsplit('/', 1)[-1]}:{frame.lineno})"
