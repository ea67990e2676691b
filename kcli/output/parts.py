"""Rows in a directory of parts, whole or not at all.

Spark's workers write `part-00000-<uuid>.parquet` and so on, sorted by name in the order of the rows, in
hidden files of a hidden directory. It takes its own name when all of them are there, with `_SUCCESS` in it.
"""

import errno
import os
import shutil
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from kcli.output.files import Writer, hidden_name, in_batches, new_file, nothing, writer
from kcli.output.structured import Tail
from kcli.output.view import View
from kcli.rows import Item, type_name

SUCCESS = "_SUCCESS"
DIGITS = 5
"""Of a part's number, as Spark writes it; more where more parts must be sorted by name."""
REMOVALS = 50
REMOVAL_SECONDS = 0.1


class WrittenPart(NamedTuple):
    """A file that is complete: its path in the directory of parts, and how many rows it has."""

    path: str
    rows: int


class PartWriter:
    """One part under way: a file, or one for each type of rows, named once it is complete."""

    def __init__(self, stack: ExitStack, parts: "Parts") -> None:
        self._stack = stack
        self._parts = parts
        self._files: dict[str, tuple[str, Writer]] = {}
        self.receipt: tuple[WrittenPart, ...] | None = None
        """The files once they are complete; None for a part without rows, which does not exist."""

    def write(self, rows: Sequence[Item]) -> None:
        """Write the rows that the view shows."""
        parts = self._parts
        for items in in_batches(parts.view.chosen(rows)):
            by_type: dict[str, list[Item]] = {}
            for row in items:
                by_type.setdefault(type_name(row) if parts.by_type else "", []).append(row)
            for name, of_type in by_type.items():
                self._file(name).write(of_type)

    def _file(self, name: str) -> Writer:
        """Return the file of a type, or of all rows for an empty name."""
        if name not in self._files:
            parts = self._parts
            path = os.path.join(type_directory(name), f"{uuid.uuid4().hex}.{parts.view.format.extension}")
            if name:
                os.makedirs(os.path.join(parts.directory, type_directory(name)), exist_ok=True)
            file = self._stack.enter_context(new_file(os.path.join(parts.directory, path)))
            out = self._stack.enter_context(writer(file, view_of_type(parts.view, name)))
            self._files[name] = path, out
        return self._files[name][1]

    def finish(self) -> None:
        """Write what is held."""
        for _, out in self._files.values():
            out.finish(nothing)
        self.receipt = tuple(WrittenPart(path, out.rows) for path, out in self._files.values()) or None


def type_directory(type_name: str) -> str:
    """Return the directory of the rows of a type among the parts; of an empty name their own."""
    return f"type={type_name}" if type_name else ""


def view_of_type(view: View, type_name: str) -> View:
    """Return the view of the rows of one type; of an empty name of all."""
    if not type_name:
        return view
    return view._replace(types=tuple(row_type for row_type in view.types if row_type.name == type_name))


@dataclass(frozen=True, slots=True)
class Parts:
    """A sink that can be pickled: every call gives a new part; `by_type`: of each type in its directory."""

    directory: str
    view: View
    by_type: bool = False

    @contextmanager
    def __call__(self) -> Iterator[PartWriter]:
        """Give a part to write to."""
        with ExitStack() as stack:
            part = PartWriter(stack, self)
            yield part
            part.finish()


@contextmanager
def new_directory(path: str) -> Iterator[str]:
    """Give a new hidden directory beside `path`, which is removed afterwards unless it was renamed."""
    hidden = hidden_name(path)
    os.mkdir(hidden)
    try:
        yield hidden
    finally:
        for _ in range(REMOVALS):
            shutil.rmtree(hidden, ignore_errors=True)
            if not os.path.lexists(hidden):
                break
            time.sleep(REMOVAL_SECONDS)  # a worker that has not ended yet wrote again


def keep_parts(path: str, parts: Parts, written: Sequence[WrittenPart], tail: Tail) -> int:
    """Make the parts, findings and errors in the last, the directory at `path`; return how many rows."""
    count = settle(parts, written, tail)
    with new_file(os.path.join(parts.directory, SUCCESS)):
        pass
    os.rename(parts.directory, path)
    return count


def settle(parts: Parts, written: Sequence[WrittenPart], tail: Tail) -> int:
    """Give the parts their names, in the order given; returns how many rows they have.

    What other attempts have left is removed. A result without rows is one empty part of each type.
    FileNotFoundError if a part is not there.
    """
    findings, failures = tail()
    directory, view = parts.directory, parts.view
    paths, written_paths = set(_files(directory)), {part.path for part in written}
    if written_paths - paths:
        raise FileNotFoundError(errno.ENOENT, "parts that workers have written are not there", directory)
    for path in paths - written_paths:
        os.unlink(os.path.join(directory, path))
    run = uuid.uuid4()
    digits = max(len(str(len(written))), DIGITS)

    def new_path(folder: str, number: int) -> str:
        return os.path.join(directory, folder, f"part-{number:0{digits}}-{run}.{view.format.extension}")

    for number, part in enumerate(written):
        os.rename(os.path.join(directory, part.path), new_path(os.path.dirname(part.path), number))
    if not written or (view.format.carries_findings and (findings or failures)):
        for name in [row_type.name for row_type in view.types] if parts.by_type else [""]:
            folder = type_directory(name)
            os.makedirs(os.path.join(directory, folder), exist_ok=True)
            with (
                new_file(new_path(folder, len(written))) as file,
                writer(file, view_of_type(view, name)) as out,
            ):
                out.finish(lambda: (findings, failures))
    return sum(part.rows for part in written)


def _files(directory: str) -> Iterator[str]:
    """Yield the paths of the files below a directory, relative to it."""
    for folder, _, names in os.walk(directory):
        relative = os.path.relpath(folder, directory)
        yield from (os.path.normpath(os.path.join(relative, name)) for name in names)
