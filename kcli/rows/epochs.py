"""The rows of `epoch`: the leader epochs of a partition, and what they answer."""

from typing import Annotated, NamedTuple

from kcli.rows.declare import row_type
from kcli.rows.places import Where


class EpochRow(NamedTuple):
    """One leader epoch of the cache."""

    where: Where
    epoch: Annotated[int, "leader epoch"]
    start_offset: Annotated[int, "first offset written in this epoch, inclusive"]
    end_offset: Annotated[int, "exclusive: the next epoch's start, the log end offset for the last"]
    source: Annotated[str, "checkpoint or batches"]


class EndOffsetRow(NamedTuple):
    """The broker's answer to OffsetsForLeaderEpoch."""

    where: Where
    requested_epoch: Annotated[int, "the epoch asked for"]
    leader_epoch: Annotated[int, "the epoch answered; -1 undefined"]
    end_offset: Annotated[int, "exclusive end of the answered epoch; -1 undefined"]
    log_end_offset: Annotated[int, "the log end offset that the answer was computed with"]
    log_end_offset_source: Annotated[
        str, "index (last index entry and the tail), recovered, headers or given"
    ]
    rule: Annotated[str, "undefined-request, latest, above-all, below-all or between"]


class EpochAtRow(NamedTuple):
    """The leader epoch of one offset."""

    where: Where
    offset: Annotated[int, "the offset asked for"]
    epoch: Annotated[int | None, "the leader epoch at that offset; null where the cache has none"]
    start_offset: Annotated[int | None, "first offset of that epoch"]


EPOCH = row_type("epoch", EpochRow)
END_OFFSET = row_type("end_offset", EndOffsetRow)
EPOCH_AT = row_type("epoch_at", EpochAtRow)

COMMANDS = {
    "epoch show": (EPOCH,),
    "epoch end-offset": (END_OFFSET,),
    "epoch at": (EPOCH_AT,),
}
"""The row types that each command can print, first the usual one."""
