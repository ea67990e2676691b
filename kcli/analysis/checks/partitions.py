"""What `check` concludes from all segments of a partition."""

from collections.abc import Sequence

from kcli.analysis.checks.segments import SegmentFacts
from kcli.analysis.loaded_log import Checkpoints


def needs_start(segments: Sequence[SegmentFacts], given: Checkpoints) -> bool:
    """Whether recovery would change a log, so that only a start of it says what is left.

    A log that was stopped cleanly is not recovered.
    """
    if given.clean or not segments:
        return False
    unflushed = _unflushed(segments, given)
    log_end = log_end_of(segments, given)
    return any(one.is_cut for one in unflushed) or log_end is None or log_end < given.log_start_offset


def log_end_of(segments: Sequence[SegmentFacts], given: Checkpoints) -> int | None:
    """Return the log end offset of a log that is recovered without a cut; None without a segment."""
    if not segments:
        return given.log_start_offset
    last = segments[-1]
    return last.base if last.good_end.offset is None else last.good_end.offset


def _unflushed(segments: Sequence[SegmentFacts], given: Checkpoints) -> Sequence[SegmentFacts]:
    """Return the segments that recovery reads: from the one of the recovery point on."""
    floor = max((one.base for one in segments if one.base <= given.recovery_point), default=None)
    return [one for one in segments if floor is None or one.base >= floor]
