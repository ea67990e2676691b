"""What every command does with its options: inputs, engine, rows, findings, errors, exit status.

`run` is the middle of the three hops commands -> kcli.jobs -> kcli.kafka: it finds the inputs, hands the job
to the engine, writes the rows and ends with `typer.Exit`. `run_rows` does the same for commands that read no
files.
"""

import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import typer

from kcli.cli.boundary import CALLER, TRACEBACKS_FROM, boundary, internal
from kcli.cli.command import Command, EngineOptions, Inputs, Output
from kcli.cli.inputs import (
    advice,
    find_listed,
    named_paths,
    nothing_matched,
    other_topics,
    refuse_bundles,
    refuse_too_much,
    topics_not_found,
)
from kcli.cli.parsers import joined, split_list
from kcli.cli.printing import print_messages, print_rows, progress
from kcli.cli.signals import Interrupted, deferred, deliver_pending, delivered, interruptible
from kcli.cli.status import ExitStatus, MissingError, UsageError
from kcli.cli.summary import INLINE, STDERR, RunSummary, check_destination, refuse_input, write_findings
from kcli.cli.terminal import screen_of
from kcli.engine.contract import Engine, EngineMissingError, Job, NotWrittenError, Outcome, Sink, Unit
from kcli.jobs.common import NO_EVENTS, internal_failure, notes_as_findings, plan
from kcli.logdir.buffers import shown
from kcli.logdir.find import FileSet, each_once, with_unformatted
from kcli.logdir.targets import Selection
from kcli.output.answer import Answer
from kcli.output.formats import format_of, is_run_directory
from kcli.output.view import View, ViewError, ViewOptions, make_view
from kcli.rows import COMMANDS, Failure, Item
from kcli.rows.bad_news import FORETELL_A_START, bad_news_of
from kcli.rows.declare import AnyRow, declared_type
from kcli.words import WordError

if TYPE_CHECKING:
    from kcli.cli.out import Out
    from kcli.output.parts import Parts

MakeEngine: TypeAlias = Callable[[Sink | None], Engine]
"""Makes an engine, given where its workers write; None: rows come back to this process."""


NEED_PAYLOADS = frozenset({"compact", "replica diff", "replica fingerprint"})
"""Commands whose answers a bundle, in which keys and values are zeros, would make wrong."""


def run(command: Command) -> None:
    """Run a command's job over what the paths lead to and print its rows; always ends with typer.Exit."""
    inputs, output, engine = command.options
    with boundary(verbose=output.verbose):
        summary = new_summary(output, command.name)
        make_engine = engine_of(engine)
        rows_come_here = command.rows_from_reduce or command.on_outcomes is not None
        out = _out(output, by_workers=engine.uses_spark and not rows_come_here)
        file_set, units = _units(command, inputs, output, out, summary)
        if command.unbounded_output and out is None and engine.uses_spark and not output.quiet:
            refuse_too_much(units)
        answer = command.answer
        if command.possible_types is not None:
            answer = answer._replace(possible=command.possible_types(unit.target for unit in units))
        run = _Run(answer, _view(command.name, answer, output, out, summary), output, out, summary)
        with nullcontext() if out is None else out.parts(run.view) as parts:
            by_workers = out is not None and out.by_workers
            work = command.job if command.job_of is None else command.job_of(file_set)
            assert work is not None, "a command has a job, or makes one"
            job = Job(work, command.reduce and command.reduce(file_set))
            if callable(command.without_rows):
                command = command._replace(without_rows=command.without_rows(file_set))
            if command.split is not None:
                planned, units = units, command.split(units)
                if planned and not units and command.topics is not None and not summary.failures:
                    summary.failures.append(_no_rows(inputs, command.topics.of(planned)))

            def outcomes() -> Iterator[Outcome]:
                begun = iter(make_engine(parts if by_workers else None)(job, units) if units else ())
                return begun if command.on_outcomes is None else command.on_outcomes(begun, units)

            run.write(_rows(command, outcomes, units, inputs, run), parts)


def run_rows(
    name: str,
    rows: Iterable[Item],
    output: Output,
    *,
    row: type[AnyRow] | None = None,
    failures: Iterable[Failure] = (),
) -> None:
    """Print rows that need no files, all of one class, as `run` does; always ends with typer.Exit."""
    with boundary(verbose=output.verbose):
        summary = new_summary(output)
        summary.answered = 1
        summary.failures.extend(failures)
        run_answer(name, rows, output, summary, Answer(None if row is None else (declared_type(row),)))


def run_answer(
    name: str,
    rows: Iterable[Item],
    output: Output,
    summary: RunSummary,
    answer: Answer = Answer(),  # noqa: B008 - it has no parts that change
    *,
    file_set: FileSet | None = None,
) -> None:
    """Print rows that come from no job; ends with typer.Exit. `file_set`: what --out must not replace."""
    out = _out(output, by_workers=False)
    if out is not None:
        out.refuse_inputs(file_set or FileSet())
    run = _Run(answer, _view(name, answer, output, out, summary), output, out, summary)
    with nullcontext() if out is None else out.parts(run.view) as parts:
        run.write(iter(rows), parts)


def new_summary(output: Output, command: str = "") -> RunSummary:
    """Return the summary of a run that begins."""
    check_destination(output.findings)
    return RunSummary(output.fail_on, output.findings, command=command)


def _out(output: Output, *, by_workers: bool) -> "Out | None":
    """Return where --out sends rows, None where they go to stdout."""
    if output.out is None:
        if output.label:
            raise UsageError("--label is for the rows of --out")
        return None
    from kcli.cli.out import out_of

    return out_of(output.out, output, by_workers=by_workers)


def _units(
    command: Command, inputs: Inputs, output: Output, out: "Out | None", summary: RunSummary
) -> tuple[FileSet, list[Unit]]:
    """Return what the paths lead to and its units of work; inputs of no use become errors of the summary."""
    try:
        with delivered():
            selection = inputs.selection()
            if command.topics is not None:
                selection = Selection(include_leftovers=selection.include_leftovers)
            listed = list(named_paths(inputs))
            file_set = find_listed(listed, selection, inputs)
            if command.name in FORETELL_A_START:
                file_set = with_unformatted(file_set)
            if len(listed) > 1 and not command.compares:
                file_set = each_once(file_set, files=False)
            if command.name in NEED_PAYLOADS:
                refuse_bundles(file_set)
            if out is not None:
                out.refuse_inputs(file_set)
            refuse_input(output.findings, file_set)
            summary.inputs = len(file_set.targets) + len(file_set.failures)
            summary.places = frozenset(target.shown for target in file_set.targets)
            if command.expand is not None:
                file_set = command.expand(file_set)
            units, failures = plan(file_set, command.accepts)
    except Interrupted as error:
        summary.interrupt(error)
        return FileSet(), []
    empty = "'': an empty path; is a shell variable unset?"
    summary.failures.extend(
        failure if failure.path or failure.error == "nothing-matched" else failure._replace(message=empty)
        for failure in failures
    )
    summary.findings.extend(notes_as_findings(file_set.notes))
    if not units and not failures:
        path = shown(inputs.paths[0]) if inputs.paths and len(inputs.paths) == 1 else ""
        message = NO_EVENTS if command.topics else nothing_matched(file_set) + other_topics(inputs)
        summary.failures.append(Failure(path, "nothing-matched", None, None, message))
    elif command.topics is None and not file_set.failures:
        missing = [*topics_not_found(file_set, inputs)]
        summary.inputs += len(missing)
        summary.failures.extend(missing)
    return file_set, units


def _view(name: str, answer: Answer, output: Output, out: "Out | None", summary: RunSummary) -> View:
    output_format = format_of(output.format, output.out, is_terminal=sys.stdout.isatty())
    options = ViewOptions(
        output=output_format.name if output_format else output.format or "",
        only=output.only,
        columns=joined(output.columns),
        sort=joined(output.sort),
        limit=output.limit,
        headers=not output.no_headers,
        null=output.null,
        where=output.where,
        quiet=output.quiet and out is None,
        to_file=out is not None or CALLER.get() is not None,
        to_run=out is not None and out.is_run,
        screen=screen_of(output.color)._replace(is_explained=output.verbose > 0),
        lists_findings=output.findings == INLINE,
        # the columns of a query are those that it names
        head=() if out is None or name not in COMMANDS else out.head(summary),
    )
    if out is not None and out.labels and not (options.head or out.is_run):
        raise UsageError(f"--label: the columns of {name} are those of its query; name it there")
    try:
        return make_view(name, answer, options)
    except ViewError as error:
        raise UsageError(str(error)) from error


def _rows(
    command: Command,
    outcomes: Callable[[], Iterator[Outcome]],
    units: list[Unit],
    inputs: Inputs,
    run: "_Run",
) -> Iterator[Item]:
    """Yield the rows of every unit; its outcome, which ends here, becomes part of the summary."""
    topics, message = command.topics, command.without_rows
    assert not callable(message)
    has_rows = message is None and (topics is None or not inputs.selection().names)
    differs = command.is_difference or bad_news_of(command.name)
    with progress(units, run.output, run.view) as done:
        for outcome in interruptible(outcomes()):
            run.summary.add(outcome, differs)
            has_rows = has_rows or bool(outcome.rows or outcome.written_rows) or outcome.partial is True
            yield from outcome.rows
            done(outcome)
    if not has_rows and units and not run.summary.failures:
        names = set(topics.of(units) if topics is not None else ())
        may_have_none = topics is not None and topics.may_have_no_rows
        if message is None and may_have_none and names & {*split_list(inputs.topic)}:
            return
        run.summary.answered = 0
        run.summary.failures.append(_no_rows(inputs, names, message))


def _no_rows(inputs: Inputs, topics: Iterable[str], message: str | None = None) -> Failure:
    message = message or f"no row here is about what was asked for{advice(inputs, topics)}"
    return Failure("", "nothing-matched", None, None, message)


class _Run(NamedTuple):
    """Where the rows of a run go, and what comes of it."""

    answer: Answer
    view: View
    output: Output
    out: "Out | None"
    summary: RunSummary

    def write(self, rows: Iterator[Item], parts: "Parts | None") -> None:
        """Write the rows, then findings and errors; ends with the exit status."""
        caller = CALLER.get()
        if caller is not None:
            caller.take(self.view, rows, self.summary)
            raise typer.Exit(self.summary.status())
        with closing(self._guarded(rows)) as guarded:
            if self.output.quiet and self.out is None:
                for _ in guarded:
                    pass
                write_findings(self.output.findings, self.summary)
                raise typer.Exit(self.summary.status())
            with deferred():
                verdict = ""
                if self.out is None:
                    pages = not self.output.no_pager
                    verdict = print_rows(guarded, self.view, self.answer.text, self.summary, pages=pages)
                    is_written = True
                else:
                    is_written = self.out.write(
                        guarded, self.view, self.summary, text=self.answer.text, parts=parts
                    )
                if not self.output.quiet:
                    sys.stdout.flush()
                    carries_findings = is_written and (
                        self.view.format.carries_findings or is_run_directory(self.output.out)
                    )
                    on_stderr = self.output.findings == STDERR or (
                        self.output.findings == INLINE and not carries_findings
                    )
                    print_messages(self.summary, self.output, with_findings=on_stderr)
                    sys.stdout.write(verdict)
                write_findings(self.output.findings, self.summary)
            raise typer.Exit(self.summary.status())

    def _guarded(self, rows: Iterator[Item]) -> Generator[Item, None, None]:
        """Yield rows; whatever ends them is part of the summary, so that a document is closed properly."""
        try:
            yield from rows
        except (EngineMissingError, MissingError) as error:
            self.summary.end(ExitStatus.SOME_UNANSWERED, "environment", str(error))
        except (UsageError, WordError) as error:
            self.summary.end(ExitStatus.USAGE, "usage", str(error))
        except NotWrittenError as error:
            self.summary.end(ExitStatus.SOME_UNANSWERED, "environment", f"--out {self.output.out}: {error}")
        except (Interrupted, KeyboardInterrupt) as error:
            if not self.view.format.streams:
                raise  # nothing is written yet, and drawing takes long
            self.summary.interrupt(error)
        except Exception as error:  # noqa: BLE001 - the boundary for the engine: the document is closed yet
            self.summary.end(ExitStatus.INTERNAL, "internal", internal_failure("", error).message)
            if self.output.verbose >= TRACEBACKS_FROM:
                internal(error, verbose=self.output.verbose)
        if not self.view.format.streams:
            deliver_pending()


def engine_of(options: EngineOptions) -> MakeEngine:
    """Return the maker of the engine that the options ask for; the engine starts when it has work."""
    if options.uses_spark and options.jobs > 1:
        raise UsageError("--jobs and --spark both spread the work: use only one of them")
    if options.spark_master and options.spark_remote:
        raise UsageError("--spark-master and --spark-remote both say where Spark runs: use only one of them")
    if options.uses_spark:
        from kcli.engine.spark import spark

        conf = dict(map(_setting, options.spark_conf or ()))
        return lambda sink: spark(options.spark_master, options.spark_remote, conf, sink=sink)
    if options.jobs > 1:
        from kcli.engine.pool import pool

        return lambda _: pool(options.jobs)
    from kcli.engine.inline import inline

    return lambda _: inline


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise UsageError(f"--spark-conf {text}: expected KEY=VALUE")
    return key, value
