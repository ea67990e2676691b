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
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.bulk import Window

PLAIN, TRANSACTIONAL, ABORT, COMMIT, CONTROL = range(5)
"""Kinds of batches. CONTROL: of another type than an end marker, or emptied by cleaning."""

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


class Held(NamedTuple):
    """A window with what only its bytes can tell."""

    positions: Ints
    fields: Fields
    valid: NDArray[np.bool_] | None
    kinds: NDArray[np.int8]


def held(window: Window, path: str | None) -> Held:
    """Return what is kept of a window when the next one is read.

    `path` is the log's, for markers that are not in the window; None: markers are not looked for.
    """
    fields = window.fields
    attributes = fields["attributes"]
    if not (attributes & (TRANSACTIONAL_MASK | CONTROL_MASK)).any():
        kinds = np.full(len(attributes), PLAIN, np.int8)
        return Held(window.positions, fields, window.valid, kinds)
    is_new = ~is_legacy(fields["magic"])
    kinds = np.where(is_new & (attributes & TRANSACTIONAL_MASK != 0), TRANSACTIONAL, PLAIN).astype(np.int8)
    is_control = is_new & (attributes & CONTROL_MASK != 0)
    if is_control.any():
        kinds[is_control] = CONTROL
        good = is_control if window.valid is None else is_control & window.valid
        at = np.flatnonzero(good & (fields["producer_id"] != NO_PRODUCER_ID))
        if len(at) and path is not None:
            _markers(window, at, kinds, path)
    return Held(window.positions, fields, window.valid, kinds)


def _markers(window: Window, at: Ints, kinds: NDArray[np.int8], path: str) -> None:
    """Set which of the control batches end a transaction, and how."""
    places = window.positions[at] - window.base
    ends = places + LOG_OVERHEAD + window.fields["batch_length"][at]
    inside = (places >= 0) & (ends <= len(window.data))
    types = np.full(len(at), -1, np.int64)
    types[inside] = marker_types(window.data, places[inside], window.fields[at[inside]])
    for row in np.flatnonzero(types < 0).tolist():
        number = int(at[row])
        types[row] = _decoded(path, int(window.positions[number]), int(window.fields["batch_length"][number]))
    known = types >= 0
    kinds[at[known]] = np.where(types[known] == 0, ABORT, COMMIT)


def _decoded(path: str, position: int, length: int) -> int:
    """Return the type of a marker that is written in an unusual way; -1 for what is none."""
    from formats.control import control_key, end_marker

    if length > LARGEST_CONTROL_BATCH:
        return -1
    try:
        with DataFile(path) as log:
            record = end_marker(log.read(position, LOG_OVERHEAD + length), LARGEST_CONTROL_BATCH)
        return -1 if record is None else control_key(record.key).type
    except (FormatError, FileError):
        return -1


def joined(parts: Sequence[Held]) -> Batches:
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
