"""The door: `kcli`, `python -m kcli`."""

import gc
import io
import os
import signal
import sys
from contextlib import suppress

from kcli.cli.foreign import foreign_package

INTERNAL = 70
FEW_COLLECTIONS = 100_000  # new objects between garbage collections: imports make many and leave no garbage

ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Numpy would start threads for algebra that kcli does not use, and Arrow's own pools keep what they had at
the peak."""

OF_INSTALLATION = {"KCLI_CONFIG", "KCLI_ROOT"}  # variables that are no defaults of options

WORKERS_IMPORT = {
    "dump": ("kcli.dump.job", "kcli.output.text_columns", "numpy", "cramjam"),
    "scan": ("kcli.jobs.log_pass.scan", "numpy", "cramjam"),
    "check": ("kcli.jobs.check.check", "numpy", "cramjam"),
    "sql": ("kcli.views.plan",),
}
"""What the workers of a command will need, by its first word; of others `kcli.jobs.common`."""


def main() -> None:
    """Run the command line; exits with the status of the command."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(
            signal.SIGINT, signal.SIG_DFL
        )  # there is nothing to tidy up yet, and no traceback to show
    _complete_streams()
    foreign = foreign_package()
    if foreign is not None:
        sys.stderr.write(
            f"kcli: {foreign} is in the way of kcli's own package of that name; run kcli from another "
            "directory\n"
        )
        raise SystemExit(INTERNAL)
    gc.set_threshold(FEW_COLLECTIONS)
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    if os.environ.get("KCLI_CONFIG") == "":  # the command line alone counts
        for name in [name for name in os.environ if name.startswith("KCLI_") and name not in OF_INSTALLATION]:
            del os.environ[name]
    from kcli.cli.signals import Interrupted, ignore, install, leave

    try:
        install()
        status = _run()
    except Interrupted as interrupted:
        sys.stderr.write("kcli: interrupted\n")
        status = interrupted.status
    finally:
        ignore()
    if "grpc" in sys.modules:
        # its threads, and Spark's attempts to take leave of a server that has gone, would last for minutes
        with suppress(OSError):
            sys.stdout.flush()
        leave(status)
    if "_duckdb" not in sys.modules:  # it reports what no collection found
        gc.freeze()  # the interpreter's last collection would look through all that ends anyway
    raise SystemExit(status)


def _run() -> int:
    """Return the status of the command line; what no command has caught ends here."""
    _prepare_workers(sys.argv[1:])
    import typer

    from commands.app import app
    from kcli.cli.boundary import boundary

    try:
        with boundary():
            app(prog_name="kcli")
    except typer.Exit as ended:
        return ended.exit_code
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else INTERNAL
    return 0


def _prepare_workers(arguments: list[str]) -> None:
    """Let the workers of a command line with --jobs get ready while it is being read: a cheap guess."""
    if not any(argument.startswith("--jobs") for argument in arguments):
        return
    os.environ["PYTHONSAFEPATH"] = "1"  # nothing is imported from the working directory
    if "1" not in arguments:
        from kcli.engine.processes import prepare

        with suppress(OSError):  # the engine says so once it needs workers
            prepare(WORKERS_IMPORT.get(arguments[0], ("kcli.jobs.common",)))


def _complete_streams() -> None:
    """Make stdout and stderr fit for any path, and give closed ones a stand-in.

    No data file may get their numbers. To write to a closed stdout is an error, as it would be without the
    stand-in; stdin stays None, so that whoever wants to read it can tell. Stdout is buffered even if
    PYTHONUNBUFFERED says otherwise, as images for servers do: that is meant for logs.
    """
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)
    if sys.stdout is None:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 1)
        if null != 1:
            os.close(null)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - for good
    elif isinstance(sys.stdout.buffer, io.RawIOBase):
        sys.stdout = open(sys.stdout.fileno(), "w", closefd=False)  # noqa: SIM115 - as above
    if sys.stderr is None:
        sys.stderr = open(os.open(os.devnull, os.O_WRONLY), "w", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # Paths are bytes: one that is not UTF-8 is shown escaped instead of ending the program.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]


if __name__ == "__main__":
    main()
