"""`kcli spark`: what a Spark cluster needs to run kcli."""

import os
from typing import Annotated

import typer

from commands._boundary import boundary
from commands._status import Missing, Refused, Usage

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Run kcli on a Spark cluster; on this machine, --spark with any command is enough.",
)


@app.callback()
def spark() -> None:
    """Run kcli on a Spark cluster; on this machine, --spark with any command is enough."""


@app.command("submit-command")
def submit_command(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="-- KCLI ARGS", help="The kcli command line to run, behind --.", show_default=False)
    ] = None,
    *,
    master: Annotated[str, typer.Option("--master", metavar="URL", help="Spark master: yarn, spark://..., k8s://..., local[2].")] = "yarn",
    conf: Annotated[list[str] | None, typer.Option("--conf", metavar="K=V", help="Spark setting; repeatable.", show_default=False)] = None,
    archive: Annotated[
        str | None,
        typer.Option(
            "--archive", metavar="FILE", help="A packed Python environment (venv-pack, conda-pack) for executors.", show_default=False
        ),
    ] = None,
    folder: Annotated[str, typer.Option("--dir", metavar="DIR", help="Where kcli-packages.zip and kcli-submit.py are written.")] = ".",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the line alone; write nothing.")] = False,
) -> None:
    """Write what spark-submit needs (kcli's packages, a script) and print the complete command line.

    Example: kcli spark submit-command --master yarn -- epoch end-offset --epoch all -o ndjson /data/kafka
    """
    from kcli.logdir.buffers import FileError  # noqa: PLC0415 - kept out of --help
    from kcli.spark_source.submit import PackagesError, submit_lines, write_files  # noqa: PLC0415

    with boundary():
        if not words:
            raise Usage("submit-command: name the kcli command line to run behind --, for example -- ls /data/kafka")
        for word in conf or ():
            if not all(word.partition("=")[:2]):
                raise Usage(f"--conf {word}: not KEY=VALUE")
        directory = os.path.abspath(folder)
        try:
            if _is_of_a_log_dir(directory):
                raise Refused(f"--dir {folder}: this is a log dir, or lies in one; kcli writes nothing there")
            if not dry_run:
                write_files(directory)
        except PackagesError as error:
            raise Missing(str(error)) from error
        except (FileError, OSError) as error:
            raise Usage(f"--dir {folder}: {getattr(error, 'strerror', None) or error}") from error
        for line in submit_lines(directory, words, master=master, conf=conf or (), environment=archive):
            typer.echo(line)


def _is_of_a_log_dir(directory: str) -> bool:
    """Whether a directory, or the nearest one around it that is there, is a log dir or a partition's, or lies in one."""
    from formats.names import LOCK, WELL_KNOWN_KINDS, parse_partition_dir  # noqa: PLC0415 - kept out of --help
    from kcli.logdir.tree import LOG_DIR_FILES, PARTITION, directory_kind  # noqa: PLC0415

    while not os.path.isdir(directory) and directory != os.path.dirname(directory):
        directory = os.path.dirname(directory)
    around = os.path.dirname(directory)
    telling = [name for name in LOG_DIR_FILES if WELL_KNOWN_KINDS.get(name) != LOCK]  # others, too, have a .lock
    return (
        directory_kind(directory) is not None
        or (parse_partition_dir(os.path.basename(around)) is not None and directory_kind(around) == PARTITION)
        or any(os.path.lexists(os.path.join(around, name)) for name in telling)
    )
