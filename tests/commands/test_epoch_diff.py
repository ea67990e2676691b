"""`kcli epoch diff`: where the epochs of replicas part, and what each has alone."""

import json
import shlex
from functools import partial

import pytest

from tests.commands.answers import document
from tests.partitions import orders, put_range
from tests.recordings import pack


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return pack.unpack("truncation", tmp_path_factory.mktemp("diff"))


diff = partial(document, "epoch", "diff")


def test_replicas_part_where_the_broker_truncated(folder):
    said = {row["topic"]: row["offset"] for row in pack.manifest("truncation")["facts"]["truncations"]}
    rows = diff(folder / "before-follower", folder / "before-leader", status=1)["rows"]

    parted = {row["topic"]: row["divergence_offset"] for row in rows if row["divergence_offset"] is not None}
    assert parted
    assert parted.items() <= said.items()
    for row in rows:
        if row["divergence_offset"] is None and row["topic"] in said:  # the leader wrote nothing of its own
            assert row["other_log_end_offset"] == said[row["topic"]]
    (row,) = [row for row in rows if row["topic"] == "segments"]
    assert (row["records_only_here"], row["records_only_there"], row["last_common_epoch"]) == (60, 15, 0)


def test_what_to_ask_next_is_a_command_line(kcli, folder):
    """With the log dirs where one pair of them answers for all partitions."""
    screen = kcli("epoch", "diff", folder / "before-follower", folder / "before-leader", "-o", "table").stdout
    _, _, said = screen.partition("\nNext:\n")
    program, *words = shlex.split(said.replace("\\\n", ""))[:5]

    assert [program, *words] == [
        "kcli",
        "truncate",
        "--leader",
        str(folder / "before-leader"),
        str(folder / "before-follower"),
    ]
    assert kcli(*words).stdout


def made(root, *batches, epochs):
    return orders(root / "d", *batches, epochs=epochs)


def test_the_first_replica_with_each_other_one(folder):
    names = ("before-leader", "before-follower", "after-follower-stopped")
    words = [folder / name / "segments-0" for name in names]
    rows = diff(*words, status=1)["rows"]

    assert [(row["other_dir"], row["divergence_offset"]) for row in rows] == [
        (str(words[1]), 40),
        (str(words[2]), None),
    ]


def test_a_replica_without_checkpoint_is_a_finding(kcli, tmp_path):
    here = made(tmp_path / "a", put_range(0, 20), epochs=[(0, 0)])
    there = made(tmp_path / "b", put_range(0, 5), put_range(5, 9, 1), epochs=None)
    document = diff(here, there)

    findings = [(finding["code"], finding["dir"]) for finding in document["findings"]]
    assert findings == [("EPOCH-001", str(there))]
    (row,) = document["rows"]
    assert row["log_end_offset"] - row["other_log_end_offset"] == row["records_only_here"] > 0
    assert (row["divergence_offset"], row["records_only_there"]) == (None, 0)
    screen = kcli("epoch", "diff", here, there, "-o", "table").stdout
    assert "In 1 of 1 pair a replica has no leader epochs" in screen
    assert "same as far" not in screen
    assert "broker" not in screen.partition("OTHER")[2]  # it is the name of both


def test_a_checkpoint_without_entries_is_none_that_is_missing(tmp_path):
    """A log to which nothing was written has one."""
    here = made(tmp_path / "a", put_range(0, 20), epochs=[(0, 0)])
    there = made(tmp_path / "b", b"", epochs=[])

    assert diff(here, there)["findings"] == []


def test_directories_of_two_topics_are_no_replicas(kcli, tmp_path):
    here, there = (made(tmp_path / name, put_range(0, 20), epochs=[(0, 0)]) for name in "ab")
    for directory, topic_id in ((here, "u4NdSfWRQjaZ_ENyxMXLJA"), (there, "h7885PJcQ9Wnp4ffyEaxMg")):
        (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
    for words in (
        ("epoch", "diff", here, there),
        ("replica", "diff", here, there),
        ("replica", "elect", here, there),
        ("truncate", "--dry-run", "--leader", there, here),
    ):
        found = json.loads(kcli(*words, "-o", "json").stdout)["findings"]
        assert "REPL-003" in {finding["code"] for finding in found}, words
