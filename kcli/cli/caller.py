"""The program that runs a command in its own process, where it takes the place of the terminal.

A run gives its rows and its summary to the caller and prints nothing. What ends it is raised as it is, in
place of a line on stderr and an exit status.
"""

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from kcli.cli.summary import RunSummary
    from kcli.output.view import View
    from kcli.rows import Item

Take: TypeAlias = "Callable[[View, Iterator[Item], RunSummary], None]"
"""Gets the rows of a run, which are computed as they are taken; the summary is complete after the last."""


class Caller(NamedTuple):
    """Who takes the rows of a run; `lines` get what the command would say on stderr beside findings."""

    take: Take
    lines: list[str]


CALLER: ContextVar[Caller | None] = ContextVar("caller", default=None)
"""None: the command line of a terminal or a script."""
