"""The row of `diff`: what became of a partition from one run to a later one."""

from typing import Annotated, NamedTuple

from kcli.rows.declare import row_type
from kcli.rows.places import Where

VERDICTS = (
    *("damaged", "rewritten", "shrunk", "gone", "new"),
    *("changed", "repaired", "grown", "trimmed", "unchanged"),
)


class RunDiffRow(NamedTuple):
    """One partition, or one log dir: then topic and partition are null.

    Columns that the compared command does not have are null.
    """

    where: Where
    verdict: Annotated[str, f"the first that applies: {', '.join(VERDICTS)}"]
    result_before: Annotated[str | None, "of check, or outcome of startup; unreadable after an error"]
    result_after: Annotated[str | None, "the same of the later run"]
    log_start_offset_before: Annotated[int | None, "of scan: the first offset with a record"]
    log_start_offset_after: Annotated[int | None, "the same of the later run"]
    log_end_offset_before: Annotated[int | None, "of scan: after the last batch"]
    log_end_offset_after: Annotated[int | None, "the same of the later run"]
    latest_epoch_before: Annotated[int | None, "newest leader epoch"]
    latest_epoch_after: Annotated[int | None, "the same of the later run"]
    log_bytes_before: Annotated[int | None, "of the partition's logs"]
    log_bytes_after: Annotated[int | None, "the same of the later run"]
    segments_before: Annotated[int | None, "number of segments"]
    segments_after: Annotated[int | None, "the same of the later run"]
    segments_new: Annotated[tuple[str, ...], "logs of scan that only the later run has"]
    segments_gone: Annotated[tuple[str, ...], "logs of scan that only the first run has"]
    segments_changed: Annotated[
        tuple[str, ...], "logs of scan that hold something else: less, or other batches; not those that grew"
    ]
    findings_new: Annotated[tuple[str, ...], "codes of findings, and errors, that only the later run has"]
    findings_gone: Annotated[tuple[str, ...], "codes of findings, and errors, that only the first run has"]


RUN_DIFF = row_type("run_diff", RunDiffRow)

COMMANDS = {"diff": (RUN_DIFF,)}
"""The row types that each command can print, first the usual one."""
