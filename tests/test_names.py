"""A name means one thing in the whole product."""

import ast
from collections import defaultdict

import pytest

from tests.documents import ROOT

TREES = {
    path.relative_to(ROOT).as_posix(): ast.parse(path.read_text())
    for package in ("formats", "kcli", "commands")
    for path in sorted((ROOT / package).rglob("*.py"))
}


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
