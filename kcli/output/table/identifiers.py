"""The views of `partition-for` and `uuid`."""

from kcli.output.table.columns import NUMBER, ShownColumn
from kcli.output.table.table_view import TableView

PARTITIONS_FOR = TableView(
    columns=(
        ShownColumn("KIND", "kind"),
        ShownColumn("VALUE", "value", may_overflow=True),
        ShownColumn("TOPIC", "topic"),
        ShownColumn("PARTITION", "partition", NUMBER, style="bold"),
        ShownColumn("OF", "partitions", NUMBER, rank=2),
        ShownColumn("HASH", "hash", NUMBER, rank=3),
    ),
)
UUIDS = TableView(columns=(ShownColumn("KAFKA", "uuid"), ShownColumn("HEXADECIMAL", "hex")))
