"""Checkpoint files joined by partition: offsets as stored, and each contradiction by its name."""

import json

import pytest

from kcli.jobs.checkpoint import show
from tests.partitions import codes, locked, orders, put_range, rows, snapshot, unit

LOG = (put_range(0, 10), put_range(10, 10, epoch=2))
EPOCHS = ((0, 0), (2, 10))


def shown(directory):
    outcome = show(unit(directory))
    (row,) = rows(outcome)
    return row, codes(outcome)


def cleaner(directory, text):
    (directory.parent / "cleaner-offset-checkpoint").write_text(text)


def test_all_files_are_joined(tmp_path):
    directory = orders(tmp_path / "d", *LOG, epochs=EPOCHS, log_start=3, recovery=18, watermark=19)
    cleaner(directory, "0\n2\norders 0 7\nother 1 9\n")
    before = snapshot(directory.parent)
    row, found = shown(directory)
    assert {key: value for key, value in row.items() if key not in {"dir", "cluster_id"}} == {
        "broker_id": 7,
        "topic": "orders",
        "partition": 0,
        "log_start_offset": 3,
        "recovery_point": 18,
        "high_watermark": 19,
        "cleaner_point": 7,
        "latest_epoch": 2,
        "latest_epoch_start_offset": 10,
        "first_segment_offset": 0,
        "log_end_offset": 20,
        "log_end_offset_source": "index",
        "violations": [],
    }
    assert found == []
    assert snapshot(directory.parent) == before


def test_what_no_file_has_is_null_and_violates_nothing(tmp_path):
    row, found = shown(orders(tmp_path / "d", *LOG, epochs=EPOCHS))
    keys = ("log_start_offset", "recovery_point", "high_watermark", "cleaner_point")
    assert [row[key] for key in keys] == [None] * 4
    assert row["violations"] == []
    assert found == []


@pytest.mark.parametrize(
    ("offsets", "epochs", "name", "code"),
    [
        ({"log_start": 12, "watermark": 11}, EPOCHS, "log-start-above-high-watermark", "CKPT-001"),
        ({"watermark": 21}, EPOCHS, "high-watermark-above-log-end", "CKPT-001"),
        ({"recovery": 21}, EPOCHS, "recovery-point-above-log-end", "LOG-025"),
        ({"recovery": 21, "clean": False}, EPOCHS, "recovery-point-above-log-end", "CKPT-001"),
        ({}, (*EPOCHS, (5, 21)), "epoch-start-above-log-end", "CKPT-001"),
    ],
)
def test_each_contradiction_is_named(tmp_path, offsets, epochs, name, code):
    row, found = shown(orders(tmp_path / "d", *LOG, epochs=epochs, **offsets))
    assert row["violations"] == [name]
    assert [name for name in found if not name.startswith("START")] == [code]


def test_what_a_running_broker_has_not_written_yet_is_no_finding(tmp_path):
    directory = orders(tmp_path / "d", *LOG, epochs=EPOCHS, watermark=21)
    with locked(directory.parent):
        row, found = shown(directory)
    assert row["violations"] == ["high-watermark-above-log-end"]
    assert found == []
    assert shown(directory)[1] == ["CKPT-001"]


@pytest.mark.parametrize("offsets", [{"log_start": 20, "watermark": 20, "recovery": 20}, {"watermark": 0}])
def test_an_offset_at_its_limit_is_right(tmp_path, offsets):
    assert shown(orders(tmp_path / "d", *LOG, epochs=(*EPOCHS, (3, 20)), **offsets))[0]["violations"] == []


def test_a_log_that_ends_below_its_start(tmp_path):
    row, _ = shown(orders(tmp_path / "d", *LOG, epochs=EPOCHS, log_start=30, watermark=30))
    assert row["violations"] == ["log-start-above-log-end"]
    assert row["log_end_offset"] == 30


def test_the_checkpoint_of_the_cleaner(tmp_path):
    directory = orders(tmp_path / "d", *LOG, epochs=EPOCHS)
    cleaner(directory, "0\n1\norders 0 25\n")
    assert shown(directory)[0]["violations"] == ["cleaner-point-above-log-end"]
    cleaner(directory, "0\n2\norders 0 25\n")
    row, found = shown(directory)
    assert row["cleaner_point"] is None
    assert found == ["DIR-005"]


@pytest.mark.parametrize("kind", ["delete", "stray"])
@pytest.mark.parametrize("command", ["check --include-leftovers", "checkpoint show", "salvage"])
def test_the_lines_of_a_live_log_are_not_those_of_its_leftover(kcli, tmp_path, kind, command):
    live = orders(tmp_path / "d", *LOG, epochs=EPOCHS, watermark=20, recovery=20, log_start=0)
    leftover = orders(tmp_path / "made", LOG[0], epochs=((0, 0),))
    moved = leftover.rename(live.parent / f"orders-0.4a1b2c3d4e5f60718293a4b5c6d7e8f9-{kind}")
    place = live.parent if "check " in command else moved
    out = ["--out", tmp_path / "out"] if command == "salvage" else []
    found = json.loads(kcli(*command.split(), place, *out, "-o", "json").stdout)["findings"]
    assert [
        finding for finding in found if finding["code"] in {"CKPT-001", "LOG-025", "SALV-010", "SALV-011"}
    ] == []
