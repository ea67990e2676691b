"""A progress bar on stderr, drawn after a second. The caller has checked that stderr is a terminal."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING, TextIO, TypeAlias

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE_SECONDS = 1.0

Done: TypeAlias = Callable[[float, int], None]


@contextmanager
def progress(total: int, total_bytes: int = 0) -> Iterator[Done]:
    """Yield a function that takes how many inputs are done, fractions too, and their bytes.

    The time that is left is estimated from the bytes, or from the inputs where their bytes are not known.
    Nothing is drawn in the first second. A timer draws the bar: an engine may take seconds to start, and
    calls nothing.
    """
    bar: Progress | None = None
    over = False
    so_far: tuple[float, int] = 0.0, 0
    lock = Lock()

    def appear() -> None:
        nonlocal bar
        with lock:
            if not over:
                bar = _start(total_bytes or total, terminal)
                draw(bar, *so_far)

    def draw(bar: "Progress", count: float, size: int) -> None:
        from rich.filesize import decimal

        status = f"{int(count)} of {total}" + (f", {decimal(size)}" if size else "")
        bar.update(bar.task_ids[0], completed=size if total_bytes else count, status=status)

    def done(count: float, size: int) -> None:
        nonlocal so_far
        so_far = count, size
        if bar is not None:
            draw(bar, count, size)

    # a copy of stderr: while a JVM starts stderr is redirected, the bar is not; it is closed below
    number, encoding = os.dup(sys.stderr.fileno()), sys.stderr.encoding
    terminal = open(number, "w", encoding=encoding, errors="replace")  # noqa: SIM115
    timer = Timer(PATIENCE_SECONDS, appear)
    timer.daemon = True
    timer.start()
    try:
        yield done
    finally:
        timer.cancel()
        with lock:
            over = True
        if bar is not None:
            bar.stop()
        terminal.close()


def _start(total: int, terminal: TextIO) -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.fields[status]}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
        console=Console(file=terminal, force_terminal=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    bar.add_task("inputs", total=total, status="")
    bar.start()
    return bar
