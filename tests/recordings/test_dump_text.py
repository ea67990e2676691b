"""`kcli dump -o text` against what DumpLogSegments printed for the same files and flags, line for line."""

import gzip
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.formats import recorded
from tests.recordings import pack
from tests.recordings.golden import dumped

NAMES = sorted(path.name.removesuffix(".tar.gz") for path in pack.DATA.glob("*.tar.gz"))
REFUSED = "v1-lz4-other-checksum"
PRINT = ("--print-data-log", "--deep-iteration")
BATCHES = (*recorded.LOGS, *(name for name in recorded.LEGACY if name != REFUSED))


class Section(NamedTuple):
    """What was printed for one file."""

    path: str
    golden: tuple[str, ...]
    kcli: tuple[str, ...]


ZEROS = re.compile(r"(offset: (?P<base>\d+) position: 0|timestamp: 0 offset: (?P<start>\d+))")

DIFFERENCES = {
    "zero slots of an index are no entries": (
        "the tool prints the first preallocated slot as an entry; kcli says of an offset index that it is empty",
        lambda section: is_zero_slot(section) and section.kcli in ((f"{section.path} is empty.",), ()),
    ),
}
"""What kcli prints otherwise on purpose: why, and whether a section is of that sort."""


def is_zero_slot(section):
    match = ZEROS.fullmatch("\n".join(section.golden))
    return match is not None and int(match["base"] or match["start"]) == int(Path(section.path).name.split(".")[0])


def sections(text):
    """Return file -> the lines printed for it; of a file that was dumped twice the first time counts."""
    found, lines = {}, []
    for line in text.split("\n")[:-1]:
        if line.startswith("Dumping "):
            lines = []
            found.setdefault(line.removeprefix("Dumping "), lines)
        else:
            lines.append(line)
    return {path: tuple(lines) for path, lines in found.items()}


@pytest.fixture(scope="session")
def compared(recording, tmp_path_factory):
    from typer.testing import CliRunner

    from commands.app import app

    @cache
    def compare(name):
        folder = recording(name)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            done = CliRunner().invoke(app, ["dump", "-o", "text", *PRINT, "--files", ",".join(dumped(folder))])
        golden = sections(gzip.decompress((pack.DATA / f"{name}.golden.gz").read_bytes()).decode())
        found = sections(done.stdout)
        assert list(found) == dumped(folder)
        return [Section(path, golden[path], found[path]) for path in found]

    return compare


@pytest.mark.parametrize("name", NAMES)
def test_lines_are_equal(compared, name):
    for section in compared(name):
        if section.kcli != section.golden:
            assert any(tolerated(section) for _, tolerated in DIFFERENCES.values()), section


def test_there_is_enough_to_compare(compared):
    lines = [line for name in NAMES for section in compared(name) if section.kcli == section.golden for line in section.golden]

    assert len(lines) > 5000


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_every_difference_is_met(compared, difference):
    tolerated = DIFFERENCES[difference][1]

    assert any(section.kcli != section.golden and tolerated(section) for name in NAMES for section in compared(name))


@pytest.mark.parametrize("name", BATCHES)
def test_batches_of_every_kind(kcli, tmp_path, monkeypatch, name):
    golden = recorded.stored(f"{name}.print.txt").decode()
    path = Path(golden.partition("\n")[0].removeprefix("Dumping "))
    monkeypatch.chdir(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_bytes(recorded.stored(f"{name}.log"))

    done = kcli("dump", "-o", "text", *PRINT, path)

    assert without_summary(golden) == done.stdout


def test_a_kraft_snapshot(kcli, tmp_path, monkeypatch):
    golden = recorded.stored("snapshot.plain.txt").decode()
    path = Path(golden.partition("\n")[0].removeprefix("Dumping "))
    monkeypatch.chdir(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_bytes(recorded.stored("snapshot.checkpoint"))

    assert kcli("dump", "-o", "text", path).stdout == without_summary(golden)


def without_summary(golden):
    """The part of a golden that went to stdout."""
    return golden.partition("Non-consecutive offsets in ")[0]


def test_a_wrapper_that_kafka_refuses_is_a_finding(kcli, tmp_path):
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(recorded.stored(f"{REFUSED}.log"))
    done = kcli("dump", "-o", "text", *PRINT, path)
    golden = recorded.stored(f"{REFUSED}.print.txt").decode().split("\n")

    assert done.stdout.split("\n")[1:3] == golden[1:3]
    assert (done.exit_code, "DUMP-002" in done.stderr) == (1, True)
