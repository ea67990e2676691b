"""What the terminal can show; long text in the user's pager."""

import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from kcli.output.screen import Screen

USUAL_WIDTH = 80
"""Columns, where no terminal says how many it has."""
LEAST_WIDTH = 40
"""Of lines that are folded."""


def is_colored(when: str, stream: TextIO | None = None) -> bool:
    """Whether to colour: by --color, NO_COLOR, FORCE_COLOR, then if stdout, or `stream`, is a terminal."""
    if when != "auto":
        return when == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or ((stream or sys.stdout).isatty() and not is_dumb())


def is_dumb() -> bool:
    """Whether the terminal shows escapes instead of obeying them."""
    return os.environ.get("TERM") == "dumb"


def screen_of(when: str) -> "Screen":
    """Return what stdout can show; `when` is the word of --color."""
    from kcli.output.screen import NARROWEST, Screen

    return Screen(max(width(), NARROWEST), is_colored(when), is_utf8())


def width() -> int:
    """Return the columns of COLUMNS, of stdout, or of the terminal that a pager on stdout writes to."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdecimal() and 0 < int(columns) < 1 << 16:
        return int(columns)
    for descriptor in (1, 2, 0):
        try:
            width = os.get_terminal_size(descriptor).columns
        except OSError:
            continue
        if width:
            return width
    return USUAL_WIDTH


def is_utf8() -> bool:
    """Whether the terminal shows UTF-8: where the locale is C by name, Python says so and it does not."""
    names = {name: os.environ.get(name, "") for name in ("LC_ALL", "LC_CTYPE", "LANG")}
    if names["LC_CTYPE"] == "C.UTF-8" and names["LANG"]:
        del names["LC_CTYPE"]
    locale = next(filter(None, names.values()), "")
    if locale and "UTF" not in locale.upper():
        return False
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def hanging(head: str, text: str) -> str:
    """Return a text after its head; on a terminal in lines that fit, the further ones below the first."""
    if not sys.stdout.isatty():
        return head + text
    import textwrap

    columns = max(width(), LEAST_WIDTH)
    is_long = len(head) > columns // 2
    folded = textwrap.fill(
        text,
        columns,
        initial_indent=" " * 4 if is_long else head,
        subsequent_indent=" " * (4 if is_long else len(head)),
        break_on_hyphens=False,
    )
    return f"{head.rstrip()}\n{folded}" if is_long else folded


USUAL_OPTIONS = "FRSX"
"""Of less: leave if the text fits, show colours, do not wrap lines, leave the text on the screen."""
PAGER_NOT_STARTED = (126, 127)
"""What a shell exits with where it cannot run a command."""


def pager() -> str | None:
    """Return the command line of the pager for stdout; None where it is no terminal, or there is no pager."""
    if not sys.stdout.isatty() or is_dumb():
        return None
    import shutil

    named = os.environ.get("PAGER")
    if named is None:
        return "less -R" if shutil.which("less") else None
    return None if named in {"", "cat"} else named


def show(text: str) -> bool:
    """Write text to stdout, in the pager if it is longer than the terminal; return whether it was."""
    command = pager()
    is_paged = command is not None and not _fits(text) and _page(command, text)
    if not is_paged:
        sys.stdout.write(text)
    return is_paged


def _fits(text: str) -> bool:
    """Whether the text and the prompt after it are on one screen."""
    import re

    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        return True
    columns, lines = size.columns or 80, size.lines or 24
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return sum(max(1, -(-len(line) // columns)) for line in plain.splitlines()) < lines


def _page(command: str, text: str) -> bool:
    """Show text in a pager, to which an interrupt goes, until it is left; False if it cannot be run."""
    import signal
    import subprocess
    from contextlib import suppress

    sys.stdout.flush()
    environment = {"LESS": USUAL_OPTIONS, "LV": "-c", **os.environ}
    # as git does
    process = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environment)  # noqa: S602
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert process.stdin is not None
        with suppress(BrokenPipeError), process.stdin:
            process.stdin.write(text.encode("utf-8", "backslashreplace"))
        return process.wait() not in PAGER_NOT_STARTED
    finally:
        signal.signal(signal.SIGINT, before)
