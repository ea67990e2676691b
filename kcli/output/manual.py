"""Pages of the manual as they are drawn on a terminal."""

from io import StringIO
from typing import TextIO

WIDEST = 110
"""Columns of a drawn page: longer lines are hard to read."""

NOT_ASCII = str.maketrans("─━│•\u2013…✓✗·█░▼→←≤≥", "-=|*-.+x.#.v><<>")
"""What a page is drawn with where a terminal shows ASCII alone."""


def draw_page(markdown: str, out: TextIO, *, colored: bool, is_utf8: bool) -> None:
    """Draw Markdown on a terminal, as wide as the terminal but not wider than WIDEST."""
    from rich.markdown import Markdown
    from rich.theme import Theme

    from kcli.output.console import Console

    theme = Theme({"markdown.code": "bold cyan"})
    buffer = StringIO()
    console = Console(file=buffer, force_terminal=True, no_color=not colored, highlight=False, theme=theme)
    console.print(Markdown(markdown, code_theme="ansi_dark"), width=min(console.width, WIDEST))
    text = buffer.getvalue()
    out.write(text if is_utf8 else text.translate(NOT_ASCII).encode("ascii", "replace").decode())
