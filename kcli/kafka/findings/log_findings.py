"""Findings about the batches of a log: wrong checksums, magics and codecs, damaged ranges, how it ends."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from formats.batch import COMPRESSION_CODEC_MASK, MAX_INT
from formats.bounds import describe
from formats.compression import LZ4, ZSTD
from formats.errors import UnsupportedError
from formats.index import is_relative
from formats.magic import is_above_latest, is_legacy
from formats.message_set import ATTRIBUTES_POSITION
from formats.record import CODEC_POSITION
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.findings import Finding, checksum_message
from kcli.logdir.buffers import DataFile
from kcli.logdir.concurrent_changes import comes_true
from kcli.logdir.indexes import IndexFile
from kcli.logdir.segment import TORN, DamagedRange, Stop, describe_torn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from formats.bulk import Fields


MOST_DAMAGED_RANGES = 1000
"""Damaged ranges of one file that are reported one by one."""


def magic_message(offset: int, magic: int) -> str:
    """Return the message of LOG-017 about the batch of a base offset."""
    return f"offset {offset}: magic {magic}"


def reach_message(offset: int, base: int) -> str:
    """Return the message about the batch of a base offset that a segment of another cannot hold."""
    where = "below" if offset < base else f"more than {MAX_INT} above"
    return f"offset {offset}: {where} the base offset {base} of its segment"


ABOVE, BELOW = "LOG-018", "LOG-026"
"""Codes of a batch out of reach of the indexes of its segment."""


def growth_message(grown: int) -> str:
    """Return the message of LOG-005 about a log."""
    return f"it grew by {grown} bytes while it was read"


def invalid_batch(
    position: int, fields: "np.void", *, valid: bool, out_of_reach: int | None
) -> Iterator[tuple[str, int, str]]:
    """Yield what to say of a wrong checksum, a magic above 2, an offset out of reach of that base offset."""
    if not valid:
        yield "LOG-003", position, checksum_message(fields["base_offset"])
        return
    if is_above_latest(fields["magic"]):
        yield "LOG-017", position, magic_message(fields["base_offset"], fields["magic"])
    if out_of_reach is not None:
        offset = int(fields["base_offset"])
        yield BELOW if offset < out_of_reach else ABOVE, position, reach_message(offset, out_of_reach)


def is_out_of_reach(fields: "Fields", base: int) -> "NDArray[np.bool_]":
    """Return which batches hold an offset, covered by no checksum, that a segment's indexes cannot hold."""
    first = fields["base_offset"].astype("i8")
    last = first + fields["last_offset_delta"]
    reached: NDArray[np.bool_] = is_relative(first, base) & is_relative(last, base)
    return ~reached


def has_unknown_codec(fields: "Fields") -> "NDArray[np.bool_]":
    """Return which batches have a codec that no release of Kafka reads; magic 0 and 1 have no zstd."""
    codec = fields["attributes"] & COMPRESSION_CODEC_MASK
    return (codec > LZ4) & ((codec > ZSTD) | is_legacy(fields["magic"]))


def contradicts_itself(fields: "Fields") -> "NDArray[np.bool_]":
    """Return which headers no broker writes: more records than offsets, or a negative number of either."""
    count, delta = fields["records_count"], fields["last_offset_delta"]
    wrong = (count < 0) | (delta < 0) | (count > delta + 1)
    contradicts: NDArray[np.bool_] = wrong & ~is_legacy(fields["magic"])
    return contradicts


def unknown_codec_text(position: int, fields: "np.void") -> str:
    """Return what reading the records of a batch with an unknown codec says."""
    is_v2 = not is_legacy(fields["magic"])
    codec_position, most = (CODEC_POSITION, ZSTD) if is_v2 else (ATTRIBUTES_POSITION, LZ4)
    codec = int(fields["attributes"] & COMPRESSION_CODEC_MASK)
    error = UnsupportedError(position + codec_position, "codec", f"0 to {most}", codec)
    return f"offset {fields['base_offset']}: {describe(error)}"


def report_damage(item: DamagedRange | Stop, findings: FindingCollector) -> Iterator[Finding]:
    """Yield the finding about a damaged range, keep the one about the end of a log."""
    if isinstance(item, DamagedRange):
        yield findings.finding("LOG-002", item.start, damaged_range_text(item))._replace(
            expected=item.next_offset, found=item.found
        )
    elif item.reason in TORN and not findings.is_cut:
        findings.add("LOG-001", item.position, describe_torn(item))
    elif item.reason == "zeros":
        findings.add("LOG-004", item.position, f"only zeros follow from byte {item.position} on")


def report_growth(log: DataFile, findings: FindingCollector) -> None:
    """Keep a finding about a log to which a broker appends: what is there in part is no damage."""
    grown = log.grown(is_torn="LOG-001" in findings.first)
    if grown > 0:
        findings.add("LOG-005", None, growth_message(grown))


def report_moving_index(index: IndexFile, log: DataFile | None, findings: FindingCollector) -> None:
    """Keep a finding where entries do not fit because the log grew, or was replaced, while they were read."""
    if log is None or "DUMP-004" not in findings.first:
        return

    def is_moving() -> bool:
        return log.grown() > 0 or log.is_replaced or index.file.is_replaced

    if comes_true(os.path.dirname(log.path) or ".", is_moving):
        findings.add("LOG-005", None, "its log was written to, or was replaced, while it was read")


def damaged_range_text(item: DamagedRange) -> str:
    """Return a damaged range in words: from where to where, why, and what comes next."""
    why = f"{item.reason.replace('-', ' ')} {item.found}"
    after = (
        f"next good offset {item.next_offset}" if item.next_offset is not None else "no good batch follows"
    )
    bound = " (the search met its bound: there may be good ones among them)" if item.gave_up else ""
    return f"bytes {item.start} to {item.end} are no batches ({why}); {after}{bound}"


def inside(offset: int, reason: str) -> str:
    """Return words about the key or the value of a record, from whose beginning they count bytes."""
    return f"offset {offset}, inside its key or value: {reason}"
