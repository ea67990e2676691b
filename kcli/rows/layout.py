"""The row type of `kcli dump --layout`: one row for each field of a structure, as it lies in its file."""

from kcli.rows.columns import RowType, binary, integer, text
from kcli.rows.dump import FROM_FILE

DUMP_LAYOUT = RowType(
    "dump_layout",
    (
        *FROM_FILE,
        text("structure", "what the field is part of, by its name and number"),
        text("field", "name from the declaration"),
        integer("position", "byte of the file where it begins; null in what was decompressed", null=True),
        integer(
            "stream_position",
            "byte of the decompressed records where it begins; null outside of them",
            null=True,
        ),
        integer("size", "bytes"),
        binary("bytes", "as stored; null where only their number is told"),
        text(
            "value",
            "number as Kafka reads it, text, or 0x and hex for other bytes, how many where they are above 1 MiB;"
            " null where the bytes are told field by field",
            null=True,
        ),
        text("meaning", "of the field, from the declaration; null where its name says it", null=True),
    ),
)
