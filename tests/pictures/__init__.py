"""Pictures of README: real screens over the log dirs of `kcli demo --keep`, as SVG.

`python -m tests.pictures` draws them.
"""

import io
from contextlib import chdir
from pathlib import Path

from rich.console import Console
from rich.text import Text
from typer.testing import CliRunner

from commands.app import app
from tests.screens import Setting, drawn

HERE = Path(__file__).parent
WIDE = Setting("100 columns", 100, {"FORCE_COLOR": "1"})
PICTURES = {
    "check": "check crashed",
    "epoch-diff": "epoch diff crashed kcli-demo --topic orders",
    "truncate-leader": "truncate --dry-run --leader crashed kcli-demo/orders-0",
}
TEMPLATE = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<!-- python -m tests.pictures -->
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px;
  line-height: {line_height}px;
  white-space: pre;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""As Rich's own, but with the fonts that the reader has: nothing is fetched."""


def unpack(folder: Path) -> Path:
    """Leave in a folder what a reader of README has there; return it."""
    assert CliRunner().invoke(app, ["demo", "--keep", str(folder)]).exit_code == 0
    return folder


def picture(name: str) -> str:
    """Return the SVG of a picture, drawn where the log dirs lie."""
    line = PICTURES[name]
    console = Console(record=True, width=WIDE.columns, file=io.StringIO(), color_system="standard")
    console.print(Text(f"$ kcli {line}", style="bold"))
    console.print(Text.from_ansi(drawn(line, WIDE).rstrip()))
    return console.export_svg(title="", code_format=TEMPLATE, unique_id=name)


def main() -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder, chdir(unpack(Path(folder))):
        for name in PICTURES:
            (HERE / f"{name}.svg").write_text(picture(name))
