"""`kcli report`: a page of what other commands answer, with the same numbers, in one file."""

import io
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tarfile
import time
from html import escape

import pytest

from kcli.cli.report import SECTIONS
from tests import tools
from tests.pages import Page, markdown_tables
from tests.partitions import log_dir, orders, put_range, segment
from tests.recordings import pack

QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars"),
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
"""Options of a browser that has no network."""


WIDTHS = (400, 1280)


@pytest.fixture(scope="module", autouse=True)
def clock():
    """Let the clock stand: an age is no other in an answer that comes an hour later."""
    now = time.time_ns()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: now)
        yield


@pytest.fixture(scope="module")
def replicas(tmp_path_factory):
    """The log dirs of a leader and a follower whose epochs differ, one of which has a damaged batch."""
    folder = pack.unpack("truncation", tmp_path_factory.mktemp("report"))
    log = next((folder / "before-leader" / "zstd-0").glob("*.log"))
    data = bytearray(log.read_bytes())
    data[80] ^= 1
    log.write_bytes(data)
    return folder / "before-leader", folder / "before-follower"


@pytest.fixture(scope="module")
def page(replicas, tmp_path_factory):
    """The path of their report."""
    return write(tmp_path_factory.mktemp("page") / "incident.html", *replicas, status=1)


def write(target, *words, status=0):
    from typer.testing import CliRunner

    from commands.app import app

    done = CliRunner().invoke(app, ["report", *map(str, words), "--out", str(target)])
    assert (done.exit_code, done.stdout) == (status, ""), done.output
    return target


def number(text):
    """Return the number of a cell; None for none."""
    return None if text == "–" else int(text.replace(",", ""))


def test_a_section_is_what_its_command_line_answers(kcli, page):
    shown = Page(page.read_text())
    for name in SECTIONS:
        (section,) = [text for heading, text in shown.sections.items() if heading.endswith(f": {name}")]
        (line,) = re.findall(r"^\$ (kcli .*)$", section, re.MULTILINE)
        done = kcli(*shlex.split(line)[1:], "-o", "html", "--findings", "none")
        answer = Page(done.stdout)
        assert shown.tables_of(f": {name}") == [rows for _, rows in answer.tables]
        for text in filter(None, answer.sections.get(f"kcli {name}", "").splitlines()):
            assert text in section or text.startswith("error ")


def test_verdicts_come_first_the_worst_above(replicas, page):
    shown = Page(page.read_text())
    header, *verdicts = shown.tables[0][1]
    assert header == ["", "SECTION", "VERDICT"]
    assert {name for _, name, _ in verdicts} == {*SECTIONS}
    marks = [mark for mark, _, _ in verdicts]
    assert marks == sorted(marks, key="✗!✓–".index)
    by_name = {name: (mark, verdict) for mark, name, verdict in verdicts}
    assert by_name["epoch diff"][0] == "✗" and by_name["epoch diff"][1].startswith("Epochs differ in ")
    assert by_name["check"][0] == "✗"
    assert by_name["rlmm state"] == (
        "–",
        "no partition of __remote_log_metadata, and no file of its events, is here",
    )
    facts = dict(shown.tables[1][1])
    assert facts["directory"] == os.getcwd() and re.match(r"\d+\.\d+\.\d+, commit ", facts["kcli"])
    assert "judged as 4.4" in facts["Kafka"]


READERS = {
    "__consumer_offsets": ("group offsets",),
    "__transaction_state": ("txn list", "txn open"),
    "__remote_log_metadata": ("rlmm check", "rlmm state"),
}


@pytest.mark.parametrize("topic", READERS)
@pytest.mark.parametrize(
    ("damage", "status"),
    [
        *(pytest.param(*one, marks=pytest.mark.slow) for one in (("loop", 4), ("directory", 1))),
        ("checksum", 1),
    ],
)
def test_what_was_not_read_is_no_good_verdict_and_has_its_path(tmp_path, topic, damage, status):
    root = log_dir(tmp_path / "d")
    log = root / f"{topic}-0" / f"{0:020}.log"
    data = put_range(0, 2)
    segment(root / "orders-0", 0, data)
    segment(log.parent, 0, data[:17] + b"\xff" + data[18:])
    if damage == "directory":
        log.unlink()
        log.mkdir()
    elif damage == "loop":
        shutil.rmtree(log.parent)
        log.parent.symlink_to(log.parent.name)
    _, *lines = Page(write(tmp_path / "p.html", root, status=status).read_text()).tables[0][1]
    shown = {name: (mark, verdict) for mark, name, verdict in lines}
    for name in ("check", *READERS[topic]):
        mark, verdict = shown[name]
        assert (mark in "✗!", f"{topic}-0" in verdict) == (True, True), (name, mark, verdict)


def test_an_input_that_was_not_read_is_in_each_verdict(tmp_path):
    orders(tmp_path / "d", put_range(0, 3))
    gone = tmp_path / "gone"
    _, *lines = Page(write(tmp_path / "p.html", tmp_path / "d", gone, status=4).read_text()).tables[0][1]
    assert len(lines) == len(SECTIONS)
    assert [(mark in "✗!", str(gone) in words) for mark, _, words in lines] == [(True, True)] * len(lines)


@pytest.mark.slow
def test_a_warning_is_not_marked_as_clean(tmp_path):
    """Of a log whose last batch is cut; epoch diff refuses a single replica, and ls judges nothing."""
    whole = pack.unpack("single", tmp_path) / "stopped"
    marks = {}
    for name, directory in (("cut", orders(tmp_path / "cut", put_range(0, 3)[:-1])), ("whole", whole)):
        text = write(tmp_path / f"{name}.md", directory).read_text()
        verdicts = {section: mark for mark, section, _ in markdown_tables(text)[0][1:]}
        marks[name] = "".join(verdicts[section] for section in ("check", "ls", "retention", "epoch diff"))
        assert "$ kcli check" in text and "$ kcli epoch diff" not in text
    assert marks == {"cut": "!–!–", "whole": "✓–✓–"}


def test_the_page_needs_nothing_else(page):
    text = page.read_text()
    shown = Page(text)
    assert "default-src 'none'" in text
    assert not re.search(r"url\(|@import|<script|<link|<img|<iframe", text)
    links = [value for key, value in shown.attributes if key in {"href", "src", "action", "data", "style"}]
    anchors = {f"#{value}" for key, value in shown.attributes if key == "id"}
    assert links and {*links} <= anchors


@pytest.mark.slow
def test_reports_differ_by_the_clock_alone(replicas, page, tmp_path):
    again = write(tmp_path / "again.html", *replicas, status=1).read_text()
    clock = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC|expired before \d+|commit [^<]*")
    assert clock.sub("", again) == clock.sub("", page.read_text())


@pytest.mark.slow
def test_markdown_has_the_same_tables(replicas, page, tmp_path):
    text = write(tmp_path / "incident.md", *replicas, status=1).read_text()
    drawn = [[[cell.strip() for cell in row] for row in rows] for _, rows in Page(page.read_text()).tables]
    plain = [[[re.sub(" {2,}| · ", "  ", cell) for cell in row] for row in rows] for rows in drawn]
    made = [[[re.sub(" · ", "  ", cell) for cell in row] for row in rows] for rows in markdown_tables(text)]
    assert made[2:] == plain[2:]


@pytest.mark.parametrize(
    ("damage", "status"), [(lambda data: data, 0), (lambda data: data[:70] + b"\xff" + data[71:], 1)]
)
def test_the_status_is_the_worse_of_startup_and_check(kcli, tmp_path, damage, status):
    directory = orders(tmp_path / "d", damage(put_range(0, 3)))
    target = write(tmp_path / "page.html", directory, status=status)
    assert max(kcli(name, directory).exit_code for name in ("startup", "check")) == status
    assert (
        "expected two replicas" in Page(target.read_text()).sections[f"{SECTIONS['epoch diff']}: epoch diff"]
    )


def test_options_go_to_the_commands_that_have_them(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["/bin/kcli", "report", "a b"])
    orders(tmp_path / "d", put_range(0, 3))
    segment(tmp_path / "d" / "other-0", 0, put_range(0, 3))
    target = write(tmp_path / "p.html", tmp_path / "d", "--topic", "orders", "--kafka-version", "3.9")
    shown = Page(target.read_text())
    assert dict(shown.tables[1][1])["command"] == "kcli report 'a b'"
    assert [len(rows) for rows in shown.tables_of(": ls")] == [2]
    assert "judged as 3.9" in shown.text
    assert f"$ kcli startup --topic=orders --kafka-version=3.9 {tmp_path / 'd'}" in shown.text
    assert f"$ kcli ls --topic=orders {tmp_path / 'd'}" in shown.text


def test_an_archive_on_stdin_is_read_once_for_all_sections(kcli, tmp_path):
    segment(log_dir(tmp_path / "d") / "orders-0", 0, put_range(0, 3))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(tmp_path / "d", "d")
    kcli("report", "-", "--out", tmp_path / "p.md", input=packed.getvalue())
    text = (tmp_path / "p.md").read_text()
    assert re.findall(r"^\$ kcli (.*) -$", text, re.MULTILINE) == [
        name for name in SECTIONS if name != "epoch diff"
    ]
    assert "· stdin/d\n" in text and "unpacked" not in text


def test_hostile_names_are_text(tmp_path):
    root = log_dir(tmp_path / "<script>alert(1)" / "\udcff")
    segment(root / "<img src=x>'\"-0", 0, put_range(0, 3))
    shown = Page(write(tmp_path / "p.html", root).read_text())
    assert not shown.tags & {"script", "img"}
    assert "<img src=x>'\"-0" in shown.text and "<script>alert(1)" in shown.text


def test_what_cannot_be_written_is_refused_before_anything_is_read(kcli, tmp_path):
    root = log_dir(tmp_path / "d")
    segment(root / "orders-0", 0, put_range(0, 3))
    (tmp_path / "folder.html").mkdir()
    for words, status, message in (
        ((root,), 2, "expected --out FILE.html, or FILE.md"),
        ((root, "--out", tmp_path / "p.txt"), 2, "expected --out FILE.html, or FILE.md"),
        ((root, "--out", root / "p.html"), 5, "kcli never writes there"),
        ((root, "--out", root / "orders-0" / "p.html"), 5, "kcli never writes there"),
        ((tmp_path, "--out", tmp_path / "p.html"), 5, "kcli never writes there"),
        ((root, "--out", tmp_path / "folder.html"), 5, "not a regular file"),
        (("--out", tmp_path / "p.html"), 2, "expected at least one PATH"),
        ((root, "--kafka-version", "2", "--out", tmp_path / "p.html"), 2, "--kafka-version 2"),
        ((root, "--metadata", root, "--out", tmp_path / "p.html"), 2, "--metadata "),
    ):
        done = kcli("report", *words)
        assert done.exit_code == status and message in done.stderr, done.stderr
    assert {path.name for path in tmp_path.rglob("*.html")} == {"folder.html"}


def test_what_is_not_there_is_an_error_that_the_page_has(kcli, tmp_path):
    done = kcli("report", tmp_path / "nothing", "--out", tmp_path / "p.html")
    assert done.exit_code == 3
    assert done.stderr == f"error {tmp_path / 'nothing'}: no such file or directory\n"
    assert "no such file or directory" in (tmp_path / "p.html").read_text()


def browse(folder, page, *options):
    """Return what a browser that has no network prints."""
    browser = tools.browser()
    assert browser, "a page is judged by a browser: apt-get install chromium"
    words = [browser, *QUIET, f"--user-data-dir={folder / 'profile'}", *options, page.as_uri()]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.mark.browser
@pytest.mark.parametrize("width", WIDTHS)
def test_a_browser_shows_all_of_it(page, tmp_path, width):
    picture = tmp_path / "page.png"
    document = browse(tmp_path, page, f"--window-size={width},2000", f"--screenshot={picture}", "--dump-dom")
    assert Page(document.removeprefix("<!DOCTYPE html>")).text.split() == Page(page.read_text()).text.split()
    assert struct.unpack(">II", picture.read_bytes()[16:24]) == (width, 2000)
    assert picture.stat().st_size > 50_000


@pytest.mark.browser
def test_no_part_of_it_is_wider_than_a_phone(page, tmp_path):
    """What is wider scrolls in its own box; a script measures, which the policy of the page forbids."""
    text, count = re.subn("<meta http-equiv=[^>]*>", "", page.read_text())
    script = (
        "parent.document.title += [document.documentElement.scrollWidth, innerWidth, document.scripts.length]"
    )
    document = escape(text.replace("</main>", f"</main><script>{script} + ';'</script>"))
    frames = (f'<iframe frameborder="0" width="{width}" srcdoc="{document}"></iframe>' for width in WIDTHS)
    (tmp_path / "frames.html").write_text(f"<title></title>{''.join(frames)}")
    answer = browse(tmp_path, tmp_path / "frames.html", "--window-size=1400,900", "--dump-dom")
    (title,) = re.findall("<title>(.*?)</title>", answer[:1000])
    assert count == 1
    assert sorted(title.split(";")) == sorted(["", *(f"{width},{width},1" for width in WIDTHS)])
