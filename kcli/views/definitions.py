"""The views, for Spark and for DuckDB: which rows each gives, and what its columns are.

The columns are those of the row types in `kcli.rows`, which `kcli schema` prints too: the four of `HEAD` come
first; `broker_id` and `cluster_id` of a row are there already. An event of remote log metadata names a broker
of its own, which is called `event_broker_id` here.
"""

from typing import Annotated, NamedTuple

from kcli.rows.compact import COMPACT_PARTITION
from kcli.rows.declare import Column, RowType, row_type
from kcli.rows.dump import DUMP_BATCH, DUMP_RECORD
from kcli.rows.epochs import EPOCH
from kcli.rows.groups import GROUP_OFFSET, GROUP_ROW
from kcli.rows.head import HOST
from kcli.rows.metadata import METADATA_BROKER, METADATA_CONFIG, METADATA_PARTITION, METADATA_TOPIC
from kcli.rows.partitions import LISTED_PARTITION, WHERE
from kcli.rows.remote_metadata import RLMM_EVENT
from kcli.rows.retention import LOG_RETENTION, RETENTION_PARTITION
from kcli.rows.scan import SCAN_SEGMENT
from kcli.rows.transactions import PRODUCER, TRANSACTION

BATCHES = "batches"
RECORDS = "records"
SEGMENTS = "segments"
EPOCHS = "epochs"
RLMM = "rlmm"
OFFSETS = "offsets"
REMEMBERED = "producers"
GROUP_LIST = "groups"
GROUP_OFFSETS = "group_offsets"
TRANSACTIONS = "transactions"
RETAINED = "retention"
RETAINED_LOGS = "retention_partitions"
CLEANINGS = "compact"
FINDINGS = "findings"

METADATA_VIEWS = {
    "metadata_topics": "topics",
    "metadata_partitions": "partitions",
    "metadata_brokers": "brokers",
    "metadata_configs": "configs",
}
"""Views of the cluster's metadata, and the words of their kinds."""

OF_USERS = frozenset({RLMM, GROUP_LIST, GROUP_OFFSETS, *METADATA_VIEWS})
"""Views whose topics are those of the users, not of the directories that are read."""

MOMENT = "moment"
"""The kind of the one column that is a time for SQL.

Those that Kafka wrote are epoch milliseconds, as everywhere.
"""

HEAD = (
    HOST,
    Column("broker_id", "int", nullable=True, doc="of the log dir's meta.properties"),
    Column("cluster_id", "str", nullable=True, doc="of the log dir's meta.properties"),
    Column("scan_time", MOMENT, nullable=False, doc="when the query was planned: one value for all its rows"),
)


class FindingRow(NamedTuple):
    """A finding of `kcli check`, or an error, of one file."""

    code: Annotated[str, "kcli explain CODE says more; of an error, the word for it"]
    severity: Annotated[str, "info, warning, error"]
    message: Annotated[str, "in one line"]
    dir: Annotated[str | None, "partition directory, as reached from the argument"]
    topic: Annotated[str | None, "from the directory's name"]
    partition: Annotated[int | None, "from the directory's name"]
    file: Annotated[str | None, "base name; null for a finding about a directory"]
    path: Annotated[str | None, "of the file, or of the directory, as reached from the argument"]
    position: Annotated[int | None, "byte in the file"]
    expected: Annotated[str | None, "what should be there"]
    found: Annotated[str | None, "what is there"]


FINDING = row_type("finding", FindingRow)

VIEWS: dict[str, RowType] = {
    BATCHES: DUMP_BATCH,
    RECORDS: DUMP_RECORD,
    SEGMENTS: SCAN_SEGMENT,
    EPOCHS: EPOCH,
    RLMM: RLMM_EVENT,
    OFFSETS: LISTED_PARTITION,
    REMEMBERED: PRODUCER,
    GROUP_LIST: GROUP_ROW,
    GROUP_OFFSETS: GROUP_OFFSET,
    **dict(
        zip(
            METADATA_VIEWS,
            (METADATA_TOPIC, METADATA_PARTITION, METADATA_BROKER, METADATA_CONFIG),
            strict=True,
        )
    ),
    TRANSACTIONS: TRANSACTION,
    RETAINED: LOG_RETENTION,
    RETAINED_LOGS: RETENTION_PARTITION,
    CLEANINGS: COMPACT_PARTITION,
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
