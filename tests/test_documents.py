"""The documents cannot drift from the code: README examples are run, codes are explained, commands are named."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

from kcli.analysis.findings import CATALOGUE, SEVERITIES
from kcli.rows import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
EXAMPLES = [
    (match["command"], match["output"])
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for match in re.finditer(r"^\$ (?P<command>.+)\n(?P<output>(?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]
SOURCES = [
    path for package in ("formats", "kcli", "commands") for path in sorted((ROOT / package).rglob("*.py"))
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "output"), [example for example in EXAMPLES if "jq" not in example[0] or shutil.which("jq")]
)
def test_readme_example_prints_what_it_says(command, output, demo, kcli, monkeypatch):
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": "200",
        "NO_COLOR": "1",
    }
    words = shlex.split(command)
    if "|" in words:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=demo.parent,
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
            check=False,
        )
    else:
        monkeypatch.chdir(demo.parent)
        done = kcli(*words[1:], env=environment)

    assert (words[0], output) == ("kcli", done.stdout + done.stderr)


def test_readme_has_ten_examples():
    assert len(EXAMPLES) >= 10


def test_readme_names_every_command_and_exit_status():
    missing = [command for command in COMMANDS if f"kcli {command}" not in README]

    assert missing == []
    for status in (0, 1, 2, 3, 4, 5, 70, 130):
        assert re.search(rf"^\| {status} \|", README, re.MULTILINE), status


def test_every_finding_code_is_used_and_explained():
    texts = [path.read_text() for path in SOURCES if path.name != "findings.py"]
    used = {
        node.value
        for text in texts
        if re.search(r"[A-Z]+-\d{3}", text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"[A-Z]+-\d{3}", node.value)
    }

    assert used == set(CATALOGUE)
    for code, rule in CATALOGUE.items():
        assert rule.severity in SEVERITIES, code
        assert all(rule[1:]), code


def test_the_code_keeps_its_size():
    long = {
        str(path.relative_to(ROOT)): lines
        for path in SOURCES
        if (lines := len(path.read_text().splitlines())) > 450
    }

    assert long == {}


CLASS_NAMES_DEFINED_TWICE = {
    "Block",
    "Field",
    "Found",
    "Message",
    "Options",
    "Part",
    "Piece",
    "Place",
    "Reading",
    "SnapshotHeader",
    "Task",
    "Told",
    "Trouble",
    "UnknownTag",
    "Wanted",
}
"""Each is to get a name of its own; the list only ever gets shorter."""


def test_no_public_class_name_is_defined_twice():
    places = defaultdict(list)
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(ROOT)))

    assert {name for name, paths in places.items() if len(paths) > 1} <= CLASS_NAMES_DEFINED_TWICE


def test_every_package_is_installed():
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    moved = {folder.replace("/", "."): name for name, folder in setup["package-dir"].items()}
    packages = [
        str(path.parent.relative_to(ROOT)).replace("/", ".") for path in SOURCES if path.name == "__init__.py"
    ]

    assert sorted(setup["packages"]) == sorted(moved.get(package, package) for package in packages)


def test_the_top_level_holds_four_folders():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    folders = {name.partition("/")[0] for name in listed.splitlines() if "/" in name}
    assert {name for name in folders if not name.startswith(".")} == {"formats", "kcli", "commands", "tests"}


def test_nothing_names_the_machine_it_was_made_on():
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    bad = re.compile("|".join(re.escape(f"{path}/") for path in (ROOT, Path.home())))
    named = [
        name
        for name in listed
        if name
        and not name.endswith((".gz", ".png"))
        and (ROOT / name).is_file()
        and bad.search((ROOT / name).read_text(errors="replace"))
    ]

    assert named == []
