"""Batches in a row as columns: what every judge of `check` looks at."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formats.batch import CONTROL_MASK, LOG_OVERHEAD, TRANSACTIONAL_MASK
from formats.bulk import Fields, together
from formats.magic import is_legacy
from kcli.kafka.integrity.log_scan import NO_MARKER
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


class ClassifiedWindow(NamedTuple):
    """A window without its bytes, and the kinds of its batches."""

    positions: Ints
    fields: Fields
    valid: NDArray[np.bool_] | None
    kinds: NDArray[np.int8]


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
