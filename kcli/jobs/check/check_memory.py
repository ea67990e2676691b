"""The state file of `check --since`: what is remembered of each segment that was found whole, as JSON."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias
from zlib import crc32

from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.kafka.integrity.checks.batches import COMMIT
from kcli.kafka.integrity.checks.epochs import EpochRun
from kcli.kafka.integrity.checks.producers import NOT_KNOWN, End, ProducerFacts, ProducerRun
from kcli.kafka.integrity.checks.seams import Largest, Prefix, Seam
from kcli.kafka.integrity.checks.segments import SegmentFacts

VERSION = 3
MOST_PRODUCERS = 1_000_000
"""Of all partitions; what is more is taken as too many to follow."""

Files: TypeAlias = tuple[tuple[int, int, int] | None, ...]
"""Size, modification time (ns) and inode of each file of a segment; None for a missing one."""
Owed: TypeAlias = tuple[tuple[str, str, str, int | None, int | None], ...]
"""What is wrong with the indexes of a segment: the index's extension, code, words, position, how many more.

None of severity info: those are not found again."""


class StateError(Exception):
    """A file is no state of `check`; the message says why."""


class Remembered(NamedTuple):
    """A segment that was found whole, with the facts that are needed without reading it.

    `producers`: those of the log up to its end; None where they are not kept, as of most closed segments.
    `of_indexes` is wrong unless recovery writes the indexes anew, `owed` once it is closed.
    """

    files: Files
    records: bool
    first: int | None
    end: int | None
    is_compacted: bool
    has_messages: bool
    epochs: tuple[EpochRun, ...]
    of_indexes: Owed
    owed: Owed
    producers: ProducerFacts | None
    seam: Seam | None


def remembered(
    facts: SegmentFacts, files: Files, producers: ProducerFacts | None, *, records: bool
) -> Remembered:
    """Return what is remembered of a segment."""
    stem = facts.target.shown.removesuffix("log")

    def owed(found: Iterable[Finding]) -> Owed:
        return tuple(
            ((one.path or "").removeprefix(stem), one.code, one.message, one.position, one.more)
            for one in found
            if one.severity != SEVERITIES[0]
        )

    return Remembered(
        files,
        records,
        facts.first,
        facts.end,
        facts.is_compacted,
        facts.has_messages,
        facts.epochs,
        owed(facts.of_indexes),
        owed(facts.if_closed),
        producers,
        facts.seam,
    )


def dumps(partitions: Mapping[str, Mapping[int, Remembered]]) -> str:
    """Return a state: a line with its version and the CRC-32 of the rest, then the segments as JSON."""
    left = MOST_PRODUCERS
    document: dict[str, dict[int, list[Any]]] = {}
    for directory, segments in partitions.items():
        entries = document.setdefault(directory, {})
        for base, one in segments.items():
            runs = None if one.producers is None else one.producers.runs
            left -= len(runs or ())
            producers: object = one.producers and (runs is not None and left >= 0 and list(_producers(runs)))
            entries[base] = [*one[:-2], producers, one.seam and [*one.seam]]
    text = json.dumps(document, separators=(",", ":"))
    return f"{json.dumps({'version': VERSION, 'crc': crc32(text.encode())})}\n{text}"


def _producers(runs: Mapping[int, ProducerRun]) -> Iterable[list[int]]:
    for producer_id, run in runs.items():
        sequence = run.epoch, run.last_sequence, run.last_offset, run.offset_delta
        yield [producer_id, *sequence, run.open_since, run.last_end, int(run.first_end is not None)]


def loads(text: str) -> dict[str, dict[int, Remembered]]:
    """Return the state in a file's text; StateError where it is none."""
    try:
        first, _, rest = text.partition("\n")
        head = json.loads(first)
        version = head["version"]
        if version != VERSION:
            words = "remove it, and the next run reads everything once"
            raise StateError(f"a state of version {version}, this release writes {VERSION}: {words}")
        if head["crc"] != crc32(rest.encode()):
            raise StateError("its checksum does not match: remove it, and the next run reads everything once")
        return {
            directory: {int(base): _entry(*values) for base, values in segments.items()}
            for directory, segments in json.loads(rest).items()
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
    of_indexes: Any,
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
        tuple(map(tuple, of_indexes)),
        tuple(map(tuple, owed)),
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
