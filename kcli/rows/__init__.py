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
from kcli.rows.failure import Failure
from kcli.rows.items import ArrowBlock, Item, TextBlock, type_name

COMMANDS = {
    "epoch show": "epochs",
    "epoch end-offset": "epochs",
    "epoch at": "epochs",
    "epoch validate": "epochs",
    "epoch diff": "epochs",
    "epoch check": "check",
    "startup": "startup",
    "truncate": "truncation",
    "checkpoint show": "checkpoints",
    "replica diff": "replicas",
    "replica fingerprint": "fingerprints",
    "replica elect": "elections",
    "replica simulate": "simulation",
    "failover": "failover",
    "rlmm dump": "remote_metadata",
    "rlmm partition": "remote_metadata",
    "rlmm offsets": "remote_tier",
    "rlmm state": "remote_state",
    "rlmm lookup offset": "remote_tier",
    "rlmm lookup timestamp": "remote_tier",
    "rlmm coverage": "remote_tier",
    "rlmm retention": "remote_tier",
    "rlmm follow": "remote_tier",
    "rlmm bootstrap": "remote_tier",
    "rlmm check": "remote_state",
    "lookup offset": "lookups",
    "lookup timestamp": "lookups",
    "partition-for": "identifiers",
    "uuid": "identifiers",
    "ls": "places",
    "scan": "scan",
    "check": "check",
    "diff": "runs",
    "salvage": "salvage",
    "dump": "dump",
}
"""The module of each command's rows."""

READ_NO_FILES = frozenset({"rlmm partition", "partition-for", "uuid", "replica simulate", "diff"})
"""Commands whose rows come from their words alone, or from other runs."""

ASK_CLUSTERS = frozenset({"rlmm bootstrap"})
"""Commands that ask brokers, and read files only beside."""


def row_types(command: str) -> tuple[RowType, ...]:
    """Return the row types that a command can print, first the usual one."""
    types: tuple[RowType, ...] = import_module(f"kcli.rows.{COMMANDS[command]}").COMMANDS[command]
    return types


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
