"""What every command does with its options: inputs, engine, rows, findings, errors, exit status.

`run` is the first of the three hops commands -> jobs -> analysis: it finds the inputs, hands the job to the
engine, writes the rows and ends with `typer.Exit`. `run_rows` does the same for commands that read no files.
"""

import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import typer

from kcli.cli.boundary import TRACEBACKS_FROM, boundary, internal
from kcli.cli.engine import engine_of, uses_spark
from kcli.cli.findings import INLINE, STDERR, check_destination, refuse_input, write_findings
from kcli.cli.inputs import found_at, inputs, refuse_too_much
from kcli.cli.options import Common, joined, split_list
from kcli.cli.printing import Text, print_messages, print_rows, progress
from kcli.cli.signals import Interrupted, deferred, deliver_pending, delivered, interruptible
from kcli.cli.status import ExitStatus, MissingError, UsageError
from kcli.cli.summary import RunSummary
from kcli.cli.terminal import screen_of
from kcli.cli.unmatched import advice, nothing_matched, other_topics, topics_not_found
from kcli.engine.contract import Engine, Job, Map, Outcome, Reduce, Unit
from kcli.engine.errors import EngineMissingError, NotWrittenError
from kcli.jobs.common import NO_EVENTS, PARTITIONS_ONLY, internal_failure, notes_as_findings, plan
from kcli.kafka.findings.findings import SEVERITIES
from kcli.logdir.buffers import shown
from kcli.logdir.find import Found
from kcli.logdir.once import each_once
from kcli.logdir.select import Selection
from kcli.logdir.targets import Target
from kcli.output.formats import format_of, is_run_directory
from kcli.output.view import View, ViewError, make_view
from kcli.rows import Failure, Item, RowType
from kcli.rows import row_types as row_types_of

if TYPE_CHECKING:
    from kcli.cli.out import Out
    from kcli.output.parts import Parts

__all__ = ["Command", "new_summary", "run", "run_answer", "run_rows"]

Expand: TypeAlias = Callable[[Found], Found]
PossibleTypes: TypeAlias = Callable[[Iterable[Target]], frozenset[str]]
Split: TypeAlias = Callable[[list[Unit], bool], list[Unit]]
Along: TypeAlias = Callable[[Iterator[Outcome], list[Unit]], Iterator[Outcome]]

COLORS = ("auto", "always", "never")


class Command(NamedTuple):
    """What `run` must know of a command: its job, the files that the job reads and the rows that it gives.

    `name`: the command's words, a key of kcli.rows.COMMANDS. `job_of` returns the job
    in place of `job`, given what was found. `accepts`: the kinds of targets that the job
    reads. `expand` may replace what was found, e.g. a directory by the files in it. `row_types`: the types of
    the rows where the options change them. `possible_types` returns which of them the targets can give: where
    it is one, a flat format needs no --only. `usual_type`: the one that stdout shows where they are several;
    `drawn_together`: its view on a terminal shows the others, too.
    `text` makes lines of rows, for -o text. `stop_at_limit`:
    nothing is read after the last row that --limit shows. `split` returns units for the same work in which
    several workers share a large log; its second argument: workers write parts of --out. `reduce` returns the
    step that combines outcomes, given what was found; `rows_from_reduce`: rows come from it alone.
    `differs`: whether a row is a difference, status 1. `topics_of_rows`: the options about topics and
    partitions are about what rows say, and the job heeds them; it returns the topics that are there.
    `may_have_no_rows`: of a topic that is there, none is an answer. `without_rows`: why none is an error.
    `unbounded_output`: there are as many rows as the files hold, too many for Spark's driver.
    `along` goes through the outcomes of the units as they come, and may add findings and errors; rows then
    come to this process. `compares`: a partition that is named twice counts as two replicas; else it is read
    once, and a file as often as it is named, as kafka-dump-log does.
    """

    name: str
    job: Map
    accepts: frozenset[str] = PARTITIONS_ONLY
    expand: Expand | None = None
    row_types: tuple[RowType, ...] | None = None
    possible_types: PossibleTypes | None = None
    usual_type: str | None = None
    drawn_together: bool = False
    text: Text | None = None
    stop_at_limit: bool = False
    split: Split | None = None
    reduce: Callable[[Found], Reduce] | None = None
    rows_from_reduce: bool = False
    differs: Callable[[Item], bool] | None = None
    topics_of_rows: Callable[[list[Unit]], Iterable[str]] | None = None
    may_have_no_rows: bool = False
    without_rows: str | None = None
    unbounded_output: bool = False
    along: Along | None = None
    job_of: Callable[[Found], Map] | None = None
    compares: bool = False


def run(command: Command, paths: list[str] | None, common: Common) -> None:
    """Run a command's job over what the paths lead to and print its rows; always ends with typer.Exit."""
    with boundary(verbose=common.verbose):
        summary = new_summary(common)
        make_engine = engine_of(common)
        out = _out(common, by_workers=uses_spark(common) and not (command.rows_from_reduce or command.along))
        found, units = _units(command, paths, common, out, summary)
        view = _view(
            command.name,
            common,
            out,
            row_types=command.row_types,
            possible=command.possible_types and command.possible_types(unit.target for unit in units),
            usual=command.usual_type,
            drawn_together=command.drawn_together,
            has_text=command.text is not None,
            stop_at_limit=command.stop_at_limit,
        )
        with nullcontext() if out is None else out.parts(view) as parts:
            by_workers = out is not None and out.by_workers
            engine = make_engine(parts if by_workers else None)
            work = command.job if command.job_of is None else command.job_of(found)
            job = Job(work, command.reduce and command.reduce(found))
            if command.split is not None:
                planned, units = units, command.split(units, by_workers)
                if planned and not units and command.topics_of_rows is not None and not summary.failures:
                    summary.failures.append(_no_rows(common, command.topics_of_rows(planned)))
            with closing(_rows(command, engine, job, units, summary, common=common, view=view)) as rows:
                _write(rows, view, common, summary, text=command.text, out=out, parts=parts)


def run_rows(
    name: str, rows: Iterable[Item], common: Common, *, row_types: tuple[RowType, ...] | None = None
) -> None:
    """Print rows that need no files, as `run` does; always ends with typer.Exit."""
    with boundary(verbose=common.verbose):
        summary = new_summary(common)
        summary.answered = 1
        run_answer(name, rows, common, summary, row_types=row_types)


def run_answer(
    name: str,
    rows: Iterable[Item],
    common: Common,
    summary: RunSummary,
    *,
    found: Found | None = None,
    row_types: tuple[RowType, ...] | None = None,
    possible: frozenset[str] | None = None,
    usual: str | None = None,
    text: Text | None = None,
    stop_at_limit: bool = False,
) -> None:
    """Print rows that come from no job of a command; always ends with typer.Exit.

    `found`: what they are from, which --out must not replace. `row_types`: theirs, where no command has them;
    `possible`: which of the command's they can be. `usual`, `text`, `stop_at_limit`: as in Command; what is
    drawn together is all of them.
    """
    out = _out(common, by_workers=False)
    if out is not None:
        out.refuse_inputs(found or Found())
    view = _view(
        name,
        common,
        out,
        row_types=row_types,
        possible=possible,
        usual=usual,
        drawn_together=usual is not None,
        has_text=text is not None,
        stop_at_limit=stop_at_limit,
    )
    with (
        nullcontext() if out is None else out.parts(view) as parts,
        closing(_guarded(iter(rows), summary, common=common, view=view)) as guarded,
    ):
        _write(guarded, view, common, summary, text=text, out=out, parts=parts)


def new_summary(common: Common) -> RunSummary:
    """Return the summary of a run that begins."""
    check_destination(common.findings)
    return RunSummary(_choice("--fail-on", common.fail_on, (*SEVERITIES, "never")), common.findings)


def _choice(option: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        from kcli.output.suggest import did_you_mean

        raise UsageError(
            f"{option} {value}: {did_you_mean(value, allowed)}expected one of {', '.join(allowed)}"
        )
    return value


def _out(common: Common, *, by_workers: bool) -> "Out | None":
    """Return where --out sends rows, None where they go to stdout."""
    if common.label and not is_run_directory(common.out):
        raise UsageError("--label is for a directory: --out NAME/")
    if common.out is None:
        return None
    from kcli.cli.out import out_of

    return out_of(common.out, common, by_workers=by_workers)


def _units(
    command: Command, paths: list[str] | None, common: Common, out: "Out | None", summary: RunSummary
) -> tuple[Found, list[Unit]]:
    """Return what the paths lead to and its units of work; inputs of no use become errors of the summary."""
    try:
        with delivered():
            selection = common.selection()
            if command.topics_of_rows is not None:
                selection = Selection(include_leftovers=selection.include_leftovers)
            listed = list(inputs(paths, common))
            found = found_at(listed, selection, common)
            if len(listed) > 1 and not command.compares:
                found = each_once(found, files=False)
            if out is not None:
                out.refuse_inputs(found)
            refuse_input(common.findings, found)
            summary.inputs = len(found.targets) + len(found.failures)
            summary.places = frozenset(target.shown for target in found.targets)
            if command.expand is not None:
                found = command.expand(found)
            units, failures = plan(found, command.accepts)
            if command.unbounded_output and out is None and uses_spark(common) and not common.quiet:
                refuse_too_much(units)
    except Interrupted as error:
        summary.interrupt(error)
        return Found(), []
    summary.failures.extend(map(_with_cause, failures))
    summary.findings.extend(notes_as_findings(found.notes))
    if not units and not failures:
        path = shown(paths[0]) if paths and len(paths) == 1 else ""
        is_of_files = command.topics_of_rows is None
        message = nothing_matched(found) + other_topics(paths, common) if is_of_files else NO_EVENTS
        summary.failures.append(Failure(path, "nothing-matched", None, None, message))
    elif command.topics_of_rows is None and not found.failures:
        missing = [*topics_not_found(found, paths, common)]
        summary.inputs += len(missing)
        summary.failures.extend(missing)
    return found, units


def _with_cause(failure: Failure) -> Failure:
    """Return a failure that names the likely cause if the argument is empty."""
    return (
        failure if failure.path else failure._replace(message="'': an empty path; is a shell variable unset?")
    )


def _view(
    name: str,
    common: Common,
    out: "Out | None",
    *,
    row_types: tuple[RowType, ...] | None = None,
    possible: frozenset[str] | None = None,
    usual: str | None = None,
    drawn_together: bool = False,
    has_text: bool = False,
    stop_at_limit: bool = False,
) -> View:
    _choice("--color", common.color, COLORS)
    output = format_of(common.output, common.out, is_terminal=sys.stdout.isatty())
    try:
        return make_view(
            name,
            row_types or row_types_of(name),
            output=output.name if output else common.output or "",
            only=common.only,
            columns=joined(common.columns),
            sort=joined(common.sort),
            limit=common.limit,
            headers=not common.no_headers,
            null=common.null,
            where=common.where,
            screen=screen_of(common.color),
            text=has_text,
            quiet=common.quiet and out is None,
            present=possible,
            usual=usual,
            drawn_together=drawn_together,
            stops=stop_at_limit,
            to_file=out is not None,
            to_run=out is not None and out.is_run,
        )
    except ViewError as error:
        raise UsageError(str(error)) from error


def _rows(
    command: Command,
    engine: Engine,
    job: Job,
    units: list[Unit],
    summary: RunSummary,
    *,
    common: Common,
    view: View,
) -> Generator[Item, None, None]:
    """Yield the rows of every unit."""

    def rows() -> Iterator[Item]:
        has_rows = command.topics_of_rows is None or not common.selection().names
        has_rows = has_rows and command.without_rows is None
        with progress(units, common, view) as done:
            outcomes = iter(engine(job, units) if units else ())
            if command.along is not None:
                outcomes = command.along(outcomes, units)
            for outcome in interruptible(outcomes):
                summary.add(outcome, command.differs)
                has_rows = has_rows or bool(outcome.rows or outcome.taken)
                yield from outcome.rows
                done(outcome)
        if not has_rows and units and command.topics_of_rows is not None and not summary.failures:
            topics, message = set(command.topics_of_rows(units)), command.without_rows
            if message is None and command.may_have_no_rows and topics & {*split_list(common.topic)}:
                return
            summary.answered = 0
            summary.failures.append(_no_rows(common, topics, message))

    return _guarded(rows(), summary, common=common, view=view)


def _no_rows(common: Common, topics: Iterable[str], message: str | None = None) -> Failure:
    message = message or f"no row here is about what was asked for{advice(common, topics)}"
    return Failure("", "nothing-matched", None, None, message)


def _guarded(
    rows: Iterator[Item], summary: RunSummary, *, common: Common, view: View
) -> Generator[Item, None, None]:
    """Yield rows.

    Whatever ends them is part of the summary, so that a document is closed properly.
    """
    try:
        yield from rows
    except (EngineMissingError, MissingError) as error:
        summary.end(ExitStatus.SOME_UNANSWERED, "environment", str(error))
    except UsageError as error:
        summary.end(ExitStatus.USAGE, "usage", str(error))
    except NotWrittenError as error:
        summary.end(ExitStatus.SOME_UNANSWERED, "environment", f"--out {common.out}: {error}")
    except (Interrupted, KeyboardInterrupt) as error:
        if not view.format.streams:
            raise  # nothing is written yet, and drawing takes long
        summary.interrupt(error)
    except Exception as error:  # noqa: BLE001 - the boundary for the engine: the document is closed yet
        summary.end(ExitStatus.INTERNAL, "internal", internal_failure("", error).message)
        if common.verbose >= TRACEBACKS_FROM:
            internal(error, verbose=common.verbose)
    if not view.format.streams:
        deliver_pending()


def _write(
    rows: Iterable[Item],
    view: View,
    common: Common,
    summary: RunSummary,
    *,
    text: Text | None = None,
    out: "Out | None" = None,
    parts: "Parts | None" = None,
) -> None:
    """Write the rows, then findings and errors; ends with the exit status."""
    if common.quiet and out is None:
        for _ in rows:
            pass
        write_findings(common.findings, summary)
        raise typer.Exit(summary.status())
    with deferred():
        if out is None:
            print_rows(rows, view, text, summary, pages=not common.no_pager)
            is_written = True
        else:
            is_written = out.write(rows, view, summary, text=text, parts=parts)
        if not common.quiet:
            sys.stdout.flush()
            carries_findings = is_written and (view.format.carries_findings or is_run_directory(common.out))
            on_stderr = common.findings == STDERR or (common.findings == INLINE and not carries_findings)
            print_messages(summary, common, with_findings=on_stderr)
        write_findings(common.findings, summary)
    raise typer.Exit(summary.status())
