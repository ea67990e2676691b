"""`kcli dump -o text` against what DumpLogSegments printed for the same files and flags, line for line."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from formats.batch import CONTROL_MASK
from tests.builders import put_record, put_records
from tests.formats import recorded
from tests.recordings import pack
from tests.recordings.golden import dumped
from tests.recordings.misread import LEADER_CHANGE, LEADER_CHANGED, MISREAD

pytestmark = pytest.mark.slow

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
        (
            "the tool prints the first preallocated slot as an entry; kcli says of an offset index that "
            "it is empty"
        ),
        lambda section: is_zero_slot(section) and section.kcli in ((f"{section.path} is empty.",), ()),
    )
}
"""What kcli prints otherwise on purpose: why, and whether a section is of that sort."""


def is_zero_slot(section):
    match = ZEROS.fullmatch("\n".join(section.golden))
    return match is not None and int(match["base"] or match["start"]) == int(
        Path(section.path).name.split(".")[0]
    )


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
            done = CliRunner().invoke(
                app, ["dump", "-o", "text", *PRINT, "--files", ",".join(dumped(folder))]
            )
        golden = sections(pack.golden(name))
        found = sections(done.stdout)
        assert list(found) == dumped(folder)
        return [Section(path, golden[path], found[path]) for path in found]

    return compare


@pytest.mark.parametrize("name", pack.NAMES)
def test_lines_are_equal(compared, name):
    for section in compared(name):
        if section.kcli != section.golden:
            assert any(tolerated(section) for _, tolerated in DIFFERENCES.values()), section


def test_there_is_enough_to_compare(compared):
    lines = [
        line
        for name in pack.NAMES
        for section in compared(name)
        if section.kcli == section.golden
        for line in section.golden
    ]

    assert len(lines) > 5000


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_every_difference_is_met(compared, difference):
    tolerated = DIFFERENCES[difference][1]

    assert any(
        section.kcli != section.golden and tolerated(section)
        for name in pack.NAMES
        for section in compared(name)
    )


@pytest.mark.parametrize("difference", MISREAD)
def test_what_the_tool_misreads(kcli, tmp_path, difference):
    _, (key, value), theirs, ours = MISREAD[difference]
    path = tmp_path / LOG
    path.write_bytes(put_records([put_record(0, key=key, value=value)], attributes=CONTROL_MASK))
    done = kcli("dump", "-o", "text", "--deep-iteration", path)

    assert done.exit_code == 0
    assert done.stdout.endswith(f" headerKeys: [] {ours}\n")
    assert ours != theirs


@pytest.mark.parametrize("name", [*BATCHES, "v1-crc-wrong"])
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


# Where the tool dies, and what kcli does instead. The first word of each key is what the tool threw.

WHOLE = recorded.stored("codec-none.log")
LOG = "00000000000000000000.log"
INDEX = "00000000000000000000.index"
TIME_INDEX = "00000000000000000000.timeindex"


DEATHS = {
    "CorruptRecordException: preallocated zeros after the last batch": (
        {LOG: WHOLE + bytes(4096)},
        LOG,
        (),
        (set(), 0),
        "zeros are no damage: the dump ends with the last batch",
    ),
    "CorruptRecordException: an impossible length": (
        {LOG: WHOLE[:8] + b"\xff" * 4 + WHOLE[12:]},
        LOG,
        (),
        ({"LOG-002"}, 1),
        "the dump goes on with the next good batch, the range is a finding",
    ),
    "KafkaException: a payload that cannot be decompressed": (
        {LOG: recorded.stored("v1-lz4-other-checksum.log")},
        LOG,
        PRINT,
        ({"DUMP-002"}, 1),
        "the batch's line is printed, its records are a finding",
    ),
    "NoSuchElementException: an index of zeros beside an empty log": (
        {LOG: b"", INDEX: bytes(8 * 100)},
        INDEX,
        (),
        (set(), 0),
        "an index of zeros is empty",
    ),
    "IllegalArgumentException: an entry that leads past the log": (
        {LOG: WHOLE, INDEX: (5).to_bytes(4, "big") + (1 << 30).to_bytes(4, "big")},
        INDEX,
        (),
        ({"DUMP-004"}, 0),
        "the entry is printed, and a finding says that it does not fit",
    ),
    "IllegalArgumentException: a time index without an offset index, which the tool tries to make": (
        {LOG: WHOLE, TIME_INDEX: bytes(7) + b"\1" + bytes(4)},
        TIME_INDEX,
        ("--verify-index-only",),
        ({"DUMP-004"}, 0),
        "the log is read from its beginning, and nothing is made",
    ),
    "CorruptIndexException: a time index that a killed broker left": (
        {LOG: WHOLE, INDEX: b"", TIME_INDEX: bytes(7) + b"\1" + bytes(4) + bytes(24)},
        TIME_INDEX,
        ("--index-sanity-check",),
        (set(), 0),
        "a line says that it has its preallocated tail",
    ),
    "NoSuchFileException: an index without its log": (
        {INDEX: (5).to_bytes(4, "big") + (70).to_bytes(4, "big")},
        INDEX,
        (),
        ({"DUMP-007"}, 0),
        "the entries are printed, and a finding says that they were not compared",
    ),
    "BufferUnderflowException: a leader change with directories, of one who was granted": (
        {
            LOG: put_records(
                [put_record(0, key=LEADER_CHANGE[0], value=LEADER_CHANGED)], attributes=CONTROL_MASK
            )
        },
        LOG,
        ("--deep-iteration",),
        (set(), 0),
        "it is printed with its directories",
    ),
    "message on stderr: a snapshot of producers that is damaged": (
        {"00000000000000000007.snapshot": b"\0\2" + bytes(8)},
        "00000000000000000007.snapshot",
        (),
        (set(), 3),
        "an error in kcli's words, and the exit status of inputs that gave no answer",
    ),
}


@pytest.mark.parametrize("death", DEATHS)
def test_where_the_tool_dies_kcli_goes_on(kcli, tmp_path, death):
    made, name, words, (codes, status), _ = DEATHS[death]
    for file, data in made.items():
        (tmp_path / file).write_bytes(data)
    done = kcli("dump", "-o", "text", *words, tmp_path / name)

    assert done.exit_code == status
    assert done.stdout.startswith(f"Dumping {tmp_path / name}\n")
    assert set(re.findall(r"\b[A-Z]+-\d{3}\b", done.stderr)) == codes
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(made)


@pytest.mark.parametrize(
    "name",
    [
        "CorruptRecordException: an impossible length",
        "CorruptRecordException: preallocated zeros after the last batch",
    ],
)
def test_the_rest_of_the_lines_is_that_of_the_tool(kcli, tmp_path, name):
    (tmp_path / LOG).write_bytes(DEATHS[name][0][LOG])
    golden = [
        line
        for line in recorded.stored("codec-none.print.txt").decode().split("\n")
        if line.startswith("baseOffset")
    ]
    found = kcli("dump", "-o", "text", tmp_path / LOG).stdout.split("\n")[2:-1]

    assert found == (golden[1:] if "impossible" in name else golden)
