"""Stories of KIP-405: followers, lookups, a follower that leads; as Kafka's code, not the KIP's text."""

import pytest
from typer.testing import CliRunner

from commands.app import app
from tests.stories import (
    Story,
    away,
    first_segments,
    follower_to_leader,
    hard_failures,
    new_follower,
    parted_histories,
    serving,
    unclean_election,
    uuid,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def story(tmp_path):
    return Story(tmp_path)


def epochs_of(row):
    return [(entry["epoch"], entry["start_offset"]) for entry in row["epochs_after"]]


def test_scenario_1_a_new_follower(story):
    (row,) = (story.ask(*words) for words in new_follower(story))

    assert row["outcome"] == "tiered"
    assert (row["fetch_offset"], row["last_fetched_epoch"]) == (0, None)
    assert row["steps"][0] == "fetch from 0, last epoch none: OFFSET_MOVED_TO_TIERED_STORAGE"
    assert (row["earliest_local_offset"], row["earliest_local_epoch"]) == (3, 1)
    assert (row["requested_epoch"], row["answered_epoch"], row["answered_end_offset"]) == (0, 0, 3)
    assert (row["target_epoch"], row["segment_id"]) == (0, uuid(1))
    assert (epochs_of(row), row["epochs_source"]) == ([(0, 0)], "storage")
    assert row["next_fetch_offset"] == 3


def test_scenario_2_a_follower_that_was_away(story):
    before, row = (story.ask(*words) for words in away(story))

    assert (before["outcome"], before["next_fetch_offset"]) == ("local", 4)

    assert (row["outcome"], row["fetch_offset"], row["last_fetched_epoch"]) == ("tiered", 4, 1)
    assert (row["earliest_local_offset"], row["earliest_local_epoch"]) == (9, 3)
    assert (row["requested_epoch"], row["answered_epoch"], row["answered_end_offset"]) == (2, 2, 7)
    assert (row["target_epoch"], row["segment_id"]) == (3, uuid(3))
    assert epochs_of(row) == [(0, 0), (1, 3), (2, 5), (3, 7)]
    assert row["next_fetch_offset"] == 9


def test_scenario_3_multiple_hard_failures(story):
    row, *lookups = (story.ask(*words) for words in hard_failures(story))

    assert (row["outcome"], row["next_fetch_offset"]) == ("local", 1)
    assert row["steps"][0].endswith("it diverges: epoch 0 ends at 1; truncate to 1")

    assert [serving(row) for row in lookups] == [1, 2, "local"]


def test_scenario_4_unclean_election_with_a_truncation(story):
    zero, *others = (serving(story.ask(*words)) for words in unclean_election(story))

    assert zero in {1, 2}
    assert others == [2, "local"]


def test_scenario_5_histories_that_part_in_remote_storage(story):
    row, five = (story.ask(*words) for words in parted_histories(story))

    assert (row["outcome"], row["fetch_offset"]) == ("tiered", 0)
    assert (row["earliest_local_offset"], row["earliest_local_epoch"]) == (6, 2)
    assert (row["requested_epoch"], row["answered_epoch"], row["answered_end_offset"]) == (1, 0, 5)
    assert (row["target_epoch"], row["segment_id"]) == (2, uuid(3))
    assert (epochs_of(row), row["next_fetch_offset"]) == ([(0, 0), (2, 5)], 6)
    assert serving(five) == 3


def test_a_follower_that_leads_goes_on_copying_after_what_is_copied_of_its_own_epochs(story):
    (row,) = (story.ask(*words) for words in follower_to_leader(story))

    assert (row["latest_tiered_offset"], row["latest_tiered_epoch"]) == (4, 1)
    assert (row["earliest_pending_upload_offset"], row["earliest_pending_upload_epoch"]) == (5, 1)


def test_a_lookup_that_fails_says_which_and_why(story):
    story.remote(1, [(0, 0), (1, 0), (2, 0)], [(0, 0)], [(0, 0)])
    leader = story.replica("a", [(5, 2), (6, 2)], [(0, 0), (1, 3), (2, 5)])
    row = story.follow(story.replica("b", [], []), leader)

    assert (row["outcome"], row["target_epoch"], row["next_fetch_offset"]) == ("failed", 1, None)
    assert row["steps"][-1].startswith("remote segment of epoch 1, offset 4: none, RemoteStorageException")


def test_without_storage_the_leaders_epochs_are_taken(story):
    first_segments(story)
    leader = story.replica("a", [(6, 2), (7, 3)], [(0, 0), (1, 3), (2, 5), (3, 7)])
    row = story.follow(story.replica("b", [], []), leader)
    story.storage = None
    again = story.follow(story.root / "b", leader)

    assert (again["epochs_source"], row["epochs_source"]) == ("leader", "storage")
    assert epochs_of(again) == epochs_of(row) == [(0, 0), (1, 3), (2, 5)]


@pytest.mark.parametrize(
    ("extension", "lost", "epochs"),
    [
        ("*", "leader epoch checkpoint", []),
        ("leader_epoch_checkpoint", "leader epoch checkpoint", []),
        ("snapshot", "producer snapshot", [(0, 0), (1, 3), (2, 5)]),
        ("log", None, [(0, 0), (1, 3), (2, 5)]),
    ],
)
def test_a_follower_whose_segment_lacks_its_state_in_remote_storage_tries_for_ever(
    story, extension, lost, epochs
):
    first_segments(story)
    leader = story.replica("a", [(6, 2), (7, 3)], [(0, 0), (1, 3), (2, 5), (3, 7)])
    follower = story.replica("b", [], [])
    for file in story.storage.glob(f"*/*-{uuid(2)}.{extension}"):
        file.unlink()
    row = story.follow(follower, leader)

    assert (row["segment_id"], epochs_of(row)) == (uuid(2), epochs)
    if lost is None:
        assert (row["outcome"], row["next_fetch_offset"], row["producers"]) == ("tiered", 6, 0)
        return
    assert (row["outcome"], row["next_fetch_offset"], row["producer_snapshot"]) == ("failed", None, None)
    assert row["epochs_source"] == ("storage" if epochs else None)
    assert "truncate the whole log, and begin at 6; log start 0" in row["steps"]
    why = f"not in {story.storage}, RemoteResourceNotFoundException; the follower tries again for ever"
    assert row["steps"][-1] == f"its {lost}: {why}"
    words = story.command("follow", follower, "--leader", leader)
    done = CliRunner().invoke(app, [*words, "-o", "table"])
    assert f"its {lost}: not in" in " ".join(done.stdout.split())


def test_a_new_follower_of_a_log_that_begins_later_fetches_from_0_first(story):
    story.remote(1, [(12, 0), (13, 0)], [(0, 12)], [(0, 12)])
    leader = story.replica("a", [(14, 0)], [(0, 12)], log_start=12)
    row = story.follow(story.replica("b", [], []), leader)

    reset = "ListOffsets earliest: 12; truncate the whole log, and begin there"
    assert row["steps"][:2] == [
        f"fetch from 0, last epoch none: OFFSET_OUT_OF_RANGE; {reset}",
        "fetch from 12, last epoch none: OFFSET_MOVED_TO_TIERED_STORAGE",
    ]
    assert (row["outcome"], row["next_fetch_offset"]) == ("tiered", 14)


def test_a_new_follower_of_a_leader_whose_whole_log_is_local(story):
    story.remote(1, [(12, 0), (13, 0)], [(0, 12)], [(0, 12)])
    leader = story.replica("a", [(12, 0), (13, 0), (14, 0)], [(0, 12)], log_start=12)
    row = story.follow(story.replica("b", [], []), leader)

    assert (row["outcome"], row["next_fetch_offset"]) == ("out-of-range", 12)


def test_a_segment_that_is_not_in_the_storage_named_says_so(story):
    first_segments(story)
    log, epochs = [(6, 2), (7, 3)], [(0, 0), (1, 3), (2, 5), (3, 7)]
    leader, *others = [story.replica(name, log, epochs) for name in "abcde"]
    for file in story.storage.glob("*/*"):
        file.unlink()
    for words in (("offset", 1), ("timestamp", 0)):
        row = story.ask("lookup", *words, leader)
        assert f"its log is not in {story.storage}" in row["reason"]
        for paths in ([leader], [leader, *others]):
            drawn = [*story.command("lookup", *words, *paths), "-o", "table"]
            shown = CliRunner().invoke(app, drawn, env={"COLUMNS": "300"}).stdout
            assert shown.count(f"its log is not in {story.storage}") == len(paths)
