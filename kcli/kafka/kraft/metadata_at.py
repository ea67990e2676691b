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
    NOT_WHOLE,
    TORN_END,
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

    A `watch` sees every change since the oldest snapshot that the log reaches, none at offset 0. FileError.
    """
    segments = [(segment.base_offset, segment.path("log")) for segment in partition.segments]
    first = segments[0][0] if segments else None
    metadata = newest_snapshot(partition, until, None if watch is None else first)
    start, metadata.until = metadata.end_offset, until
    metadata.has_batch = start > 0  # the records of a bootstrap, which end at 0, are none of the log
    if watch is not None:
        metadata.image.watch = watch(metadata)
    ends = [base for base, _ in segments[1:]] + [INT64] * bool(segments)
    for (base, path), end in zip(segments, ends, strict=True):
        if metadata.has_reached or until.is_past(base):
            break
        if end <= start:
            continue
        if base > metadata.end_offset:
            metadata.lose(f"offsets {metadata.end_offset}..{base - 1} are not here", partition.shown, None)
        with DataFile(path) as file:
            metadata.read(file, shown_path(partition, path), start, walk=walk)
    _refuse_nothing(metadata, partition.shown, first)
    take_quorum_state(metadata, partition)
    _say_end(metadata)
    return metadata


def _refuse_nothing(metadata: Metadata, path: str, first: int | None) -> None:
    """Raise FileError where no batch could be read, and where all that is here is of a later time."""
    is_later = metadata.has_reached or (first is not None and metadata.until.is_past(first))
    is_cut = any(finding.code in {NOT_WHOLE, TORN_END} for finding in metadata.findings)
    if metadata.has_batch or (not is_cut and (metadata.voters or metadata.levels)):
        return
    if is_later or not is_cut:
        message = f"what is here begins at offset {first}" if is_later else "no record of it is here"
        raise FileError(path, "nothing-to-read", message)
    last = metadata.findings[-1]
    raise FileError(last.path or path, "corrupt", f"no batch can be read: {last.message}", last.position)


def _say_end(metadata: Metadata) -> None:
    """Say which record the last one is where an offset behind it was asked for."""
    offset = metadata.image.offset
    if offset < metadata.until.offset < INT64:
        message = f"offset {metadata.until.offset} is not here: the answer is as of offset {offset}, the end"
        metadata.findings.append(Finding(BEYOND, message, metadata.directory, found=offset))


def metadata_of_file(
    path: str, shown_as: str, walk: Walk, until: Until = ALL_RECORDS, watch: MakeWatch | None = None
) -> Metadata:
    """Return what one segment of the metadata log says, or a snapshot of it, past damage."""
    metadata = Metadata(os.path.dirname(shown_as) or ".")
    name, metadata.until = parse_file(os.path.basename(path)), until
    if watch is not None:
        metadata.image.watch = watch(metadata)
    if name.kind == LOG and name.base_offset:
        metadata.lose(f"offsets 0..{name.base_offset - 1} are not here", shown_as, None)
    with DataFile(path) as file:
        has_footer = metadata.read(file, shown_as, walk=walk)
    _refuse_nothing(metadata, shown_as, name.base_offset)
    if name.kind != LOG and not has_footer and name.epoch is not None:
        metadata.lose(NO_FOOTER, shown_as, None)
    if name.kind != LOG:
        metadata.take_end(name)
    _say_end(metadata)
    return metadata
