"""A call in another thread while this one goes on.

One that leaves the interpreter's lock alone, such as to read or write a file.
"""

from collections.abc import Callable
from threading import Thread
from typing import ClassVar, Self, TypeAlias

Call: TypeAlias = Callable[[], object]


class BackgroundCall:
    """Makes calls in a thread, one at a time: `begin`, then `wait`, which raises what the call raised.

    A context manager: after it no call is running.
    """

    enabled: ClassVar[bool] = True
    """Whether there is a core for another thread; not where as many processes as cores do the same work."""

    def __init__(self) -> None:
        self._thread: Thread | None = None
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            self._thread.join()

    @property
    def is_running(self) -> bool:
        """Whether a call was begun and not waited for."""
        return self._thread is not None

    def begin(self, call: Call) -> None:
        """Wait for the call before, then start this one.

        It is over on return where no thread is of use, or can be had.
        """
        self.wait()
        thread = Thread(target=self._run, args=(call,), daemon=True)
        try:
            if self.enabled:
                thread.start()  # returns once the call is under way, whatever this thread is busy with
                self._thread = thread
                return
        except RuntimeError:  # there are as many threads as there may be
            pass
        call()

    def wait(self) -> None:
        """Wait until the call that was begun has ended, if one was; raise what it raised."""
        if self._thread is None:
            return
        self._thread.join()
        self._thread, error, self._error = None, self._error, None
        if error is not None:
            raise error

    def _run(self, call: Call) -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            self._error = error
