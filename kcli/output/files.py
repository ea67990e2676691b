"""Rows, or findings and errors, in a file, whole or not at all.

It is written under a hidden name in the same directory and takes its own name once it is complete.
"""

import os
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from kcli.kafka.findings.findings import Finding
from kcli.logdir.background import BackgroundCall
from kcli.output.formats import PARQUET, OutputFormat
from kcli.output.long_values import length_of
from kcli.output.structured import Tail
from kcli.output.values import FINDING_KEYS, finding_values
from kcli.output.view import View
from kcli.rows import ArrowBlock, Failure, Item, TextBlock
from kcli.rows.declare import Column, RowType, plain_row_type, values_of
from kcli.rows.head import HeadColumn

if TYPE_CHECKING:
    from kcli.output.parquet import ParquetWriter

ROWS_A_BATCH = 2000
BYTES_A_BATCH = 4 << 20
BYTES_A_VALUE = 64
"""Of memory that a value takes apart from its own bytes, about."""

Text: TypeAlias = Callable[[Iterable[Item]], Iterable[str | TextBlock]]

WORTH_A_THREAD = 1 << 18
"""Bytes that take longer to write than another thread takes to begin."""

_ENCODING = ("utf-8", "backslashreplace")
"""As on stdout."""


class IncompleteError(Exception):
    """The rows ended before they were complete: a tail raises it, and no file is made."""


class _Utf8:
    """Text for an open file; a flush does nothing, for the file has no readers before it is complete."""

    def __init__(self, file: BinaryIO) -> None:
        self.buffer = file

    def write(self, text: str) -> None:
        self.buffer.write(text.encode(*_ENCODING))

    def writelines(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.write(text)

    def flush(self) -> None:
        pass


class TextWriter:
    """Writes csv or ndjson to an open file, the same bytes as on stdout; `rows` counts rows."""

    def __init__(self, file: BinaryIO, view: View) -> None:
        self.rows = 0
        self._text = _Utf8(file)
        self._view = view
        self._write = view.format.load_writer()

    def write(self, rows: Sequence[Item]) -> None:
        """Write rows."""
        items = list(self._view.chosen(rows))
        if items:
            self._write(items, self._view, self._text, nothing)
            self._view = self._view._replace(headers=False)
            self.rows += sum(row.batch.num_rows if isinstance(row, ArrowBlock) else 1 for row in items)

    def finish(self, tail: Tail) -> None:
        """Write findings and errors if the format carries them, and the header of a csv without rows."""
        self._write((), self._view, self._text, tail)


Writer: TypeAlias = "TextWriter | ParquetWriter"
"""Writes rows to an open file, which stays open; `rows` counts those that the view shows."""


def writer(file: BinaryIO, view: View) -> AbstractContextManager[Writer]:
    """Return the writer of the view's format; choosing, sorting and limiting are done before it."""
    view = view._replace(sort=(), limit=None, where=None)
    if view.format != PARQUET:
        return nullcontext(TextWriter(file, view))
    from kcli.output.parquet import parquet_writer

    return parquet_writer(file, view)


def write_rows(path: str, rows: Iterable[Item], view: View, tail: Tail, text: Text | None = None) -> int:
    """Write rows, or lines of `text`, in place of `path`, which else stays; return how many. OSError."""
    with new_file(path) as file:
        if view.format.is_whole:
            return int(view.format.load_writer()(rows, view, _Utf8(file), tail))
        if text is not None:
            count = 0

            def counted() -> Iterator[str | TextBlock]:
                nonlocal count
                for lines in text(view.chosen(rows)):
                    count += (
                        sum(bytes(data).count(b"\n") for data in lines.buffers)
                        if isinstance(lines, TextBlock)
                        else lines.count("\n") + 1
                    )
                    yield lines

            write_lines(counted(), file, in_background=True)
            tail()
            return count
        with writer(file, view) as out:
            for items in in_batches(view.chosen(rows)):
                out.write(items)
            findings, failures = tail()
            out.finish(lambda: (findings, failures))
            return out.rows


def write_lines(lines: Iterable[str | TextBlock], file: BinaryIO, *, in_background: bool) -> None:
    """Write lines, many of them in a thread while others are made; not to a pipe, which may block."""
    with BackgroundCall() as writing:
        for block in lines:
            writing.wait()
            if isinstance(block, str):
                # a line may be long: it is not copied for the sake of its end
                file.write(block.encode(*_ENCODING))
                file.write(b"\n")
            elif in_background and sum(map(len, block.buffers)) >= WORTH_A_THREAD:
                writing.begin(partial(file.writelines, block.buffers))
            else:
                file.writelines(block.buffers)
        writing.wait()


def in_batches(rows: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield rows in lists that are bounded by number and size."""
    batch: list[Item] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += bytes_of(row)
        if len(batch) >= ROWS_A_BATCH or size >= BYTES_A_BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def bytes_of(item: Item) -> int:
    """Return about how many bytes a row or a block takes."""
    if isinstance(item, ArrowBlock):
        return int(item.batch.nbytes)
    if isinstance(item, tuple):
        values = values_of(item)
        return length_of(values) + BYTES_A_VALUE * len(values)
    return sum(map(len, item.buffers))


def hidden_name(path: str) -> str:
    """Return a new path in the directory of a path; the name is short enough for any file system."""
    return os.path.join(os.path.dirname(path), f".kcli-{uuid.uuid4().hex}")


@contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """Give a file that replaces `path` when the block ends without an exception; else it is removed."""
    hidden = hidden_name(path)
    descriptor = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with open(descriptor, "wb") as file:
            yield file
        os.replace(hidden, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(hidden)
        raise


def nothing() -> tuple[list[Finding], list[Failure]]:
    """Return no findings and no errors."""
    return [], []


def _messages(name: str, columns: Iterable[str], required: Collection[str]) -> RowType:
    kinds = {"position": "int"}
    return RowType(
        name, tuple(Column(field, kinds.get(field, "str"), field not in required, "") for field in columns)
    )


FINDING_ROW = _messages("finding", FINDING_KEYS, ("code", "severity", "message"))
ERROR_ROW = _messages("error", Failure._fields, ("path", "error", "message"))


def write_finding_rows(
    path: str,
    form: OutputFormat,
    findings: list[Finding],
    failures: Iterable[Failure] = (),
    *,
    head: tuple[HeadColumn, ...] = (),
) -> None:
    """Write findings to a new file in place of `path`; ndjson, as on stdout, has the errors, too."""
    view = View("findings", form, (FINDING_ROW,), tagged=False, head=head)
    _write_messages(path, view, map(_finding_row, findings), (findings, [*failures]))


def write_failure_rows(
    path: str, form: OutputFormat, failures: list[Failure], *, head: tuple[HeadColumn, ...]
) -> None:
    """Write errors to a new file in place of `path`."""
    view = View("errors", form, (ERROR_ROW,), tagged=False, head=head)
    _write_messages(path, view, failures, ([], failures))


def _write_messages(
    path: str, view: View, values: Iterable[Iterable[object]], messages: tuple[list[Finding], list[Failure]]
) -> None:
    """Write rows, or the lines that a format has for findings and errors."""
    if view.format.carries_findings:
        write_rows(path, (), view, lambda: messages)
    else:
        write_rows(path, map(plain_row_type(view.types[0]), values), view, nothing)


def _finding_row(finding: Finding) -> list[object]:
    """Return the values of a row; what was expected and found is text there."""
    *values, expected, found = finding_values(finding).values()
    return [*values, *(None if value is None else str(value) for value in (expected, found))]
