"""Rows in files, whole or not at all.

A file is written under a hidden name in the same directory and takes its own name once it is complete.
Spark's workers write a directory of parts that way: `part-00000-<uuid>.parquet` and so on, sorted by name in
the order of the rows, and `_SUCCESS` when all of them are there.
"""

import errno
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, NamedTuple, Protocol, TypeAlias

from kcli.analysis.findings import Finding
from kcli.logdir.background import BackgroundCall
from kcli.output.structured import Tail
from kcli.output.view import View
from kcli.rows import ArrowBlock, EncodedRows, Failure, Item, TextBlock, values_of

SUCCESS = "_SUCCESS"
DIGITS = 5
"""Of a part's number, as Spark writes it.

More where there are more parts: sorted by name they are in order.
"""

ROWS_A_BATCH = 2000
BYTES_A_BATCH = 4 << 20
BYTES_A_VALUE = 64
"""Of memory that a value takes apart from its own bytes, about."""

Text: TypeAlias = Callable[[Iterable[Item]], Iterable[str | TextBlock]]

WORTH_A_THREAD = 1 << 18
"""Bytes that take longer to write than another thread takes to begin."""
REMOVALS = 50
REMOVAL_SECONDS = 0.1

_ENCODING = ("utf-8", "backslashreplace")
"""As on stdout."""


class IncompleteError(Exception):
    """The rows ended before they were complete: a tail raises it, and no file is made."""


class Writer(Protocol):
    """Writes rows to an open file; `rows` counts those that the view shows."""

    rows: int

    def write(self, rows: Sequence[Item]) -> None:
        """Write the rows that the view shows, with the columns that it shows."""
        ...

    def finish(self, tail: Tail) -> None:
        """Write what comes after the rows; the file stays open."""
        ...


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
    """Writes csv or ndjson, the same bytes as on stdout."""

    def __init__(self, file: BinaryIO, view: View) -> None:
        self.rows = 0
        self._text = _Utf8(file)
        self._view = view
        self._write = view.format.load(view.format.writer)

    def write(self, rows: Sequence[Item]) -> None:
        """Write rows."""
        shown = list(self._view.chosen(rows))
        if shown:
            self._write(shown, self._view, self._text, _nothing)
            self._view = self._view._replace(headers=False)
            self.rows += sum(row.count if isinstance(row, EncodedRows) else 1 for row in shown)

    def finish(self, tail: Tail) -> None:
        """Write findings and errors if the format carries them, and the header of a csv without rows."""
        self._write((), self._view, self._text, tail)


@contextmanager
def text_writer(file: BinaryIO, view: View) -> Iterator[TextWriter]:
    """Give the writer of a text format."""
    yield TextWriter(file, view)


def writer(file: BinaryIO, view: View) -> AbstractContextManager[Writer]:
    """Return the writer of the view's format; choosing, sorting and limiting are done before it."""
    made: AbstractContextManager[Writer] = view.format.load(view.format.file_writer)(
        file, view._replace(sort=(), limit=None, where=None)
    )
    return made


def write_rows(path: str, rows: Iterable[Item], view: View, tail: Tail, text: Text | None = None) -> int:
    """Write rows, sorted and limited as the view says, to a new file in place of `path`; returns how many.

    `text` makes lines of them. OSError when the file cannot be written; then, and when the tail raises,
    `path` is as it was before.
    """
    with new_file(path) as file:
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
            for some in in_batches(view.chosen(rows)):
                out.write(some)
            findings, failures = tail()
            out.finish(lambda: (findings, failures))
            return out.rows


def write_lines(lines: Iterable[str | TextBlock], file: BinaryIO, *, in_background: bool) -> None:
    """Write lines to an open file, many of them `in_background`, while the next ones are made.

    A thread writes these: not for a pipe, in which a write may wait for ever.
    """
    with BackgroundCall() as writing:
        for some in lines:
            writing.wait()
            if isinstance(some, str):
                # a line may be long: it is not copied for the sake of its end
                file.write(some.encode(*_ENCODING))
                file.write(b"\n")
            elif in_background and sum(map(len, some.buffers)) >= WORTH_A_THREAD:
                writing.begin(partial(file.writelines, some.buffers))
            else:
                file.writelines(some.buffers)
        writing.wait()


def in_batches(rows: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield rows in lists that are bounded by number and size."""
    held: list[Item] = []
    size = 0
    for row in rows:
        held.append(row)
        size += _size_of(row)
        if len(held) >= ROWS_A_BATCH or size >= BYTES_A_BATCH:
            yield held
            held, size = [], 0
    if held:
        yield held


def _size_of(item: Item) -> int:
    """Return about how many bytes a row or a block takes."""
    if isinstance(item, ArrowBlock):
        return int(item.batch.nbytes)
    if isinstance(item, tuple):
        return _size(values_of(item))
    return sum(map(len, item.buffers))


def _size(values: Iterable[Any]) -> int:
    """Return about how many bytes values take."""
    total = 0
    for value in values:
        if isinstance(value, (bytes, str)):
            total += len(value)
        elif isinstance(value, list):
            total += _size(value)
        elif isinstance(value, dict):
            total += _size(value.values())
        total += BYTES_A_VALUE
    return total


def _hidden(path: str) -> str:
    """Return a new path in the directory of a path; the name is short enough for any file system."""
    return os.path.join(os.path.dirname(path), f".kcli-{uuid.uuid4().hex}")


@contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """Give a file that replaces `path` when the block ends without an exception; else it is removed."""
    hidden = _hidden(path)
    descriptor = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with open(descriptor, "wb") as file:
            yield file
        os.replace(hidden, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(hidden)
        raise


class WrittenPart(NamedTuple):
    """A part that a worker has completed: its name in the directory, and how many rows it has."""

    name: str
    rows: int


class PartWriter:
    """One part under way: its file is made with its first row, and has its name once the stack is left."""

    def __init__(self, stack: ExitStack, directory: str, view: View) -> None:
        self._stack = stack
        self._directory = directory
        self._view = view
        self._name = f"{uuid.uuid4().hex}.{view.format.extension}"
        self._out: Writer | None = None

    @property
    def receipt(self) -> WrittenPart | None:
        """What the driver has to know of it; None for a part without rows, which does not exist."""
        return None if self._out is None else WrittenPart(self._name, self._out.rows)

    def write(self, rows: Sequence[Item]) -> None:
        """Write the rows that the view shows."""
        for some in in_batches(self._view.chosen(rows)):
            if self._out is None:
                file = self._stack.enter_context(new_file(os.path.join(self._directory, self._name)))
                self._out = self._stack.enter_context(writer(file, self._view))
            self._out.write(some)

    def finish(self) -> None:
        """Write what is held."""
        if self._out is not None:
            self._out.finish(_nothing)


@dataclass(frozen=True, slots=True)
class Parts:
    """A sink that can be pickled.

    Every call gives a new part in a directory, which is removed if it is not completed.
    """

    directory: str
    view: View

    @contextmanager
    def __call__(self) -> Iterator[PartWriter]:
        """Give a part to write to."""
        with ExitStack() as stack:
            part = PartWriter(stack, self.directory, self.view)
            yield part
            part.finish()


@contextmanager
def new_directory(path: str) -> Iterator[str]:
    """Give a new hidden directory in the directory of `path`.

    It is removed after the block, unless `keep_parts` renamed it.
    """
    hidden = _hidden(path)
    os.mkdir(hidden)
    try:
        yield hidden
    finally:
        for _ in range(REMOVALS):
            shutil.rmtree(hidden, ignore_errors=True)
            if not os.path.lexists(hidden):
                break
            time.sleep(REMOVAL_SECONDS)  # a worker that has not ended yet wrote meanwhile


def keep_parts(path: str, parts: Parts, written: Sequence[WrittenPart], tail: Tail) -> int:
    """Make the directory of parts the one at `path`; returns how many rows it has.

    Parts get names in the order given. What other attempts have left is removed. Findings and errors of
    ndjson stand in a part of their own, the last; a result without rows is one empty part. FileNotFoundError
    if a part is not there.
    """
    findings, failures = tail()
    directory, view = parts.directory, parts.view
    there, known = set(os.listdir(directory)), {part.name for part in written}
    if known - there:
        raise FileNotFoundError(errno.ENOENT, "parts that workers have written are not there", directory)
    for name in there - known:
        os.unlink(os.path.join(directory, name))
    run = uuid.uuid4()
    digits = max(len(str(len(written))), DIGITS)
    names = [f"part-{number:0{digits}}-{run}.{view.format.extension}" for number in range(len(written) + 1)]
    for part, name in zip(written, names, strict=False):
        os.rename(os.path.join(directory, part.name), os.path.join(directory, name))
    if not written or (view.format.carries_findings and (findings or failures)):
        with new_file(os.path.join(directory, names[-1])) as file, writer(file, view) as out:
            out.finish(lambda: (findings, failures))
    with new_file(os.path.join(directory, SUCCESS)):
        pass
    os.rename(directory, path)
    return sum(part.rows for part in written)


def _nothing() -> tuple[list[Finding], list[Failure]]:
    return [], []
