"""The columns that say which machine and which run a row is from: before its own, in `--out` and in views."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from kcli.rows.declare import Column, RowType

HOST = Column("host", "str", nullable=False, doc="the machine that read the file")
RUN = Column("run", "str", nullable=False, doc="when the run began: UTC, to the millisecond")
LABEL_PREFIX = "label_"
"""What the column of a --label KEY=VALUE begins with: KEY follows."""


class HeadColumn(NamedTuple):
    """A column, and the text that it has in every row."""

    column: Column
    text: str


def head_of(host: str, run: str, labels: Mapping[str, str]) -> tuple[HeadColumn, ...]:
    """Return the columns that --out puts before those of each row: host, run, and one for each label."""
    of_labels = (
        # words of a command line may be bytes that are no text
        HeadColumn(
            Column(f"{LABEL_PREFIX}{key}", "str", nullable=False, doc=f"--label {key}"),
            value.encode(errors="backslashreplace").decode(),
        )
        for key, value in labels.items()
    )
    return (HeadColumn(HOST, host), HeadColumn(RUN, run), *of_labels)


def beside(row_type: RowType, column: Column, head: Collection[str]) -> Column:
    """Return a row's own column under another name where the head has its name: acl_host."""
    kind = row_type.name.rpartition("_")[2]
    return column._replace(name=f"{kind}_{column.name}") if column.name in head else column
