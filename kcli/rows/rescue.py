"""The rows of `truncate --rescue`: records that a truncation loses, and what produces them again."""

from typing import Annotated, NamedTuple

from kcli.rows.declare import Timestamp, row_type
from kcli.rows.places import FromFile


class RescuedHeader(NamedTuple):
    """A header of a record; `key_bytes` where the key is not UTF-8, else null."""

    key: str
    key_bytes: bytes | None
    value: bytes | None


class RescuedRecordRow(NamedTuple):
    """One record that goes, control records included."""

    source: FromFile
    offset: Annotated[int, "of the record"]
    timestamp: Annotated[Timestamp, "-1 none"]
    timestamp_type: Annotated[str, "CreateTime, LogAppendTime or NoTimestampType"]
    key: Annotated[bytes | None, "null apart from empty"]
    value: Annotated[bytes | None, "null apart from empty"]
    headers: Annotated[tuple[RescuedHeader, ...], "in their order"]
    partition_leader_epoch: Annotated[int, "of its batch; -1 none"]
    producer_id: Annotated[int, "-1 none"]
    producer_epoch: Annotated[int, "-1 none"]
    sequence: Annotated[int, "-1 none"]
    is_transactional: Annotated[bool, "whether its batch is part of a transaction"]
    control_type: Annotated[
        str | None,
        "Kafka's name of a control record's type, or its number if unknown; null for data",
    ]


RESCUED_RECORD = row_type("rescued_record", RescuedRecordRow)
