"""The views of the Spark format `kcli`: which rows each gives, and what its columns are.

The columns are those of the row types in `kcli.rows`, which `kcli schema` prints too: in front of them stand the four
of `HEAD`; `broker_id` and `cluster_id` of a row are there already. An event of remote log metadata names a broker of
its own, which is called `event_broker_id` here.
"""

from typing import NamedTuple

from kcli.rows import EPOCH, PARTITION, RLMM_EVENT
from kcli.rows.columns import WHERE, Column, RowType, integer, text
from kcli.rows.dump import DUMP_BATCH, DUMP_RECORD
from kcli.rows.scan import SCAN_SEGMENT

BATCHES = "batches"
RECORDS = "records"
SEGMENTS = "segments"
EPOCHS = "epochs"
RLMM = "rlmm"
OFFSETS = "offsets"
FINDINGS = "findings"

MOMENT = "moment"
"""The kind of the one column that is a time for Spark; those that Kafka wrote are epoch milliseconds, as everywhere."""

HEAD = (
    text("host", "the machine that read the file"),
    integer("broker_id", "of the log dir's meta.properties", null=True),
    text("cluster_id", "of the log dir's meta.properties", null=True),
    Column("scan_time", MOMENT, nullable=False, doc="when the query was planned: one value for all its rows"),
)

FINDING = RowType(
    "finding",
    (
        text("code", "kcli explain CODE says more; of an error, the word for it"),
        text("severity", "info, warning, error"),
        text("message", "in one line"),
        text("dir", "partition directory, as reached from the argument", null=True),
        text("topic", "from the directory's name", null=True),
        integer("partition", "from the directory's name", null=True),
        text("file", "as reached from the argument, or the name of a file in dir", null=True),
        integer("position", "byte in the file", null=True),
        text("expected", "what should be there", null=True),
        text("found", "what is there", null=True),
    ),
)

VIEWS: dict[str, RowType] = {
    BATCHES: DUMP_BATCH,
    RECORDS: DUMP_RECORD,
    SEGMENTS: SCAN_SEGMENT,
    EPOCHS: EPOCH,
    RLMM: RLMM_EVENT,
    OFFSETS: PARTITION,
    FINDINGS: FINDING,
}
"""The row type of each view; rows of other types that its job gives are left out."""

_HEAD_NAMES = frozenset(column.name for column in HEAD)


class ViewColumn(NamedTuple):
    """A column of a view, and its place in the rows; None for those of HEAD."""

    column: Column
    place: int | None


def view_columns(view: str) -> tuple[ViewColumn, ...]:
    """Return the columns of a view in order: HEAD, then those of its rows."""
    own = []
    for place, column in enumerate(VIEWS[view].columns):
        if column in WHERE and column.name in _HEAD_NAMES:
            continue
        named = column._replace(name=f"event_{column.name}") if column.name in _HEAD_NAMES else column
        own.append(ViewColumn(named, place))
    return (*(ViewColumn(column, None) for column in HEAD), *own)
