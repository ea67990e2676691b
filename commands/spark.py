"""`kcli spark`: what a Spark cluster needs to run kcli."""

import os
import re
from typing import Any

import typer

from kcli.cli.command import argument, option
from kcli.cli.status import MissingError, UsageError
from kcli.cli.typer_command import WRONG_WORDS, Group, usage_words

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")

app = Group("Run kcli on a Spark cluster by spark-submit.")


@app.callback()
def spark() -> None:
    """Run kcli on a Spark cluster by spark-submit."""


@app.command("submit-command")
def submit_command(
    words: list[str] | None = argument("-- KCLI ARGS", "The kcli command line to run, after --."),
    *,
    master: str = option(
        "--master URL", "Spark master: yarn, spark://..., k8s://..., local[2].", default="yarn"
    ),
    conf: list[str] | None = option("--conf K=V", "Spark setting; repeatable."),
    archive: str | None = option(
        "--archive FILE", "A packed Python environment (venv-pack, conda-pack) for executors."
    ),
    folder: str = option("--dir DIR", "Where kcli-packages.zip and kcli-submit.py are written.", default="."),
    dry_run: bool = option("--dry-run", "Print the line alone; write nothing."),
) -> None:
    """Write what spark-submit needs (kcli's packages, a script) and print the complete command line.

    Example: kcli spark submit-command --master yarn -- ls -o ndjson /data/kafka
    """
    from kcli.cli.targets import refuse_log_dirs
    from kcli.logdir.buffers import FileError
    from kcli.views.submit import PackagesError, submit_lines, write_files

    if not words:
        raise UsageError(
            "submit-command: expected a kcli command line after --, for example -- ls /data/kafka"
        )
    for setting in conf or ():
        if not all(setting.partition("=")[:2]):
            raise UsageError(f"--conf {setting}: expected KEY=VALUE")
    line, needs_directory = _over_spark(words)
    directory = os.path.abspath(folder)
    try:
        refuse_log_dirs(f"--dir {folder}", folder)
        if not dry_run:
            write_files(directory)
    except PackagesError as error:
        raise MissingError(str(error)) from error
    except (FileError, OSError) as error:
        raise UsageError(f"--dir {folder}: {getattr(error, 'strerror', None) or error}") from error
    if needs_directory:
        typer.echo(f"# The line works in {os.getcwd()} alone: paths in it are relative.")
    if archive is not None and not URL.match(archive):
        archive = os.path.abspath(archive)
    for text in submit_lines(directory, line, master=master, conf=conf or (), environment=archive):
        typer.echo(text)


def _over_spark(words: list[str]) -> tuple[list[str], bool]:
    """Return the words of a kcli command line with --spark among them, and whether it names relative paths.

    UsageError for what could not succeed there: the words are parsed as kcli parses them, and nothing runs.
    """
    if words[0] == "sql":
        raise UsageError("submit-command: sql runs on DuckDB; kcli help spark shows the same views in Spark")
    parameters, arguments = _parsed(words)
    first = len(words) - len(arguments)
    named = " ".join(words[:first])
    if "spark" not in parameters or "paths" not in parameters:
        raise UsageError(
            f"submit-command: kcli {named} reads no paths, so there is nothing to spread over Spark; run it "
            "here"
        )
    if parameters["jobs"] > 1:
        raise UsageError("submit-command: --jobs and Spark both spread the work: leave out --jobs")
    for name in ("spark_master", "spark_remote", "spark_conf"):
        if parameters[name]:
            instead = "--conf" if name == "spark_conf" else "--master"
            raise UsageError(
                f"submit-command: --{name.replace('_', '-')} is for a kcli that starts Spark itself: use "
                f"{instead} before --"
            )
    option_paths = [parameters[name] for name in ("files_from", "server_config", "out") if parameters[name]]
    paths = [*(parameters["paths"] or ()), *(parameters.get("files") or "").split(","), *option_paths]
    if not any(path and path != parameters["out"] for path in paths):
        raise UsageError(f"submit-command: kcli {named}: expected at least one PATH")
    line = words if parameters["spark"] else [*words[:first], "--spark", *words[first:]]
    return line, any(path not in {"", "-"} and not os.path.isabs(path) for path in paths)


def _parsed(words: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Return parameters and words after the command; UsageError for a line that kcli would refuse."""
    from commands.app import app as kcli

    command: Any = typer.main.get_command(kcli)
    arguments = list(words)
    while hasattr(command, "list_commands"):
        name = arguments.pop(0) if arguments else ""
        below = command.get_command(None, name)
        if below is None:
            raise UsageError(
                f"submit-command: {name or 'nothing'} is not a command of kcli; expected one of "
                f"{', '.join(command.list_commands(None))}"
            )
        command = below
    try:
        return command.make_context("kcli", list(arguments)).params, arguments
    except WRONG_WORDS as error:
        raise UsageError(f"submit-command: kcli {' '.join(words)}: {usage_words(error)}") from error
