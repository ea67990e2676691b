"""The tests of a module are found by its name, or by one table: `tests.mirror`."""

import ast
from collections import deque
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from kcli.output.table import DRAWINGS
from kcli.rows import COMMANDS, row_types
from tests.mirror import ELSEWHERE, SCREENS
from tests.screens import CASES

ROOT = Path(__file__).parents[1]
PACKAGES = ("formats", "kcli", "commands")
IMPORT_STEPS, COMMAND_STEPS = 3, 4
"""How far a module may be from what a test imports, and from a command that it runs."""
DRAWN = "kcli/output/table/"


def product():
    return [
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.name != "__init__.py"
    ]


def has_own_test(module):
    path = Path("tests") / module
    name = path.stem.strip("_")
    long = f"test_{path.parent.name}_{name}.py"
    shell = Path("tests/commands")
    files = [path.with_name(f"test_{name}.py"), path.with_name(long), shell / long]
    if module.startswith("kcli/cli/"):
        files.append(shell / f"test_{name}.py")
    return any((ROOT / file).exists() for file in files)


def entry_of(module):
    """Return the pattern of the table for a module: its own, else the first that fits; None without."""
    if module in ELSEWHERE:
        return module
    return next((pattern for pattern in ELSEWHERE if fnmatch(module, pattern)), None)


WITHOUT = [module for module in product() if not has_own_test(module)]


@cache
def tree(path):
    return list(ast.walk(ast.parse((ROOT / path).read_text())))


@cache
def imports(path):
    """Return the files of this repository that a file imports, and those of its folder that a table names."""
    found = set()
    for node in tree(path):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found.add(file_of(f"{node.module}.{alias.name}") or file_of(node.module))
        elif isinstance(node, ast.Import):
            found |= {file_of(alias.name) for alias in node.names}
        elif isinstance(node, ast.Dict):
            words = {getattr(value, "value", None) for value in node.values}
            found |= {sibling(path, word) for word in words if isinstance(word, str)}
        elif isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant):
            found.add(sibling(path, str(node.value.value)))
    return found - {None, path}


@cache
def file_of(dotted):
    path = dotted.replace(".", "/")
    return next((file for file in (f"{path}.py", f"{path}/__init__.py") if (ROOT / file).exists()), None)


@cache
def sibling(path, word):
    """Return the file of `module.name` in the same folder, as tables of what is imported late have it."""
    name = word.partition(".")[0]
    file = f"{Path(path).parent.as_posix()}/{name}.py"
    return file if name.isidentifier() and (ROOT / file).exists() else None


def commands_of(test):
    """Return the files of the commands that a test types: words that come first in a call or a list."""
    found = {getattr(first, "value", None) for node in tree(test) for first in words_of(node)[:1]}
    return {command_file(words) for words in found if isinstance(words, str)} - {None}


def command_file(words):
    name = words.partition(" ")[0].replace("-", "_")
    return file_of(f"commands.{name}") if name.isidentifier() else None


def words_of(node):
    found = node.args if isinstance(node, ast.Call) else getattr(node, "elts", [])
    return [argument for argument in found if not isinstance(argument, ast.Starred)]


def within(files, steps):
    """Return the files, and what they import in so many steps."""
    found = dict.fromkeys(files, 0)
    left = deque(found)
    while left:
        file = left.popleft()
        if found[file] < steps:
            for imported in imports(file) - found.keys():
                found[imported] = found[file] + 1
                left.append(imported)
    return found.keys()


@cache
def reached(test):
    """Return what is near to what a test imports, to the module of its name and to commands that it runs."""
    helpers = {file for file in imports(test) if file.startswith("tests/")}
    own = Path(test.removeprefix("tests/").replace("test_", "")).with_suffix("").as_posix().replace("/", ".")
    direct = set().union(*map(imports, helpers), imports(test), {file_of(own)} - {None}) - helpers
    return within(direct, IMPORT_STEPS) | within(commands_of(test), COMMAND_STEPS)


def shown_by_screens():
    """Return the files of the recorded commands, and of the drawings of all their rows and near to them."""
    typed = [f"{case} " for case in CASES.values()]
    types = {
        row_type.name
        for command in COMMANDS
        if any(case.startswith(f"{command} ") for case in typed)
        for row_type in row_types(command)
    }
    drawn = {f"{DRAWN}{DRAWINGS[name]}.py" for name in types & DRAWINGS.keys()}
    near = within(drawn | {file_of("kcli.output.table.table_view")}, COMMAND_STEPS)
    return near | {command_file(case) for case in typed}


def test_every_module_has_a_test_file_of_its_name_or_an_entry_of_the_table():
    assert [module for module in WITHOUT if entry_of(module) is None] == []


@pytest.mark.parametrize("pattern", ELSEWHERE)
def test_an_entry_is_needed(pattern):
    assert pattern in {entry_of(module) for module in WITHOUT}


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ELSEWHERE)
def test_the_test_of_an_entry_judges_its_modules(pattern):
    test = ELSEWHERE[pattern]
    judged = shown_by_screens() if test == SCREENS else reached(test)

    assert [module for module in WITHOUT if entry_of(module) == pattern and module not in judged] == []


def test_a_test_judges_nothing_that_is_far_from_it():
    judged = reached("tests/formats/test_types.py")

    assert "formats/types.py" in judged
    assert "kcli/output/verdicts.py" not in judged


def test_no_test_module_imports_another():
    """What several need is a helper beside them: a test that changes must not change another one."""
    found = [
        f"{path.relative_to(ROOT)}: {node.module}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in tree(path.relative_to(ROOT))
        if isinstance(node, ast.ImportFrom) and (node.level or node.module.startswith("tests"))
        for alias in node.names
        if any(part.startswith("test_") for part in (*(node.module or "").split("."), alias.name))
    ]
    assert found == []
