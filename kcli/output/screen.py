"""What the terminal can show, and the characters that drawings are made of."""

from typing import NamedTuple

NARROWEST = 40
"""Columns. A narrower terminal breaks the lines of drawings itself."""
ENDLESS = 1 << 30
"""Columns of a page, on which tables and texts take as much room as they need."""


class Symbols(NamedTuple):
    """The characters of drawings; `null` is a value that there is none of."""

    null: str = "\u2013"
    arrow: str = "→"
    ellipsis: str = "…"
    good: str = "✓"
    bad: str = "✗"
    warning: str = "!"
    note: str = "·"
    stays: str = "█"
    goes: str = "░"
    middle: str = "▒"
    half: str = "▄"
    cross: str = "\u2573"
    line: str = "━"
    end: str = "┥"


UTF8 = Symbols()
ASCII = Symbols("-", "->", "..", "ok", "x", "!", ".", "#", ".", "r", "l", "x", "=", "|")


class Screen(NamedTuple):
    """What a drawing is made for: columns, and whether there are colours and characters beyond ASCII.

    `is_part`: --where or --limit left rows out, so that nothing is concluded from those that are shown.
    `is_page`: it is a page of markdown or HTML; `width` is then that of drawings alone. `is_explained`: -v
    shows all findings below.
    """

    width: int = 80
    is_colored: bool = False
    is_utf8: bool = True
    is_part: bool = False
    is_page: bool = False
    is_explained: bool = False

    @property
    def room(self) -> int:
        """The columns of tables and texts."""
        return ENDLESS if self.is_page else self.width

    @property
    def symbols(self) -> Symbols:
        """The characters that this screen can show."""
        return UTF8 if self.is_utf8 else ASCII
