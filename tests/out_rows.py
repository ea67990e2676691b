"""Rows of `--out` as stdout has them: without the columns that say which machine and run they are from."""

import re
import socket

HEAD = re.compile(
    rf"^(?:host,run,|{re.escape(socket.gethostname())},[0-9:.TZ-]{{24}},)"
    r'|^(\{"type":"\w+",)"host":"[^"]*","run":"[^"]*",',
    re.MULTILINE,
)


def without_head(text):
    """Return the text of a csv or ndjson file of --out without them."""
    return HEAD.sub(lambda match: match[1] or "", text)


def columns_without_head(table):
    """Return a table of a Parquet file of --out without them."""
    return table.drop_columns(["host", "run"]) if table.column_names[:2] == ["host", "run"] else table
