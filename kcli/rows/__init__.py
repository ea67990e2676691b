"""What commands give, row by row: the one source of JSON Schema, CSV header, table, Arrow and Spark types.

`declare` makes a row type of a NamedTuple class. The classes are in a module for each family of commands,
which is imported when one of its commands runs.
"""

from importlib import import_module

from kcli.rows.declare import (
    AnyRow,
    Column,
    RowType,
    Schema,
    Value,
    column_schema,
    row_schema,
    values_of,
)
from kcli.rows.items import ArrowBlock, Failure, Item, TextBlock, type_name

COMMANDS = {
    "epoch show": "epochs.EPOCH",
    "epoch end-offset": "epochs.END_OFFSET",
    "epoch at": "epochs.EPOCH_AT",
    "epoch validate": "epochs.POSITION",
    "epoch diff": "epochs.EPOCH_DIFF",
    "epoch check": "checks.EPOCH_CHECK",
    "startup": "startup.STARTUP startup.STARTUP_BROKER",
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
    "rlmm offsets": "remote_segments.RLMM_OFFSETS",
    "rlmm state": (
        "remote_segments.REMOTE_SEGMENT remote_segments.REMOTE_HIGHEST remote_segments.REMOTE_HISTORY "
        "remote_segments.REMOTE_REPLAY"
    ),
    "rlmm lookup offset": "remote_segments.RLMM_LOOKUP_OFFSET",
    "rlmm lookup timestamp": "remote_segments.RLMM_LOOKUP_TIMESTAMP",
    "rlmm coverage": "remote_segments.RLMM_COVERAGE",
    "rlmm retention": "remote_segments.RLMM_RETENTION",
    "rlmm follow": "remote_segments.RLMM_FOLLOW",
    "rlmm bootstrap": (
        "remote_segments.REMOTE_SEGMENT remote_segments.RLMM_CLUSTER_OFFSET remote_metadata.RLMM_EVENT"
    ),
    "rlmm check": "remote_segments.REMOTE_CHECK",
    "lookup offset": "lookups.LOOKUP_OFFSET",
    "lookup timestamp": "lookups.LOOKUP_TIMESTAMP",
    "partition-for": "lookups.PARTITION_FOR",
    "uuid": "lookups.UUID",
    "ls": "partitions.PARTITION",
    "scan": "scan.SCAN_SEGMENT scan.SCAN_PARTITION",
    "check": "checks.CHECK",
    "diff": "checks.RUN_DIFF",
    "salvage": "checks.SALVAGE",
    "dump": (
        "dump.DUMP_BATCH dump.DUMP_RECORD dump.DUMP_INDEX dump.DUMP_TIME_INDEX dump.DUMP_TXN_INDEX "
        "dump.DUMP_PRODUCER dump.DUMP_EPOCH dump.DUMP_OFFSET dump.DUMP_META_PROPERTIES "
        "dump.DUMP_PARTITION_METADATA dump.DUMP_QUORUM_STATE dump.DUMP_SEGMENT_MANIFEST "
        "dump.DUMP_CLEAN_SHUTDOWN remote_metadata.RLMM_SNAPSHOT remote_metadata.RLMM_EVENT "
        "remote_metadata.RLMM_COMMITTED dump.DUMP_LAYOUT dump.DUMP_FILE"
    ),
}
"""The row types that each command can print, first the usual one: `module.NAME` of each."""

READ_NO_FILES = frozenset({"rlmm partition", "partition-for", "uuid", "replica simulate", "diff"})
"""Commands whose rows come from their arguments alone, or from other runs."""

ASK_CLUSTERS = frozenset({"rlmm bootstrap"})
"""Commands that ask brokers; what they read of files is compared with that."""


def row_types(command: str) -> tuple[RowType, ...]:
    """Return the row types that a command can print, first the usual one."""
    names = (name.split(".") for name in COMMANDS[command].split())
    return tuple(getattr(import_module(f"kcli.rows.{module}"), name) for module, name in names)


__all__ = [
    "ASK_CLUSTERS",
    "COMMANDS",
    "READ_NO_FILES",
    "AnyRow",
    "ArrowBlock",
    "Column",
    "Failure",
    "Item",
    "RowType",
    "Schema",
    "TextBlock",
    "Value",
    "column_schema",
    "row_schema",
    "row_types",
    "type_name",
    "values_of",
]
