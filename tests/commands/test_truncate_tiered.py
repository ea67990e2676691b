"""`kcli truncate --leader` where the leader's log begins in remote storage: it ends as `rlmm follow` does."""

import json

import pytest
from typer.testing import CliRunner

from commands.app import app
from tests.stories import Story, first_segments

EPOCHS = [(0, 0), (1, 3), (2, 5), (3, 7)]
LOCAL = [(6, 2), (7, 3), (8, 3)]


@pytest.fixture
def story(tmp_path):
    return Story(tmp_path)


def truncate(story, follower, leader, *words, status=0):
    more = () if "--alone" in words else ("--remote-metadata", story.root / "events")
    line = ["truncate", "--dry-run", "--leader", leader, *more, follower, "--topic", "t", "-o", "json"]
    done = CliRunner().invoke(app, [*map(str, line)])
    document = json.loads(done.stdout)
    loses = any(row["lost_offsets"] for row in document["rows"])
    assert done.exit_code == (status or loses), done.output
    return document


@pytest.mark.parametrize(
    ("records", "rounds", "lost"),
    [
        ([(0, 0), (1, 0)], [("remote-offset", 2, 6)], None),
        ([(0, 0), (1, 0), (2, 0), (3, 0)], [("common-epoch", 4, 3), ("remote-offset", 3, 6)], "3..3"),
    ],
)
def test_a_follower_goes_on_past_the_segment_that_rlmm_follow_names(story, records, rounds, lost):
    first_segments(story)
    leader, follower = story.replica("a", LOCAL, EPOCHS), story.replica("b", records, [(0, 0)])
    followed = story.follow(follower, leader)
    document = truncate(story, follower, leader)
    (row,) = document["rows"]

    assert (row["outcome"], row["kind"]) == ("tiered", "full") == (followed["outcome"], "full")
    assert row["target_offset"] == row["log_end_offset_after"] == followed["next_fetch_offset"] == 6
    assert [(step["rule"], step["fetch_offset"], step["truncate_to"]) for step in row["rounds"]] == rounds
    assert row["records_removed"] == len(records)
    assert (f"--offsets {lost} " in row["rescue_command"]) if lost else row["rescue_command"] is None
    assert row["epochs_after"] == followed["epochs_after"]
    assert (row["log_start_offset_after"], row["high_watermark_after"]) == (0, 6)
    assert row["producer_snapshots"] == [{"offset": 6, "action": "create"}]
    codes = [finding["code"] for finding in document["findings"] if finding["code"] > "TRUNC-003"]
    assert codes == ["TRUNC-006"]


def test_a_follower_that_reaches_the_local_log_does_not_care(story):
    first_segments(story)
    leader = story.replica("a", LOCAL, EPOCHS)
    whole = [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (6, 2)]
    (row,) = truncate(story, story.replica("b", whole, EPOCHS[:3]), leader, "--alone")["rows"]

    assert (row["outcome"], row["target_offset"], row["rounds"]) == ("converged", 7, [])


def test_a_lookup_that_fails(story):
    story.remote(1, [(0, 0), (1, 0), (2, 0)], [(0, 0)], [(0, 0)])
    leader, follower = story.replica("a", LOCAL, EPOCHS), story.replica("b", [(0, 0)], [(0, 0)])
    assert story.follow(follower, leader)["outcome"] == "failed"
    document = truncate(story, follower, leader, status=1)
    (row,) = document["rows"]

    assert (row["outcome"], row["kind"], row["target_offset"]) == ("failed", "none", 1)
    assert [(step["rule"], step["truncate_to"], step["completed"]) for step in row["rounds"]] == [
        ("remote-offset", None, False)
    ]
    assert [finding["code"] for finding in document["findings"]] == ["TRUNC-005"]


def test_a_damaged_batch_of_the_events_is_reported(story):
    first_segments(story)
    leader, follower = story.replica("a", LOCAL, EPOCHS), story.replica("b", [(0, 0), (1, 0)], [(0, 0)])
    story.follow(follower, leader)
    (log,) = (story.root / "events").glob("**/*.log")
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    document = truncate(story, follower, leader, status=3)

    assert "LOG-003" in {finding["code"] for finding in document["findings"]}


def test_without_remote_metadata_there_is_no_guess(story):
    leader, follower = story.replica("a", LOCAL, EPOCHS), story.replica("b", [(0, 0)], [(0, 0)])
    (error,) = truncate(story, follower, leader, "--alone", status=3)["errors"]

    assert error["error"] == "unknown-remote-segments"
    assert "local log begins at 6" in error["message"]
    assert "--remote-metadata" in error["message"]


def test_the_rounds_on_a_terminal(story):
    first_segments(story)
    leader, follower = story.replica("a", LOCAL, EPOCHS), story.replica("b", [(0, 0), (1, 0)], [(0, 0)])
    story.follow(follower, leader)
    line = ["truncate", "--dry-run", "--leader", leader, "--remote-metadata", story.root / "events", follower]
    done = CliRunner().invoke(app, [*map(str, line), "-o", "table"], env={"COLUMNS": "100"})

    shown = " ".join(done.stdout.split())
    assert "moved to tiered storage drop everything, take remote state, begin at 6" in shown


def test_what_an_election_costs_in_remote_storage_is_not_counted(story):
    """The candidate has less than the other one keeps in remote storage."""
    first_segments(story)
    tiered, short = story.replica("a", LOCAL, EPOCHS), story.replica("b", [(0, 0), (1, 0)], [(0, 0)])
    done = CliRunner().invoke(app, ["replica", "elect", str(tiered), str(short), "-o", "json"])
    rows = json.loads(done.stdout)["rows"]

    assert [(row["outcome"], row["truncate_to"], row["records_lost"]) for row in rows] == [
        ("tiered", 2, 0),
        ("converged", 2, None),
    ]
    assert rows[1]["committed_records_lost"] is None
