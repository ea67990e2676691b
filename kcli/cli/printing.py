"""What a run shows outside files: rows on stdout; progress, findings and errors on stderr."""

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from io import StringIO
from itertools import accumulate
from typing import TypeAlias

from kcli.cli.boundary import CALLER, say
from kcli.cli.command import Output
from kcli.cli.inputs import size_of
from kcli.cli.summary import RunSummary
from kcli.cli.terminal import LEAST_WIDTH, is_colored, is_dumb, width
from kcli.engine.contract import Outcome, Unit
from kcli.kafka.findings.findings import SEVERITIES
from kcli.output.formats import TABLE, TEXT
from kcli.output.text import failure_line, finding_lines
from kcli.output.view import View
from kcli.rows import Item, TextBlock

Text: TypeAlias = Callable[[Iterable[Item]], Iterable[str | TextBlock]]
Done: TypeAlias = Callable[[Outcome], None]


JUDGES = frozenset(
    {"check", "startup", "truncate", "failover", "replica elect", "replica diff", "epoch diff", "epoch check"}
    | {"rlmm check", "diff", "salvage", "bundle", "scan"}
)
"""Commands whose table begins with a verdict."""


def print_rows(
    rows: Iterable[Item], view: View, text: Text | None, summary: RunSummary, *, pages: bool = False
) -> str:
    """Write rows to stdout in the view's format, each as it comes, unless the format needs all of them.

    With `pages` what needs all of them is shown in the user's pager, if it is longer than the terminal. Then
    the verdict is returned, to be said again: whoever left the pager early, or at its end, has not seen it.
    """
    write = None if text is not None and view.format is TEXT else view.format.load_writer()
    # drawings conclude from findings, wherever those are shown
    is_list = view.format.carries_findings and not view.format.is_whole
    tail = summary.tail if is_list else summary.messages
    if write is not None and pages and not view.format.streams and sys.stdout.isatty():
        from kcli.cli.terminal import show

        drawn = StringIO()
        write(rows, view, drawn, tail)
        is_paged = show(drawn.getvalue())
        is_view = view.format is TABLE and view.columns is None and view.headers
        is_verdict = is_paged and is_view and view.command in JUDGES
        return drawn.getvalue().partition("\n\n")[0] + "\n" if is_verdict else ""
    if text is not None and view.format is TEXT:
        _print_lines(text(view.chosen(rows)))
    elif write is not None:
        write(rows, view, sys.stdout, tail)
    return ""


def print_messages(summary: RunSummary, output: Output, *, with_findings: bool) -> None:
    """Write findings (explained by -v), errors and the number of unread inputs to stderr."""
    findings, failures = summary.messages()
    explained = output.verbose > 0
    hidden = () if explained or output.fail_on == SEVERITIES[0] else SEVERITIES[:1]
    findings = [finding for finding in findings if with_findings and finding.severity not in hidden]
    if sys.stderr.isatty():  # findings by code, and all folded to the terminal
        from kcli.output.text import failure_lines, grouped_lines

        columns, colored = max(width(), LEAST_WIDTH), is_colored(output.color, sys.stderr)
        lines = [*grouped_lines(findings, explained=explained, width=columns, is_colored=colored)]
        lines += failure_lines(failures, width=columns, is_colored=colored)
    else:
        lines = [*finding_lines(findings, explained=explained), *map(failure_line, failures)]
    if summary.unread and summary.inputs > 1 and failures[0].error != "nothing-matched":
        lines.append(f"kcli: {summary.unread} of {summary.inputs} partitions and files gave an error")
    for line in lines:
        say(line)


def progress(units: list[Unit], output: Output, view: View) -> AbstractContextManager[Done]:
    """Return a progress bar on stderr, fed by outcomes; it shows nothing unless a person watches."""
    rows_on_terminal = sys.stdout.isatty() and view.format.streams and output.out is None
    if output.quiet or CALLER.get() is not None or is_dumb() or rows_on_terminal or not sys.stderr.isatty():
        return nullcontext(lambda _: None)
    return _progress_bar(units)


@contextmanager
def _progress_bar(units: list[Unit]) -> Iterator[Done]:
    from kcli.output.progress import progress as progress_bar

    sizes = [size_of(unit) for unit in units]
    before = [0, *accumulate(sizes)]
    with progress_bar(len(units), before[-1]) as show:

        def done(outcome: Outcome) -> None:
            continuation = outcome.continuation
            if continuation is None:
                show(outcome.number + 1, before[outcome.number + 1])
            else:
                number, size = continuation.number, sizes[continuation.number]
                read_bytes = max(0, min(continuation.position - units[number].start, size))
                show(number + (read_bytes / size if size else 0), before[number] + read_bytes)

        yield done


def _print_lines(lines: Iterable[str | TextBlock]) -> None:
    from kcli.output.files import write_lines

    sys.stdout.flush()
    write_lines(
        _flushed(lines) if sys.stdout.isatty() else lines,
        sys.stdout.buffer,
        in_background=_is_file_of_its_own(),
    )


def _flushed(lines: Iterable[str | TextBlock]) -> Iterator[str | TextBlock]:
    """Yield lines; each is on the terminal before the next is computed."""
    for line in lines:
        yield line
        sys.stdout.flush()


def _is_file_of_its_own() -> bool:
    """Whether stdout is a file that stderr does not write to: else messages would come out of order."""
    try:
        out, messages = os.fstat(1), os.fstat(sys.stderr.fileno())
    except OSError:
        return False
    return stat.S_ISREG(out.st_mode) and (out.st_dev, out.st_ino) != (messages.st_dev, messages.st_ino)
