"""Rows as dicts, as JSON has them before it encodes bytes."""

from kcli.rows import COMMANDS, row_types, type_name
from kcli.rows.declare import values_of

ROW_TYPES = {row_type.name: row_type for command in COMMANDS for row_type in row_types(command)}


def named(row):
    """Return the values of a row by column."""
    return dict(zip(ROW_TYPES[type_name(row)].names, values_of(row), strict=True))
