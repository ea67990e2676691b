"""The row of `checkpoint show`: a partition's offsets in the checkpoint files around it."""

from typing import Annotated, NamedTuple

from kcli.rows.declare import row_type
from kcli.rows.places import Where


class CheckpointRow(NamedTuple):
    """What each checkpoint file says about a partition, as stored, and the log that it is about."""

    where: Where
    log_start_offset: Annotated[int | None, "of log-start-offset-checkpoint; null without a line"]
    recovery_point: Annotated[int | None, "of recovery-point-offset-checkpoint"]
    high_watermark: Annotated[int | None, "of replication-offset-checkpoint"]
    cleaner_point: Annotated[int | None, "of cleaner-offset-checkpoint: the first offset not yet cleaned"]
    latest_epoch: Annotated[int | None, "of the last line of leader-epoch-checkpoint"]
    latest_epoch_start_offset: Annotated[int | None, "of the same line"]
    first_segment_offset: Annotated[int, "base offset of the first segment after a start"]
    log_end_offset: Annotated[int, "after a start"]
    log_end_offset_source: Annotated[str, "index (last index entry and the tail) or recovered"]
    violations: Annotated[
        tuple[str, ...],
        "which invariants do not hold: log-start-above-log-end, log-start-above-high-watermark, "
        "high-watermark-above-log-end, recovery-point-above-log-end, cleaner-point-above-log-end, "
        "epoch-start-above-log-end",
    ]


CHECKPOINT = row_type("checkpoint", CheckpointRow)

COMMANDS = {"checkpoint show": (CHECKPOINT,)}
"""The row types that each command can print, first the usual one."""
