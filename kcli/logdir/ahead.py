"""Reading ahead in a thread: while a window is worked on, the next one is copied from the page cache.

The copy takes longer than the checksums of what is copied, and the interpreter's lock is free meanwhile.
"""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Self, TypeAlias

Fill: TypeAlias = Callable[[memoryview, int], None]
"""Fills a view with the bytes at a position of a file, or raises."""


class Ahead:
    """One piece of a file at a time, read by another thread; a context manager, which leaves none at work.

    Reading and `begin` to `wait` alternate: the view belongs to the thread in between.
    """

    def __init__(self, fill: Fill) -> None:
        self._fill = fill
        self._asked: SimpleQueue[tuple[memoryview, int] | None] = SimpleQueue()
        self._told: SimpleQueue[BaseException | None] = SimpleQueue()
        self._thread: Thread | None = None
        self.is_reading = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            self._asked.put(None)
            self._thread.join()

    def begin(self, view: memoryview, position: int) -> None:
        """Have the view filled with the bytes at a position of the file."""
        if self._thread is None:
            self._thread = Thread(target=self._work, daemon=True)
            self._thread.start()
        self._asked.put((view, position))
        # Until it reads: else it would wait for the interpreter's lock as long as this thread has work.
        self._told.get()
        self.is_reading = True

    def wait(self) -> bool:
        """Wait until the view is full, and raise what went wrong; False if nothing was begun."""
        if not self.is_reading:
            return False
        error = self._told.get()
        self.is_reading = False
        if error is not None:
            raise error
        return True

    def _work(self) -> None:
        while (asked := self._asked.get()) is not None:
            self._told.put(None)
            try:
                self._fill(*asked)
            except BaseException as error:  # noqa: BLE001 - raised where it is waited for
                self._told.put(error)
            else:
                self._told.put(None)
