"""Batches in a row as columns: what every judge of `check` looks at."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formats.batch import CONTROL_MASK, LOG_OVERHEAD, NO_PRODUCER_ID, TRANSACTIONAL_MASK
from formats.bounds import LARGEST_CONTROL_BATCH
from formats.bulk import Fields, marker_types, together
from formats.errors import FormatError
from formats.magic import is_legacy
from kcli.kafka.storage.end_markers import read_marker
from kcli.logdir.buffers import DataFile
from kcli.logdir.bulk import Window

PLAIN, TRANSACTIONAL, ABORT, COMMIT, CONTROL = range(5)
"""Kinds of batches. CONTROL: of another type than an end marker, or emptied by cleaning."""
NO_MARKER = -1

Ints = NDArray[np.int64]


class Batches(NamedTuple):
    """Good batches of a log, one after the other: all of these have the right checksum.

    `base` and `last` are their offsets, inclusive; `timestamp` is the largest of a batch, in ms. `bad`: where
    batches of a wrong checksum begin among them.
    """

    positions: Ints
    sizes: Ints
    fields: Fields
    base: Ints
    last: Ints
    timestamp: Ints
    kinds: NDArray[np.int8]
    bad: Ints


class ClassifiedWindow(NamedTuple):
    """A window without its bytes, and the kinds of its batches."""

    positions: Ints
    fields: Fields
    valid: NDArray[np.bool_] | None
    kinds: NDArray[np.int8]


class BrokenMarker(NamedTuple):
    """A control batch that cannot be read: its number in a window, and why."""

    number: int
    error: FormatError


def classify(window: Window, ends: NDArray[np.int8] | None) -> ClassifiedWindow:
    """Return what is kept of a window when the next one is read.

    `ends` are the types of its end markers, None where they were not looked for.
    """
    fields = window.fields
    attributes = fields["attributes"]
    kinds = np.full(len(attributes), PLAIN, np.int8)
    if (attributes & (TRANSACTIONAL_MASK | CONTROL_MASK)).any():
        is_new = ~is_legacy(fields["magic"])
        kinds[is_new & (attributes & TRANSACTIONAL_MASK != 0)] = TRANSACTIONAL
        kinds[is_new & (attributes & CONTROL_MASK != 0)] = CONTROL
        if ends is not None:
            kinds[ends != NO_MARKER] = np.where(ends[ends != NO_MARKER] == 0, ABORT, COMMIT)
    return ClassifiedWindow(window.positions, fields, window.valid, kinds)


def end_marker_types(file: DataFile, window: Window) -> tuple[NDArray[np.int8], list[BrokenMarker]]:
    """Return ABORT or COMMIT for each batch of a window that ends a transaction, else NO_MARKER; and errors.

    Those that look as every broker writes them at once, others decoded.
    """
    fields, broken = window.fields, list[BrokenMarker]()
    types = np.full(len(fields), NO_MARKER, np.int8)
    is_control = ~is_legacy(fields["magic"]) & (fields["attributes"] & CONTROL_MASK != 0)
    if window.valid is not None:
        is_control &= window.valid
    at = (is_control & (fields["producer_id"] != NO_PRODUCER_ID)).nonzero()[0]
    if not len(at):
        return types, broken
    places = window.positions[at] - window.base
    inside = (places >= 0) & (places + LOG_OVERHEAD <= len(window.data) - fields["batch_length"][at])
    types[at[inside]] = marker_types(window.data, places[inside], fields[at[inside]])
    for number in at[types[at] == NO_MARKER].tolist():
        try:
            marker = read_marker(batch_bytes(file, window, number, LARGEST_CONTROL_BATCH))
        except FormatError as error:
            broken.append(BrokenMarker(number, error))
        else:
            if marker is not None and marker.is_abort is not None:
                types[number] = marker.type
    return types, broken


def batch_bytes(file: DataFile, window: Window, number: int, most: int) -> bytes:
    """Return the bytes of a batch, no more than `most` of them, from the window if they are there."""
    position = int(window.positions[number])
    size = min(LOG_OVERHEAD + int(window.fields["batch_length"][number]), most)
    at = position - window.base
    is_inside = window.base <= position and at + size <= len(window.data)
    return bytes(window.data[at : at + size]) if is_inside else file.read(position, size)


def joined(parts: Sequence[ClassifiedWindow]) -> Batches:
    """Return the good batches of some windows."""
    fields = together([part.fields for part in parts])
    positions = _together([part.positions for part in parts])
    kinds = _together([part.kinds for part in parts])
    bad = positions[:0]
    verdicts = [part.valid for part in parts if part.valid is not None]
    if verdicts:
        valid = _together(verdicts)
        if not valid.all():
            bad = positions[~valid]
            fields, positions, kinds = fields[valid], positions[valid], kinds[valid]
    base = fields["base_offset"].astype(np.int64)
    return Batches(
        positions,
        fields["batch_length"].astype(np.int64) + LOG_OVERHEAD,
        fields,
        base,
        base + fields["last_offset_delta"],
        fields["max_timestamp"].astype(np.int64),
        kinds,
        bad,
    )


def _together(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return columns[0] if len(columns) == 1 else np.concatenate(columns)
