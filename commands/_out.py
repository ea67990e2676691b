"""`--out FILE`: which targets are refused, and writing rows to a file or a directory of parts."""

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commands._boundary import UNWRITABLE, say
from commands._options import Common
from commands._status import MissingError, RefusedError, UsageError
from commands._summary import RunSummary
from formats.names import LOG, WELL_KNOWN_KINDS, parse_file, parse_partition_dir
from kcli.analysis.findings import Finding
from kcli.logdir.tree import LOG_DIR_FILES, PARTITION, PARTITION_KINDS, Found, Target
from kcli.output.files import (
    IncompleteError,
    Parts,
    Text,
    WrittenPart,
    keep_parts,
    new_directory,
    write_rows,
)
from kcli.output.formats import TEXT, format_of
from kcli.output.view import View
from kcli.rows import Failure, Item

if TYPE_CHECKING:
    from kcli.engine.spark_worker import Sink

OF_A_LOG_DIR = tuple(name for name in LOG_DIR_FILES if name != ".lock")
OF_A_PARTITION = tuple(name for name, kind in WELL_KNOWN_KINDS.items() if kind in PARTITION_KINDS)


@dataclass(frozen=True, slots=True)
class Out:
    """The target of --out.

    `word`: as given. `path`: absolute, without symlinks in its directory.

    `as_parts`: a directory that Spark's workers write to. `announces`: a line on stderr says what was
    written.
    """

    word: str
    path: str
    format: str
    as_parts: bool
    announces: bool

    def refuse_inputs(self, found: Found) -> None:
        """Refuse a target that is an input, or inside any log dir or partition directory."""
        guarded = {
            *found.named_log_dirs,
            *(target.log_dir for target in found.targets if target.log_dir is not None),
        }
        guarded |= {target.path for target in found.targets if target.kind == PARTITION}
        directories = set(map(os.path.realpath, guarded))
        for place in _upwards(os.path.dirname(self.path)):
            if place in directories or _looks_like_one(place):
                raise RefusedError(
                    f"--out {self.word}: {place} is a log dir or a partition directory, and kcli never "
                    "writes there"
                )
        if any(_is_same(self, target) for target in found.targets):
            raise RefusedError(
                f"--out {self.word}: this is one of the inputs, and kcli would replace it; choose another "
                "name"
            )

    @contextmanager
    def sink(self, view: View) -> Iterator["Sink | None"]:
        """Give the sink that workers write to, None where rows come here.

        What it holds is gone unless `write` keeps it.
        """
        with ExitStack() as stack:
            directory = None
            if self.as_parts:
                with _explained(self):
                    directory = stack.enter_context(new_directory(self.path))
            yield None if directory is None else Parts(directory, view)

    def write(
        self,
        rows: Iterable[Item],
        view: View,
        summary: RunSummary,
        *,
        text: Text | None,
        sink: "Sink | None",
    ) -> bool:
        """Write the rows and return True.

        Write nothing and return False if the run was cut short or answered no input.
        """

        def complete() -> tuple[list[Finding], list[Failure]]:
            if not summary.is_complete:
                raise IncompleteError
            return summary.tail()

        try:
            with _explained(self):
                if isinstance(sink, Parts):
                    for _ in rows:  # the workers have them
                        pass
                    count = keep_parts(
                        self.path,
                        sink,
                        [part for part in summary.parts if isinstance(part, WrittenPart)],
                        complete,
                    )
                else:
                    count = write_rows(
                        self.path, rows, view, complete, text if self.format == TEXT.name else None
                    )
        except IncompleteError:
            return False
        if self.announces:
            say(f"{count} {'lines' if self.format == TEXT.name else 'rows'} written to {self.word}")
        return True


def out_of(word: str, common: Common, *, by_workers: bool) -> Out:
    """Return what --out says; UsageError and RefusedError for what cannot be.

    `by_workers`: Spark's workers write the rows.
    """
    form = _format(word, common)
    as_parts = by_workers and form != TEXT.name
    if as_parts and (common.sort is not None or common.limit is not None):
        raise UsageError(
            "--sort and --limit need all rows in one process, but with --spark the workers write --out: use "
            "only one of them"
        )
    parent, name = os.path.split(word)
    place = os.path.realpath(parent or ".")
    if not os.path.isdir(place):
        raise UsageError(f"--out {word}: no directory {parent}")
    announces = not common.quiet and (common.verbose > 0 or sys.stderr.isatty())
    out = Out(word, os.path.join(place, name), form, as_parts, announces)
    _refuse_what_is_there(out)
    return out


def _format(word: str, common: Common) -> str:
    extension = os.path.splitext(word)[1]
    output = format_of(None, extension, is_terminal=False) if extension else None
    if "\0" in word or output is None or (output == TEXT and common.output != TEXT.name):
        raise UsageError(
            f"--out {word}: expected a file that ends in .parquet, .csv or .ndjson (or in .txt, with -o text)"
        )
    if common.output not in {None, output.name}:
        raise UsageError(f"--out {word}: the file's name says {output.name}, -o says {common.output}")
    return output.name


def _refuse_what_is_there(out: Out) -> None:
    try:
        mode = os.stat(out.path).st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"--out {out.word}: {(error.strerror or str(error)).lower()}") from error
    if stat.S_ISDIR(mode):
        raise RefusedError(f"--out {out.word}: this is a directory; remove it, or choose another name")
    if out.as_parts:
        raise RefusedError(
            f"--out {out.word}: with --spark this becomes a directory, and there is a file of this name; "
            "remove it, or choose another name"
        )
    if not stat.S_ISREG(mode):
        raise RefusedError(
            f"--out {out.word}: this is not a regular file, and kcli would replace it; choose another name"
        )


def _upwards(place: str) -> Iterator[str]:
    """Yield a directory and all around it."""
    yield place
    while place != os.path.dirname(place):
        place = os.path.dirname(place)
        yield place


def _looks_like_one(place: str) -> bool:
    if any(os.path.lexists(os.path.join(place, name)) for name in OF_A_LOG_DIR):
        return True
    if parse_partition_dir(os.path.basename(place)) is None:
        return False
    if any(os.path.lexists(os.path.join(place, name)) for name in OF_A_PARTITION):
        return True
    try:
        return any(parse_file(name).kind == LOG for name in os.listdir(place))
    except OSError:
        return False  # it cannot be listed: many a directory has a name like home-1


def _is_same(out: Out, target: Target) -> bool:
    return os.path.basename(target.path) == os.path.basename(out.path) and os.path.realpath(
        target.path
    ) == os.path.realpath(out.path)


@contextmanager
def _explained(out: Out) -> Iterator[None]:
    """Turn an error of writing into one line."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        if error.errno in UNWRITABLE or error.errno == errno.ENOENT:
            raise MissingError(f"--out {out.word}: cannot write: {reason}") from error
        raise UsageError(f"--out {out.word}: cannot write there: {reason}") from error
