"""Declarations alone say where bytes lie: no module but those that make readers knows an offset."""

import re
from pathlib import Path

import pytest

import formats

ROOT = Path(formats.__file__).parents[1]
BY_HAND = re.compile(
    r"\bstruct\.(?:Struct|pack|unpack|unpack_from|iter_unpack|calcsize)\("
    r"|\bStruct\(\"[<>=!@]|\bunpack_from\(\"[<>=!@]"
    r"|\bint\.from_bytes\(\w+\[\w+ |\b(?:raw|data|window|head|buffer|batch)\[\d\d+\]"
)
MAKERS = {"formats/layout.py", "formats/primitives.py", "formats/compression.py"}
"""Modules that derive readers from declarations, and the codecs, whose formats are not Kafka's."""

EXCEPTIONS = {
    "kcli/logdir/log_dirs.py": "struct flock is Linux's, to ask who holds .lock",
    "kcli/kafka/remote/partitioning.py": "murmur2 hashes four bytes at a time",
}


def by_hand(text):
    """Return the lines that read or write fields by hand."""
    return [line.strip() for line in text.splitlines() if BY_HAND.search(line)]


def modules():
    for package in ("formats", "kcli", "commands"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if "engine" not in path.parts:  # it sends Python's own values, no bytes of Kafka
                yield path.relative_to(ROOT).as_posix(), path.read_text()


@pytest.mark.parametrize(
    "line",
    [
        '_LENGTH = struct.Struct(">8xi")',
        'Struct(">i").unpack_from(data)',
        'int.from_bytes(window[at + 8 : at + 12], "big")',
        "if raw[16] >= 2:",
    ],
)
def test_a_field_that_is_read_by_hand_is_noticed(line):
    assert by_hand(line) == [line]


def test_no_module_reads_fields_by_hand():
    found = {name: lines for name, text in modules() if name not in MAKERS and (lines := by_hand(text))}
    assert {name: lines for name, lines in found.items() if name not in EXCEPTIONS} == {}
    assert set(EXCEPTIONS) <= set(found), "an exception that is none any more"
