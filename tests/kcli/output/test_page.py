"""Pages of markdown and HTML: what the terminal shows, with nothing cut, and nothing taken for markup."""

import re

import pytest

from kcli.cli.status import ExitStatus
from kcli.output import page as module
from kcli.output.html import write_html
from kcli.output.markdown import escaped, write_markdown
from kcli.rows.remote_metadata import RlmmPartitionRow
from tests.builders import put_record, put_records
from tests.commands.answers import ask
from tests.every_command import COMMANDS
from tests.kcli.output.writing import FAILURE, FINDING, lookup_row, write
from tests.pages import Page, markdown_tables
from tests.partitions import epoch_lines, log_dir, orders, put_range, segment
from tests.recordings import pack

HOSTILE = "</td><script>alert(1)</script>|*x*`[a](b)<img src=x onerror=y>&amp;"


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_has_the_same_tables_in_both_formats_at_any_width(kcli, demo, monkeypatch, line):
    monkeypatch.setenv("COLUMNS", "40")
    html = kcli(*line.split(), demo, "-o", "html", "--fail-on", "never")
    monkeypatch.setenv("COLUMNS", "250")
    markdown = kcli(*line.split(), demo, "-o", "markdown", "--fail-on", "never")
    drawn = [[[cell.strip() for cell in row] for row in rows] for _, rows in Page(html.stdout).tables]

    assert html.exit_code == markdown.exit_code != ExitStatus.INTERNAL
    assert html.exit_code == ExitStatus.USAGE or (html.stdout and markdown.stdout)
    assert drawn == markdown_tables(markdown.stdout)


def test_numbers_are_those_of_json(kcli, demo):
    columns = ("--columns", "topic,partition,segments,log_end_offset,latest_epoch")
    rows, _ = ask("ls", demo, *columns)
    found = rows["rows"]
    ((_, (header, *cells)),) = Page(kcli("ls", demo, "-o", "html", *columns).stdout).tables
    assert header == [*found[0]]
    assert cells == [["-" if value is None else str(value) for value in row.values()] for row in found]


def test_a_drawing_keeps_its_lines_and_colours(kcli, tmp_path):
    folder = pack.unpack("truncation", tmp_path)
    words = ("epoch", "diff", folder / "before-follower", folder / "before-leader", "-o")
    text, markdown = kcli(*words, "html").stdout, kcli(*words, "markdown").stdout
    (drawing,) = [block for block in markdown.split("```\n") if block.startswith("plain-0\n")]
    page = Page(text)

    assert drawing.rstrip() in re.sub(" +\n", "\n", page.text)
    assert '<span class="red">' in text and '<span class="cyan">' in text
    assert "**Epochs differ in 4 of 11 pairs.**\n" in markdown
    assert "```\nkcli truncate --leader " in markdown


def test_twenty_of_the_partitions_that_differ_are_drawn(kcli, tmp_path):
    for node, parting in (("a", 20), ("b", 10)):
        for number in range(23):
            directory = log_dir(tmp_path / node) / f"orders-{number}"
            segment(directory, 0, put_range(0, parting) + put_range(parting, 30, 1))
            (directory / "leader-epoch-checkpoint").write_text(epoch_lines((0, 0), (1, parting)))
    text = kcli("epoch", "diff", tmp_path / "a", tmp_path / "b", "-o", "markdown").stdout

    assert text.count("```\norders-") == 20
    assert "\n3 more differ: the table has them.\n" in text


def test_names_and_contents_are_never_markup(kcli, tmp_path):
    root = log_dir(tmp_path / "d\udcff<b>")
    name = "<img src=x onerror=alert(1)>"
    record = put_record(0, key=HOSTILE.encode(), value=b"\xff<", headers=[(HOSTILE.encode(), b"<i>|\n")])
    segment(root / f"{name}-0", 0, put_records([record]))
    segment(root / "a|b*-0", 0, put_range(0, 3))
    for line in ("ls", "check", "dump", "dump --records", "dump --records --offsets 0"):
        text = kcli(*line.split(), root, "-o", "html").stdout
        page = Page(text)
        assert not page.tags & {"script", "img", "b", "i"}, line
        assert {key for key, _ in page.attributes} <= {
            *("lang", "charset", "http-equiv", "content", "name", "class", "tabindex")
        }
        assert name in page.text
        markdown = kcli(*line.split(), root, "-o", "markdown").stdout
        assert not re.search(r"(?<!\\)<(?!$)", re.sub("```.*?```|`+[^`]*`+", "", markdown, flags=re.DOTALL))
        assert all(len({*map(len, table)}) == 1 for table in markdown_tables(markdown))
    assert HOSTILE in Page(kcli("dump", "--records", root, "-o", "html").stdout).text


def test_escaped_text_reads_as_it_was():
    assert escaped("__consumer_offsets-3, a_b") == "__consumer_offsets-3, a_b"
    assert escaped("a_ *b* `c` <d> |e| f\\") == r"a\_ \*b\* \`c\` \<d> \|e\| f\\"
    assert escaped("[a](b) &lt; AT&T ~~x~~") == r"[a]\(b) \&lt; AT&T \~~x\~~"


def test_what_is_left_out_is_said(monkeypatch):
    rows = [RlmmPartitionRow("t", partition, partition) for partition in range(7)]
    monkeypatch.setattr(module, "ROWS_OF_A_PAGE", 5)
    monkeypatch.setattr(module, "MOST_LISTED", 3)
    text = write(write_markdown, rows, "rlmm partition")
    assert text.count("| t ") == 3
    assert "\n3 of 5 rows: -o json has all of them.\n" in text
    assert "\nMade of the first 5 of 7 rows: no verdict. -o json has all of them.\n" in text


def test_memory_does_not_grow_with_the_rows(monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 10_000)
    text = write(write_html, (lookup_row(reason="x" * 1000) for _ in range(500)))
    assert int(re.search("Made of the first ([0-9]+) of 500 rows", text)[1]) <= 10_000 // 1000


def test_findings_and_errors_are_a_list(kcli, tmp_path):
    text = write(write_markdown, [lookup_row()], found=([FINDING] * 12, [FAILURE]))
    assert "\n- **LOG-001** " not in text
    assert "\n- LOG-001 warning (12): " in text
    assert text.count("  - d/0.log: short\n") == 10
    assert "\n  - 2 more: -o json has all of them.\n  - To do: " in text
    assert text.endswith("\n- error x: byte 5: crc\n")

    directory = orders(tmp_path / "d", put_range(0, 20)[:-1])
    inline = kcli("check", directory, "-o", "markdown")
    assert "\n- LOG-001 warning: " in inline.stdout and inline.stderr == ""
    apart = kcli("check", directory, "-o", "markdown", "--findings", "stderr")
    assert "- LOG-001" not in apart.stdout and apart.stderr.startswith("warning LOG-001 ")
    assert "- LOG-001" not in kcli("check", directory, "-o", "markdown", "--findings", "none").output


@pytest.mark.parametrize(("form", "extension"), [("html", "html"), ("markdown", "md")])
def test_a_file_has_what_stdout_has(kcli, demo, tmp_path, form, extension):
    target = tmp_path / "made" / f"page.{extension}"
    assert kcli("ls", demo, "--out", target).exit_code == 0
    assert target.read_text() == kcli("ls", demo, "-o", form).stdout
    other = kcli("ls", tmp_path / "nothing", "--out", target)
    assert other.exit_code == 3
    assert [path.name for path in target.parent.iterdir()] == [target.name]
    assert target.read_text() == kcli("ls", demo, "-o", form).stdout
