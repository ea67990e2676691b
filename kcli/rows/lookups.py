"""The rows of `lookup`: where an offset or a timestamp lies."""

from typing import Annotated, NamedTuple

from kcli.rows.declare import Timestamp, row_type
from kcli.rows.places import Where


class LookupOffsetRow(NamedTuple):
    """The batch that a fetch at an offset returns first."""

    where: Where
    offset: Annotated[int, "the offset asked for"]
    found: Annotated[bool, "whether a batch holds it or follows it"]
    segment_base_offset: Annotated[int | None, "of the segment that answers"]
    file: Annotated[str | None, "the .log file that answers"]
    position: Annotated[int | None, "byte position of the batch"]
    batch_base_offset: Annotated[int | None, "first offset of the batch"]
    batch_last_offset: Annotated[int | None, "last offset of the batch, inclusive"]
    leader_epoch: Annotated[int | None, "of the batch"]
    index_entry_offset: Annotated[int | None, "of the index entry that the search started from"]
    index_entry_position: Annotated[int | None, "of that entry"]
    reason: Annotated[str, "why this is the answer"]


class LookupTimestampRow(NamedTuple):
    """The record that ListOffsets finds for a timestamp."""

    where: Where
    timestamp: Annotated[Timestamp | None, "the timestamp asked for; null for max"]
    found: Annotated[bool, "whether there is an answer"]
    offset: Annotated[int | None, "of the first record at or after the timestamp"]
    record_timestamp: Annotated[Timestamp | None, "of that record"]
    leader_epoch: Annotated[int | None, "of its batch"]
    segment_base_offset: Annotated[int | None, "of the segment that answers"]
    position: Annotated[int | None, "byte position of the batch"]
    reason: Annotated[str, "why this is the answer"]


LOOKUP_OFFSET = row_type("lookup_offset", LookupOffsetRow)
LOOKUP_TIMESTAMP = row_type("lookup_timestamp", LookupTimestampRow)

COMMANDS = {
    "lookup offset": (LOOKUP_OFFSET,),
    "lookup timestamp": (LOOKUP_TIMESTAMP,),
}
"""The row types that each command can print, first the usual one."""
