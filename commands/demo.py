"""`kcli demo`: one incident in six commands, on a log dir that a real broker wrote and kcli brings."""

import os
import shlex
from contextlib import ExitStack, chdir

import typer

from kcli.cli.boundary import lost
from kcli.cli.command import option
from kcli.cli.status import ExitStatus, MissingError, RefusedError, UsageError, reason_of, writing

FOLDER, CRASHED, SAVED = "kcli-demo", "crashed", "saved"
"""The log dir that is unpacked, its copy after a loss of power, and what the story salvages of that."""
WRONG_BYTE = ("orders-0/00000000000000000087.log", 100)
"""File and position in the copy: in a value of the batch at offset 87, the first of the active segment."""

OPENING = """\
Broker 1 lost its power, and its disk gives back one wrong byte. Its log dir is
crashed; kcli-demo is that of a replica which is whole. A Kafka 4.3.1 broker
wrote both; the wrong byte is ours. Findings are left out (--findings none).
"""
STORY = (
    ("1. Is it whole? The first line is the answer.", f"check {CRASHED}"),
    ("2. What does the code mean, and what is to be done?", "explain LOG-003"),
    ("3. If the broker starts now, what becomes of its logs? It loses nine records.",
     f"startup {CRASHED}"),
    ("4. Who has them? The other replica has the same epochs, and nine offsets more.",
     f"epoch diff {CRASHED} {FOLDER} --topic orders --partition 0"),
    ("5. Who must not lead? Under crashed, the other would cut nine committed records.",
     f"replica elect {CRASHED} {FOLDER} --topic orders --partition 0"),
    ("6. Were there no other replica: what is left? All but one batch, in a copy.",
     f"salvage {CRASHED}/orders-0 --out {SAVED}"),
)  # fmt: skip
"""A sentence, and the command after it."""
NOW_TRY = f"""\
So: let the whole replica lead, and start broker 1 after that. Now try:
  kcli demo --keep .              leaves these files here, for your own commands
  kcli truncate --dry-run --leader {CRASHED} {FOLDER}   shows what 5. sums up
  kcli check /var/lib/kafka/data  asks it of your broker, and changes nothing
  kcli help intro                 is the manual"""

MAIN_JOBS = (
    "epoch end-offset --epoch all kcli-demo --topic orders --partition 0",
    "truncate --dry-run --to-offset 30 kcli-demo --topic orders --partition 0",
    "rlmm dump kcli-demo --limit 6",
    "lookup offset 25 kcli-demo --topic orders",
    "lookup timestamp 2026-01-01T10:30:00Z kcli-demo --topic orders",
)
ON_SPARK = tuple(("", f"{line} --spark --spark-master local[2]") for line in MAIN_JOBS)
AS_ON_A_TERMINAL = ("-o", "table", "--no-pager", "--findings", "none")


def demo(
    *,
    spark: bool = option("--spark", "Run the main commands on a local Spark instead."),
    keep: str | None = option("--keep DIR", "Unpack into DIR and leave it there."),
) -> None:
    """Show one incident in six commands, on files that come with kcli.

    A Kafka 4.3.1 broker wrote them. A sentence and the command line are printed before each result.
    """
    from tempfile import TemporaryDirectory

    from kcli.logdir.write_guard import scratch_directory

    if keep is not None:
        _refuse(keep)
        try:
            os.makedirs(keep, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--keep {keep}: {reason_of(error)}") from error
        _unpack(keep, f"--keep {keep}")
        status = _show(keep, on_spark=spark)
    else:
        try:
            scratch = scratch_directory()
        except FileNotFoundError as error:
            raise MissingError(str(error)) from error
        with TemporaryDirectory(prefix="kcli-demo-", dir=scratch) as folder:
            _unpack(folder, folder)
            status = _show(folder, on_spark=spark)
    raise typer.Exit(status)


def _refuse(keep: str) -> None:
    """Refuse a place in a log dir, and one where something has a name of the demo's."""
    from kcli.cli.targets import refuse_log_dirs

    refuse_log_dirs(f"--keep {keep}", keep)
    for name in (FOLDER, CRASHED, SAVED):
        if os.path.lexists(os.path.join(keep, name)):
            raise RefusedError(
                f"--keep {keep}: there is a {name} in it; remove it, or choose another directory"
            )


def _show(folder: str, *, on_spark: bool) -> int:
    """Show the story, or run the main jobs on Spark; return the first status that is not of an answer."""
    if on_spark:
        return _run_all(folder, ON_SPARK)
    _crash(folder)
    typer.echo(OPENING)
    status = _run_all(folder, STORY)
    if status == ExitStatus.CLEAN and "stdout" not in lost:
        typer.echo(NOW_TRY)
    return status


def _crash(folder: str) -> None:
    """Copy the log dir as a loss of power leaves it: without its clean shutdown marker, a byte wrong."""
    import shutil

    crashed = os.path.join(folder, CRASHED)
    shutil.copytree(os.path.join(folder, FOLDER), crashed)
    os.unlink(os.path.join(crashed, ".kafka_cleanshutdown"))
    name, position = WRONG_BYTE
    with open(os.path.join(crashed, name), "r+b") as log:
        log.seek(position)
        log.write(b"?")


def _run_all(folder: str, steps: tuple[tuple[str, str], ...]) -> int:
    """Print each sentence, run its command line in `folder`; return the first status that ends the story."""
    from commands.app import app
    from kcli.cli.terminal import is_colored

    with chdir(folder):
        for sentence, line in steps:
            if sentence:
                typer.echo(sentence)
            typer.echo(typer.style(f"$ kcli {line}", bold=True) if is_colored("auto") else f"$ kcli {line}")
            arguments = shlex.split(line)
            display_options = () if arguments[0] == "explain" else AS_ON_A_TERMINAL
            status = int(app([*arguments, *display_options], standalone_mode=False) or 0)
            if "stdout" in lost:
                break
            typer.echo("")
            if status not in {ExitStatus.CLEAN, ExitStatus.FINDINGS}:
                return status
    return ExitStatus.CLEAN


def _unpack(folder: str, argument: str) -> None:
    """Unpack every tar of the package into `folder`, or nothing; `argument`: how the folder was given."""
    import shutil
    import tarfile
    from importlib import resources

    packed = [entry for entry in resources.files("kcli.demo").iterdir() if entry.name.endswith(".tar.gz")]
    if not packed:
        raise MissingError(
            "this installation of kcli has no demo files; install it from a wheel or a full checkout"
        )
    with writing(argument), ExitStack() as undo:
        undo.callback(shutil.rmtree, os.path.join(folder, FOLDER), ignore_errors=True)
        for entry in packed:
            with entry.open("rb") as file, tarfile.open(fileobj=file, mode="r:gz") as tar:
                if hasattr(tarfile, "data_filter"):
                    tar.extractall(folder, filter="data")
                else:  # before Python 3.11.4
                    tar.extractall(folder)  # noqa: S202 - kcli's own archive
        undo.pop_all()
