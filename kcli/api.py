"""What commands answer, for Python programs: `import kcli`, then `kcli.run(...)`, or `kcli.open(...)`.

A call runs the command itself, in this process: the same code checks its options, plans its work and computes
its rows, and nothing is printed. The user's config file and `KCLI_` variables do not count: an answer depends
on the call and on the files alone. Each call reads the files as they are now.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from kcli.cli.status import CommandError, ExitStatus, MissingError, RefusedError, UsageError
from kcli.rows.declare import declared_type

if TYPE_CHECKING:
    from kcli.rows import Failure, Item
    from kcli.rows.declare import RowType
    from kcli.rows.dump import DumpBatchRow
    from kcli.rows.epochs import EndOffsetRow, EpochRow
    from kcli.rows.lookups import LookupOffsetRow, LookupTimestampRow
    from kcli.rows.partitions import PartitionRow
    from kcli.rows.truncation import TruncationRow
    from kcli.views.options import ViewQuery

__all__ = [
    "Error",
    "Finding",
    "InputError",
    "LogDirs",
    "MissingError",
    "Partition",
    "RefusedError",
    "Result",
    "UsageError",
    "open",
    "run",
]

Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Word: TypeAlias = Path | int | Iterable[Path]  # a word of a command line, or paths for several
DataFrame: TypeAlias = Any
RecordBatchReader: TypeAlias = Any
Table: TypeAlias = Any

SQL = "sql"
OF_ROWS = frozenset({"only", "where", "sort", "limit", "fail_on"})
"""Options about output that choose rows, or judge them; the others are about text."""
OF_TERMINALS = frozenset({"help", "version", "shell", "history"})


Error = CommandError


class InputError(Error):
    """What a single answer is about cannot be read; `errors` and `findings` are those of the command."""

    status: ClassVar[ExitStatus] = ExitStatus.NOTHING_ANSWERED

    def __init__(
        self, message: str, errors: "Iterable[Failure]" = (), findings: "Iterable[ReportedFinding]" = ()
    ) -> None:
        super().__init__(message)
        self.errors = [*errors]
        self.findings = [*findings]


class ReportedFinding(NamedTuple):
    """A finding with the keys that it has in JSON; `severity` is info, warning or error."""

    code: str
    severity: str
    message: str
    dir: str | None
    file: str | None
    path: str | None
    position: int | None
    expected: str | int | None
    found: str | int | None


Finding = ReportedFinding


@dataclass(frozen=True, slots=True)
class Result:
    """What a command answers.

    `rows` are NamedTuples of `kcli.rows`, `row_types` their types as `kcli schema` describes them. `errors`:
    the inputs that could not be answered (`path, error, position, field, message`). `notes`: what the command
    would say on stderr besides. `exit_status`: the one that it would end with.
    """

    command: str
    rows: "list[Any]"
    findings: list[ReportedFinding]
    errors: "list[Failure]"
    notes: list[str]
    exit_status: int
    row_types: "tuple[RowType, ...]" = field(repr=False)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows with the keys of JSON (`kcli help columns COMMAND`); bytes are bytes."""
        from kcli.rows.declare import type_of, values_of

        return [dict(zip(type_of(row).names, values_of(row), strict=True)) for row in self.rows]

    def to_arrow(self, only: str | None = None) -> Table:
        """Return the rows of one type as a pyarrow.Table; `only` names it where there are several types."""
        import pyarrow as pa

        from kcli.output.arrow import batch, schema
        from kcli.rows import type_name
        from kcli.rows.declare import values_of

        row_type = self._row_type(only)
        values = [values_of(row) for row in self.rows if type_name(row) == row_type.name]
        return pa.Table.from_batches([batch(row_type, values)], schema(row_type))

    def to_pandas(self, only: str | None = None) -> DataFrame:
        """Return the rows of one type as a pandas.DataFrame; MissingError without pandas."""
        try:
            return self.to_arrow(only).to_pandas()
        except ImportError as error:
            raise MissingError(f"to_pandas needs pandas: pip install pandas ({error})") from error

    def _row_type(self, only: str | None) -> "RowType":
        from kcli.rows import type_name

        types = {row_type.name: row_type for row_type in self.row_types}
        names = [only] if only is not None else [*dict.fromkeys(map(type_name, self.rows))] or [*types][:1]
        if len(names) > 1 or not types.keys() >= {*names}:
            raise UsageError(f"{self.command} has rows of several types: only= one of {', '.join(types)}")
        return types[names[0]]


def run(command: str, *words: Word, **options: object) -> Result:
    """Return what a command answers: `kcli.run("epoch end-offset", path, epoch=[1, 2])`.

    `command`: its words, such as `ls` or `rlmm lookup offset`. `words`: what follows them, paths last; globs,
    and lists of them. `options`: as on the command line with `_` for `-`, `from_` for `--from`; True, False
    are a flag and its `--no-`, a list repeats the option, `range(5, 10)` is `5..9`, None leaves it out.
    UsageError where the command would end with 2, RefusedError with 5, MissingError where a part of the
    environment is missing.
    """
    from kcli.cli.boundary import Caller
    from kcli.cli.summary import RunSummary
    from kcli.cli.typer_command import run_for
    from kcli.kafka.kraft.metadata_loader import begin_run
    from kcli.output.view import View

    begin_run()
    line = [*_option_arguments(command, options), "--", *_flat(words)]
    rows: list[Item] = []
    lines: list[str] = []
    ends: list[tuple[tuple[RowType, ...], RunSummary]] = []

    def take(view: View, items: "Iterator[Item]", summary: RunSummary) -> None:
        rows.extend(view.chosen(items))
        ends.append((view.types, summary))

    with _api_errors():
        run_for(Caller(take, lines), _command(command), command, line)
    if not ends:  # a statement of SQL that gives no rows
        return Result(command, [], [], [], lines, 0, ())
    ((row_types, summary),) = ends
    findings, errors = summary.messages()
    return Result(command, rows, [*map(_reported, findings)], errors, lines, int(summary.status()), row_types)


def open(  # noqa: A001 - open(...) is its name
    *paths: Path | Iterable[Path], metadata: Path | None = None
) -> "LogDirs":
    """Return what log dirs, partitions or globs lead to; nothing is read yet. `metadata`: a KRaft log."""
    names = (*_flat(paths),)
    if not names:
        raise UsageError("expected at least one path")
    return LogDirs(names, None if metadata is None else os.fsdecode(metadata))


@dataclass(frozen=True, slots=True)
class LogDirs:
    """Some log dirs or partition directories; `metadata`: a KRaft metadata log beside them."""

    paths: tuple[str, ...]
    metadata: str | None = None

    def run(self, command: str, *words: Word, **options: object) -> Result:
        """Return what a command answers of these paths, as `kcli.run`."""
        if self.metadata is not None and "--metadata" in _options_of(command):
            options = {"metadata": self.metadata, **options}
        return run(command, *words, *self.paths, **options)

    def partitions(self, topic: str | None = None, partition: int | None = None) -> "Iterator[PartitionLog]":
        """Yield the partitions, of a topic (or glob), that a broker serves; InputError after the last one."""
        from kcli.logdir.find import find
        from kcli.logdir.targets import Selection

        result = self.run("ls", topic=topic, partition=partition)
        places = {log.shown: log.path for log in find(self.paths, Selection(include_leftovers=True)).targets}
        for row in result.rows:
            if row.state == "normal":
                yield PartitionLog(places.get(row.where.dir, row.where.dir), row, self.metadata)
        _raise_errors(result.errors)

    def check(self, **options: object) -> Iterator[ReportedFinding]:
        """Yield what `kcli check` finds; InputError after the last one if some paths cannot be read."""
        result = self.run("check", **options)
        yield from result.findings
        _raise_errors(result.errors)

    def sql(self, text: str) -> Result:
        """Return what a query in SQL answers: the views of `kcli sql`, on DuckDB."""
        return self.run(SQL, text)


@dataclass(frozen=True, slots=True)
class PartitionLog:
    """A partition directory; `row` is what `kcli ls` says. Methods of one answer raise InputError without."""

    path: str
    row: "PartitionRow"
    metadata: str | None = None

    @property
    def topic(self) -> str | None:
        """The topic, of the directory's name."""
        return self.row.where.topic

    @property
    def partition(self) -> int | None:
        """The number of the partition, of the directory's name."""
        return self.row.where.partition

    @property
    def log_start_offset(self) -> int | None:
        """The log start offset after a start; None where the log would not load."""
        return self.row.log_start_offset

    @property
    def log_end_offset(self) -> int | None:
        """The log end offset after a start; None where it would not load, or `ls` has not recovered it."""
        return self.row.log_end_offset

    @property
    def epochs(self) -> "list[EpochRow]":
        """The leader epochs that a broker holds after a start: `epoch, start_offset, end_offset`, ..."""
        return _answers(self.run("epoch show"))

    def run(self, command: str, *words: Word, **options: object) -> Result:
        """Return what a command answers of this directory, as `kcli.run`."""
        return LogDirs((self.path,), self.metadata).run(command, *words, **options)

    def end_offset(self, epoch: int, **options: object) -> "EndOffsetRow":
        """Return the answer to OffsetForLeaderEpoch, as `kcli epoch end-offset`; -1 where it is undefined."""
        return _answer(self.run("epoch end-offset", epoch=epoch, **options))  # type: ignore[no-any-return]

    def truncate(self, to_offset: int | None = None, **options: object) -> "TruncationRow":
        """Return a plan of what a truncation would delete, cut and lose; `options` of `kcli truncate`."""
        return _answer(self.run("truncate", to_offset=to_offset, **options))  # type: ignore[no-any-return]

    def lookup(
        self, *, offset: int | str | None = None, timestamp: int | str | None = None
    ) -> "LookupOffsetRow | LookupTimestampRow":
        """Return where an offset, or the first record of a time or later, lies; `found` says whether it does.

        `timestamp`: epoch milliseconds, or the words of `kcli lookup timestamp`.
        """
        if (offset is None) == (timestamp is None):
            raise UsageError("lookup: expected either offset= or timestamp=")
        kind, value = ("timestamp", timestamp) if offset is None else ("offset", offset)
        return _answer(self.run(f"lookup {kind}", str(value)))  # type: ignore[no-any-return]

    def batches(self, offsets: range | None = None) -> "Iterator[DumpBatchRow]":
        """Return the batches of the log as rows of `kcli dump`, as they are read.

        Of the segments that a start opens, as the view `batches` of SQL. InputError after the last one that
        can be read if there are errors or findings of severity `error`.
        """
        return self._read("batches", offsets)

    def records(self, offsets: range | None = None) -> RecordBatchReader:
        """Return a pyarrow.RecordBatchReader of the records with these offsets; it reads as it is read.

        The columns are those of `kcli dump --records`. Damage is raised by the reader as of `batches`.
        """
        import pyarrow as pa

        from kcli.output.arrow import batch, schema
        from kcli.rows import ArrowBlock
        from kcli.rows.declare import values_of
        from kcli.rows.dump import DumpRecordRow

        items = self._read("records", offsets, blocks=True)
        records = declared_type(DumpRecordRow)
        batches = (
            item.batch if isinstance(item, ArrowBlock) else batch(records, [values_of(item)])
            for item in items
        )
        return pa.RecordBatchReader.from_batches(schema(records), batches)

    def _read(self, view: str, offsets: range | None, *, blocks: bool = False) -> "Iterator[Any]":
        """Return the rows of a view of the log, as SQL plans it; UsageError for offsets that cannot be."""
        from kcli.views.options import query

        if offsets is not None and not isinstance(offsets, range):
            raise UsageError(f"offsets={offsets!r}: expected a range, such as range(5, 10)")
        if offsets is not None and not offsets:
            return iter(())
        limits = {} if offsets is None else {"offsets": _range(offsets)}
        with _api_errors():
            view_query = query({"view": view, "path": self.path, **limits})
        return self._rows(view_query, blocks=blocks)

    def _rows(self, query: "ViewQuery", *, blocks: bool) -> "Iterator[Any]":
        from kcli.engine.contract import Job
        from kcli.engine.inline import inline
        from kcli.logdir.find import find
        from kcli.views.definitions import VIEWS
        from kcli.views.plan import plan_view

        with _api_errors():
            plan = plan_view(query, find(query.paths, query.selection), VIEWS[query.view].names)
            errors, findings = [*plan.failures, *plan.refused], [*plan.findings]
            job: Any = plan.job
            for outcome in inline(Job(replace(job, options=replace(job.options, blocks=blocks))), plan.units):
                yield from outcome.rows
                findings += outcome.findings
                errors += [] if outcome.error is None else [outcome.error]
        reported = map(_reported, findings)
        _raise_errors(errors, (finding for finding in reported if finding.severity == "error"))


Partition = PartitionLog


# Commands


@contextmanager
def _api_errors() -> Iterator[None]:
    """Raise what ends a command as an error of the API."""
    from kcli.engine.contract import EngineMissingError
    from kcli.rows import described
    from kcli.words import WordError

    try:
        yield
    except CommandError:
        raise
    except WordError as error:
        raise UsageError(str(error)) from error
    except EngineMissingError as error:
        raise MissingError(str(error)) from error
    except Exception as error:
        raise CommandError(f"internal error: {described(error)}") from error


@lru_cache(maxsize=128)
def _command(name: str) -> Any:
    """Return the command of these words; UsageError if it gives no rows, Error for a foreign package."""
    from kcli.cli.foreign import foreign_package
    from kcli.rows import COMMANDS

    if name not in {*COMMANDS, SQL}:
        from kcli.output.suggest import did_you_mean

        advice = (
            did_you_mean(name, [*COMMANDS, SQL]).rstrip() or f"expected one of {', '.join(COMMANDS)}, {SQL}"
        )
        raise UsageError(f"no command with rows: {name}; {advice}")
    foreign = foreign_package()
    if foreign is not None:
        raise CommandError(f"{foreign} is in the way of kcli's own package of that name")
    from commands.app import app
    from kcli.cli.typer_command import command_of

    return command_of(app, name.split())


def _options_of(command: str) -> dict[str, Any]:
    """Return the options of a command by their names."""
    params = _command(command).params
    return {name: param for param in params for name in (*param.opts, *param.secondary_opts)}


def _option_arguments(command: str, options: dict[str, object]) -> Iterator[str]:
    """Yield the words of options; UsageError for those about what is printed."""
    from kcli.output.formats import IN_PROCESS

    declared = _options_of(command)
    yield f"--output={IN_PROCESS.name}"
    for key, value in options.items():
        name = f"--{key.rstrip('_').replace('_', '-')}"
        option: Any = declared.get(name)
        is_of_text = getattr(option, "rich_help_panel", None) == "Output" and option.name not in OF_ROWS
        if is_of_text or key in OF_TERMINALS:
            raise UsageError(f"{command}: {key}= is about what is printed, and nothing is")
        if isinstance(value, bool) and option is not None:
            yield from _flag(key, name, option, is_on=value)
            continue
        values = value if isinstance(value, (list, tuple, set, frozenset)) else [value]
        if not values:
            raise UsageError(f"{key}={value!r}: expected at least one value; None leaves the option out")
        for item in values:
            if item is not None:
                yield f"{name}={_argument(item)}"


def _flag(key: str, name: str, option: Any, *, is_on: bool) -> Iterator[str]:
    """Yield the word of a flag, or of the one that switches it off; none for one that is off anyway."""
    if not (option.is_flag or option.count):
        raise UsageError(f"{key}={is_on}: expected a value; None leaves the option out")
    names = [name] if is_on else option.secondary_opts if name in option.opts else option.opts
    yield from names[:1]


def _flat(values: Iterable[object]) -> Iterator[str]:
    """Yield words of a command line, those of lists, too."""
    for value in values:
        if isinstance(value, Iterable) and not isinstance(value, (str, bytes, range)):
            yield from _flat(value)
        elif value is None or isinstance(value, bool):
            raise UsageError(f"{value}: expected a path or a word of a command line")
        else:
            yield _argument(value)


def _argument(value: object) -> str:
    """Return a value as a word of a command line."""
    if isinstance(value, range):
        return _range(value)
    return os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else str(value)


def _range(numbers: range) -> str:
    """Return a range as the command line writes it, with its end; UsageError for one that it cannot write."""
    if not numbers or numbers.step != 1:
        raise UsageError(f"{numbers}: expected a range of at least one number, in steps of 1")
    return f"{numbers[0]}..{numbers[-1]}"


# Answers


def _answers(result: Result) -> "list[Any]":
    _raise_errors(result.errors)
    return result.rows


def _answer(result: Result) -> Any:
    """Return the one row of an answer; InputError where there is none."""
    rows = _answers(result)
    if len(rows) != 1:
        reasons = "; ".join(f"{finding.code}: {finding.message}" for finding in result.findings)
        message = f"{result.command}: {reasons or f'{len(rows)} rows, expected one'}"
        raise InputError(message, findings=result.findings)
    return rows[0]


def _raise_errors(errors: "Iterable[Failure]", findings: Iterable[ReportedFinding] = ()) -> None:
    """Raise InputError with the first in words, if there are any."""
    failures, problems = [*errors], [*findings]
    places = [(failure.path, failure.message) for failure in failures]
    places += [(problem.path or "", problem.message) for problem in problems]
    messages = [f"{path}: {message}" if path else message for path, message in places]
    if messages:
        suffix = f"; and {len(messages) - 1} more" if len(messages) > 1 else ""
        raise InputError(f"{messages[0]}{suffix}", failures, problems)


def _reported(finding: Any) -> ReportedFinding:
    from kcli.output.values import finding_values

    values: Any = finding_values(finding)
    return ReportedFinding(**values)
