"""What the bytes of a broker mean: log directories, algorithms, engines, output.

Python programs have `kcli.open(...)` and `kcli.run(...)`: see `kcli help api`. The names of kcli.api are
imported when they are used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcli.api import (
        Error,
        Finding,
        InputError,
        LogDirs,
        MissingError,
        Partition,
        RefusedError,
        Result,
        UsageError,
        open,  # noqa: A004 - the name of the contract
        run,
    )

__all__ = [
    "KAFKA_VERSIONS",
    "Error",
    "Finding",
    "InputError",
    "LogDirs",
    "MissingError",
    "Partition",
    "RefusedError",
    "Result",
    "UsageError",
    "__version__",
    "open",
    "run",
]

__version__ = "0.2.0"
KAFKA_VERSIONS = "0.8 to 4.4"  # the versions whose files kcli reads

if not TYPE_CHECKING:  # a type checker knows the names, and no others

    def __getattr__(name: str) -> Any:
        """Return a name of the API."""
        if name in __all__:
            return getattr(import_module("kcli.api"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        """Return the names of the API, too."""
        return sorted({*globals(), *__all__})
