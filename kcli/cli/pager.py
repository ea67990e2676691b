"""Long text on a terminal: in the user's pager."""

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress

from kcli.cli.terminal import is_dumb

USUAL_OPTIONS = "FRSX"
"""Of less: leave if the text fits, show colours, do not wrap lines, leave the text on the screen."""
NOT_STARTED = (126, 127)
"""What a shell exits with where it cannot run a command."""


def pager() -> str | None:
    """Return the command line of the pager for stdout; None where it is no terminal, or there is no pager."""
    if not sys.stdout.isatty() or is_dumb():
        return None
    named = os.environ.get("PAGER")
    if named is None:
        return "less -R" if shutil.which("less") else None
    return None if named in {"", "cat"} else named


def show(text: str) -> None:
    """Write text to stdout, in the pager if it is longer than the terminal."""
    command = pager()
    if command is None or _fits(text) or not _page(command, text):
        sys.stdout.write(text)


def _fits(text: str) -> bool:
    """Whether the text and the prompt after it are on one screen."""
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        return True
    columns, lines = size.columns or 80, size.lines or 24
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return sum(max(1, -(-len(line) // columns)) for line in plain.splitlines()) < lines


def _page(command: str, text: str) -> bool:
    """Show text in a pager until the user leaves it; False if it cannot be run.

    An interrupt goes to the pager: it stops a search there.
    """
    sys.stdout.flush()
    environment = {"LESS": USUAL_OPTIONS, "LV": "-c", **os.environ}
    # as git does
    process = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environment)  # noqa: S602
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert process.stdin is not None
        with suppress(BrokenPipeError), process.stdin:
            process.stdin.write(text.encode("utf-8", "backslashreplace"))
        return process.wait() not in NOT_STARTED
    finally:
        signal.signal(signal.SIGINT, before)
