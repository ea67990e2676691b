"""What a metadata log, a segment or a snapshot of it says at a moment, past damage."""

import os
from collections.abc import Callable
from typing import TypeAlias

from formats.names import LOG, parse_file
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.metadata_image import Watch
from kcli.kafka.kraft.metadata_loader import (
    ALL_RECORDS,
    BEYOND,
    Metadata,
    Until,
    Walk,
    newest_snapshot,
    take_quorum_state,
)
from kcli.kafka.kraft.metadata_snapshot import NO_FOOTER
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.partition import Partition, shown_path
from kcli.words import INT64

MakeWatch: TypeAlias = Callable[[Metadata], Watch]
"""Makes what sees the changes of an image that begins."""


def metadata_at(
    partition: Partition, walk: Walk, until: Until = ALL_RECORDS, watch: MakeWatch | None = None
) -> Metadata:
    """Return what a metadata log says up to a record, past damage: its newest snapshot and the log after it.

    With a `watch`, which sees every change, by the oldest snapshot that the log reaches: none where the log
    begins with offset 0. FileError where nothing of that time is here.
    """
    segments = [(one.base_offset, one.path("log")) for one in partition.segments]
    first = segments[0][0] if segments else None
    found = newest_snapshot(partition, until, None if watch is None else first)
    start, found.until = found.end_offset, until
    if watch is not None:
        found.image.watch = watch(found)
    ends = [base for base, _ in segments[1:]] + [INT64] * bool(segments)
    for (base, path), end in zip(segments, ends, strict=True):
        if found.has_reached or until.is_past(base):
            break
        if end <= start:
            continue
        if base > found.end_offset:
            found.lose(f"offsets {found.end_offset}..{base - 1} are not here", partition.shown, None)
        with DataFile(path) as file:
            found.read(file, shown_path(partition, path), start, walk=walk)
    if found.image.offset < 0 and not (found.voters or found.levels):  # those of a bootstrap end at 0
        words = f"what is here begins at offset {first}" if first else "no record of it is here"
        raise FileError(partition.shown, "nothing-to-read", words)
    take_quorum_state(found, partition)
    _say_end(found)
    return found


def _say_end(found: Metadata) -> None:
    """Say which record the last one is where an offset behind it was asked for."""
    offset = found.image.offset
    if offset < found.until.offset < INT64:
        words = f"offset {found.until.offset} is not here: the answer is as of offset {offset}, the end"
        found.findings.append(Finding(BEYOND, words, found.directory, found=offset))


def metadata_of_file(
    path: str, shown_as: str, walk: Walk, until: Until = ALL_RECORDS, watch: MakeWatch | None = None
) -> Metadata:
    """Return what one segment of the metadata log says, or a snapshot of it, past damage."""
    found = Metadata(os.path.dirname(shown_as) or ".")
    name, found.until = parse_file(os.path.basename(path)), until
    if watch is not None:
        found.image.watch = watch(found)
    if name.kind == LOG and name.base_offset:
        found.lose(f"offsets 0..{name.base_offset - 1} are not here", shown_as, None)
    with DataFile(path) as file:
        has_footer = found.read(file, shown_as, walk=walk)
    if name.kind != LOG and not has_footer and name.epoch is not None:
        found.lose(NO_FOOTER, shown_as, None)
    if name.kind != LOG:
        found.take_end(name)
    _say_end(found)
    return found
