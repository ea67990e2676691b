"""The stories of KIP-405, step by step: followers of a tiered log, lookups, and a follower that leads.

Logs, metadata and storage are written here as brokers leave them. Where the KIP's text and Kafka's code
differ (which epochs go with a segment), the answers are those of the code.
"""

import base64
import json
import struct

import jsonschema
import pytest
from typer.testing import CliRunner

from commands.app import app
from tests.builders import put_record, put_records
from tests.partitions import epoch_lines, put_range, segment

TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
EVENTS = "__remote_log_metadata-0"
COPY_STARTED, COPY_FINISHED = 0, 1


def uuid(number):
    return base64.urlsafe_b64encode(number.to_bytes(16, "big")).decode()[:22]


def event(number, start, end, epochs, size=100):
    """Return the value of a RemoteLogSegmentMetadataRecord, COPY_SEGMENT_STARTED."""
    entries = b"".join(struct.pack(">iqB", epoch, offset, 0) for epoch, offset in epochs)
    return b"".join(
        [
            bytes([1, 0, 0, 2]) + b"t",
            (1).to_bytes(16, "big") + struct.pack(">iB", 0, 0),
            number.to_bytes(16, "big") + b"\0",
            struct.pack(">qqiqq", start, end, 1, 1000 + end, 2000),
            bytes([len(epochs) + 1]) + entries,
            struct.pack(">iBBB", size, 0, COPY_STARTED, 0),
        ]
    )


def finished(number):
    head = bytes([1, 1, 0, 2]) + b"t" + (1).to_bytes(16, "big") + struct.pack(">iB", 0, 0)
    return head + number.to_bytes(16, "big") + b"\0" + struct.pack(">iqBBB", 1, 3000, 0, COPY_FINISHED, 0)


def schema(*words):
    return json.loads(CliRunner().invoke(app, ["schema", *words]).stdout)


class Story:
    """The replicas of partition t-0, the segments in remote storage, and the events about them."""

    def __init__(self, root):
        self.root, self.storage, self.values = root, root / "storage", []

    def replica(self, name, records, epochs, log_start=0):
        """Write a replica; `records` are (offset, epoch), `epochs` its leader epochs."""
        log_dir = self.root / name
        directory = log_dir / "t-0"
        batches = [put_range(offset, 1, epoch, timestamp=1000 + offset) for offset, epoch in records]
        end = records[-1][0] + 1 if records else 0
        segment(directory, records[0][0] if records else end, b"".join(batches))
        (directory / "leader-epoch-checkpoint").write_text(epoch_lines(*epochs))
        (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC_ID}\n")
        (log_dir / "remote-log-index-cache").mkdir()
        (log_dir / "meta.properties").write_text("version=1\ncluster.id=x\nnode.id=1\n")
        (log_dir / ".kafka_cleanshutdown").write_text("")
        (log_dir / "log-start-offset-checkpoint").write_text(f"0\n1\nt 0 {log_start}\n")
        (log_dir / "replication-offset-checkpoint").write_text(f"0\n1\nt 0 {end}\n")
        return log_dir

    def remote(self, number, records, segment_epochs, epochs):
        """Copy a segment; `epochs` is the leader epoch checkpoint that goes with it."""
        start, end = records[0][0], records[-1][0]
        self.values += [event(number, start, end, segment_epochs), finished(number)]
        directory = self.storage / f"t-0-{TOPIC_ID}"
        directory.mkdir(parents=True, exist_ok=True)
        stem = directory / f"{start:020}-{uuid(number)}"
        batches = [put_range(offset, 1, epoch, timestamp=1000 + offset) for offset, epoch in records]
        stem.with_suffix(".log").write_bytes(b"".join(batches))
        stem.with_suffix(".leader_epoch_checkpoint").write_text(epoch_lines(*epochs))

    def ask(self, *words):
        records = [put_record(n, n, None, value) for n, value in enumerate(self.values)]
        segment(self.root / "events" / EVENTS, 0, put_records(records))
        more = ("--remote-metadata", self.root / "events")
        if words[0] in {"follow", "lookup"}:
            more += ("--storage", self.storage)
        done = CliRunner().invoke(app, ["rlmm", *map(str, (*words, *more)), "-o", "json"])
        document = json.loads(done.stdout)
        assert (done.exit_code, document["errors"]) == (0, []), done.stdout
        jsonschema.validate(document, schema(*document["command"].split()))
        (row,) = document["rows"]
        return row

    def follow(self, follower, leader):
        return self.ask("follow", follower, "--leader", leader)

    def segment_of(self, offset, leader):
        """Return which segment serves an offset, by number; `local` for the local log."""
        row = self.ask("lookup", "offset", offset, leader)
        if row["tier"] != "remote":
            return row["tier"]
        return int.from_bytes(base64.urlsafe_b64decode(row["segment_id"] + "=="), "big")


@pytest.fixture
def story(tmp_path):
    return Story(tmp_path)


def first_segments(story):
    story.remote(1, [(0, 0), (1, 0), (2, 0)], [(0, 0)], [(0, 0)])
    story.remote(2, [(3, 1), (4, 1), (5, 2)], [(1, 3), (2, 5)], [(0, 0), (1, 3), (2, 5)])


def epochs_of(row):
    return [(entry["epoch"], entry["start_offset"]) for entry in row["epochs_after"]]


def test_scenario_1_a_new_follower(story):
    first_segments(story)
    leader = story.replica("a", [(3, 1), (4, 1), (5, 2), (6, 2), (7, 3)], [(0, 0), (1, 3), (2, 5), (3, 7)])
    row = story.follow(story.replica("b", [], []), leader)

    assert row["outcome"] == "tiered"
    assert (row["fetch_offset"], row["last_fetched_epoch"]) == (0, None)
    assert row["steps"][0] == "fetch from 0, last epoch none: OFFSET_MOVED_TO_TIERED_STORAGE"
    assert (row["earliest_local_offset"], row["earliest_local_epoch"]) == (3, 1)
    assert (row["requested_epoch"], row["answered_epoch"], row["answered_end_offset"]) == (0, 0, 3)
    assert (row["target_epoch"], row["segment_id"]) == (0, uuid(1))
    assert (epochs_of(row), row["epochs_source"]) == ([(0, 0)], "storage")
    assert row["next_fetch_offset"] == 3


def test_scenario_2_a_follower_that_was_away(story):
    first_segments(story)
    epochs = [(0, 0), (1, 3), (2, 5), (3, 7)]
    story.remote(3, [(6, 2), (7, 3), (8, 3)], [(2, 6), (3, 7)], epochs)
    whole = [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (6, 2), (7, 3), (8, 3), (9, 3)]
    follower = story.replica("b", whole[:4], epochs[:2])

    before = story.follow(follower, story.replica("a1", whole, epochs))
    assert (before["outcome"], before["next_fetch_offset"]) == ("local", 4)

    row = story.follow(follower, story.replica("a2", [(9, 3), (10, 3), (11, 3)], epochs))
    assert (row["outcome"], row["fetch_offset"], row["last_fetched_epoch"]) == ("tiered", 4, 1)
    assert (row["earliest_local_offset"], row["earliest_local_epoch"]) == (9, 3)
    assert (row["requested_epoch"], row["answered_epoch"], row["answered_end_offset"]) == (2, 2, 7)
    assert (row["target_epoch"], row["segment_id"]) == (3, uuid(3))
    assert epochs_of(row) == epochs
    assert row["next_fetch_offset"] == 9


def test_scenario_3_multiple_hard_failures(story):
    story.remote(1, [(0, 0), (1, 0)], [(0, 0)], [(0, 0)])
    follower = story.replica("a1", [(0, 0), (1, 0), (2, 0)], [(0, 0)])
    leader = story.replica("b1", [(0, 0), (1, 1)], [(0, 0), (1, 1)])
    row = story.follow(follower, leader)
    assert (row["outcome"], row["next_fetch_offset"]) == ("local", 1)
    assert row["steps"][0].endswith("it diverges: epoch 0 ends at 1; truncate to 1")

    story.remote(2, [(1, 1)], [(1, 1)], [(0, 0), (1, 1)])
    later = story.replica("b2", [(2, 1)], [(0, 0), (1, 1)])
    assert [story.segment_of(offset, later) for offset in (0, 1, 2)] == [1, 2, "local"]


def test_scenario_4_unclean_election_with_a_truncation(story):
    story.remote(1, [(0, 0), (1, 0), (2, 0)], [(0, 0)], [(0, 0)])
    story.remote(2, [(0, 0), (1, 1)], [(0, 0), (1, 1)], [(0, 0), (1, 1)])
    leader = story.replica("b", [(2, 1)], [(0, 0), (1, 1)])

    assert story.segment_of(1, leader) == 2
    assert story.segment_of(0, leader) in {1, 2}
    assert story.segment_of(2, leader) == "local"


def test_scenario_5_histories_that_part_in_remote_storage(story):
    story.remote(1, [(n, 0) for n in range(4)], [(0, 0)], [(0, 0)])
    story.remote(2, [(0, 0), (1, 0), (2, 1), (3, 1)], [(0, 0), (1, 2)], [(0, 0), (1, 2)])
    story.remote(3, [(4, 0), (5, 2)], [(0, 4), (2, 5)], [(0, 0), (2, 5)])
    leader = story.replica("a", [(6, 2)], [(0, 0), (2, 5)])
    row = story.follow(story.replica("b", [], []), leader)

    assert (row["outcome"], row["fetch_offset"]) == ("tiered", 0)
    assert (row["earliest_local_offset"], row["earliest_local_epoch"]) == (6, 2)
    assert (row["requested_epoch"], row["answered_epoch"], row["answered_end_offset"]) == (1, 0, 5)
    assert (row["target_epoch"], row["segment_id"]) == (2, uuid(3))
    assert (epochs_of(row), row["next_fetch_offset"]) == ([(0, 0), (2, 5)], 6)
    assert story.segment_of(5, leader) == 3


def test_a_follower_that_leads_goes_on_copying_after_what_is_copied_of_its_own_epochs(story):
    story.remote(1, [(0, 0), (1, 0), (2, 0)], [(0, 0)], [(0, 0)])
    story.remote(2, [(3, 1), (4, 1)], [(1, 3)], [(0, 0), (1, 3)])
    records = [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1), (5, 1), (6, 2), (7, 3)]
    leader = story.replica("b", records, [(0, 0), (1, 3), (2, 6), (3, 7)])
    row = story.ask("offsets", leader)

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
    for file in story.storage.glob("*/*"):
        file.unlink()
    again = story.follow(story.root / "b", leader)

    assert (again["epochs_source"], row["epochs_source"]) == ("leader", "storage")
    assert epochs_of(again) == epochs_of(row) == [(0, 0), (1, 3), (2, 5)]


def test_on_a_terminal_each_request_has_its_answer(story):
    first_segments(story)
    leader = story.replica("a", [(6, 2), (7, 3)], [(0, 0), (1, 3), (2, 5), (3, 7)])
    follower = story.replica("b", [], [])
    story.follow(follower, leader)
    words = [
        "follow",
        follower,
        "--leader",
        leader,
        "--remote-metadata",
        story.root / "events",
        "-o",
        "table",
    ]
    done = CliRunner().invoke(app, ["rlmm", *map(str, words)])

    shown = " ".join(done.stdout.split())
    steps = [
        "1 fetch from 0, last epoch none: OFFSET_MOVED_TO_TIERED_STORAGE",
        "2 ListOffsets earliest: 0",
        "3 ListOffsets earliest local: 6, epoch 2",
        "4 OffsetForLeaderEpoch 1: epoch 1 ends at 5",
        f"5 remote segment of epoch 2, offset 5: {uuid(2)}, offsets 3 to 5",
        "6 truncate the whole log, and begin at 6; log start 0",
        "The follower takes the state of a remote segment, and fetches from 6.",
    ]
    assert done.exit_code == 0
    assert [step for step in steps if step not in shown] == []
