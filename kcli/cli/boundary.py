"""The one error boundary: whatever a command raises ends in one line on stderr and an exit status.

Typer itself would exit with 1, and a traceback, on any exception. A program that runs a command in its own
process takes the place of the terminal: a run gives it its rows and its summary and prints nothing, and what
ends the run is raised as it is.
"""

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import typer

from kcli.cli.signals import Interrupted
from kcli.cli.status import CommandError, ExitStatus, reason_of
from kcli.words import WordError

if TYPE_CHECKING:
    from kcli.cli.summary import RunSummary
    from kcli.output.view import View
    from kcli.rows import Item

TRACEBACKS_FROM = 2
"""How many -v show the traceback of an internal error."""

UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""What a write to stdout can meet; reading files has an error boundary of its own."""

lost: set[str] = set()
"""Names of the streams whose reader has closed them."""

Take: TypeAlias = "Callable[[View, Iterator[Item], RunSummary], None]"
"""Gets the rows of a run, which are computed as they are taken; the summary is complete after the last."""


class Caller(NamedTuple):
    """Who takes the rows of a run; `lines` get what the command would say on stderr beside findings."""

    take: Take
    lines: list[str]


CALLER: ContextVar[Caller | None] = ContextVar("caller", default=None)
"""None: the command line of a terminal or a script."""


def say(line: str) -> None:
    """Write a line, of any characters, to stderr if it is open; a caller in this process gets it instead."""
    caller = CALLER.get()
    if caller is not None:
        caller.lines.append(line)
        return
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return


def _folded(text: str) -> str:
    """Return a text on lines that fit where stderr is a terminal."""
    if not sys.stderr.isatty():
        return text
    from textwrap import fill

    from kcli.cli.terminal import LEAST_WIDTH, width

    columns = max(width(), LEAST_WIDTH)
    return fill(text, columns, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


@contextmanager
def boundary(*, verbose: int = 0) -> Iterator[None]:
    """Turn every exception, of flushing too, into an exit status; a caller in this process gets it."""
    if CALLER.get() is not None:
        yield
        return
    try:
        yield
        sys.stdout.flush()
    except typer.Exit:
        flush_quietly()
        raise
    except (CommandError, WordError) as ended:
        flush_quietly()
        say(_folded(f"kcli: {ended}"))
        status = ended.status if isinstance(ended, CommandError) else ExitStatus.USAGE
        raise typer.Exit(status) from ended
    except BrokenPipeError as error:
        discard_stdout()
        raise typer.Exit(ExitStatus.CLEAN) from error
    except (Interrupted, KeyboardInterrupt) as error:
        flush_quietly()
        say("kcli: interrupted")
        raise typer.Exit(
            error.status if isinstance(error, Interrupted) else ExitStatus.INTERRUPTED
        ) from error
    except Exception as error:
        flush_quietly()
        if isinstance(error, OSError) and error.errno in UNWRITABLE:
            say(f"kcli: cannot write output: {reason_of(error)}")
            raise typer.Exit(ExitStatus.SOME_UNANSWERED) from error
        internal(error, verbose=verbose)
        raise typer.Exit(ExitStatus.INTERNAL) from error


def internal(error: BaseException, *, verbose: int) -> None:
    """Report a bug of kcli in one line, or with its traceback."""
    import traceback

    if verbose >= TRACEBACKS_FROM:
        say("".join(traceback.format_exception(error)).rstrip())
    frames = traceback.extract_tb(error.__traceback__)
    location = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    again = "" if verbose >= TRACEBACKS_FROM else "; -vv shows the traceback"
    say(f"kcli: internal error: {type(error).__name__}: {error}{location}{again}")


def flush_quietly() -> None:
    """Flush stdout; if its reader has closed it, drop what is left."""
    try:
        sys.stdout.flush()
    except OSError:
        discard_stdout()


def discard_stdout() -> None:
    """Point stdout at the null device: the flush at shutdown must not meet the broken pipe again."""
    lost.add("stdout")
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, sys.stdout.fileno())
    except (OSError, ValueError):  # a stdout that is no file (a test's, a notebook's) has nothing to flush to
        return
    finally:
        os.close(null)
