"""What `kcli sql` and its shell do with a query: a session of DuckDB, rows, an exit status."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import typer

from kcli.cli.engine import engine_of
from kcli.cli.options import EngineOptions, Inputs, Output
from kcli.cli.run import Answer, run_answer
from kcli.cli.signals import Interrupted, delivered, interruptible
from kcli.cli.status import MissingError, UsageError
from kcli.cli.summary import RunSummary
from kcli.engine.errors import EngineMissingError
from kcli.logdir.find import Found
from kcli.logdir.write_guard import scratch_directory
from kcli.output.formats import format_of
from kcli.rows.declare import RowType, plain_row_type
from kcli.words import WordError

if TYPE_CHECKING:
    from kcli.views.duckdb import Session

Find: TypeAlias = Callable[[], tuple[Found, RunSummary]]
"""Returns what the paths lead to now, and the summary of a run that begins with it."""


@contextmanager
def opened_session(
    found: Found, summary: RunSummary, inputs: Inputs, options: EngineOptions
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
        found,
        engine,
        summary.add,
        summary.findings.extend,
        jobs=options.jobs,
        leftovers=inputs.include_leftovers,
        users=inputs.selection(),
    )
    try:
        place = scratch_directory()
    except FileNotFoundError as error:
        raise MissingError(str(error)) from error
    try:
        with opened(source, place) as session:
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
            found=session.source.found,
        )


def print_interrupted(error: Interrupted, summary: RunSummary, output: Output) -> NoReturn:
    """Print a document without rows for a query that a signal ends before its columns are known.

    Ends with typer.Exit; the signal itself is raised again for formats that have a header.
    """
    form = format_of(output.format, output.out, is_terminal=sys.stdout.isatty())
    if output.out is not None or form is None or not form.carries_findings:
        raise error
    summary.interrupt(error)
    whole = output._replace(columns=None, where=None, sort=None)  # they name columns
    run_answer("sql", (), whole, summary, Answer(types=(RowType("row", ()),)))
    raise typer.Exit(summary.status())
