"""The state file of `check --since`: what is remembered of each segment that was found whole, as JSON."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from kcli.analysis.checks.batches import COMMIT
from kcli.analysis.checks.epochs import EpochRun
from kcli.analysis.checks.producers import NOT_KNOWN, End, ProducerFacts, ProducerRun
from kcli.analysis.checks.seams import Largest, Prefix, Seam
from kcli.analysis.checks.segments import SegmentFacts

VERSION = 3
MOST_PRODUCERS = 1_000_000
"""Of all partitions; what is more is taken as too many to follow."""

Files: TypeAlias = tuple[tuple[int, int, int] | None, ...]
"""Size, modification time (ns) and inode of each file of a segment; None for a missing one."""
Owed: TypeAlias = tuple[tuple[str, str, str], ...]
"""What is wrong with the indexes of a segment once it is closed: the index's extension, a code and words."""


class StateError(Exception):
    """A file is no state of `check`; the message says why."""


class Remembered(NamedTuple):
    """A segment that was found whole, with the facts that are needed without reading it.

    `producers`: those of the log up to its end; None where they are not kept, as of most closed segments.
    """

    files: Files
    records: bool
    first: int | None
    end: int | None
    is_compacted: bool
    has_messages: bool
    epochs: tuple[EpochRun, ...]
    owed: Owed
    producers: ProducerFacts | None
    seam: Seam | None


def remembered(
    facts: SegmentFacts, files: Files, producers: ProducerFacts | None, *, records: bool
) -> Remembered:
    """Return what is remembered of a segment."""
    stem = facts.target.shown.removesuffix("log")
    return Remembered(
        files,
        records,
        facts.first,
        facts.end,
        facts.is_compacted,
        facts.has_messages,
        facts.epochs,
        tuple(((one.path or "").removeprefix(stem), one.code, one.message) for one in facts.if_closed),
        producers,
        facts.seam,
    )


def dumps(partitions: Mapping[str, Mapping[int, Remembered]]) -> str:
    """Return a state as JSON."""
    left = MOST_PRODUCERS
    document: dict[str, dict[int, list[Any]]] = {}
    for directory, segments in partitions.items():
        entries = document.setdefault(directory, {})
        for base, one in segments.items():
            runs = None if one.producers is None else one.producers.runs
            left -= len(runs or ())
            producers: object = one.producers and (runs is not None and left >= 0 and list(_producers(runs)))
            entries[base] = [*one[:-2], producers, one.seam and [*one.seam]]
    return json.dumps({"version": VERSION, "partitions": document}, separators=(",", ":"))


def _producers(runs: Mapping[int, ProducerRun]) -> Iterable[list[int]]:
    for producer_id, run in runs.items():
        sequence = run.epoch, run.last_sequence, run.last_offset, run.offset_delta
        yield [producer_id, *sequence, run.open_since, run.last_end, int(run.first_end is not None)]


def loads(text: str) -> dict[str, dict[int, Remembered]]:
    """Return the state in a file's text; StateError where it is none."""
    try:
        document = json.loads(text)
        version = document["version"]
        if version != VERSION:
            words = "remove it, and the next run reads everything once"
            raise StateError(f"a state of version {version}, this release writes {VERSION}: {words}")
        return {
            directory: {int(base): _entry(*values) for base, values in segments.items()}
            for directory, segments in document["partitions"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StateError("this is no state that kcli check wrote") from error


def _entry(  # noqa: PLR0917 - the values of an entry
    files: Any,
    records: Any,
    first: Any,
    end: Any,
    is_compacted: Any,
    has_messages: Any,
    epochs: Any,
    owed: Any,
    producers: Any,
    seam: Any,
) -> Remembered:
    return Remembered(
        tuple(None if one is None else (int(one[0]), int(one[1]), int(one[2])) for one in files),
        bool(records),
        None if first is None else int(first),
        None if end is None else int(end),
        bool(is_compacted),
        bool(has_messages),
        tuple(EpochRun(*map(int, run)) for run in epochs),
        tuple((str(extension), str(code), str(words)) for extension, code, words in owed),
        None if producers is None else _facts(producers),
        None if seam is None else _seam(*seam),
    )


def _facts(producers: Any) -> ProducerFacts:
    if producers is False:
        return ProducerFacts(None)
    return ProducerFacts(dict(_run(*map(int, values)) for values in producers))


def _run(producer_id: int, epoch: int, *values: int) -> tuple[int, ProducerRun]:
    last_sequence, last_offset, offset_delta, open_since, last_end, has_end = values
    return producer_id, ProducerRun(
        epoch,
        last_sequence,
        last_offset,
        offset_delta,
        open_since=open_since,
        first_end=End(COMMIT, last_end, NOT_KNOWN) if has_end else None,
        last_end=last_end,
    )


def _seam(*values: Any) -> Seam:
    position, offset, last, header, offsets, times, txns, largest = values
    return Seam(
        int(position),
        int(offset),
        int(last),
        int(header),
        Prefix(*map(int, offsets)),
        Prefix(*map(int, times)),
        Prefix(*map(int, txns)),
        Largest(*map(int, largest)),
    )
