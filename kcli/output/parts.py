"""Rows in a directory of parts, whole or not at all.

Spark's workers write `part-00000-<uuid>.parquet` and so on, sorted by name in the order of the rows, in
hidden files of a hidden directory. It takes its own name when all of them are there, with `_SUCCESS` in it.
"""

import errno
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

from kcli.output.files import Writer, hidden_name, in_batches, new_file, nothing, writer
from kcli.output.structured import Tail
from kcli.output.view import View
from kcli.rows import Item, type_name, values_of

SUCCESS = "_SUCCESS"
DIGITS = 5
"""Of a part's number, as Spark writes it.

More where there are more parts: sorted by name they are in order.
"""
TYPE = "type"
"""Of a row, among the columns that name directories."""
NULL = "__HIVE_DEFAULT_PARTITION__"
"""As Hive and Spark name the directory of a null."""
MOST_OPEN = 64
"""Files of a part at a time; the one that waited longest is completed for the next."""
MOST_PLACES = 50_000
"""Directories that one part fills."""
REMOVALS = 50
REMOVAL_SECONDS = 0.1


class TooManyPlacesError(OSError):
    """The columns that name directories have too many values."""


class WrittenPart(NamedTuple):
    """A file that is complete: its path in the directory of parts, and how many rows it has."""

    path: str
    rows: int


class _OpenFile(NamedTuple):
    """A file of a part under way."""

    stack: ExitStack
    path: str
    out: Writer


class PartWriter:
    """One part under way: a file in each directory that its rows belong to, made with the first row of it.

    A file has its name once it is complete; files that are not are gone when the stack is left.
    """

    def __init__(self, stack: ExitStack, parts: "Parts") -> None:
        self._stack = stack
        self._parts = parts
        self._place_of = _place_of(parts.view, parts.by) if parts.by else None
        self._open: dict[str, _OpenFile] = {}
        self._places: set[str] = set()
        self._written: list[WrittenPart] = []

    @property
    def receipt(self) -> tuple[WrittenPart, ...] | None:
        """What the driver has to know of it; None for a part without rows, which does not exist."""
        return tuple(self._written) or None

    def write(self, rows: Sequence[Item]) -> None:
        """Write the rows that the view shows."""
        for some in in_batches(self._parts.view.chosen(rows)):
            for place, of_place in self._by_place(some).items():
                self._file(place, type_name(of_place[0])).out.write(of_place)

    def finish(self) -> None:
        """Write what is held."""
        while self._open:
            self._complete(next(iter(self._open)))

    def _by_place(self, rows: list[Item]) -> dict[str, list[Item]]:
        if self._place_of is None:
            return {"": rows}
        found: dict[str, list[Item]] = {}
        for row in rows:
            found.setdefault(self._place_of(row), []).append(row)
        return found

    def _file(self, place: str, row_type: str) -> _OpenFile:
        """Return the open file of a place, now the last one to be completed."""
        known = self._open.pop(place, None)
        if known is None:
            if len(self._open) >= MOST_OPEN:
                self._complete(next(iter(self._open)))
            self._places.add(place)
            if len(self._places) > MOST_PLACES:
                raise TooManyPlacesError(
                    errno.EMLINK, f"--partition-by would make more than {MOST_PLACES} directories"
                )
            known = self._opened(place, row_type)
        self._open[place] = known
        return known

    def _opened(self, place: str, row_type: str) -> _OpenFile:
        directory = os.path.join(self._parts.directory, place)
        if place:
            os.makedirs(directory, exist_ok=True)
        stack = self._stack.enter_context(ExitStack())
        path = os.path.join(place, f"{uuid.uuid4().hex}.{self._parts.extension}")
        file = stack.enter_context(new_file(os.path.join(self._parts.directory, path)))
        view = self._parts.view
        of_type = view._replace(types=tuple(one for one in view.types if one.name == row_type))
        out = stack.enter_context(writer(file, of_type if self._parts.by else view))
        return _OpenFile(stack, path, out)

    def _complete(self, place: str) -> None:
        done = self._open.pop(place)
        done.out.finish(nothing)
        done.stack.close()
        self._written.append(WrittenPart(done.path, done.out.rows))


def _place_of(view: View, by: Sequence[str]) -> Callable[[Item], str]:
    """Return what gives the directory of a row, such as `type=scan_segment/topic=orders`."""
    positions = {
        one.name: {name: one.names.index(name) for name in by if name in one.names} for one in view.types
    }

    def place(row: Item) -> str:
        kind = type_name(row)
        values: dict[str, object] = {TYPE: kind}
        if len(by) > 1 or by[0] != TYPE:
            assert isinstance(row, tuple)
            found = values_of(row)
            values |= {name: found[position] for name, position in positions[kind].items()}
        return "/".join(f"{name}={_word(values.get(name))}" for name in by)

    return place


def _word(value: object) -> str:
    """Return a value as Hive writes it in the name of a directory."""
    if value is None or value == "":
        return NULL
    return quote(str(value).lower() if isinstance(value, bool) else str(value), safe=" ", errors="replace")


@dataclass(frozen=True, slots=True)
class Parts:
    """A sink that can be pickled.

    Every call gives a new part in a directory, which is removed if it is not completed. `by`: columns, or
    `type`, whose values name directories in it, as Hive does. `extension`: of the files.
    """

    directory: str
    view: View
    extension: str
    by: tuple[str, ...] = ()

    @contextmanager
    def __call__(self) -> Iterator[PartWriter]:
        """Give a part to write to."""
        with ExitStack() as stack:
            part = PartWriter(stack, self)
            yield part
            part.finish()


@contextmanager
def new_directory(path: str) -> Iterator[str]:
    """Give a new hidden directory in the directory of `path`.

    It is removed after the block, unless it was renamed.
    """
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
    """Make the directory of parts the one at `path`; returns how many rows it has.

    Findings and errors of ndjson are in a part of their own, the last. FileNotFoundError if a part is not
    there.
    """
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
    there, known = set(_files(directory)), {part.path for part in written}
    if known - there:
        raise FileNotFoundError(errno.ENOENT, "parts that workers have written are not there", directory)
    for path in there - known:
        os.unlink(os.path.join(directory, path))
    run = uuid.uuid4()
    digits = max(len(str(len(written))), DIGITS)

    def new_path(place: str, number: int) -> str:
        return os.path.join(directory, place, f"part-{number:0{digits}}-{run}.{parts.extension}")

    for number, part in enumerate(written):
        os.rename(os.path.join(directory, part.path), new_path(os.path.dirname(part.path), number))
    if not written or (view.format.carries_findings and (findings or failures)):
        for one in view.types if TYPE in parts.by else view.types[:1]:
            place = f"{TYPE}={one.name}" if TYPE in parts.by else ""
            os.makedirs(os.path.join(directory, place), exist_ok=True)
            empty = view._replace(types=(one,)) if TYPE in parts.by else view
            with new_file(new_path(place, len(written))) as file, writer(file, empty) as out:
                out.finish(lambda: (findings, failures))
    return sum(part.rows for part in written)


def _files(directory: str) -> Iterator[str]:
    """Yield the paths of the files below a directory, relative to it."""
    for place, _, names in os.walk(directory):
        relative = os.path.relpath(place, directory)
        yield from (os.path.normpath(os.path.join(relative, name)) for name in names)
