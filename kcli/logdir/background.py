"""A call in another thread, such as to read or write a file, while this one goes on."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ClassVar, Self


class BackgroundCall:
    """Makes calls in a thread, one at a time: `begin`, then `wait`; after its block none is running."""

    enabled: ClassVar[bool] = True
    """Whether there is a core for another thread; not where as many processes as cores do the same work."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._call: Future[object] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    @property
    def is_running(self) -> bool:
        """Whether a call was begun and not waited for."""
        return self._call is not None

    def begin(self, call: Callable[[], object]) -> None:
        """Wait for the call before, then start this one; it is over on return where no thread is of use."""
        self.wait()
        if self.enabled:
            self._call = self._pool.submit(call)
        else:
            call()

    def wait(self) -> None:
        """Wait until the call that was begun has ended, if one was; raise what it raised."""
        call, self._call = self._call, None
        if call is not None:
            call.result()
