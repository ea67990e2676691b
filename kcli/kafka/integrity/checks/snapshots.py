"""Producer snapshots that are missing, or lie where the log does not reach.

A snapshot is written when a segment is rolled, at its base offset, and when the log is closed, at its end
(`UnifiedLog.roll`, `close`); from 2.8 on it lives as long as its segment.
"""

from collections.abc import Iterator, Sequence

NO_SNAPSHOT = "no producer snapshot, and a clean shutdown: the start knows no producer"


def snapshot_gaps(
    snapshots: Sequence[int], bases: Sequence[int], log_end: int, *, is_clean: bool, has_producers: bool
) -> Iterator[tuple[str, str]]:
    """Yield which snapshots of a log with segments at `bases` are not as a broker leaves them: code, words.

    `has_producers`: whether batches have a producer id. Releases before 2.8 kept the last two snapshots, so
    only one between others is missed.
    """
    for offset in snapshots:
        if offset > log_end:
            yield "PROD-009", f"{offset}.snapshot: the log ends at offset {log_end}"
    if not has_producers:
        return
    if not snapshots:
        if is_clean:
            yield "PROD-007", NO_SNAPSHOT
        elif len(bases) > 1:
            yield "PROD-008", "no producer snapshot: the start reads the log from its beginning"
        return
    held = set(snapshots)
    missing = [base for base in bases if min(held) < base < max(held) and base not in held]
    if is_clean and max(held) < log_end:
        missing.append(log_end)
    for offset in missing:
        yield "PROD-008", f"no producer snapshot at offset {offset}"
