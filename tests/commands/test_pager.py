"""Long tables on a terminal are shown in the user's pager; nothing else is."""

import re
import shutil

import pytest

from tests.processes import KCLI
from tests.shell import Shell
from tests.terminal import terminal

pytestmark = pytest.mark.slow


@pytest.fixture
def many(log_dir):
    """A log dir with more partitions than a terminal has lines."""
    for number in range(30):
        log_dir.partition(f"orders-{number}", epochs=((0, 0),), end=1)
    return log_dir.path


def run(*words, **environment):
    shown, said, status = terminal([*KCLI, *words], NO_COLOR="1", **environment)
    return shown.decode(), said.decode(), status


def test_a_long_table_goes_to_the_pager(many, tmp_path):
    shown, _, status = run("ls", many, "--columns", "topic,partition", PAGER=f"cat > {tmp_path}/paged")

    assert (shown, status) == ("", 0)
    lines = (tmp_path / "paged").read_text().splitlines()
    assert len(lines) == 31 and lines[0].split() == ["topic", "partition"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "environment"),
    [
        (["--no-pager"], {}),
        ([], {"KCLI_NO_PAGER": "1"}),
        (["--limit", "3"], {}),
        (["-o", "tsv"], {}),
        ([], {"PAGER": ""}),
        ([], {"PAGER": "cat"}),
        ([], {"TERM": "dumb"}),
        ([], {"PAGER": "/no/such/pager 2>/dev/null"}),
    ],
)
def test_without_the_pager_it_is_printed(many, tmp_path, words, environment):
    command = ["ls", many, "--columns", "topic,partition", *words]
    shown, _, status = run(*command, **{"PAGER": f"cat > {tmp_path}/paged", **environment})

    assert status == 0
    assert not (tmp_path / "paged").exists()
    assert len(shown.splitlines()) >= 4


def test_a_long_page_of_the_manual_goes_to_the_pager(tmp_path):
    shown, _, _ = run("help", "output", PAGER=f"cat > {tmp_path}/paged")

    assert shown == ""
    assert "Exit status" in (tmp_path / "paged").read_text()


def test_the_verdict_is_said_again_after_the_pager(many, tmp_path):
    shown, _, _ = run("truncate", "--to-offset", "0", many, PAGER=f"cat > {tmp_path}/paged")
    paged = (tmp_path / "paged").read_text()

    assert shown.startswith("30 partitions lose 30 records")
    assert paged.startswith(shown.replace("\r", ""))


def test_rows_that_are_clean_are_folded_where_there_are_more_than_a_screen(many):
    shown, _, _ = run("startup", many)

    assert "\n30 load, and lose nothing: -o wide shows them." in shown.replace("\r", "")
    assert "orders-7" not in shown


def test_a_user_who_leaves_the_pager_early_meets_no_error(many):
    shown, said, status = run("ls", many, PAGER="head -1 > /dev/null")

    assert (shown, status) == ("", 0)
    assert "error" not in said.lower()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("less") is None, reason="no less here")
def test_less_is_the_usual_pager(many, tmp_path, monkeypatch):
    monkeypatch.delenv("PAGER", raising=False)
    shell = Shell("bash", tmp_path)
    try:
        first = shell.type(f"kcli ls {many} --columns partition --sort partition -o table\n".encode(), "\n:")
        last = shell.type(b"G", "(END)") + shell.type(b"q", "$ ")
    finally:
        shell.end()

    numbers = [int(word) for word in re.findall(r"^ +(\d+)\x1b\[m\r$", first, re.MULTILINE)]
    assert numbers and max(numbers) < 29
    assert " 29" in last and last.rstrip().endswith("$")
