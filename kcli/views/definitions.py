"""The views, for Spark and for DuckDB: which rows each gives, and what its columns are.

The columns are those of the row types in `kcli.rows`, which `kcli schema` prints too: the four of `HEAD` come
first; `broker_id` and `cluster_id` of a row are there already. An event of remote log metadata names a broker
of its own, which is called `event_broker_id` here.
"""

from typing import Annotated, NamedTuple

from kcli.rows.declare import Column, declared_type
from kcli.rows.dump import DumpBatchRow, DumpRecordRow
from kcli.rows.epochs import EpochRow
from kcli.rows.groups import GroupOffsetRow, GroupRow
from kcli.rows.head import HOST
from kcli.rows.metadata import MetadataBrokerRow, MetadataConfigRow, MetadataPartitionRow, MetadataTopicRow
from kcli.rows.partitions import WHERE, PartitionRow
from kcli.rows.remote_metadata import RlmmEventRow
from kcli.rows.retention import CompactPartitionRow, RetentionPartitionRow, RetentionRow
from kcli.rows.scan import ScanSegmentRow
from kcli.rows.transactions import ProducerRow, TransactionRow

BATCHES = "batches"
RECORDS = "records"
RLMM = "rlmm"
GROUP_LIST = "groups"
GROUP_OFFSETS = "group_offsets"
FINDINGS = "findings"

METADATA_VIEWS = {
    "metadata_topics": MetadataTopicRow,
    "metadata_partitions": MetadataPartitionRow,
    "metadata_brokers": MetadataBrokerRow,
    "metadata_configs": MetadataConfigRow,
}
"""Views of the cluster's metadata, named after the words of their kinds, and their rows."""

OF_USERS = frozenset({RLMM, GROUP_LIST, GROUP_OFFSETS, *METADATA_VIEWS})
"""Views whose topics are those of the users, not of the directories that are read."""

MOMENT = "moment"
"""The kind of the one column that is a time for SQL: those of Kafka are epoch milliseconds."""

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


_ROWS_OF_VIEWS: dict[str, type] = {
    BATCHES: DumpBatchRow,
    RECORDS: DumpRecordRow,
    "segments": ScanSegmentRow,
    "epochs": EpochRow,
    RLMM: RlmmEventRow,
    "offsets": PartitionRow,
    "producers": ProducerRow,
    GROUP_LIST: GroupRow,
    GROUP_OFFSETS: GroupOffsetRow,
    **METADATA_VIEWS,
    "transactions": TransactionRow,
    "retention": RetentionRow,
    "retention_partitions": RetentionPartitionRow,
    "compact": CompactPartitionRow,
    FINDINGS: FindingRow,
}
VIEWS = {view: declared_type(row) for view, row in _ROWS_OF_VIEWS.items()}
"""The row type of each view; rows of other types that its job gives are left out."""

_HEAD_NAMES = frozenset(column.name for column in HEAD)


class ViewColumn(NamedTuple):
    """A column of a view, and its number in the rows; None for those of HEAD."""

    column: Column
    number: int | None


def view_columns(view: str) -> tuple[ViewColumn, ...]:
    """Return the columns of a view in order: HEAD, then those of its rows."""
    columns = []
    for number, column in enumerate(VIEWS[view].columns):
        if column in WHERE and column.name in _HEAD_NAMES:
            continue
        named = column._replace(name=f"event_{column.name}") if column.name in _HEAD_NAMES else column
        columns.append(ViewColumn(named, number))
    return (*(ViewColumn(column, None) for column in HEAD), *columns)
