"""Work beside other work: one call at a time in a thread of its own.

For calls that leave the interpreter's lock alone: to read the next piece of a file, to write the last one, takes as
long as much of what is done between.
"""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import ClassVar, Self, TypeAlias

Call: TypeAlias = Callable[[], object]


class Beside:
    """A thread that makes calls, one at a time: `begin`, then `wait`, which raises what the call raised.

    A context manager: on leaving it no call is made any more, and the last one has ended.
    """

    helps: ClassVar[bool] = True
    """Whether there is a core for another thread; not where as many processes as cores do the same work."""

    def __init__(self) -> None:
        self.is_busy = False
        """Whether a call was begun and not waited for."""
        self._asked: SimpleQueue[Call | None] = SimpleQueue()
        self._told: SimpleQueue[BaseException | None] = SimpleQueue()
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            self._asked.put(None)
            self._thread.join()

    def begin(self, call: Call) -> None:
        """Have a call made, once the one before has been waited for; at once where another thread does not help, or there can be none."""
        self.wait()
        if not self.helps or not self._has_thread():
            call()
            return
        self._asked.put(call)
        # Until it is under way: else it would wait for the interpreter's lock as long as this thread has work.
        self._told.get()
        self.is_busy = True

    def _has_thread(self) -> bool:
        if self._thread is None:
            thread = Thread(target=self._work, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # as many as there may be
                return False
            self._thread = thread
        return True

    def wait(self) -> None:
        """Wait until the call that was begun has ended, if one was; raise what it raised."""
        if not self.is_busy:
            return
        error = self._told.get()
        self.is_busy = False
        if error is not None:
            raise error

    def _work(self) -> None:
        while (call := self._asked.get()) is not None:
            self._told.put(None)
            try:
                call()
            except BaseException as error:  # noqa: BLE001 - raised where it is waited for
                self._told.put(error)
            else:
                self._told.put(None)
            del call  # and what it holds, while the next is awaited
