"""What `kcli sql` and its shell do with a query: a session of DuckDB, rows, an exit status."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import typer

from kcli.cli.boundary import say
from kcli.cli.command import EngineOptions, Inputs, Output
from kcli.cli.run import engine_of, run_answer
from kcli.cli.signals import BY_SIGNAL, Interrupted, delivered, forget, interruptible
from kcli.cli.status import CommandError, ExitStatus, MissingError, UsageError, worst
from kcli.cli.summary import RunSummary
from kcli.engine.contract import EngineMissingError
from kcli.logdir.find import FileSet
from kcli.logdir.write_guard import scratch_directory
from kcli.output.answer import Answer
from kcli.output.formats import format_of
from kcli.rows.declare import RowType, plain_row_type
from kcli.views.definitions import VIEWS, view_columns
from kcli.words import WordError

if TYPE_CHECKING:
    from kcli.views.duckdb import Session

Find: TypeAlias = Callable[[], tuple[FileSet, RunSummary]]
"""Returns what the paths lead to now, and the summary of a run that begins with it."""


@contextmanager
def opened_session(
    file_set: FileSet, summary: RunSummary, inputs: Inputs, options: EngineOptions
) -> "Iterator[Session]":
    """Give a session of DuckDB; MissingError where it, or a place for its files, is missing."""
    try:
        from kcli.views.duckdb import Source, opened
    except ImportError as error:
        raise MissingError(
            f"sql needs DuckDB, of the extra sql: pip install 'kcli-for-kafka[sql]' ({error})"
        ) from error
    engine = engine_of(options)(None)
    source = Source(
        file_set,
        engine,
        summary.add,
        summary.findings.extend,
        jobs=options.jobs,
        leftovers=inputs.include_leftovers,
        users=inputs.selection(),
    )
    try:
        directory = scratch_directory()
    except FileNotFoundError as error:
        raise MissingError(str(error)) from error
    try:
        with opened(source, directory) as session:
            yield session
    except EngineMissingError as error:
        raise MissingError(str(error)) from error


def print_answer(session: "Session", text: str, summary: RunSummary, output: Output) -> None:
    """Print what the query in a text answers; ends with typer.Exit."""
    from kcli.output.arrow_rows import row_type_of, rows_of
    from kcli.views.duckdb import SqlError

    def rows(batches: Iterator[Any], row: Any) -> Iterator[Any]:
        try:
            yield from rows_of(interruptible(batches), row)
        except (SqlError, WordError) as error:
            raise UsageError(str(error)) from error

    with ExitStack() as stack:
        try:
            with delivered():
                answer = stack.enter_context(session.answer(text))
        except (SqlError, WordError) as error:
            raise UsageError(str(error)) from error
        except Interrupted as error:
            print_interrupted(error, summary, output)
        if answer is None:
            raise typer.Exit(summary.status())
        schema, batches = answer
        row_type = row_type_of("row", schema)
        run_answer(
            "sql",
            rows(batches, plain_row_type(row_type)),
            output,
            summary,
            Answer(types=(row_type,), stop_at_limit=True),
            file_set=session.source.file_set,
        )


def print_interrupted(error: Interrupted, summary: RunSummary, output: Output) -> NoReturn:
    """Print a document without rows for an interrupted query, or raise it again; ends with typer.Exit."""
    form = format_of(output.format, output.out, is_terminal=sys.stdout.isatty())
    if output.out is not None or form is None or not form.carries_findings:
        raise error
    summary.interrupt(error)
    plain_output = output._replace(columns=None, where=None, sort=None)  # they name columns
    run_answer("sql", (), plain_output, summary, Answer(types=(RowType("row", ()),)))
    raise typer.Exit(summary.status())


HELP = """\
A query ends with a semicolon. Ctrl-C cancels it, Ctrl-D or .quit ends.
.views            the views
.columns VIEW     its columns
.help             this"""
PROMPT, MORE = "kcli> ", "  ... "


def run_shell(
    find_now: Find, inputs: Inputs, output: Output, engine: EngineOptions, history: str | None
) -> None:
    """Ask for queries and print their answers; ends with typer.Exit: on a terminal with 0."""
    if output.out is not None:
        raise UsageError("--out: not with --shell, whose queries would all write this one file")
    file_set, summary = find_now()
    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    statuses = [ExitStatus.CLEAN]
    with opened_session(file_set, summary, inputs, engine) as session:
        for text in _texts(_typed(history) if is_terminal else sys.stdin or ()):
            status = _command(text) if text.startswith(".") else _queries(session, text, find_now, output)
            if status is None:
                break
            statuses.append(status)
            if status == ExitStatus.INTERRUPTED and not is_terminal:
                break
    raise typer.Exit(ExitStatus.CLEAN if is_terminal else worst(*statuses))


def _queries(session: "Session", text: str, find_now: Find, output: Output) -> ExitStatus:
    """Print what each statement of a text answers, up to one that is interrupted; return the worst status."""
    from kcli.views.duckdb import SqlError

    try:
        statements = session.statements(text)
    except SqlError as error:
        say(f"kcli: {error}")
        return ExitStatus.USAGE
    statuses = [ExitStatus.CLEAN]
    for statement in statements:
        statuses.append(_query(session, statement, find_now, output))
        if statuses[-1] == ExitStatus.INTERRUPTED:
            break
    return worst(*statuses)


def _query(session: "Session", text: str, find_now: Find, output: Output) -> ExitStatus:
    """Print what a statement answers, of what the paths lead to now, and return the status of it."""
    try:
        session.source.file_set, summary = find_now()
        session.source.note, session.source.report = summary.add, summary.findings.extend
        print_answer(session, text, summary, output)
    except typer.Exit as ended:
        if ended.exit_code > BY_SIGNAL and ended.exit_code != ExitStatus.INTERRUPTED:
            raise  # other signals than Ctrl-C end the shell
        status = ExitStatus(ended.exit_code)
    except CommandError as error:
        say(f"kcli: {error}")
        status = error.status
    except Interrupted as error:
        if error.status != ExitStatus.INTERRUPTED:
            raise
        say("kcli: interrupted")
        status = ExitStatus.INTERRUPTED
    if status == ExitStatus.INTERRUPTED:
        forget()
    return status


def _command(text: str) -> ExitStatus | None:
    """Do what a line says that begins with a dot; None ends the shell."""
    name, *arguments = text.split()
    if name in {".quit", ".exit"}:
        return None
    if name == ".views":
        typer.echo("\n".join(VIEWS))
    elif name == ".columns" and len(arguments) == 1 and arguments[0] in VIEWS:
        columns = [column.column for column in view_columns(arguments[0])]
        width = max(len(column.name) for column in columns)
        typer.echo("\n".join(f"{column.name:{width}}  {column.kind:9}  {column.doc}" for column in columns))
    elif name == ".columns":
        say(f"kcli: .columns VIEW: one of {', '.join(VIEWS)}")
        return ExitStatus.USAGE
    elif name == ".help":
        typer.echo(HELP)
    else:
        say(f"kcli: {name}: expected .views, .columns VIEW, .help or .quit")
        return ExitStatus.USAGE
    return ExitStatus.CLEAN


def _texts(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines that begin with a dot, and texts that end with a semicolon, or with the input."""
    query = ""
    for line in lines:
        if not query and line.strip().startswith("."):
            yield line.strip()
            continue
        query = "" if line == CANCEL else f"{query}{line.rstrip()}\n"
        if query.rstrip().endswith(";"):
            yield query.strip()
            query = ""
        elif not query.strip():
            query = ""
        _Prompt.text = MORE if query else PROMPT
    if query:
        yield query.strip()


CANCEL = "\x03"
"""A line that Ctrl-C ended: what came before it is dropped."""


class _Prompt:
    text = PROMPT


def _typed(history: str | None) -> Iterator[str]:
    """Yield lines that are typed, with the editing of readline; the file of a history gets them."""
    try:
        import readline
    except ImportError:  # a Python without: lines come as the terminal edits them
        history = None

    if history is not None:
        with suppress(FileNotFoundError):
            readline.read_history_file(history)
    try:
        while True:
            try:
                with delivered():
                    line = input(_Prompt.text)
                yield line
            except Interrupted as error:
                if error.status != ExitStatus.INTERRUPTED:
                    raise
                forget()
                sys.stdout.write("\n")
                yield CANCEL
            except EOFError:
                sys.stdout.write("\n")
                return
    finally:
        if history is not None:
            readline.write_history_file(os.path.expanduser(history))
