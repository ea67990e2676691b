"""The records of batches: whether each can be read, and lies within the offsets of its batch."""

import numpy as np

from formats.batch import LOG_OVERHEAD
from formats.bounds import RAISES_THE_BOUND, describe
from formats.errors import FormatError
from formats.magic import is_legacy, read_header
from formats.message_set import message_set, set_records
from formats.record import batch_records
from formats.record_columns import FallbackBatch, RecordColumns, record_columns
from kcli.kafka.findings.collector import FindingCollector
from kcli.logdir.buffers import DataFile
from kcli.logdir.bulk import Window


def report_records(window: Window, path: str, limit: int, findings: FindingCollector) -> None:
    """Keep findings about the records of a window's batches; a batch of more than `limit` bytes is one."""
    fields, positions, base, data = window.fields, window.positions, window.base, window.data
    valid = np.ones(len(positions), np.bool_) if window.valid is None else window.valid
    sizes = fields["batch_length"].astype(np.int64) + LOG_OVERHEAD
    for number in np.flatnonzero(valid & (sizes > limit)).tolist():
        words = f"a batch of {sizes[number]} bytes{RAISES_THE_BOUND}"
        _report(findings, int(positions[number]), int(fields["base_offset"][number]), words)
    at = np.flatnonzero(valid & (sizes <= limit))
    if not len(at):
        return
    if not data:  # one batch, larger than a window
        base = int(positions[0])
        with DataFile(path) as log:
            data = memoryview(log.read(base, int(sizes[0])))
    for part in record_columns(data, positions[at] - base, limit, fields[at]):
        if isinstance(part, FallbackBatch):
            number = int(at[part.number])
            start = int(positions[number]) - base
            raw = bytes(data[start : start + int(sizes[number])])
            trouble = _trouble(raw, limit, int(positions[number]))
            if trouble is not None:
                _report(findings, int(positions[number]), int(fields["base_offset"][number]), trouble)
        else:
            _report_offsets(part, positions[at], findings)


def _report(findings: FindingCollector, position: int, offset: int, words: str) -> None:
    findings.add("DUMP-002", position, f"offset {offset}: {words}")


def _trouble(raw: bytes, limit: int, position: int) -> str | None:
    """Return why the records of a batch cannot be read; None where they can."""
    try:
        if is_legacy(read_header(raw).magic):
            for message in set_records(message_set(raw, limit)):
                if message.error is not None:
                    return describe(message.error.moved(position))
                if not message.is_valid:
                    return "the checksum of a message inside a wrapper does not match"
        else:
            for _ in batch_records(raw, limit):
                pass
    except FormatError as error:
        return describe(error.moved(position))
    return None


def _report_offsets(
    part: RecordColumns, positions: "np.ndarray[tuple[int], np.dtype[np.int64]]", findings: FindingCollector
) -> None:
    """Keep findings about batches whose records have offsets outside of them, or that do not rise."""
    first = part.headers["base_offset"].astype(np.int64)[part.batch]
    last = first + part.headers["last_offset_delta"][part.batch]
    wrong = (part.offset < first) | (part.offset > last)
    wrong[1:] |= (part.batch[1:] == part.batch[:-1]) & (part.offset[1:] <= part.offset[:-1])
    for number in np.unique(part.batch[wrong]).tolist():
        words = "its records have offsets that do not rise, or that lie outside of it"
        offset = int(part.headers["base_offset"][number])
        findings.add("LOG-017", int(positions[part.first + number]), f"offset {offset}: {words}")
