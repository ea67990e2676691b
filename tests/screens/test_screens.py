"""What people see: recorded screens, as wide as the terminal at most, readable without colour or UTF-8."""

import json
import re
import shlex
import sys
from contextlib import chdir

import pytest
from rich.cells import cell_len

from kcli.output.table import DRAWINGS
from kcli.rows import COMMANDS, row_types
from tests.screens import CASES, HERE, SETTINGS, Setting, drawn, recorded, screens, unpack
from tests.terminal import terminal

pytestmark = pytest.mark.slow

STYLE = re.compile(r"\x1b\[[0-9;]*m")
NARROW = Setting("40 columns", 40, {})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return unpack(tmp_path_factory.mktemp("screens"))


@pytest.mark.parametrize("name", CASES)
def test_screen_is_as_recorded(name, folder):
    with chdir(folder):
        assert f"$ kcli {CASES[name]}\n\n{screens(CASES[name])}" == (HERE / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", CASES)
def test_no_recorded_line_is_wider_than_its_terminal(name):
    for setting, lines in recorded(name):
        assert [line for line in lines if cell_len(line) > setting.columns or line != line.rstrip()] == []
        assert "LC_ALL" not in setting.environment or "".join(lines).isascii()


@pytest.mark.parametrize("name", sorted(CASES)[::3])
def test_colours_change_nothing_but_colours(name, folder):
    with chdir(folder):
        colored = drawn(CASES[name], SETTINGS[1], FORCE_COLOR="1").splitlines()
    plain = list(recorded(name))[1][1]

    assert [STYLE.sub("", line) for line in colored] == plain[: len(colored)]
    assert colored != plain[: len(colored)]


@pytest.mark.parametrize("name", CASES)
def test_what_identifies_a_row_is_whole_on_a_narrow_screen(name, folder, kcli):
    with chdir(folder):
        lines = drawn(CASES[name], NARROW).splitlines()
        found = kcli(*shlex.split(CASES[name]), "-o", "ndjson").stdout.splitlines()
    rows = [row for row in map(json.loads, found) if row["type"] not in {"finding", "error"}]
    listed = [row for row in rows if row["type"] != "check" or row["result"] != "clean"]
    text = "".join(lines)

    assert max(map(cell_len, lines)) <= NARROW.columns
    assert rows
    for row in listed:
        for column in ("topic", "segment_id") if row["type"] != "rlmm_partition" else ("topic_id",):
            assert (row.get(column) or "") in text


@pytest.mark.parametrize("columns", [50, 60])
def test_scan_says_its_results_on_a_narrow_screen(columns, folder):
    with chdir(folder):
        lines = drawn("scan kcli-demo", Setting("", columns, {})).splitlines()

    assert sum(line.endswith("  RESULT") for line in lines) == 1
    assert sum(line.endswith("  clean") for line in lines) >= 8


@pytest.mark.parametrize("columns", [80, 100, 120, 200])
@pytest.mark.parametrize("name", ["ls-long-names", "epoch-show-replicas", "truncate", "rlmm-dump"])
def test_a_terminal_shows_no_line_that_is_wider(name, columns, folder):
    printed, said, status = terminal(
        [sys.executable, "-m", "kcli", *shlex.split(CASES[name])],
        columns=columns,
        cwd=folder,
        COLUMNS="",
        LC_ALL="C.UTF-8",
    )
    lines = STYLE.sub("", printed.decode()).split("\r\n")

    assert status in {0, 1}, said
    assert "\x1b" not in "".join(lines)
    assert max(map(cell_len, lines)) <= columns
    with chdir(folder):
        assert lines == drawn(CASES[name], Setting("", columns, {})).split("\n")


def test_every_view_is_of_a_row_type():
    types = {row_type.name for command in COMMANDS for row_type in row_types(command)}

    assert types >= set(DRAWINGS)
