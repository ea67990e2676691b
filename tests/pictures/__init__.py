"""Pictures of README: real screens over recorded log dirs, as SVG; `python -m tests.pictures` draws them."""

import io
import tarfile
from contextlib import chdir
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tests.recordings import pack
from tests.screens import STARTUP, Setting, drawn

HERE = Path(__file__).parent
WIDE = Setting("100 columns", 100, {"FORCE_COLOR": "1"})
NAMES = {
    "truncation/before-follower": "broker-1",
    "truncation/before-leader": "broker-2",
    "truncation/after-follower-stopped": "broker-1-later",
    "clean-damaged-zero-tail/d0": "power-cut",
}
"""Recorded log dir -> its name in the pictures."""
PICTURES = {
    "check": "check power-cut",
    "epoch-diff": "epoch diff broker-1 broker-2 broker-1-later --topic segments",
    "truncate-leader": "truncate --dry-run --leader broker-2 broker-1/segments-0",
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
    """Unpack the recordings, their log dirs under the names of the pictures; return the folder."""
    pack.unpack("truncation", folder)
    with tarfile.open(STARTUP) as archive:
        archive.extractall(folder, filter="data")
    for recorded, name in NAMES.items():
        (folder / recorded).rename(folder / name)
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
