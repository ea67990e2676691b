"""A name means one thing in the whole product."""

import ast
import re
from collections import defaultdict

import pytest

from tests.documents import ROOT

TREES = {
    path.relative_to(ROOT).as_posix(): ast.parse(path.read_text())
    for package in ("formats", "kcli", "commands")
    for path in sorted((ROOT / package).rglob("*.py"))
}

CODE_OR_DOTTED = re.compile(r"Constant\(value='(?:[A-Z]+-\d{3}|[a-z.-]+\.[a-z]+)'\)")
"""Values that are codes of findings, names of files, settings."""


def classes(tree):
    """Yield name and place of the public classes of a module."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, node.lineno


def constants(tree):
    """Yield name and value of the constants of a module, one for its module without the underscore."""
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name) and target.id.strip("_").isupper() and node.value is not None:
                yield target.id.lstrip("_"), ast.dump(node.value)


@pytest.mark.parametrize("named", [classes, constants])
def test_no_name_has_two_meanings(named):
    meanings = defaultdict(dict)
    for path, tree in TREES.items():
        for name, meaning in named(tree):
            meanings[name][(path, meaning) if named is classes else meaning] = path
    assert {name: [*found.values()] for name, found in meanings.items() if len(found) > 1} == {}


def test_the_name_of_a_finding_or_a_file_is_declared_once():
    paths = defaultdict(list)
    for path, tree in TREES.items():
        for _, value in constants(tree):
            if CODE_OR_DOTTED.fullmatch(value):
                paths[value].append(path)
    assert {value: where for value, where in paths.items() if len(where) > 1} == {}
