"""Findings, errors and counts of a run over `inputs`, of which `places` were there."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from kcli.cli.signals import Interrupted, acknowledge
from kcli.cli.status import ExitStatus, RefusedError, UsageError, worst, writing
from kcli.engine.contract import Outcome
from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.logdir.find import FileSet
from kcli.output.formats import CSV, NDJSON, PARQUET, OutputFormat, format_of, is_run_directory
from kcli.output.suggest import did_you_mean
from kcli.output.text import distinct
from kcli.rows import Failure, Item, TextBlock
from kcli.rows.bad_news import is_bad_finding
from kcli.words import clock_ms

INLINE, STDERR, NONE = "inline", "stderr", "none"
DESTINATIONS = (INLINE, STDERR, NONE)
FINDINGS_FORMATS = {form.extension: form for form in (NDJSON, CSV, PARQUET)}


@dataclass(slots=True)
class RunSummary:
    """Findings, errors and counts of a run over `inputs`, of which `places` were there."""

    fail_on: str
    findings_to: str = "inline"
    inputs: int = 0
    places: frozenset[str] = frozenset()
    answered: int = 0
    findings: list[Finding] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    parts: list[object] = field(default_factory=list)
    has_differences: bool = False
    ended: ExitStatus = ExitStatus.CLEAN
    signal_status: int | None = None
    command: str = ""
    started_ms: int = field(default_factory=clock_ms)

    def add(self, outcome: Outcome, differs: Callable[[Item], bool] | None = None) -> None:
        """Add what an outcome has; count it if it answers; a row that `differs` is status 1."""
        if differs is not None and any(map(differs, outcome.rows)):
            self.has_differences = True
        self.findings.extend(outcome.findings)
        if outcome.error is not None:
            self.failures.append(outcome.error)
        self.parts.extend(outcome.parts)
        has_rows = outcome.written_rows or any(
            not (isinstance(item, TextBlock) and item.is_title) for item in outcome.rows
        )
        self.answered += bool(has_rows) or (outcome.continuation is None and outcome.error is None)

    def end(self, status: ExitStatus, error: str, message: str) -> None:
        """Record that the command ended early, and that none of its inputs is the cause."""
        self.ended = status
        self.failures.append(Failure("", error, None, None, message))

    def interrupt(self, error: Interrupted | KeyboardInterrupt) -> None:
        """Record that a signal ended the command."""
        acknowledge()
        self.signal_status = error.status if isinstance(error, Interrupted) else ExitStatus.INTERRUPTED
        self.end(ExitStatus.INTERRUPTED, "interrupted", "interrupted: the rows are not complete")

    def tail(self) -> tuple[list[Finding], list[Failure]]:
        """Return what the end of a document lists: the findings, if they go there, and the errors."""
        return (distinct(self.findings) if self.findings_to == "inline" else []), [
            *dict.fromkeys(self.failures)
        ]

    def messages(self) -> tuple[list[Finding], list[Failure]]:
        """Return the findings and the errors without repetitions, wherever they go."""
        return distinct(self.findings), [*dict.fromkeys(self.failures)]

    @property
    def unread(self) -> int:
        """How many inputs have an error; files in a directory that is one are of this one input."""
        paths = {self._place_of(failure.path) for failure in self.failures if failure.path}
        return min(len(paths), self.inputs)

    def _place_of(self, path: str) -> str:
        directory = path
        while directory not in self.places:
            above = os.path.dirname(directory)
            if above in {directory, ""}:
                return path
            directory = above
        return directory

    @property
    def is_complete(self) -> bool:
        """Whether the command came to its end, whatever it could answer."""
        return self.ended is ExitStatus.CLEAN

    @property
    def has_answers(self) -> bool:
        """Whether the command came to its end and answered at least one input."""
        return self.is_complete and self.status() is not ExitStatus.NOTHING_ANSWERED

    def status(self) -> int:
        """Return the exit status; after a signal it is 128 plus the signal's number."""
        return worst(*self._statuses()) if self.signal_status is None else self.signal_status

    def _statuses(self) -> Iterator[ExitStatus]:
        yield self.ended
        if self.failures:
            is_output = any(failure.error == "not-written" for failure in self.failures)
            nothing = not self.answered and not is_output
            yield ExitStatus.NOTHING_ANSWERED if nothing else ExitStatus.SOME_UNANSWERED
        if any(failure.error == "internal" for failure in self.failures):
            yield ExitStatus.INTERNAL
        if self.fail_on != "never":
            level = SEVERITIES.index(self.fail_on)
            if self.has_differences or any(
                SEVERITIES.index(finding.severity) >= level or is_bad_finding(self.command, finding)
                for finding in self.findings
            ):
                yield ExitStatus.FINDINGS


def check_destination(name: str) -> None:
    """Raise UsageError for what findings cannot go to, RefusedError for a file in a log dir."""
    if name in DESTINATIONS:
        return
    if _format(name) is None:
        raise UsageError(
            f"--findings {name}: {did_you_mean(name, DESTINATIONS)}expected {', '.join(DESTINATIONS)}, or a "
            f"file that ends in {', '.join(f'.{extension}' for extension in FINDINGS_FORMATS)}"
        )
    from kcli.cli.targets import refuse_log_dirs

    refuse_log_dirs(f"--findings {name}", name)
    if os.path.lexists(name) and not os.path.isfile(name):
        raise RefusedError(f"--findings {name}: this is not a regular file, and kcli would replace it")


def refuse_input(name: str, file_set: FileSet) -> None:
    """Raise RefusedError for a file that is an input."""
    if name not in DESTINATIONS and os.path.lexists(name):
        path = os.path.realpath(name)
        if any(os.path.realpath(target.path) == path for target in file_set.targets):
            raise RefusedError(f"--findings {name}: this is one of the inputs, and kcli would replace it")


def write_findings(name: str, summary: RunSummary) -> None:
    """Write the findings to the file that --findings names, if it names one; ndjson has the errors, too."""
    form = None if name in DESTINATIONS else _format(name)
    if form is None:
        return
    from kcli.output.files import write_finding_rows

    with writing(f"--findings {name}"):
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        write_finding_rows(name, form, *summary.messages())


def _format(name: str) -> OutputFormat | None:
    output = format_of(None, name, is_terminal=False) if "." in name else None
    return output if output in FINDINGS_FORMATS.values() and not is_run_directory(name) else None
