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
from kcli.rows.declare import AnyRow, RowType, type_of

COMMANDS = {
    "epoch show": "epochs.EPOCH",
    "epoch end-offset": "epochs.END_OFFSET",
    "epoch at": "epochs.EPOCH_AT",
    "epoch validate": "epochs.POSITION",
    "epoch diff": "epochs.EPOCH_DIFF",
    "epoch check": "checks.EPOCH_CHECK",
    "startup": "startup.STARTUP startup.STARTUP_BROKER startup.STARTUP_RELEASE",
    "truncate": "truncation.TRUNCATION",
    "checkpoint show": "partitions.CHECKPOINT",
    "replica diff": "replicas.REPLICA_RANGE",
    "replica fingerprint": "replicas.FINGERPRINT",
    "replica elect": "replicas.ELECTION",
    "replica simulate": "replicas.SIMULATION replicas.SCENARIO",
    "failover": "replicas.FAILOVER replicas.FAILOVER_CONTROLLER",
    "rlmm dump": (
        "remote_metadata.RLMM_EVENT remote_metadata.RLMM_SNAPSHOT remote_metadata.RLMM_COMMITTED "
        "remote_metadata.RLMM_KIP_EVENT remote_metadata.RLMM_KIP_FILE"
    ),
    "rlmm partition": "remote_metadata.RLMM_PARTITION",
    "rlmm offsets": "remote_tiers.RLMM_OFFSETS",
    "rlmm state": (
        "remote_segments.REMOTE_SEGMENT remote_segments.REMOTE_HIGHEST remote_segments.REMOTE_HISTORY "
        "remote_segments.REMOTE_REPLAY"
    ),
    "rlmm lookup offset": "remote_tiers.RLMM_LOOKUP_OFFSET",
    "rlmm lookup timestamp": "remote_tiers.RLMM_LOOKUP_TIMESTAMP",
    "rlmm coverage": "remote_tiers.RLMM_COVERAGE",
    "rlmm retention": "remote_tiers.RLMM_RETENTION",
    "rlmm follow": "remote_tiers.RLMM_FOLLOW",
    "rlmm bootstrap": (
        "remote_segments.REMOTE_SEGMENT remote_tiers.RLMM_CLUSTER_OFFSET remote_metadata.RLMM_EVENT"
    ),
    "rlmm check": "remote_segments.REMOTE_CHECK",
    "lookup offset": "lookups.LOOKUP_OFFSET",
    "lookup timestamp": "lookups.LOOKUP_TIMESTAMP",
    "partition-for": "lookups.PARTITION_FOR",
    "uuid": "lookups.UUID",
    "metadata show": (
        "metadata.METADATA_SUMMARY metadata.METADATA_TOPIC metadata.METADATA_PARTITION "
        "metadata.METADATA_BROKER metadata.METADATA_CONTROLLER metadata.METADATA_CONFIG "
        "metadata.METADATA_FEATURE metadata.METADATA_ACL metadata.METADATA_QUOTA metadata.METADATA_SCRAM "
        "metadata.METADATA_TOKEN metadata.METADATA_PRODUCER_IDS metadata.METADATA_VOTER"
    ),
    "metadata history": "metadata.METADATA_CHANGE",
    "metadata diff": "metadata.METADATA_DIFFERENCE",
    "metadata export": "metadata.METADATA_COMMAND",
    "group list": "groups.GROUP_ROW groups.GROUP_STORAGE",
    "group offsets": "groups.GROUP_OFFSET",
    "group members": "groups.GROUP_MEMBER",
    "group history": "groups.GROUP_COMMIT",
    "producers": "transactions.PRODUCER",
    "txn list": "transactions.TRANSACTION",
    "txn open": "transactions.HELD_TRANSACTION",
    "retention": "retention.LOG_RETENTION retention.RETENTION_PARTITION",
    "compact": "compact.COMPACT_PARTITION compact.COMPACT_SEGMENT compact.COMPACT_RECORD",
    "ls": "partitions.LISTED_PARTITION partitions.DISK_SUM",
    "scan": "scan.SCAN_SEGMENT scan.SCAN_PARTITION",
    "check": "checks.CHECK",
    "diff": "checks.RUN_DIFF",
    "salvage": "checks.SALVAGE",
    "bundle": "bundles.BUNDLE",
    "dump": (
        "dump.DUMP_BATCH dump.DUMP_RECORD dump.DUMP_INDEX dump.DUMP_TIME_INDEX dump.DUMP_TXN_INDEX "
        "dump.DUMP_PRODUCER dump.DUMP_EPOCH dump.DUMP_OFFSET dump.DUMP_META_PROPERTIES "
        "dump.DUMP_PARTITION_METADATA dump.DUMP_QUORUM_STATE dump.DUMP_SEGMENT_MANIFEST "
        "dump.DUMP_CLEAN_SHUTDOWN remote_metadata.RLMM_SNAPSHOT remote_metadata.RLMM_EVENT "
        "remote_metadata.RLMM_COMMITTED dump.DUMP_LAYOUT dump.DUMP_FILE"
    ),
}
"""The row types that each command can print, first the usual one: `module.NAME` of each."""

ONE_TYPE_AT_A_TIME = frozenset({"ls"})
"""Commands of several types of rows, of which an option chooses one: rows do not name it."""

READ_NO_FILES = frozenset({"rlmm partition", "partition-for", "uuid", "replica simulate", "diff"})
"""Commands whose rows come from their arguments alone, or from other runs."""

ASK_CLUSTERS = frozenset({"rlmm bootstrap"})
"""Commands that ask brokers; what they read of files is compared with that."""


def row_types(command: str) -> tuple[RowType, ...]:
    """Return the row types that a command can print, first the usual one."""
    names = (name.split(".") for name in COMMANDS[command].split())
    return tuple(getattr(import_module(f"kcli.rows.{module}"), name) for module, name in names)


class ArrowBlock:
    """Many rows of one type as an Arrow RecordBatch with all columns of the type.

    Only who asks a job for columns gets any.
    """

    __slots__ = ("batch", "type_name")

    def __init__(self, type_name: str, batch: Any) -> None:
        self.type_name = type_name
        self.batch = batch


class TextBlock:
    """Lines of text as UTF-8, each with its newline: the buffers, one after the other.

    `is_title`: they say what comes, and answer nothing yet. Buffers travel between processes without copies.
    """

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
