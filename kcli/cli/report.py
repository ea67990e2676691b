"""What `kcli report` writes: commands run in this process, each a section of one page, the verdicts first."""

import os
import re
import shlex
import socket
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

import kcli
from kcli.cli.boundary import Caller
from kcli.cli.status import CommandError, ExitStatus, UsageError, worst
from kcli.cli.summary import RunSummary
from kcli.cli.typer_command import run_for
from kcli.cli.version import commit
from kcli.engine.contract import EngineMissingError
from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.logdir.buffers import UNPACKED
from kcli.output.formats import HTML
from kcli.output.page import PageBlock, finding_blocks, heading, page_of, table_block, text_block
from kcli.output.screen import UTF8
from kcli.output.table import LACKING_WORDS
from kcli.output.table.columns import ShownColumn
from kcli.output.text import distinct, failure_line, unread
from kcli.output.units import moment
from kcli.output.view import View
from kcli.rows import Failure, Item, described
from kcli.rows.bad_news import is_bad_finding
from kcli.words import WordError

SECTIONS = {
    "startup": "What a start does",
    "check": "What is damaged",
    "ls": "What is on disk",
    "epoch diff": "Leader epochs of replicas",
    "retention": "What is deleted next",
    "txn open": "Open transactions",
    "txn list": "Transactional ids",
    "group offsets": "Consumer groups",
    "rlmm check": "Remote log metadata",
    "rlmm state": "Remote segments",
}
"""The commands of a report, and the titles of their sections."""
STATUS_FROM = ("startup", "check")
"""The commands whose exit status is that of the report."""
SECTION_MARKS = ((UTF8.bad, "bold red"), (UTF8.warning, "yellow"), (UTF8.good, "green"), (UTF8.null, "dim"))
"""Of sections: bad news, warnings or something not read, clean, no verdict; with their styles."""
WITHOUT_VERDICT = "ls"
"""The command that lists what is here, and judges nothing."""

CAUSE = re.compile(r"\S+: |To do: ")
"""What a sentence begins with that is about a single file."""


class Section(NamedTuple):
    """What a command answers; no `status`: `blocks` say why; no `line`: the command refuses the paths."""

    name: str
    line: str
    blocks: list[PageBlock]
    status: ExitStatus | None
    findings: Sequence[Finding] = ()
    failures: Sequence[Failure] = ()

    @property
    def verdict(self) -> str:
        """The sentences that it begins with, those in bold or else one, and a cause, with its path."""
        lines = [block.lines[0] for block in takewhile(lambda block: block.kind == "text", self.blocks)]
        bold = [*takewhile(lambda line: all(style == "bold" for _, style in line), lines)]
        texts = dict.fromkeys("".join(text for text, _ in line) for line in bold or lines[:1])
        verdict = " ".join(text for number, text in enumerate(texts) if number < 2 or not CAUSE.match(text))
        causes = [
            finding
            for finding in self.findings
            if finding.place and (finding.severity == SEVERITIES[-1] or is_bad_finding(self.name, finding))
        ]
        if causes and not any(_name(cause) in verdict for cause in causes):
            verdict = f"{verdict.removesuffix('.')}. {causes[0].place}: {causes[0].message}."
        return verdict

    @property
    def rank(self) -> int:
        """The place of its mark, the worst first."""
        if self.status is None:
            return 3
        severities = {finding.severity for finding in self.findings}
        if self.status is ExitStatus.FINDINGS or SEVERITIES[-1] in severities:
            return 0
        if self.name == WITHOUT_VERDICT and self.status is ExitStatus.CLEAN:
            return 3
        tables = (block.columns[0] for block in self.blocks if block.kind == "table")
        marks = {mark for column in tables if not column.declared.header for mark in column.cells}
        is_whole = self.status is ExitStatus.CLEAN and not self.verdict.startswith(LACKING_WORDS)
        has_warnings = SEVERITIES[1] in severities or marks & {UTF8.bad, UTF8.warning}
        return 1 if has_warnings or not is_whole else 2


def section_of(name: str, command: Any, options: Sequence[str], paths: Sequence[str]) -> Section:
    """Return what a command answers about paths, or why it has no answer."""
    named = ("-" if UNPACKED in path else path for path in paths)  # an archive on stdin
    line = shlex.join(["kcli", *name.split(), *options, *named])
    answers: list[Section] = []

    def take(view: View, rows: Iterator[Item], summary: RunSummary) -> None:
        page = page_of(rows, view, summary.messages)
        status = ExitStatus(summary.status())
        lost = unread(page.failures)
        messages = [
            f"{failure.path}: {failure.message}" if failure in lost and failure.path else failure.message
            for failure in page.failures
        ]
        blocks = page.blocks or [*map(text_block, messages)]
        if status is ExitStatus.NOTHING_ANSWERED and not lost and name not in STATUS_FROM:
            answers.append(Section(name, line, blocks, None))
        else:
            answers.append(Section(name, line, blocks, status, page.findings, page.failures))

    try:
        run_for(Caller(take, []), command, name, [f"--output={HTML.name}", *options, "--", *paths])
    except (CommandError, WordError, EngineMissingError) as error:
        is_refused = isinstance(error, UsageError)
        return Section(name, "" if is_refused else line, [text_block(str(error))], None)
    except Exception as error:  # noqa: BLE001 - the other sections are worth having
        text = f"internal error: {described(error)}"
        return Section(name, line, [text_block(text, "red")], ExitStatus.INTERNAL)
    return answers[0]


def exit_status(sections: Iterable[Section]) -> ExitStatus:
    """Return the worst status of those in STATUS_FROM; of any section where kcli itself failed."""
    statuses = [
        section.status if section.status is not None else ExitStatus.NOTHING_ANSWERED
        for section in sections
        if section.name in STATUS_FROM or section.status is ExitStatus.INTERNAL
    ]
    return worst(*statuses)


def errors_of(sections: Iterable[Section]) -> list[Failure]:
    """Return the errors of all sections, each once."""
    failures = [failure for section in sections for failure in section.failures]
    return [*{failure_line(failure): failure for failure in failures}.values()]


def report_blocks(
    sections: Sequence[Section], now_ms: int, version: str, line: Sequence[str]
) -> Iterator[PageBlock]:
    """Yield the page: the verdicts, the worst first; who, when and how; a section for each command."""
    host = socket.gethostname()
    yield heading(f"kcli report of {host}, {moment(now_ms)} UTC")
    yield table_block(
        (ShownColumn("", ""), ShownColumn("SECTION", ""), ShownColumn("VERDICT", "", least=0)),
        [
            (
                SECTION_MARKS[section.rank],
                (section.name, f"#{_anchor(section)}"),
                (section.verdict, ("bold", "yellow", "", "dim")[section.rank]),
            )
            for section in sorted(sections, key=lambda section: section.rank)
        ],
    )
    facts = {
        "host": host,
        "directory": os.getcwd(),
        "command": shlex.join(line),
        "kcli": f"{kcli.__version__}, commit {commit() or 'unknown'}",
        "Kafka": f"judged as {version}; kcli reads files of {kcli.KAFKA_VERSIONS}",
    }
    columns = (ShownColumn("", ""), ShownColumn("", "", least=0))
    yield table_block(columns, [((name, "dim"), (text, "")) for name, text in facts.items()])
    for section in sections:
        yield heading(f"{SECTIONS[section.name]}: {section.name}", _anchor(section))
        if section.line:
            yield PageBlock("code", [[(f"$ {section.line}", "")]])
        yield from section.blocks
    findings = distinct(finding for section in sections for finding in section.findings)
    yield heading("Findings and errors of all sections", "findings")
    yield from [*finding_blocks(findings, errors_of(sections))] or [text_block("None.")]


def _name(finding: Finding) -> str:
    """Return the name of what a finding is about, in its directory."""
    path = finding.place or ""
    return os.path.relpath(path, os.path.dirname(finding.dir or path))


def _anchor(section: Section) -> str:
    return section.name.replace(" ", "-")
