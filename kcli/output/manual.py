"""Pages of the manual as they are shown: with the catalogue of findings in place, and drawn on a terminal."""

from collections.abc import Iterator
from io import StringIO
from typing import TextIO

from kcli.kafka.findings.catalogue import CATALOGUE
from kcli.manual import page

WIDEST = 110
"""Columns of a drawn page: longer lines are hard to read."""

FINDINGS = "findings"
NOT_ASCII = str.maketrans("─━│•\u2013…✓✗·█░▼→←≤≥", "-=|*-.+x.#.v><<>")
"""What a page is drawn with where a terminal shows ASCII alone."""


def full_page(topic: str) -> str:
    """Return the Markdown of a page; the page of findings ends with the catalogue."""
    text = page(topic)
    return text + "\n".join(_catalogue()) if topic == FINDINGS else text


def _catalogue() -> Iterator[str]:
    family = ""
    for code, rule in CATALOGUE.items():
        if code.partition("-")[0] != family:
            family = code.partition("-")[0]
            yield f"\n## {family}"
        yield f"\n**{code}** ({rule.severity}): {rule.title}\n"
        yield f"- The broker: {rule.broker}"
        yield f"- What to do: {rule.action}"
    yield ""


def draw_page(markdown: str, out: TextIO, *, colored: bool, is_utf8: bool) -> None:
    """Draw Markdown on a terminal, as wide as the terminal but not wider than WIDEST."""
    from rich.markdown import Markdown
    from rich.theme import Theme

    from kcli.output.console import Console

    theme = Theme({"markdown.code": "bold cyan"})
    drawn = StringIO()
    console = Console(file=drawn, force_terminal=True, no_color=not colored, highlight=False, theme=theme)
    console.print(Markdown(markdown, code_theme="ansi_dark"), width=min(console.width, WIDEST))
    text = drawn.getvalue()
    out.write(text if is_utf8 else text.translate(NOT_ASCII).encode("ascii", "replace").decode())
