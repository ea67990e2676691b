"""What every command does with its options: inputs, engine, rows, findings, errors, exit status.

`run` is the third of the three hops words -> job -> algorithm: it finds the
inputs, hands the job to the engine, pulls the rows through the writer and ends
with `typer.Exit`. `run_rows` is the same for commands that read no files.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import typer

from commands._boundary import TRACEBACKS_FROM, boundary, internal, say
from commands._options import Common
from commands._status import ExitStatus, Usage, worst
from kcli.analysis.findings import SEVERITIES, Finding
from kcli.engine.contract import Engine, Scan, Unit
from kcli.engine.errors import EngineMissingError
from kcli.jobs.common import PARTITIONS_ONLY, internal_failure, notes_as_findings, plan
from kcli.logdir.buffers import FileError, read_whole
from kcli.logdir.tree import Found, Target, find
from kcli.output.structured import Tail, write_csv, write_json, write_ndjson, write_tsv
from kcli.output.text import distinct, failure_line, finding_lines
from kcli.output.view import View, ViewError, make_view
from kcli.rows import COMMANDS, Failure, Row

Expand = Callable[[Found], Found]
Text = Callable[[Iterable[Row]], Iterable[str]]
Present = Callable[[Iterable[Target]], frozenset[str]]

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
    answered: int = 0
    ended: ExitStatus = ExitStatus.CLEAN

    def end(self, status: ExitStatus, error: str, message: str) -> None:
        """Note that the command ended before its inputs did, for no fault of any of them."""
        self.ended = status
        self.failures.append(Failure("", error, None, None, message))

    def status(self) -> ExitStatus:
        """Return the exit status of everything that happened."""
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
) -> None:
    """Run a job over what the paths lead to and print its rows; always ends with typer.Exit.

    `accepts` are the target kinds that the job reads. `expand` may replace what was found, e.g. by files inside.
    `text` makes lines of rows: with it the command also prints `-o text`. `present` tells which row types the targets
    can give, so that a command with several need not ask for one when only one can come.
    """
    with boundary(verbose=common.verbose):
        verdict = Verdict(fail_on=_choice("--fail-on", common.fail_on, (*SEVERITIES, "never")))
        engine = _engine(common)
        found = find(list(_inputs(paths, common)), common.selection())
        if expand is not None:
            found = expand(found)
        units, failures = plan(found, accepts)
        view = _view(command, common, text, present and present(unit.target for unit in units))
        verdict.failures.extend(failures)
        verdict.findings.extend(notes_as_findings(found.notes))
        if not units and not failures:
            verdict.failures.append(
                Failure(_named(paths), "nothing-matched", None, None, "no partition or file here matches what was asked for")
            )
        _write(view, _scanned(engine, scan, units, verdict, common=common, view=view), common, verdict, text)


def run_rows(command: str, rows: Iterable[Row], common: Common) -> None:
    """Print rows that need no files, as `run` does; always ends with typer.Exit."""
    with boundary(verbose=common.verbose):
        verdict = Verdict(fail_on=_choice("--fail-on", common.fail_on, (*SEVERITIES, "never")), answered=1)
        _write(_view(command, common, None), rows, common, verdict, None)


def _choice(option: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise Usage(f"{option} {value}: one of {', '.join(allowed)}")
    return value


def _view(command: str, common: Common, text: Text | None, present: frozenset[str] | None = None) -> View:
    _choice("--color", common.color, COLORS)
    output = common.output or ("table" if sys.stdout.isatty() else "tsv")
    try:
        return make_view(
            command,
            COMMANDS[command],
            output=output,
            only=common.only,
            columns=common.columns,
            sort=common.sort,
            limit=common.limit,
            headers=not common.no_headers,
            text=text is not None,
            quiet=common.quiet,
            present=present,
        )
    except ViewError as error:
        raise Usage(str(error)) from error


def _inputs(paths: list[str] | None, common: Common) -> Iterator[str]:
    """Yield every path that was named, wherever it was named; Usage if none was."""
    nothing = True
    for path in _listed(paths or [], common):
        if re.match(r"[a-z][a-z0-9+.-]*://", path) and not os.path.lexists(path):
            raise Usage(f"{path}: kcli reads files, not URLs; mount or copy them to where every worker sees them")
        nothing = False
        yield path
    if nothing:
        raise Usage("name at least one PATH, or --files-from, or --server-config")


def _listed(paths: list[str], common: Common) -> Iterator[str]:
    for path in paths:
        if path == "-":
            yield from _split(sys.stdin.buffer.read(), common)
        else:
            yield path
    if common.files_from is not None:
        yield from _split(sys.stdin.buffer.read() if common.files_from == "-" else _file("--files-from", common.files_from), common)
    if common.server_config is not None:
        yield from _log_dirs(common.server_config)


def _split(data: bytes, common: Common) -> list[str]:
    """Return the paths in a list: every byte of a name counts, but for the end of its line."""
    lines = data.split(b"\0") if common.nul else [line.removesuffix(b"\r") for line in data.split(b"\n")]
    return [os.fsdecode(line) for line in lines if line]


def _file(option: str, path: str) -> bytes:
    try:
        return read_whole(path)
    except FileError as error:
        raise Usage(f"{option} {error}") from error


def _log_dirs(path: str) -> tuple[str, ...]:
    """Return the log dirs that a server.properties names, as the broker reads it."""
    from formats.errors import FormatError  # noqa: PLC0415 - only --server-config needs them
    from formats.properties import log_dirs, read_properties  # noqa: PLC0415

    try:
        return log_dirs(read_properties(_file("--server-config", path))).log_dirs
    except FormatError as error:
        raise Usage(f"--server-config {path}: {error}") from error


def _named(paths: list[str] | None) -> str:
    return paths[0] if paths and len(paths) == 1 else ""


def _engine(common: Common) -> Engine:
    """Return the engine that the options ask for; starting it waits until it has work."""
    if common.spark or common.spark_master or common.spark_remote or common.spark_conf:
        from kcli.engine.spark import spark  # noqa: PLC0415 - the module knows pyspark

        if common.jobs > 1:
            raise Usage("--jobs and --spark are two ways to spread the work: name one")
        if common.spark_master and common.spark_remote:
            raise Usage("--spark-master and --spark-remote are two places to run: name one")
        conf = dict(_setting(word) for word in common.spark_conf or ())
        return spark(common.spark_master, common.spark_remote, conf)
    from kcli.engine.local import inline, pool  # noqa: PLC0415 - not with Spark

    return pool(common.jobs) if common.jobs > 1 else inline


def _setting(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not (key and equals):
        raise Usage(f"--spark-conf {word}: not KEY=VALUE")
    return key, value


def _scanned(engine: Engine, scan: Scan, units: list[Unit], verdict: Verdict, *, common: Common, view: View) -> Iterator[Row]:
    """Yield the rows of every unit; whatever ends the engine ends the rows, so that a document is closed properly."""
    failed: set[int] = set()
    try:
        with _progress(len(units), common, view) as done:
            for outcome in engine(scan, units) if units else ():
                yield from outcome.rows
                verdict.findings.extend(outcome.findings)
                if outcome.error is not None:
                    verdict.failures.append(outcome.error)
                    failed.add(outcome.number)
                if outcome.rest is None:
                    verdict.answered += outcome.number not in failed
                    done(outcome.number + 1)
    except EngineMissingError as error:
        verdict.end(ExitStatus.SOME_UNANSWERED, "environment", str(error))
    except KeyboardInterrupt:
        verdict.end(ExitStatus.INTERRUPTED, "interrupted", "interrupted: the rows are not complete")
    except Exception as error:  # noqa: BLE001 - the boundary for the engine: the document must still be closed
        verdict.end(ExitStatus.INTERNAL, "internal", internal_failure("", error).message)
        if common.verbose >= TRACEBACKS_FROM:
            internal(error, verbose=common.verbose)


def _progress(total: int, common: Common, view: View) -> AbstractContextManager[Callable[[int], None]]:
    if common.quiet or not sys.stderr.isatty() or (sys.stdout.isatty() and view.format != "table"):
        return nullcontext(lambda _: None)
    from kcli.output.progress import progress  # noqa: PLC0415 - for people only

    return progress(total)


def _write(view: View, rows: Iterable[Row], common: Common, verdict: Verdict, text: Text | None) -> None:
    """Pull the rows through the writer, tell the rest, end with the status."""

    def tail() -> tuple[list[Finding], list[Failure]]:
        return distinct(verdict.findings), verdict.failures

    if common.quiet:
        for _ in rows:
            pass
        raise typer.Exit(verdict.status())
    _writer(view, common, text)(rows, tail)
    sys.stdout.flush()
    findings, failures = tail()
    told = [] if view.format in IN_THE_DOCUMENT else [finding for finding in findings if _is_told(finding, common)]
    for line in (*finding_lines(told, explained=common.verbose > 0), *map(failure_line, failures)):
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


def _write_lines(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")


def _colored(when: str) -> bool:
    """Whether to colour: --color decides, then NO_COLOR and FORCE_COLOR, then whether stdout is a terminal."""
    if when != "auto":
        return when == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()
