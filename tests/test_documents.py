"""Documents agree with the code: examples run, codes explained, commands named, rules of code kept."""

import ast
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from commands.app import COMMAND_NAMES as COMMANDS_OF_KCLI
from kcli.kafka.findings.catalogue import CATALOGUE
from kcli.kafka.findings.findings import SEVERITIES
from kcli.manual import TOPICS, page
from kcli.rows import COMMANDS, row_types
from tests.documents import DOCUMENTS, ROOT, examples, printed

README = (ROOT / "README.md").read_text()
EXAMPLES = [
    pytest.param(command, output, id=f"{document.stem}: {command[:60]}")
    for document in DOCUMENTS
    for command, output in examples(document)
    if "jq" not in command or shutil.which("jq")
]
TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for folder in ("formats", "kcli", "commands", "tests")
    for ending in ("*.py", "*.md")
    for path in sorted((ROOT / folder).rglob(ending))
} | {name: (ROOT / name).read_text() for name in ("README.md", "CHANGELOG.md")}
SOURCES = [
    path for package in ("formats", "kcli", "commands") for path in sorted((ROOT / package).rglob("*.py"))
]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "output"), EXAMPLES)
def test_example_prints_what_its_document_shows(command, output, demo):
    assert output == printed(command, demo.parent)


@pytest.mark.slow
@pytest.mark.parametrize("damaged", [0, 1])
def test_queries_of_a_fleet_answer_with_and_without_findings(damaged, kcli, demo, tmp_path, monkeypatch):
    import duckdb

    for number, host in enumerate(("one", "two")):
        partition = tmp_path / "logs" / host / "orders-0"
        shutil.copytree(demo / "orders-0", partition)
        if number < damaged:
            with (partition / f"{0:020}.log").open("r+b") as log:
                log.seek(61)
                log.write(b"?")
        kcli("check", partition, "--out", f"{tmp_path / host / 'check-2026-01-31'}/")
    monkeypatch.chdir(tmp_path)
    results, errors = (
        duckdb.sql(query).fetchall() for query in re.findall(r'duckdb -c "(.*?)"', page("check"), re.DOTALL)
    )

    assert sum(count for *_, count in results) == 2
    assert len({directory for _, _, directory, _ in errors}) == damaged


def test_readme_is_short_and_has_four_examples():
    assert len(README.splitlines()) <= 150
    assert len(examples(ROOT / "README.md")) == 4


def test_every_page_of_the_manual_is_a_topic():
    assert {path.stem for path in (ROOT / "kcli" / "manual").glob("*.md")} == set(TOPICS)


@pytest.mark.parametrize("topic", TOPICS)
def test_commands_options_and_pages_in_a_page_exist(topic):
    text = page(topic)
    words = {words.split()[0] for words in re.findall(r"`kcli ([a-z][a-z -]*)", text)}

    assert words <= {*COMMANDS_OF_KCLI, "COMMAND"}


def test_readme_names_every_command_and_page():
    assert [command for command in COMMANDS if f"kcli {command}" not in README] == []
    assert [topic for topic in TOPICS if f"kcli help {topic}" not in README] == []


def test_every_exit_status_is_in_the_manual():
    for status in (0, 1, 2, 3, 4, 5, 70, 130):
        assert re.search(rf"^\| {status} \|", page("output"), re.MULTILINE), status


def test_a_finding_code_has_one_meaning():
    codes = re.findall(r"^\*\*([A-Z]+-\d{3})", page("findings"), re.MULTILINE)

    assert codes == list(CATALOGUE)


def test_every_finding_code_is_used_and_explained():
    texts = [path.read_text() for path in SOURCES]
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
        if (lines := len(path.read_text().splitlines())) > 600
    }

    assert long == {}


PRIVATE_WORDS = re.compile(
    r"\b(told|tells|wanted|meanwhile|whence|nursery|crew|leash|collar|obey|obeyed|odd|nobody|parcel)\b"
    r"|\bstands (?!for\b)",
    re.IGNORECASE,
)
"""Words that this project once used in a sense of its own; the glossary has the field's words."""
QUOTES_THEM = (
    "tests/test_documents.py",
    "tests/formats/test_compression.py",
    "tests/recordings/test_dump_text.py",
)
"""The list itself, and texts of others."""
COLUMNS = 110
OF_A_FINDING = ("**", "- The broker: ", "- What to do: ")


def test_names_and_texts_are_not_private_words():
    used = {
        f"{path}: {match[0]}"
        for path, text in TEXTS.items()
        for match in PRIVATE_WORDS.finditer(text)
        if path not in QUOTES_THEM
    }

    assert used == set()


def test_lines_have_at_most_110_columns():
    """But for tables, examples and findings of documents, which cannot be folded."""
    long = [
        f"{path}:{number}"
        for path, text in TEXTS.items()
        for number, line in enumerate(text_lines(text, is_document=path.endswith(".md")), 1)
        if len(line) > COLUMNS
    ]

    assert long == []


def text_lines(text, *, is_document):
    """Yield the lines of a text, of a document an empty one for each of a table, an example or a finding."""
    is_example = False
    for line in text.splitlines():
        is_example ^= line.lstrip().startswith("```")
        yield (
            ""
            if is_document
            and (is_example or line.lstrip().startswith("|") or line.startswith(("    ", *OF_A_FINDING)))
            else line
        )


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
    bad = re.compile("|".join(rf"(?<!\w){re.escape(str(path))}/" for path in (ROOT, Path.home())))
    named = [
        name
        for name in listed
        if name
        and not name.endswith((".gz", ".png"))
        and (ROOT / name).is_file()
        and bad.search((ROOT / name).read_text(errors="replace"))
    ]

    assert named == []


def test_the_page_of_dump_names_its_row_types():
    named = set(re.findall(r"`((?:dump|rlmm)_\w+)`", page("dump")))

    assert named == {row_type.name for row_type in row_types("dump")}
