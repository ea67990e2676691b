"""What a command gives: the types of its rows, and which of them a format that shows one type shows."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcli.rows import Item, TextBlock
    from kcli.rows.declare import RowType


class Answer(NamedTuple):
    """The rows of a command.

    `types`: theirs, where the options change them. `possible`: the names of those that these inputs can give,
    None for any; where it is one, a flat format needs no --only. `default_type`: the one that stdout shows
    where they are several, and that a file has if it `is_asked` for; `single_view`: its view on a terminal
    shows the others, too. `text` makes lines of rows, for -o text. `stop_at_limit`: nothing is read after the
    last row that --limit shows.
    """

    types: "tuple[RowType, ...] | None" = None
    possible: frozenset[str] | None = None
    default_type: str | None = None
    is_asked: bool = False
    single_view: bool = False
    text: "Callable[[Iterable[Item]], Iterable[str | TextBlock]] | None" = None
    stop_at_limit: bool = False
