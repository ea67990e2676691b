"""`kcli report`: what the commands of an incident answer, on one page to keep."""

import os
import sys
from collections.abc import Iterator, Mapping

import typer

from commands.startup import METADATA_PATH
from kcli.cli.boundary import say
from kcli.cli.command import EngineOptions, Inputs, option, release
from kcli.cli.parsers import log_dir_of_metadata, parse_release
from kcli.cli.status import RefusedError, UsageError, reason_of
from kcli.cli.targets import refuse_log_dirs, replace_file
from kcli.words import clock_ms


def report(
    *,
    out: str | None = option("--out FILE", "The page: FILE.html, or FILE.md."),
    kafka_version: str | None = release("that would start", "as kcli startup"),
    metadata: str | None = METADATA_PATH,
    jobs: int = EngineOptions().jobs,
    inputs: Inputs,
) -> None:
    """Write one page for an incident: the verdicts, then what each command found, with its command line.

    It has startup, check, replicas' epochs, retention, transactions, groups, the remote tier and ls. The
    page is one file, and needs no network. The exit status is the worse of startup's and check's.

    Example: kcli report /var/lib/kafka/data --out incident.html
    """
    from commands.app import app
    from kcli.cli.inputs import named_paths, server_properties
    from kcli.cli.report import SECTIONS, errors_of, exit_status, report_blocks, section_of
    from kcli.cli.typer_command import command_of
    from kcli.kafka.kraft.meta_properties import NEWEST
    from kcli.kafka.kraft.metadata_loader import begin_run
    from kcli.output.formats import HTML, MARKDOWN, format_of
    from kcli.output.html import html
    from kcli.output.markdown import markdown
    from kcli.output.text import failure_line

    form = format_of(None, out, is_terminal=False) if out else None
    if out is None or form not in {HTML, MARKDOWN}:
        raise UsageError("expected --out FILE.html, or FILE.md, where the page is written")
    # words that a command would refuse: its section would say so, and none else
    inputs.selection()
    server_properties(inputs)
    log_dir_of_metadata(metadata)
    parse_release(kafka_version)
    listed = list(named_paths(inputs))
    _refuse(out, listed)
    begin_run()
    paths = listed if inputs.paths or inputs.files_from else []
    options = {"kafka_version": kafka_version, "metadata": metadata, "jobs": jobs if jobs > 1 else None}
    sections = []
    for name in SECTIONS:
        if sys.stderr.isatty():
            say(f"{name} ...")
        command = command_of(app, name.split())
        parameters = {parameter.name for parameter in command.params}
        arguments = [text for option_name, text in _arguments(inputs, options) if option_name in parameters]
        sections.append(section_of(name, command, arguments, paths))
    now_ms = clock_ms()
    version = kafka_version or f"{'.'.join(map(str, NEWEST[:2]))}, log dirs of ZooKeeper as 3.9"
    blocks = report_blocks(sections, now_ms, version, ["kcli", *sys.argv[1:]])
    replace_file(
        "--out", out, "".join(html("kcli report", blocks, folds=True) if form is HTML else markdown(blocks))
    )
    for failure in errors_of(sections):
        say(failure_line(failure))
    raise typer.Exit(exit_status(sections))


def _arguments(inputs: Inputs, options: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the names of the options that are given, paths apart, with their words."""
    for name, value in {**inputs._asdict(), **options}.items():
        if name in {"paths", "files_from", "nul"} or value is None or value is False:
            continue
        option_name = f"--{name.replace('_', '-')}"
        for item in value if isinstance(value, list) else [value]:
            yield name, option_name if item is True else f"{option_name}={item}"


def _refuse(out: str, paths: list[str]) -> None:
    """Refuse a file in what is read or in another log dir, and what is no file; make its directory."""
    refuse_log_dirs(f"--out {out}", out, {os.path.realpath(path) for path in paths})
    if os.path.lexists(out) and not os.path.isfile(out):
        raise RefusedError(f"--out {out}: this is not a regular file, and kcli would replace it")
    try:
        os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: cannot write there: {reason_of(error)}") from error
