"""`rlmm check --leader`: remote segments against the leader's epochs and offsets.

What KIP-405 demands of a leader: remote storage ends below its last stable offset, every offset from its log
start on is in a tier, and what is copied is of its own history.
"""

from collections.abc import Iterator

from kcli.jobs.rlmm.coverage import ranges
from kcli.jobs.rlmm.leader import Leader
from kcli.kafka.remote.cache import COPY_SEGMENT_FINISHED, CachedSegment
from kcli.kafka.remote.lineage import outside_lineage, with_records


def against_leader(leader: Leader) -> Iterator[tuple[str, str]]:
    """Yield code and message of what does not go together."""
    epochs, end = with_records(leader.epochs), leader.log.log_end_offset
    copied = [one for one in leader.remote.segments.values() if one.state == COPY_SEGMENT_FINISHED]
    stable = min(leader.log.producers.ongoing, default=end)
    for segment in sorted(copied, key=lambda one: one.begun.start_offset):
        reason = outside_lineage(segment, end, epochs)
        if reason is not None:
            yield "RLMM-028", f"{named(segment)}: {reason}"
        elif segment.begun.end_offset >= stable:
            yield "RLMM-029", f"{named(segment)}: the leader's last stable offset is {stable}"
    for row in ranges(leader) if leader.is_tiered else ():
        if row.tiers == "none":
            what = f"offsets {row.first_offset}..{row.last_offset} are neither there nor on the leader's disk"
            yield "RLMM-030", what


def named(segment: CachedSegment) -> str:
    """Return a segment by its id and its offsets."""
    begun = segment.begun
    return f"segment {begun.segment_id} of offsets {begun.start_offset}..{begun.end_offset}"
