"""A batch of magic 0 or 1, a damaged or very large one, as blocks of columns: records read one by one."""

from collections.abc import Iterator
from itertools import islice
from typing import TypeAlias

from formats.bounds import describe
from formats.errors import FormatError
from formats.magic import is_legacy
from formats.message_set import LegacyRecord, message_set, set_records
from formats.record import Record, batch_records
from formats.record_columns import CHUNK_BYTES, PART_RECORDS
from kcli.dump.block import Block, Problem, columns_of, legacy_columns, record_size
from kcli.dump.options import DumpOptions
from kcli.dump.windows import after, block_of
from kcli.engine.contract import ResumePoint
from kcli.logdir.bulk import Window

AnyRecord: TypeAlias = Record | LegacyRecord


def blocks_one_by_one(window: Window, raw: bytes, options: DumpOptions, cursor: int) -> Iterator[Block]:
    """Yield a batch with as many of its records as can be read, but for the first `cursor`, some at a time.

    A record of more than CHUNK_BYTES has a block of its own. A message of magic 0 or 1 whose key or value
    cannot be read is a problem; text shows its sizes, as the tool does.
    """
    is_v2 = not is_legacy(window.fields["magic"][0])
    held: list[AnyRecord] = []
    problems: list[Problem] = []
    number, size = cursor, 0

    def block(*, ends: bool) -> Block:
        made = block_of(window)._replace(
            records=columns_of(held, window.fields, number - len(held), ends=ends),
            legacy=None if is_v2 else legacy_columns(held),
            problems=tuple(problems),
            resume=after(window) if ends else ResumePoint(int(window.positions[0]), number),
        )
        held.clear()
        problems.clear()
        return made

    item: AnyRecord | Problem | None = None
    for item in _read(window, raw, options.max_batch_bytes, cursor):
        if isinstance(item, Problem):
            problems.append(item)
            continue
        more = record_size(item)
        if len(held) >= PART_RECORDS or (held and size + more > CHUNK_BYTES):
            yield block(ends=False)
            size = 0
        number += 1
        if options.text or not (isinstance(item, LegacyRecord) and item.error is not None):
            held.append(item)
            size += more
    item = None  # the last record may be long: its block alone holds it
    yield block(ends=True)


def _read(window: Window, raw: bytes, limit: int, cursor: int) -> Iterator[AnyRecord | Problem]:
    """Yield the records of a batch after the first `cursor`, and each problem after its record."""
    position, first = int(window.positions[0]), int(window.fields["base_offset"][0])

    def problem(offset: int, words: str, code: str = "DUMP-002") -> Problem:
        return Problem(code, position, f"offset {offset}: {words}")

    try:
        if not is_legacy(window.fields["magic"][0]):
            yield from islice(batch_records(raw, limit), cursor, None)
            return
        opened = message_set(raw, limit)
        if opened.cut and not cursor:
            yield problem(first, f"{opened.cut} bytes of a message that is cut", "DUMP-009")
        for record in islice(set_records(opened), cursor, None):
            yield record
            if record.error is not None:
                yield problem(record.offset, describe(record.error.moved(position)))
            if not record.is_valid and opened.stream is not None:
                yield problem(
                    record.offset, "the checksum of a message inside a wrapper does not match", "LOG-003"
                )
    except FormatError as error:
        yield problem(first, describe(error.moved(position)))
