"""`kcli demo`: the main jobs on a small log dir that a real broker wrote, shipped with kcli."""

import os
import shlex
from contextlib import chdir

import typer

from kcli.cli.boundary import lost
from kcli.cli.option import option
from kcli.cli.status import ExitStatus, MissingError, RefusedError, UsageError

MAIN_JOBS = (
    "epoch end-offset --epoch all kcli-demo --topic orders --partition 0",
    "truncate --dry-run --to-offset 30 kcli-demo --topic orders --partition 0",
    "rlmm dump kcli-demo --limit 6",
    "lookup offset 25 kcli-demo --topic orders",
    "lookup timestamp 2026-01-01T10:30:00Z kcli-demo --topic orders",
)
DEMO_COMMANDS = (
    "ls kcli-demo",
    "scan --summary kcli-demo",
    "epoch show kcli-demo --topic orders",
    *MAIN_JOBS,
)
"""What is run, in the directory that the log dir kcli-demo is unpacked to."""

ON_SPARK = tuple(f"{line} --spark --spark-master local[2]" for line in MAIN_JOBS)


FOLDER = "kcli-demo"


def demo(
    *,
    spark: bool = option("--spark", "Run on a local Spark instead."),
    keep: str | None = option("--keep DIR", "Unpack into DIR and leave it there."),
) -> None:
    """Run the main commands on a small log dir that comes with kcli.

    A Kafka 4.3.1 broker wrote it. Each command line is printed before its result.
    """
    from tempfile import TemporaryDirectory

    from kcli.logdir.write_guard import scratch_directory

    if keep is not None:
        _refuse(keep)
        try:
            os.makedirs(keep, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--keep {keep}: {(error.strerror or str(error)).lower()}") from error
        _unpack(keep, f"--keep {keep}")
        status = _run_all(keep, ON_SPARK if spark else DEMO_COMMANDS)
    else:
        try:
            scratch = scratch_directory()
        except FileNotFoundError as error:
            raise MissingError(str(error)) from error
        with TemporaryDirectory(prefix="kcli-demo-", dir=scratch) as folder:
            _unpack(folder, folder)
            status = _run_all(folder, ON_SPARK if spark else DEMO_COMMANDS)
    raise typer.Exit(status)


def _refuse(keep: str) -> None:
    """Refuse a place in a log dir, and one where something has the demo's name."""
    from kcli.cli.targets import refuse_log_dirs

    refuse_log_dirs(f"--keep {keep}", keep)
    if os.path.lexists(os.path.join(keep, FOLDER)):
        raise RefusedError(
            f"--keep {keep}: there is a {FOLDER} in it; remove it, or choose another directory"
        )


def _run_all(folder: str, lines: tuple[str, ...]) -> int:
    """Run each command line as if typed in `folder`.

    Return the first status that is neither clean nor findings.
    """
    from commands.app import app

    with chdir(folder):
        for line in lines:
            typer.echo(f"$ kcli {line}")
            words = [*shlex.split(line), "--no-pager"]
            status = int(app(words if "-o" in words else [*words, "-o", "table"], standalone_mode=False) or 0)
            if "stdout" in lost:
                break
            typer.echo("")
            if status not in {ExitStatus.CLEAN, ExitStatus.FINDINGS}:
                return status
    return ExitStatus.CLEAN


def _unpack(folder: str, word: str) -> None:
    """Unpack every tar of the package into `folder`; nothing is left of it if that fails.

    `word`: how the folder was given.
    """
    import shutil
    import tarfile
    from importlib import resources

    packed = [entry for entry in resources.files("kcli.demo").iterdir() if entry.name.endswith(".tar.gz")]
    if not packed:
        raise MissingError(
            "this installation of kcli has no demo files; install it from a wheel or a full checkout"
        )
    try:
        for entry in packed:
            with entry.open("rb") as file, tarfile.open(fileobj=file, mode="r:gz") as tar:
                if hasattr(tarfile, "data_filter"):
                    tar.extractall(folder, filter="data")
                else:  # before Python 3.11.4
                    tar.extractall(folder)  # noqa: S202 - kcli's own archive
    except BaseException as error:
        shutil.rmtree(os.path.join(folder, FOLDER), ignore_errors=True)
        if isinstance(error, OSError):
            reason = (error.strerror or str(error)).lower()
            raise MissingError(f"{word}: cannot write: {reason}") from error
        raise
