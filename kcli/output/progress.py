"""A progress bar on stderr, for people who wait: only after a second. Whoever calls knows that stderr is a terminal."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE_SECONDS = 1.0


@contextmanager
def progress(total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many units are done; it draws nothing while all goes fast."""
    start = time.monotonic()
    bar: Progress | None = None

    def done(count: int) -> None:
        nonlocal bar
        if bar is None and time.monotonic() - start >= PATIENCE_SECONDS:
            bar = _start(total)
        if bar is not None:
            bar.update(bar.task_ids[0], completed=count)

    try:
        yield done
    finally:
        if bar is not None:
            bar.stop()


def _start(total: int) -> "Progress":
    from rich.console import Console  # noqa: PLC0415 - only who waits pays for it
    from rich.progress import Progress  # noqa: PLC0415

    bar = Progress(console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False)
    bar.add_task("partitions", total=total)
    bar.start()
    return bar
