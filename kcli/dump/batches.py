"""What `dump` reads of a log: how many damaged ranges it tells, the records of a batch, and what is wrong with them."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from formats.batch import BatchHeader
from formats.bounds import CONTROL_SHARE, RAISES_THE_BOUND, describe
from formats.control import ControlRecord, control_record
from formats.errors import FormatError
from formats.message_set import LegacyRecord, message_set, set_records
from formats.record import batch_records
from kcli.analysis.collector import FindingCollector
from kcli.analysis.salvage import Checked, Gap
from kcli.analysis.selection import AnyRecord
from kcli.dump.options import MOST_GAPS, Options, inside
from kcli.logdir.segment import Stop

Met = TypeVar("Met")


def bounded(items: Iterable[Met], told: FindingCollector, cut: int) -> Iterator[Met]:
    """Yield what a walk finds; of many damaged ranges only the first ones, the others are counted.

    It is noted where a piece did not end at its cut.
    """
    for item in items:
        if isinstance(item, Stop) and cut:
            if item.reason == "cut":
                return
            told.ran_past_end = True
        if isinstance(item, Gap):
            told.gaps += 1
            if told.gaps > MOST_GAPS and item.next_offset is not None:
                told.add(
                    "DUMP-001",
                    item.start,
                    f"more than {MOST_GAPS} damaged ranges: this one up to byte {item.end}",
                )
                continue
        yield item


def records(
    item: Checked, told: FindingCollector, options: Options, *, told_before: bool = False
) -> Iterator[AnyRecord]:
    """Yield the records of a batch, as many as can be read; what cannot leaves a finding."""
    (position, header), raw, _ = item
    at = f"offset {header.base_offset}"
    if raw is None:
        told.add("DUMP-002", position, f"{at}: a batch of {header.size} bytes{RAISES_THE_BOUND}")
        return
    try:
        if isinstance(header, BatchHeader):
            yield from batch_records(raw, options.max_batch_bytes)
        else:
            yield from _messages(item, raw, told, options, told_before=told_before)
    except FormatError as error:
        if not told_before:
            told.add("DUMP-002", position, f"{at}: {describe(error.moved(position))}")


def control_of(record: AnyRecord, options: Options) -> ControlRecord:
    """Return what a control record says; FormatError when it cannot be read."""
    return control_record(record.key, record.value, options.max_batch_bytes // CONTROL_SHARE)


def check_control(position: int, record: AnyRecord, told: FindingCollector, options: Options) -> None:
    """Keep a finding about a control record that cannot be read."""
    try:
        control_of(record, options)
    except FormatError as error:
        told.add("DUMP-002", position, inside(record.offset, words_about(error, options)))


def words_about(error: FormatError, options: Options) -> str:
    """Return an error about contents in words; without the bytes that were found, where contents are redacted."""
    return describe(error) if options.salt is None else f"byte {error.position}: {error.field}"


def _messages(
    item: Checked, raw: bytes, told: FindingCollector, options: Options, *, told_before: bool
) -> Iterator[LegacyRecord]:
    """Yield the records of a message of magic 0 or 1; what Kafka passes over in a wrapper leaves a finding."""
    position = item.batch.position
    opened = message_set(raw, options.max_batch_bytes)
    if opened.cut and not told_before:
        told.add(
            "DUMP-009",
            position,
            f"offset {item.batch.header.base_offset}: {opened.cut} bytes of a message that is cut",
        )
    for record in set_records(opened):
        if not record.is_valid and opened.stream is not None and not told_before:
            told.add(
                "LOG-003",
                position,
                f"offset {record.offset}: the checksum of a message inside a wrapper does not match",
            )
        yield record
