"""What changed from one run of a command to a later one, and what of it should not have."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from kcli.kafka.findings.findings import SEVERITIES

LOG = ".log"
UNREADABLE = "unreadable"
RANKS = ("starts", "loads", "clean", "warning", "damaged", "fails", "will-not-load", UNREADABLE)
"""Results, the better first."""
VERDICTS = (
    "damaged",
    "rewritten",
    "shrunk",
    "gone",
    "new",
    "changed",
    "repaired",
    "grown",
    "trimmed",
    "unchanged",
)
"""Of a partition, the first that applies; `trimmed`: the log start moved on, and nothing else."""


class Noted(NamedTuple):
    """A finding of a run, or an error; those that are equal are the same one."""

    code: str
    severity: str
    file: str | None
    position: int | None


class LogFacts(NamedTuple):
    """What `scan` says of a segment."""

    log_bytes: int
    contents: tuple[Any, ...]
    """Facts of its batches that only another content changes."""
    ends: tuple[tuple[int | None, int | None], ...] = ()
    """Offset and leader epoch at its first batch, and at the end of its last."""


class PartitionFacts(NamedTuple):
    """What a run says of a partition; None for what its command does not say.

    Offsets: start inclusive, end exclusive. `epochs`: (epoch, start offset) of its leader epochs.
    """

    result: str | None = None
    log_start_offset: int | None = None
    log_end_offset: int | None = None
    latest_epoch: int | None = None
    epochs: tuple[tuple[int, int], ...] | None = None
    log_bytes: int | None = None
    segments: int | None = None
    logs: dict[str, LogFacts] = {}  # noqa: RUF012 - of its own where it has any
    noted: frozenset[Noted] = frozenset()


class RunChange(NamedTuple):
    """What became of a partition: `verdict` of VERDICTS, logs by name, and (code, message) of findings."""

    verdict: str
    logs_new: tuple[str, ...]
    logs_gone: tuple[str, ...]
    logs_changed: tuple[str, ...]
    noted_new: tuple[Noted, ...]
    noted_gone: tuple[Noted, ...]
    findings: tuple[tuple[str, str], ...]


def compared(before: PartitionFacts | None, after: PartitionFacts | None) -> RunChange:
    """Return what changed; None for a run that does not have the partition. One of them has it."""
    first, last = before or PartitionFacts(), after or PartitionFacts()
    noted_new, noted_gone = _sorted(last.noted - first.noted), _sorted(first.noted - last.noted)
    common = first.logs.keys() & last.logs.keys()
    logs_new, logs_gone = last.logs.keys() - common, first.logs.keys() - common
    changed = tuple(sorted(name for name in common if _is_other(first.logs[name], last.logs[name])))
    found = [] if before is None else [*_of_offsets(before, last)] if after is not None else []
    if after is None:
        found.append(("DIFF-006", "the later run does not have it"))
    if lost := _lost(first.logs, last.logs):
        found.append(("DIFF-007", f"{lost[0]} is gone, and the log before it is as it was"))
    found[:0] = _of_damage(first, last, noted_new)
    codes = {code for code, _ in found}
    verdict = next(
        name
        for name, applies in (
            ("damaged", "DIFF-001" in codes),
            ("rewritten", "DIFF-004" in codes),
            ("shrunk", "DIFF-003" in codes),
            ("gone", after is None),
            ("new", before is None),
            ("changed", bool(changed or codes)),
            ("repaired", before is not None and _is_repaired(first, last, noted_gone)),
            ("grown", _is_above(last.log_end_offset, first.log_end_offset)),
            ("trimmed", _is_above(last.log_start_offset, first.log_start_offset)),
            ("unchanged", _is_same(first, last)),
            ("grown", _is_above(last.log_bytes, first.log_bytes)),
            ("changed", True),
        )
        if applies
    )
    return RunChange(
        verdict,
        tuple(sorted(logs_new)),
        tuple(sorted(logs_gone)),
        changed,
        noted_new,
        noted_gone,
        tuple(found),
    )


def _lost(first: dict[str, LogFacts], last: dict[str, LogFacts]) -> list[str]:
    """Return the segments that went from between two others, though the one before did not change.

    Retention removes the oldest; compaction merges a segment into one before, which it writes anew.
    """
    gone = sorted(
        name for name in first.keys() - last.keys() if name.endswith(LOG) and name < max(last, default="")
    )
    before = {name: max((one for one in last if one < name), default="") for name in gone}
    return [name for name, one in before.items() if one in last and first.get(one) == last[one]]


def _of_damage(
    first: PartitionFacts, last: PartitionFacts, noted_new: Collection[Noted]
) -> Iterator[tuple[str, str]]:
    """Yield what is damaged now and was not."""
    worst = SEVERITIES[-1]
    errors = list(dict.fromkeys(one.code for one in noted_new if one.severity == worst))
    if errors:
        yield "DIFF-001", f"new since the first run: {', '.join(errors)}"
    elif _rank(last.result) > max(_rank(first.result), RANKS.index("warning")):
        yield "DIFF-001", f"{first.result or 'not in the first run'} before, {last.result} now"
    warnings = list(dict.fromkeys(one.code for one in noted_new if one.severity == SEVERITIES[1]))
    if warnings:
        yield "DIFF-002", f"new since the first run: {', '.join(warnings)}"


def _of_offsets(first: PartitionFacts, last: PartitionFacts) -> Iterator[tuple[str, str]]:
    """Yield what a log does not do by itself: it ends earlier, its history is another, it begins earlier."""
    if _is_above(first.log_end_offset, last.log_end_offset):
        ended, ends = first.log_end_offset, last.log_end_offset
        yield "DIFF-003", f"the log ended at {ended} before, it ends at {ends} now"
    if rewritten := _rewritten(first, last):
        yield "DIFF-004", rewritten
    if _is_above(first.log_start_offset, last.log_start_offset):
        began, begins = first.log_start_offset, last.log_start_offset
        yield "DIFF-005", f"the log began at {began} before, it begins at {begins} now"


def _rewritten(first: PartitionFacts, last: PartitionFacts) -> str | None:
    """Return how the leader epochs differ from those that the first history can have become.

    Later epochs follow; the oldest go, or begin later, as the log start moves.
    """
    if first.epochs is not None and last.epochs is not None:
        now = dict(last.epochs)
        for epoch, start in first.epochs:
            found = now.get(epoch)
            is_below = last.log_start_offset is not None and start < last.log_start_offset
            if found == start or (is_below and (found is None or found > start)):
                continue
            is_now = "is not there now" if found is None else f"begins at {found} now"
            return f"leader epoch {epoch} began at {start} before, it {is_now}"
        return None
    for name in sorted(first.logs.keys() & last.logs.keys()):
        for (offset, was), (at_now, epoch_now) in zip(
            first.logs[name].ends, last.logs[name].ends, strict=False
        ):
            if offset == at_now and None not in (was, epoch_now) and was != epoch_now:
                return f"{name}: offset {offset} was of leader epoch {was} before, it is of {epoch_now} now"
    if _is_above(first.latest_epoch, last.latest_epoch):
        return f"the newest leader epoch was {first.latest_epoch} before, it is {last.latest_epoch} now"
    return None


def _is_other(first: LogFacts, last: LogFacts) -> bool:
    return last.log_bytes < first.log_bytes or (
        last.log_bytes == first.log_bytes and last.contents != first.contents
    )


def _is_repaired(first: PartitionFacts, last: PartitionFacts, gone: Collection[Noted]) -> bool:
    return any(one.severity != SEVERITIES[0] for one in gone) or _rank(last.result) < _rank(first.result)


def _rank(result: str | None) -> int:
    return -1 if result is None else RANKS.index(result) if result in RANKS else len(RANKS)


def _is_above(one: int | None, other: int | None) -> bool:
    """Whether a number is above another; False where one is not known."""
    return one is not None and other is not None and one > other


def _is_same(first: PartitionFacts, last: PartitionFacts) -> bool:
    """Whether two runs say the same but for findings, which info alone may differ in here."""
    return first._replace(noted=frozenset()) == last._replace(noted=frozenset())


def _sorted(noted: Collection[Noted]) -> tuple[Noted, ...]:
    return tuple(
        sorted(
            noted,
            key=lambda one: (-SEVERITIES.index(one.severity), one.code, one.file or "", one.position or 0),
        )
    )
