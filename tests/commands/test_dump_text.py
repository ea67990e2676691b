"""`kcli dump -o text`: the words of kafka-dump-log, and what it says beside them."""

import json
import struct

import pytest

from formats.compression import ZSTD
from tests.builders import put_batch, put_record, put_records, put_unsigned_varint

LOG = "00000000000000000000.log"
INDEX = "00000000000000000000.index"


def test_text_of_files_that_the_tool_does_not_know(kcli, log_dir):
    path = log_dir.path / "meta.properties"
    done = kcli("dump", "-o", "text", path)

    assert (done.stdout, done.stderr) == (f"Dumping {path}\n", f"Ignoring unknown file {path}\n")


def test_text_of_a_directory_leaves_out_what_the_tool_would_ignore(kcli, log_dir):
    folder = log_dir.partition("orders-0")
    (folder / "what is this").write_text("x")
    done = kcli("dump", "-o", "text", log_dir.path)

    assert (folder / "leader-epoch-checkpoint").exists()
    assert [text for text in done.stderr.splitlines() if text.startswith("Ignoring")] == [
        f"Ignoring unknown file {folder / 'what is this'}"
    ]
    assert done.stdout.count("Dumping ") == 4


def entries(*pairs):
    return b"".join(number.to_bytes(4, "big") for pair in pairs for number in pair)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (bytes(8), ["{} is empty."]),
        (bytes(8 * 9), ["{} is empty."]),
        (
            entries((0, 0), (1, 0), (3, 80)),
            ["offset: 0 position: 0", "offset: 1 position: 0", "offset: 3 position: 80"],
        ),
        (entries((0, 0), (0, 0), (3, 80)), ["offset: 0 position: 0"]),
    ],
)
def test_an_index_is_empty_if_nothing_but_zeros_is_there(kcli, long_log, content, lines):
    path = long_log / INDEX
    path.write_bytes(content)

    assert kcli("dump", "-o", "text", path).stdout.split("\n")[1:] == [
        *(line.format(path) for line in lines),
        "",
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (INDEX, entries((19, 760), (19, 760)) + b"\0"),
        (INDEX, entries((1, 0), (0, 0), (3, 80))),
        (INDEX, entries((0, 0), (1, 0), (3, 80))),
        (INDEX, entries((1, 0)) + bytes(80)),
        (
            "00000000000000000000.timeindex",
            entries((0, 5), (1, 0), (4, 1), (0, 0), (0, 0), (0, 0), (0, 9), (2, 0)),
        ),
        (
            "00000000000000000000.txnindex",
            (256).to_bytes(2, "big") + bytes(32) + b"\0\1" + bytes(32) + b"\0\0\0",
        ),
    ],
)
def test_findings_about_indexes_are_those_of_the_other_outputs(kcli, long_log, name, content):
    (long_log / LOG).unlink()
    (long_log / name).write_bytes(content)
    done = kcli("dump", "-o", "json", long_log / name)
    found = json.loads(done.stdout)["findings"]
    answer = kcli("dump", "-o", "text", long_log / name, "--fail-on", "error")

    assert {finding["code"] for finding in found if finding["severity"] != "info"} == {
        line.split()[1] for line in answer.stderr.splitlines() if line.startswith(("error ", "warning "))
    }
    assert answer.exit_code == kcli("dump", "-o", "json", long_log / name, "--fail-on", "error").exit_code


def test_the_version_of_an_aborted_transaction_has_two_bytes(kcli, tmp_path):
    (tmp_path / "00000000000000000000.txnindex").write_bytes(b"\0\1" + bytes(32) + b"\xff\0" + bytes(32))
    lines = kcli("dump", "-o", "text", tmp_path / "00000000000000000000.txnindex").stdout.splitlines()

    assert [line.split()[1] for line in lines[1:]] == ["1", "-256"]


@pytest.fixture
def log_of_tens(log_dir):
    """A partition of batches of ten records."""
    folder = log_dir.path / "tens-0"
    folder.mkdir()
    batches = [
        put_records(
            [put_record(number, value=b"v") for number in range(10)], base_offset=at, last_offset_delta=9
        )
        for at in range(0, 90, 10)
    ]
    (folder / LOG).write_bytes(b"".join(batches))
    return folder


def shown(done):
    return [
        int(line.split()[2 if line.startswith("|") else 1])
        for line in done.stdout.splitlines()
        if line.startswith(("|", "baseOffset"))
    ]


@pytest.mark.parametrize(
    ("count", "lines"), [(1, [80, 89]), (10, [80, *range(80, 90)]), (12, [70, 78, 79, 80, *range(80, 90)])]
)
def test_a_tail_is_of_records_where_they_are_printed(kcli, log_of_tens, count, lines):
    assert shown(kcli("dump", "-o", "text", "--records", "--tail", count, log_of_tens)) == lines
    assert shown(kcli("dump", "-o", "text", "--tail", 2, log_of_tens)) == [70, 80]


def test_what_is_selected_is_printed_from_after_damage_too(kcli, log_of_tens):
    data = bytearray((log_of_tens / LOG).read_bytes())
    size = len(data) // 9
    data[2 * size + 8] = 0x40
    (log_of_tens / LOG).write_bytes(data)

    assert shown(kcli("dump", "-o", "text", "--records", "--offsets", "49..51", log_of_tens)) == [
        40,
        49,
        50,
        50,
        51,
    ]
    assert shown(kcli("dump", "-o", "text", log_of_tens)) == [0, 10]


def test_a_tail_is_no_longer_than_asked_whatever_cannot_be_read(kcli, tmp_path):
    times = {"base_timestamp": 1000, "max_timestamp": 1000}
    log = [
        put_records([put_record()], base_offset=0, **times),
        put_batch(b"\x0e" + bytes(3), 1, base_offset=10, **times),
        put_records([put_record()], base_offset=20, **times),
        put_batch(b"\x0e" + bytes(3), 1, base_offset=30, **times),
    ]
    (tmp_path / LOG).write_bytes(b"".join(log))
    words = ("--time", "..1163", "--tail", "1", tmp_path / LOG)
    rows = json.loads(kcli("dump", "-o", "json", *words).stdout)["rows"]

    assert shown(kcli("dump", "-o", "text", *words)) == [row["base_offset"] for row in rows]
    assert len(rows) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [(), ("--print-data-log",), ("--print-data-log", "--offsets", "0.."), ("--print-data-log", "--jobs", 2)],
)
def test_a_limit_counts_lines(words, kcli, long_log):
    """What goes between jobs and output and is no line does not count."""
    everything = kcli("dump", "-o", "text", *words, long_log / LOG).stdout.splitlines()
    for limit in (0, 2, 36, len(everything) - 1, len(everything) + 5):
        assert (
            kcli("dump", "-o", "text", *words, "--limit", limit, long_log / LOG).stdout.splitlines()
            == everything[:limit]
        )


def leader_change(voters):
    """A control batch that names so many voters."""
    value = (
        struct.pack(">hi", 0, 1)
        + put_unsigned_varint(voters + 1)
        + (struct.pack(">i", 7) + b"\0") * voters
        + b"\1\0"
    )
    return put_records([put_record(key=struct.pack(">hh", 0, 2), value=value)], ZSTD, attributes=0x20)


@pytest.mark.slow
@pytest.mark.parametrize("words", [("-o", "text"), ("-o", "text", "--tail", 1), ("-o", "text", "--layout")])
def test_a_control_record_that_is_too_long_is_not_read(words, kcli, tmp_path):
    path = tmp_path / LOG
    path.write_bytes(leader_change(40_000))
    done = kcli("dump", "--records", *words, path)
    assert done.exit_code == 1
    assert "at most 163840 bytes" in done.stderr and "--max-batch-bytes raises the bound" in done.stderr
    assert len(done.stdout) < 10_000 or "--layout" in words
    allowed = kcli("dump", "--records", *words, "--max-batch-bytes", 64 << 20, path)
    assert (
        allowed.exit_code == 0 and allowed.stdout.count("oterId") + allowed.stdout.count("node_id") >= 40_000
    )
