"""The rows of `rlmm` about what a tiered partition's leader answers, keeps and deletes."""

from typing import Annotated, NamedTuple

from kcli.rows.declare import Timestamp, row_type
from kcli.rows.places import Where


class RlmmOffsetsRow(NamedTuple):
    """What ListOffsets answers for each special timestamp; offset -1 and epoch null where it finds none."""

    where: Where
    topic_id: Annotated[str | None, "of partition.metadata"]
    remote_storage: Annotated[bool, "whether there are remote segments, or the log begins below the disk"]
    earliest_offset: Annotated[int, "of timestamp -2: log start offset, remote storage included"]
    earliest_epoch: Annotated[int | None, "its leader epoch"]
    latest_offset: Annotated[int, "of timestamp -1: the high watermark, the log end where it is unknown"]
    latest_epoch: Annotated[int | None, "its leader epoch"]
    max_timestamp_offset: Annotated[int, "of timestamp -3: in the local log alone"]
    max_timestamp: Annotated[Timestamp, "of that record, -1 for none"]
    max_timestamp_epoch: Annotated[int | None, "its leader epoch"]
    earliest_local_offset: Annotated[int, "of timestamp -4: the first offset on local disk"]
    earliest_local_epoch: Annotated[int | None, "its leader epoch"]
    latest_tiered_offset: Annotated[int, "of timestamp -5: the last offset in remote storage"]
    latest_tiered_epoch: Annotated[int | None, "its leader epoch"]
    earliest_pending_upload_offset: Annotated[int, "of timestamp -6: the first offset that is not copied yet"]
    earliest_pending_upload_epoch: Annotated[int | None, "its leader epoch"]
    high_watermark: Annotated[int | None, "of replication-offset-checkpoint"]
    log_end_offset: Annotated[int, "of the local log, exclusive"]


RLMM_OFFSETS = row_type("rlmm_offsets", RlmmOffsetsRow)

COMMANDS = {
    "rlmm offsets": (RLMM_OFFSETS,),
}
"""The row types that each command can print, first the usual one."""
