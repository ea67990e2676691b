"""`dump -o text` of whole logs, many batches at a time: the same lines as one by one, where nothing is selected or decoded."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from formats import legacy
from formats.batch import BATCH, LOG_OVERHEAD, NO_SEQUENCE
from formats.bounds import CONTROL_SHARE, describe
from formats.record import MAGIC, Record
from formats.types import Buffer
from kcli.analysis.collector import FindingCollector
from kcli.analysis.log_findings import report_invalid
from kcli.analysis.salvage import Checked, Gap, checked_windows
from kcli.dump.batches import bounded, check_control
from kcli.dump.decoders import shown_by
from kcli.dump.options import STRING_DECODER, Here, Item, Options, inside
from kcli.dump.render.lines import BEGINS, ENDS, INDENT, LINE, NON_CONSECUTIVE, contents
from kcli.logdir.buffers import DataFile
from kcli.logdir.bulk import Window, hints_of
from kcli.logdir.files import sibling
from kcli.logdir.segment import Batch, Stop
from kcli.logdir.tree import Target
from kcli.rows import ArrowBlock, Row, TextBlock, Value
from kcli.rows.dump import DUMP_BATCH, DUMP_RECORD

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from formats.record_columns import Ints, RecordColumns
    from kcli.dump.render.text_columns import Tell, Trouble


class Log(NamedTuple):
    """A log that is read: the open file, where it is from, what is wanted of it, and what is wrong with it."""

    file: DataFile
    target: Target
    options: Options
    told: FindingCollector
    where: tuple[Value, ...]
    selects: bool

    @property
    def path(self) -> str:
        """The absolute path, as the tool prints it."""
        return os.path.join(os.getcwd(), self.target.shown)


def is_plain(options: Options) -> bool:
    """Whether every line of a log is wanted, its contents as strings or by a decoder."""
    return not options.selects and is_as_stored(options)


def is_as_stored(options: Options) -> bool:
    """Whether all that is wanted is shown, and contents as strings or by a decoder."""
    decoders = {options.key_decoder, options.value_decoder}
    return (
        options.limit is None
        and decoders == {STRING_DECODER}
        and options.salt is None
        and options.bytes_as is None
    )


def walked(
    file: DataFile, start: int, end: int, told: FindingCollector, cut: int
) -> Iterator[Window | Gap | Stop]:
    """Yield what `good_and_bad` does where everything is wanted, batches by the window; checksums that are wrong are not told."""
    return bounded(
        checked_windows(file, start, end, cut, hints_of(file, sibling(told.target, "index"))), told, cut
    )


def troubled(window: Window) -> "NDArray[np.bool_]":
    """Return which batches of a window have a wrong checksum, or a magic that is not known."""
    return ~_verdicts(window) | (window.fields["magic"] > MAGIC)


def checker(window: Window, of: Log) -> Callable[..., None]:
    """Return what keeps findings about the troubled batches of a window up to a position, or all, in their order among other findings."""
    numbers = deque(troubled(window).nonzero()[0].tolist())

    def check_to(position: int | None = None) -> None:
        while numbers and (position is None or window.positions[numbers[0]] <= position):
            report_invalid(checked(of.file, window, numbers.popleft(), 0), of.told)

    return check_to


def checked(file: DataFile, window: Window, number: int, largest: int) -> Checked:
    """Return one batch of a window, with its bytes if they are no more than `largest`."""
    position = int(window.positions[number])
    size = LOG_OVERHEAD + int(window.fields["batch_length"][number])
    at = position - window.base
    wanted = size if size <= largest else min(size, BATCH.size)
    inside = at >= 0 and at + wanted <= len(window.data)
    raw = bytes(window.data[at : at + wanted]) if inside else file.read(position, wanted)
    header = BATCH.read(raw) if window.fields["magic"][number] >= MAGIC else legacy.read_header(raw)
    valid = window.valid is None or bool(window.valid[number])
    return Checked(Batch(position, header), raw if wanted == size <= largest else None, valid)


def batch_lines(window: Window) -> Iterator[Item]:
    """Yield the lines of a window's batches, all of magic 2, and the place behind them."""
    from kcli.dump.render.text_columns import batch_text  # noqa: PLC0415 - numpy

    valid = _verdicts(window)
    text = batch_text(window.fields, window.positions, valid)
    yield TextBlock(LINE, (text.encode(),))
    yield Here(_behind(window), 0, len(text))


def is_bulk(window: Window, options: Options) -> bool:
    """Whether all of a window's batches are of magic 2, and none is beyond the bound."""
    fields = window.fields
    return bool((fields["magic"] == MAGIC).all()) and not (
        options.records and (fields["batch_length"] > options.max_batch_bytes - LOG_OVERHEAD).any()
    )


def parts(window: Window, file: DataFile, largest: int) -> "Iterator[RecordColumns | int]":
    """Yield the records of a window's batches as columns; the number of a batch where they must be read one by one.

    A batch is unpacked to no more than `largest` bytes.
    """
    from formats.record_columns import FallbackBatch, record_columns  # noqa: PLC0415 - numpy

    data: Buffer = window.data
    base = window.base
    if not data:
        # one batch, larger than a window
        base = int(window.positions[0])
        data = file.read(base, LOG_OVERHEAD + int(window.fields["batch_length"][0]))
    for part in record_columns(data, window.positions - base, largest, window.fields):
        yield part.number if isinstance(part, FallbackBatch) else part


def last_position(part: "RecordColumns", window: Window) -> int:
    """Return where the last of a part's batches begins, in bytes of the file."""
    return int(window.positions[part.first + len(part.headers) - 1])


def record_lines(
    part: "RecordColumns", window: Window, last: int | None, of: Log
) -> Generator[Item, None, int | None]:
    """Yield the lines of batches and their records, and the place behind them; return the offset of the last record."""
    from kcli.dump.render.text_columns import Trouble, non_consecutive, record_text  # noqa: PLC0415 - numpy

    valid = _verdicts(window)
    span = slice(part.first, part.first + len(part.headers))
    positions = window.positions[span]
    if len(part.offset):
        first = int(part.offset[0])
        if last is None:
            yield Row(BEGINS, (of.path, first))
        pairs = non_consecutive(part, first - 1 if last is None else last)
        if pairs:
            yield Row(NON_CONSECUTIVE, (of.path, pairs))
    troubles: list[Trouble] = []
    held = 0
    for text in record_text(
        part,
        positions,
        valid[span],
        troubles,
        contents=of.options.print_data_log,
        metadata=not of.options.skip_record_metadata,
        longest_control=of.options.max_batch_bytes // CONTROL_SHARE,
        tell=None if of.options.decoder is None else _tell(part, of.options.decoder, of.options, troubles),
    ):
        lines = text.encode()
        held += len(lines)
        yield TextBlock(LINE, (lines,))
        # they come with each piece: there may be one for every record
        for trouble in sorted(troubles, key=attrgetter("batch")):
            words = trouble.error if isinstance(trouble.error, str) else describe(trouble.error)
            of.told.add("DUMP-002", int(positions[trouble.batch]), inside(trouble.offset, words))
        troubles.clear()
    if len(part.offset):
        last = int(part.offset[-1])
        yield Row(ENDS, (of.path, last))
    yield _here(part, positions, held)
    return last


def _here(part: "RecordColumns", positions: "NDArray[np.int64]", held: int) -> Here:
    """Return the place behind a part's records: in its batch, if there are more of them."""
    if not part.ends:
        return Here(int(positions[0]), part.before + len(part.offset), held)
    return Here(int(positions[-1]) + LOG_OVERHEAD + int(part.headers["batch_length"][-1]), 0, held)


def _tell(part: "RecordColumns", decoder: str, options: Options, troubles: "list[Trouble]") -> "Tell":
    """Return what prints the contents of some of the part's records by a decoder; what is wrong with them is added to `troubles`."""
    from kcli.dump.render.text_columns import Trouble  # noqa: PLC0415 - numpy

    prefix = f"{INDENT} " if options.skip_record_metadata else " "

    def tell(numbers: "Ints") -> Iterator[Iterator[str]]:
        places = iter(numbers.tolist())
        for record in _records(part, numbers):
            number = next(places)
            shown, trouble = shown_by(decoder, record, options.max_batch_bytes)
            if trouble is not None:
                troubles.append(Trouble(int(part.batch[number]), record.offset, trouble))
            words = contents(shown, prefix)
            del record, shown  # they may be large, and so is what is made of the words
            yield words

    return tell


def _records(part: "RecordColumns", numbers: "Ints") -> Iterator[Record]:
    """Yield some of the part's records: offset, key and value alone."""
    data = part.data
    columns = (part.offset, part.key_start, part.key_length, part.value_start, part.value_length)
    for offset, key, key_length, value, value_length in zip(
        *(column[numbers].tolist() for column in columns), strict=True
    ):
        yield Record(
            offset,
            0,
            NO_SEQUENCE,
            None if key_length < 0 else data[key : key + key_length],
            None if value_length < 0 else data[value : value + value_length],
            (),
            0,
        )


def batch_block(window: Window, of: Log) -> Iterator[Item]:
    """Yield the rows of a window's batches, all of magic 2, and the place behind them."""
    columns, held = (window.fields, window.positions, _verdicts(window)), 0
    if of.options.form is not None:
        from kcli.dump.render.encoded import batch_rows  # noqa: PLC0415 - numpy

        for rows in batch_rows(*columns, of.where, of.options.form):
            held += len(rows.buffer)
            yield rows
    else:
        from kcli.dump.render.batch_arrow import batches  # noqa: PLC0415 - pyarrow

        found = batches(*columns, of.where)
        held = found.nbytes
        yield ArrowBlock(DUMP_BATCH.name, found)
    yield Here(_behind(window), 0, held)


def record_block(part: "RecordColumns", shown: "RecordColumns", window: Window, of: Log) -> Iterator[Item]:
    """Yield the rows of those of the part's records that are shown, and the place behind it.

    Findings about control records that cannot be read are kept.
    """
    positions, held = window.positions[part.first : part.first + len(part.headers)], 0
    controls = shown.controls()
    for at, record in zip(positions[shown.batch[controls]].tolist(), _records(shown, controls), strict=True):
        check_control(at, record, of.told, of.options)
    if of.options.form is not None:
        from kcli.dump.render.encoded import record_rows  # noqa: PLC0415 - numpy

        for rows in record_rows(shown, positions, of.where, of.options.form):
            held += len(rows.buffer)
            yield rows
    else:
        from kcli.dump.render.record_arrow import record_batch  # noqa: PLC0415 - pyarrow

        found = record_batch(shown, of.where, positions)
        held = found.nbytes
        yield ArrowBlock(DUMP_RECORD.name, found)
    yield _here(part, positions, held)


def _verdicts(window: Window) -> "NDArray[np.bool_]":
    if window.valid is None:
        raise AssertionError("a window of checked_windows knows its checksums")
    return window.valid


def _behind(window: Window) -> int:
    return int(window.positions[-1]) + LOG_OVERHEAD + int(window.fields["batch_length"][-1])
