"""Examples of README and manual, found and run; `python -m tests.documents` writes what they print."""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "kcli" / "manual").glob("*.md")))
EXAMPLE = re.compile(r"^\$ (?P<command>(?:.*\\\n)*.+)\n(?P<output>(?:(?!\$ |```).*\n)*)", re.MULTILINE)
CONSOLE = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)


def examples(document):
    """Return the command and the output of each example in a document."""
    blocks = CONSOLE.findall(document.read_text())
    return [(match["command"], match["output"]) for block in blocks for match in EXAMPLE.finditer(block)]


def session(page):
    """Return the Python session of a page of the manual."""
    text = (ROOT / "kcli" / "manual" / f"{page}.md").read_text()
    return "\n".join(re.findall(r"```python\n(>>> .*?)```", text, re.DOTALL))


def printed(command, folder):
    """Run a command in a folder with kcli-demo (kcli alone: as on a terminal); return what it prints."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }
    if "|" not in command:
        environment["KCLI_OUTPUT"] = "table"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, env=environment, check=False
    )
    return done.stdout + done.stderr


def main():
    """Write the output of every example anew."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(ROOT / "kcli" / "demo" / "demo.tar.gz") as archive:
            archive.extractall(folder, filter="data")
        for document in DOCUMENTS:
            text = CONSOLE.sub(
                lambda block: EXAMPLE.sub(
                    lambda match: f"$ {match['command']}\n{printed(match['command'], folder)}", block[0]
                ),
                document.read_text(),
            )
            document.write_text(text)


if __name__ == "__main__":
    main()
