"""`scan` of directories: which files are read, in which order, and what a partition's row says of them."""

import json
import os

import pytest

from kcli.engine.inline import inline
from kcli.kafka.findings.findings import NO_LOG_FILE, Finding
from tests.kcli.jobs.scans import rows, scanned, two_partitions
from tests.partitions import log_dir, put_range, segment


@pytest.fixture
def data(tmp_path):
    return two_partitions(tmp_path)


NAMES = ["00000000000000000000.log", "00000000000000000040.log", "00000000000000000080.log"]


@pytest.mark.parametrize(
    "words",
    [
        ("", ""),
        ("", "/"),
        ("", "/../orders-0"),
        ("", "/*0.log"),
        ("/*0.log", ""),
        (f"/{NAMES[1]}", f"/{NAMES[1]}", ""),
        (f"/../orders-0/{NAMES[2]}", f"/{NAMES[1]}", f"//{NAMES[0]}", f"/./{NAMES[1]}"),
        tuple(f"/{name}" for name in reversed(NAMES)),
    ],
)
def test_a_log_counts_once_and_in_its_place(data, words):
    outcomes = scanned(*(f"{data}/orders-0{word}" for word in words))
    expected = scanned(data / "orders-0")
    (partition,) = rows(outcomes, "scan_partition")

    assert [row["file"] for row in rows(outcomes, "scan_segment")] == NAMES
    assert {row["dir"] for row in rows(outcomes, "scan_segment")} == {partition["dir"]}
    assert {**partition, "dir": ""} == {**rows(expected, "scan_partition")[0], "dir": ""}
    assert [o.findings for o in outcomes] == [[], [], []]


def test_ways_from_here(data, monkeypatch):
    monkeypatch.chdir(data / "orders-0")
    outcomes = scanned(NAMES[1], ".", data / "orders-0", f"../orders-0/{NAMES[0]}", "..")
    first, second = rows(outcomes, "scan_partition")

    assert [(row["dir"], row["file"]) for row in rows(outcomes, "scan_segment")][:3] == [
        (".", name) for name in NAMES
    ]
    assert (first["dir"], first["segments"], first["offset_overlaps"]) == (".", 3, 0)
    assert (second["dir"], second["segments"]) == ("../orders-1", 2)


def test_two_partitions_that_are_one_by_a_link_are_two(data):
    (data / "copies-0").symlink_to(data / "orders-0")
    (data.parent / "link").symlink_to(data)
    outcomes = scanned(data, data.parent / "link", data.parent / "link" / "copies-0")

    assert [(row["topic"], row["partition"]) for row in rows(outcomes, "scan_partition")] == [
        ("copies", 0),
        ("orders", 0),
        ("orders", 1),
    ]


def test_leftovers_are_read_where_they_are_named(data):
    logs = [data / "orders-0" / name for name in NAMES]
    for suffix in ("deleted", "cleaned"):
        (data / "orders-0" / f"{NAMES[0]}.{suffix}").write_bytes(logs[0].read_bytes())
    (without,) = rows(scanned(data / "orders-0"), "scan_partition")
    outcomes = scanned(logs[1], f"{logs[0]}.deleted", f"{logs[0]}.cleaned", data / "orders-0")

    assert without["segments"] == 3
    assert [row["file"] for row in rows(outcomes, "scan_segment")] == [
        NAMES[0],
        f"{NAMES[0]}.cleaned",
        f"{NAMES[0]}.deleted",
        *NAMES[1:],
    ]
    assert rows(outcomes, "scan_partition")[0]["segments"] == 5
    assert [o.findings for o in outcomes] == [[]] * 5


def test_the_logs_of_an_interrupted_swap_are_those_of_the_next_start(data):
    """What a swap replaces is not read; one that a start deletes is not, either."""
    orders, swap = data / "orders-0", f"{NAMES[1]}.swap"
    (orders / NAMES[1]).rename(orders / swap)
    (before,) = rows(scanned(orders), "scan_partition")
    assert (before["segments"], before["batches"], before["invalid_batches"]) == (3, 40, 0)

    log = bytearray((orders / swap).read_bytes())
    (orders / NAMES[1]).write_bytes(log)
    log[-1] ^= 1
    (orders / swap).write_bytes(log)
    outcomes = scanned(orders)
    assert [row["file"] for row in rows(outcomes, "scan_segment")] == [NAMES[0], swap, NAMES[2]]
    assert [(finding.code, finding.path) for o in outcomes for finding in o.findings] == [
        ("LOG-003", str(orders / swap))
    ]

    (orders / f"{NAMES[0]}.cleaned").write_bytes(b"")
    assert [row["file"] for row in rows(scanned(orders), "scan_segment")] == NAMES


@pytest.mark.parametrize(
    ("second", "more"),
    [(put_range(2, 4), 0), (put_range(4, 1), 0), (put_range(1, 1) + put_range(1, 1), 1)],
    ids=["two", "one", "again"],
)
def test_a_segment_that_reaches_back_into_the_one_before_is_reported(tmp_path, second, more):
    segment(tmp_path / "t-0", 0, put_range(0, 3) + put_range(3, 2))
    segment(tmp_path / "t-0", 2)
    segment(tmp_path / "t-0", 4, second)
    segment(tmp_path / "t-0", 6, put_range(6, 2))
    outcomes = scanned(tmp_path / "t-0")
    *below, finding = sorted(finding for o in outcomes for finding in o.findings)[::-1]
    base = int.from_bytes(second[:8], "big")

    assert [damage.code for damage in [finding, *below]] == ["LOG-017"] + ["LOG-026"] * (base < 4)
    assert finding.path == str(tmp_path / "t-0" / "00000000000000000004.log")
    assert (finding.message, finding.more) == (
        f"offset {base}: not above 4, the last of the segment before",
        more,
    )
    assert rows(outcomes, "scan_partition")[0]["offset_overlaps"] == more + 1


@pytest.mark.parametrize(
    "name", ["00000000000000000000-AAAAAAAAAAAAAAAAAAAAAA.log", "00000000000000000004-0000000000.checkpoint"]
)
def test_files_with_offsets_of_their_own_reach_back_nowhere(tmp_path, name):
    segment(tmp_path / "t-0", 0, put_range(0, 4))
    segment(tmp_path / "t-0", 4, put_range(4, 4))
    (tmp_path / "t-0" / name).write_bytes(put_range(0, 4))

    assert [o.findings for o in scanned(tmp_path / "t-0", tmp_path / "t-0" / name)] == [[], [], []]


def test_a_directory_without_a_log(tmp_path):
    segment(log_dir(tmp_path / "d") / "orders-0", 0)
    os.remove(tmp_path / "d" / "orders-0" / "00000000000000000000.log")
    (outcome,) = scanned(tmp_path / "d")
    (row,) = rows([outcome], "scan_partition")

    assert (
        row["topic"],
        row["segments"],
        row["batches"],
        row["is_complete"],
        row["largest_batch_bytes"],
    ) == ("orders", 0, 0, True, None)
    orphan, missing = outcome.findings
    assert (orphan.code, orphan.file) == ("IDX-011", "00000000000000000000.index")
    assert missing == Finding("LOG-007", NO_LOG_FILE, dir=str(tmp_path / "d" / "orders-0"))


@pytest.mark.parametrize("command", [("ls",), ("epoch", "show"), ("scan",), ("lookup", "offset", "latest")])
def test_a_directory_that_is_deleted_may_have_lost_its_log(kcli, tmp_path, command):
    directory = log_dir(tmp_path / "d") / "orders-0.0123456789abcdef0123456789abcdef-delete"
    segment(directory, 0)
    os.remove(directory / "00000000000000000000.log")
    document = json.loads(kcli(*command, tmp_path / "d", "--include-leftovers", "-o", "json").stdout)

    assert "LOG-007" not in {finding["code"] for finding in document["findings"]}


@pytest.mark.parametrize("words", [("orders-0",), ("orders-0/*.log",), ("orders-0", "orders-0/*.log"), ("",)])
def test_a_partition_is_not_complete_with_a_segment_that_is_no_file(kcli, data, words):
    (data / "orders-0" / "00000000000000000090.log").symlink_to("nowhere")
    reported = json.loads(kcli("scan", "-o", "json", *(data / word for word in words)).stdout)
    complete = {row["partition"]: row["is_complete"] for row in reported["rows"] if "is_complete" in row}

    assert complete == {0: False, **({1: True} if words == ("",) else {})}


def test_a_segment_that_cannot_be_read_leaves_the_others(data):
    log = data / "orders-0" / "00000000000000000040.log"

    def late(job, units):
        log.unlink()
        log.mkdir()
        return inline(job, units)

    outcomes = scanned(data, engine=late)
    partitions = rows(outcomes, "scan_partition")

    assert [o.error and o.error.error for o in outcomes] == [None, "is-a-directory", None, None, None]
    assert [(row["segments"], row["batches"], row["is_complete"]) for row in partitions] == [
        (2, 20, False),
        (2, 31, True),
    ]
