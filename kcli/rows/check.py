"""The row of `check`: whether a partition, or a log dir's own files, are whole and would load."""

from typing import Annotated, NamedTuple

from kcli.rows.declare import row_type
from kcli.rows.places import Where


class CheckRow(NamedTuple):
    """The result for one partition, or for a log dir itself: then topic, partition and segments are null."""

    where: Where
    result: Annotated[str, "clean, warning, damaged or will-not-load, by the worst finding"]
    findings: Annotated[int, "findings about it, those of info included"]
    errors: Annotated[int, "of these, errors; and files that could not be read"]
    warnings: Annotated[int, "of these, warnings"]
    segments: Annotated[int | None, "segments that were read; null of a log dir"]
    batches: Annotated[int | None, "batches that were read in them"]
    log_bytes: Annotated[int | None, "bytes that were read of them"]
    log_end_offset: Annotated[
        int | None, "after a start; null of a log dir, a log that does not load and a -delete directory"
    ]

    @property
    def is_log_dir(self) -> bool:
        """Whether it is the row of a log dir itself.

        That of a partition has segments, also where its directory is not named topic-partition.
        """
        return self.segments is None


class EpochCheckRow(NamedTuple):
    """The result for the leader epochs of one partition."""

    where: Where
    result: Annotated[str, "clean, warning or damaged, by the worst finding"]
    findings: Annotated[int, "findings about them, those of info included"]
    errors: Annotated[int, "of these, errors; and files that could not be read"]
    warnings: Annotated[int, "of these, warnings"]


CHECK = row_type("check", CheckRow)
EPOCH_CHECK = row_type("epoch_check", EpochCheckRow)

CLEAN, WARNING, DAMAGED, WILL_NOT_LOAD = "clean", "warning", "damaged", "will-not-load"

COMMANDS = {"check": (CHECK,), "epoch check": (EPOCH_CHECK,)}
"""The row types that each command can print, first the usual one."""
