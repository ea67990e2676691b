"""What every command does with its options: inputs, engine, rows, findings, errors, exit status.

`run` is the third of the three hops words -> job -> algorithm: it finds the
inputs, hands the job to the engine, pulls the rows through the writer and ends
with `typer.Exit`. `run_rows` is the same for commands that read no files.
"""

import fcntl
import os
import stat
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

from commands._boundary import TRACEBACKS_FROM, boundary, internal, say
from commands._inputs import inputs, refuse_too_much, told_progress, unanswered
from commands._options import Common
from commands._signals import Interrupted, expose, exposed, obey, shielded
from commands._status import ExitStatus, Usage, worst
from kcli.analysis.findings import SEVERITIES, Finding
from kcli.engine.contract import Engine, Outcome, Scan, Sink, Unit
from kcli.engine.errors import EngineMissingError, NotWrittenError, OutputError
from kcli.jobs.common import PARTITIONS_ONLY, internal_failure, notes_as_findings, plan
from kcli.logdir.buffers import shown
from kcli.logdir.tree import Found, Target, find
from kcli.output.structured import Tail, write_csv, write_json, write_ndjson, write_tsv
from kcli.output.text import distinct, failure_line, finding_lines
from kcli.output.view import View, ViewError, make_view
from kcli.rows import COMMANDS, Away, Failure, Lines, Row, RowType
from kcli.rows.columns import TITLE

if TYPE_CHECKING:
    from commands._out import Out

Expand = Callable[[Found], Found]
Text = Callable[[Iterable[Row]], Iterable[str | Lines | Away]]
Present = Callable[[Iterable[Target]], frozenset[str]]
Through = Callable[[Engine, Found], Engine]

COLORS = ("auto", "always", "never")
STRUCTURED = {"json": write_json, "ndjson": write_ndjson, "csv": write_csv, "tsv": write_tsv}
IN_THE_DOCUMENT = frozenset({"json", "ndjson"})
"""Formats that carry findings themselves; with the others they go to stderr. Errors are told there, too, in any case."""


@dataclass(slots=True)
class Verdict:
    """What has been learned beside the rows, and the exit status that follows from it."""

    fail_on: str
    findings: list[Finding] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    inputs: int = 0
    parts: list[object] = field(default_factory=list)
    answered: int = 0
    ended: ExitStatus = ExitStatus.CLEAN
    signalled: int | None = None

    def take(self, outcome: Outcome) -> None:
        """Note what an outcome says beside its rows."""
        self.findings.extend(outcome.findings)
        if outcome.error is not None:
            self.failures.append(outcome.error)
        if outcome.part is not None:
            self.parts.append(outcome.part)
        has_rows = outcome.taken or any(row.type != TITLE for row in outcome.rows)
        self.answered += bool(has_rows) or (outcome.rest is None and outcome.error is None)

    def end(self, status: ExitStatus, error: str, message: str) -> None:
        """Note that the command ended before its inputs did, for no fault of any of them."""
        self.ended = status
        self.failures.append(Failure("", error, None, None, message))

    def interrupt(self, error: Interrupted | KeyboardInterrupt) -> None:
        """Note that a signal ended the command."""
        obey()
        self.signalled = error.status if isinstance(error, Interrupted) else ExitStatus.INTERRUPTED
        self.end(ExitStatus.INTERRUPTED, "interrupted", "interrupted: the rows are not complete")

    def status(self) -> int:
        """Return the exit status of everything that happened; after a signal it is 128 and the signal's number."""
        if self.signalled is not None:
            return self.signalled
        statuses = [self.ended]
        if self.failures:
            statuses.append(ExitStatus.SOME_UNANSWERED if self.answered else ExitStatus.NOTHING_ANSWERED)
        if any(failure.error == "internal" for failure in self.failures):
            statuses.append(ExitStatus.INTERNAL)
        if self.fail_on != "never":
            level = SEVERITIES.index(self.fail_on)
            if any(SEVERITIES.index(finding.severity) >= level for finding in self.findings):
                statuses.append(ExitStatus.FINDINGS)
        return worst(*statuses)


def run(
    command: str,
    paths: list[str] | None,
    common: Common,
    scan: Scan,
    accepts: frozenset[str] = PARTITIONS_ONLY,
    *,
    expand: Expand | None = None,
    text: Text | None = None,
    present: Present | None = None,
    types: tuple[RowType, ...] | None = None,
    stops: bool = False,
    through: Through | None = None,
    grows: bool = False,
    pieces: bool = False,
) -> None:
    """Run a job over what the paths lead to and print its rows; always ends with typer.Exit.

    `accepts` are the target kinds that the job reads. `expand` may replace what was found, e.g. by files inside.
    `text` makes lines of rows: with it the command also prints `-o text`. `present` tells which row types the targets
    can give, so that a command with several need not ask for one when only one can come. `types` are the row types as
    the options change them. `stops`: nothing is read for rows behind --limit. `through` makes the engine that is asked
    from the one that the options name, and what was found; rows then all come here, on Spark too. `grows`: there are as many rows as there is in
    the files. `pieces`: the scan of a log ends where its unit does, so that several can read a big one.
    """
    with boundary(verbose=common.verbose):
        verdict = Verdict(fail_on=_choice("--fail-on", common.fail_on, (*SEVERITIES, "never")))
        engine = _engine(common)
        out = _out(common, spread=_is_spread(common) and through is None)
        try:
            found = find(list(inputs(paths, common)), common.selection())
            if out is not None:
                out.refuse_inputs(found)
            if expand is not None:
                found = expand(found)
            units, failures = plan(found, accepts)
            if grows and out is None and _is_spread(common) and not common.quiet:
                refuse_too_much(units)
        except Interrupted as error:
            verdict.interrupt(error)
            found, units, failures = Found(), [], verdict.failures
        else:
            verdict.failures.extend(map(_told, failures))
            verdict.inputs = len(units) + len(failures)
            verdict.findings.extend(notes_as_findings(found.notes))
        present_types = present and present(unit.target for unit in units)
        view = _view(command, common, text, present_types, to=out, types=types, stops=stops)
        if not units and not failures:
            verdict.failures.append(Failure(_named(paths), "nothing-matched", None, None, _nothing(found)))
        with nullcontext() if out is None else out.sink(view) as sink:
            made = engine(sink)
            asked = _asked(made, sink, common, pieces=pieces) if through is None else through(made, found)
            with closing(_scanned(asked, scan, units, verdict, common=common, view=view)) as rows:
                _write(view, rows, common, verdict, text=text, out=out, sink=sink)


def _told(failure: Failure) -> Failure:
    """Return a failure that can be told from one of no input: an empty argument is a path, too."""
    return (
        failure if failure.path else failure._replace(message="'': an empty path; is a shell variable unset?")
    )


def _nothing(found: Found) -> str:
    """Return why there is nothing to answer."""
    leftovers = sum(note.kind == "leftover" for note in found.notes)
    hint = (
        f"; left out: {leftovers} -delete, -stray or -future, which --include-leftovers reads"
        if leftovers
        else ""
    )
    return f"no partition or file here matches what was asked for{hint}"


def run_rows(command: str, rows: Iterable[Row], common: Common) -> None:
    """Print rows that need no files, as `run` does; always ends with typer.Exit."""
    with boundary(verbose=common.verbose):
        verdict = Verdict(fail_on=_choice("--fail-on", common.fail_on, (*SEVERITIES, "never")), answered=1)
        out = _out(common, spread=False)
        if out is not None:
            out.refuse_inputs(Found())
        _write(_view(command, common, None, to=out), rows, common, verdict, out=out)


def _choice(option: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise Usage(f"{option} {value}: one of {', '.join(allowed)}")
    return value


def _view(
    command: str,
    common: Common,
    text: Text | None,
    present: frozenset[str] | None = None,
    *,
    to: "Out | None" = None,
    types: tuple[RowType, ...] | None = None,
    stops: bool = False,
) -> View:
    _choice("--color", common.color, COLORS)
    output = to.format if to is not None else common.output or ("table" if sys.stdout.isatty() else "tsv")
    try:
        return make_view(
            command,
            types or COMMANDS[command],
            output=output,
            only=common.only,
            columns=common.columns,
            sort=common.sort,
            limit=common.limit,
            headers=not common.no_headers,
            text=text is not None,
            quiet=common.quiet and to is None,
            present=present,
            stops=stops,
            to_file=to is not None,
        )
    except ViewError as error:
        raise Usage(str(error)) from error


def _named(paths: list[str] | None) -> str:
    return shown(paths[0]) if paths and len(paths) == 1 else ""


def _out(common: Common, *, spread: bool) -> "Out | None":
    """Return where --out sends rows, None where they go to stdout."""
    if common.out is None:
        return None
    from commands._out import out_of  # noqa: PLC0415 - only for --out

    return out_of(common.out, common, spread=spread)


def _is_spread(common: Common) -> bool:
    return bool(common.spark or common.spark_master or common.spark_remote or common.spark_conf)


def _engine(common: Common) -> Callable[[Sink | None], Engine]:
    """Return what makes the engine that the options ask for, given where its workers write; starting it waits until it has work."""
    if _is_spread(common):
        from kcli.engine.spark import spark  # noqa: PLC0415 - the module knows pyspark

        if common.jobs > 1:
            raise Usage("--jobs and --spark are two ways to spread the work: name one")
        if common.spark_master and common.spark_remote:
            raise Usage("--spark-master and --spark-remote are two places to run: name one")
        conf = dict(_setting(word) for word in common.spark_conf or ())
        return lambda sink: spark(common.spark_master, common.spark_remote, conf, sink=sink)
    from kcli.engine.local import inline, pool  # noqa: PLC0415 - not with Spark

    if common.jobs == 1:
        return lambda _: inline
    writes = common.out is None and not common.quiet and _is_for_several()
    return lambda _: pool(common.jobs, writes=writes)


def _asked(made: Engine, sink: Sink | None, common: Common, *, pieces: bool) -> Engine:
    """Return the engine that is asked: big logs go over several workers in pieces."""
    if pieces and (common.jobs > 1 or _is_spread(common)):
        from kcli.jobs.cuts import PIECE_BYTES, WRITTEN_PIECE_BYTES, InPieces  # noqa: PLC0415 - not in one process

        return InPieces(made, PIECE_BYTES if sink is None else WRITTEN_PIECE_BYTES)
    return made


def _setting(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not (key and equals):
        raise Usage(f"--spark-conf {word}: not KEY=VALUE")
    return key, value


def _scanned(
    engine: Engine, scan: Scan, units: list[Unit], verdict: Verdict, *, common: Common, view: View
) -> Generator[Row, None, None]:
    """Yield the rows of every unit; whatever ends the engine ends the rows, so that a document is closed properly."""
    try:
        with _progress(units, common, view) as done:
            for outcome in exposed(iter(engine(scan, units) if units else ())):
                verdict.take(outcome)
                yield from outcome.rows
                done(outcome)
    except EngineMissingError as error:
        verdict.end(ExitStatus.SOME_UNANSWERED, "environment", str(error))
    except OutputError:
        raise
    except NotWrittenError as error:
        verdict.end(ExitStatus.SOME_UNANSWERED, "environment", f"--out {common.out}: {error}")
    except (Interrupted, KeyboardInterrupt) as error:
        if view.format == "table":
            raise  # nothing is written yet, and drawing takes long
        verdict.interrupt(error)
    except Exception as error:  # noqa: BLE001 - the boundary for the engine: the document must still be closed
        verdict.end(ExitStatus.INTERNAL, "internal", internal_failure("", error).message)
        if common.verbose >= TRACEBACKS_FROM:
            internal(error, verbose=common.verbose)
    if view.format == "table":
        expose()


def _progress(
    units: list[Unit], common: Common, view: View
) -> AbstractContextManager[Callable[[Outcome], None]]:
    if (
        common.quiet
        or _is_dumb()
        or not sys.stderr.isatty()
        or (sys.stdout.isatty() and view.format != "table" and common.out is None)
    ):
        return nullcontext(lambda _: None)
    return told_progress(units)


def _write(
    view: View,
    rows: Iterable[Row],
    common: Common,
    verdict: Verdict,
    *,
    text: Text | None = None,
    out: "Out | None" = None,
    sink: Sink | None = None,
) -> None:
    """Pull the rows through the writer, tell the rest, end with the status."""

    def tail() -> tuple[list[Finding], list[Failure]]:
        return distinct(verdict.findings), verdict.failures

    if common.quiet and out is None:
        for _ in rows:
            pass
        raise typer.Exit(verdict.status())
    with shielded():
        if out is None:
            _writer(view, common, text)(rows, tail)
            is_written = True
        else:
            is_written = out.write(rows, view, tail, verdict, text=text, sink=sink)
        if common.quiet:
            raise typer.Exit(verdict.status())
        sys.stdout.flush()
        findings, failures = tail()
        in_the_document = is_written and view.format in IN_THE_DOCUMENT
        told = [] if in_the_document else [finding for finding in findings if _is_told(finding, common)]
        for line in (
            *finding_lines(told, explained=common.verbose > 0),
            *map(failure_line, failures),
            *unanswered(failures, verdict.inputs),
        ):
            say(line)
    raise typer.Exit(verdict.status())


def _is_told(finding: Finding, common: Common) -> bool:
    """Whether a finding is worth a line on stderr: what is ordinary is told to those who ask (-v, --fail-on info)."""
    return finding.severity != SEVERITIES[0] or common.verbose > 0 or common.fail_on == SEVERITIES[0]


def _writer(view: View, common: Common, text: Text | None) -> Callable[[Iterable[Row], Tail], None]:
    if view.format == "text" and text is not None:
        return lambda rows, _: _write_lines(text(view.chosen(rows)))
    if view.format == "table":
        from kcli.output.table import write_table  # noqa: PLC0415 - rich is slow to import

        return lambda rows, tail: write_table(rows, view, sys.stdout, tail, colored=_colored(common.color))
    return lambda rows, tail: STRUCTURED[view.format](rows, view, sys.stdout, tail)


def _write_lines(lines: Iterable[str | Lines | Away]) -> None:
    from kcli.output.files import write_lines  # noqa: PLC0415 - only for text

    sys.stdout.flush()
    write_lines(
        _shown_at_once(lines) if sys.stdout.isatty() else lines,
        sys.stdout.buffer,
        beside=_is_file_of_its_own(),
    )


def _shown_at_once(lines: Iterable[str | Lines | Away]) -> Iterator[str | Lines | Away]:
    """Yield lines, each of them on the terminal before the next is asked for."""
    for line in lines:
        yield line
        sys.stdout.flush()


def _is_file_of_its_own() -> bool:
    """Whether stdout is a regular file that stderr does not write to as well: else what is told would come out of order."""
    try:
        out, told = os.fstat(1), os.fstat(2)
    except OSError:
        return False
    return stat.S_ISREG(out.st_mode) and (out.st_dev, out.st_ino) != (told.st_dev, told.st_ino)


def _is_for_several() -> bool:
    """Whether workers can write to stdout by turns: a file whose place tells how far one came that died."""
    try:
        return (
            _is_file_of_its_own()
            and sys.stdout.fileno() == 1
            and not fcntl.fcntl(1, fcntl.F_GETFL) & os.O_APPEND
        )
    except (OSError, ValueError):  # stdout is not a file, in a program that calls this one
        return False


def _colored(when: str) -> bool:
    """Whether to colour: --color decides, then NO_COLOR and FORCE_COLOR, then whether stdout is a terminal."""
    if when != "auto":
        return when == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and not _is_dumb())


def _is_dumb() -> bool:
    """Whether the terminal shows escapes instead of obeying them."""
    return os.environ.get("TERM") == "dumb"
