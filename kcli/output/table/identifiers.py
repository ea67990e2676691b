"""The views of `partition-for` and `uuid`."""

from kcli.output.table.columns import NUMBER, TEXT, ShownColumn
from kcli.output.table.table_view import TableView
from kcli.rows.identifiers import PartitionForRow


def _place(row: PartitionForRow) -> str:
    return f"partition {row.partition}" if row.topic is None else f"{row.topic}-{row.partition}"


PARTITIONS_FOR = TableView(
    columns=(
        ShownColumn("KIND", "kind"),
        ShownColumn("VALUE", "value", TEXT, may_overflow=True),
        ShownColumn("IS IN", _place),
        ShownColumn("OF", "partitions", NUMBER, rank=1),
        ShownColumn("HASH", "hash", NUMBER, rank=2),
    ),
)
UUIDS = TableView(columns=(ShownColumn("KAFKA", "uuid"), ShownColumn("HEXADECIMAL", "hex", rank=0)))
