"""The stories of KIP-405: a tiered partition's replicas and events; `python -m tests.stories DIR`."""

import base64
import json
import shlex
import struct
import sys
from pathlib import Path

import jsonschema
from typer.testing import CliRunner

from commands.app import app
from tests.builders import put_record, put_records
from tests.formats.files import content
from tests.partitions import epoch_lines, put_range, segment

TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
EVENTS = "__remote_log_metadata-0"
COPY_STARTED, COPY_FINISHED, DELETE_STARTED = 0, 1, 2
NO_PRODUCERS = content("no-producers.snapshot")


def uuid(number):
    """Return the id of the segment with a number."""
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


def finished(number, state=COPY_FINISHED):
    """Return the value of its RemoteLogSegmentMetadataUpdateRecord, COPY_SEGMENT_FINISHED or another."""
    head = bytes([1, 1, 0, 2]) + b"t" + (1).to_bytes(16, "big") + struct.pack(">iB", 0, 0)
    return head + number.to_bytes(16, "big") + b"\0" + struct.pack(">iqBBB", 1, 3000, 0, state, 0)


def schema(*words):
    """Return the JSON Schema of a command's rows."""
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
        """Copy a segment; `epochs` is the leader epoch checkpoint that goes with it, beside a snapshot."""
        start, end = records[0][0], records[-1][0]
        self.values += [event(number, start, end, segment_epochs), finished(number)]
        directory = self.storage / f"t-0-{TOPIC_ID}"
        directory.mkdir(parents=True, exist_ok=True)
        stem = directory / f"{start:020}-{uuid(number)}"
        batches = [put_range(offset, 1, epoch, timestamp=1000 + offset) for offset, epoch in records]
        stem.with_suffix(".log").write_bytes(b"".join(batches))
        stem.with_suffix(".leader_epoch_checkpoint").write_text(epoch_lines(*epochs))
        stem.with_suffix(".snapshot").write_bytes(NO_PRODUCERS)

    def command(self, *words):
        """Write the events; return the words of a `kcli rlmm` about them."""
        records = [put_record(n, n, None, value) for n, value in enumerate(self.values)]
        segment(self.root / "events" / EVENTS, 0, put_records(records))
        more = ("--remote-metadata", self.root / "events")
        if words[0] in {"follow", "lookup"} and self.storage is not None:
            more += ("--storage", self.storage)
        return ["rlmm", *map(str, (*words, *more))]

    def ask(self, *words):
        """Return the only row of a command."""
        done = CliRunner().invoke(app, [*self.command(*words), "-o", "json"])
        document = json.loads(done.stdout)
        assert (done.exit_code, document["errors"]) == (0, []), done.stdout
        jsonschema.validate(document, schema(*document["command"].split()))
        (row,) = document["rows"]
        return row

    def follow(self, follower, leader):
        """Return the row of `rlmm follow`."""
        return self.ask("follow", follower, "--leader", leader)


def serving(row):
    """Return which segment serves the offset of a row of `rlmm lookup offset`, by number; or its tier."""
    if row["tier"] != "remote":
        return row["tier"]
    return int.from_bytes(base64.urlsafe_b64decode(row["segment_id"] + "=="), "big")


def first_segments(story):
    """Copy the two segments with which scenarios 1 and 2 begin."""
    story.remote(1, [(0, 0), (1, 0), (2, 0)], [(0, 0)], [(0, 0)])
    story.remote(2, [(3, 1), (4, 1), (5, 2)], [(1, 3), (2, 5)], [(0, 0), (1, 3), (2, 5)])


def new_follower(story):
    """Scenario 1: a new follower without any data."""
    first_segments(story)
    leader = story.replica("a", [(3, 1), (4, 1), (5, 2), (6, 2), (7, 3)], [(0, 0), (1, 3), (2, 5), (3, 7)])
    return [("follow", story.replica("b", [], []), "--leader", leader)]


def away(story):
    """Scenario 2: a follower that was away, before the leader cuts its local log and after it."""
    first_segments(story)
    epochs = [(0, 0), (1, 3), (2, 5), (3, 7)]
    story.remote(3, [(6, 2), (7, 3), (8, 3)], [(2, 6), (3, 7)], epochs)
    whole = [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (6, 2), (7, 3), (8, 3), (9, 3)]
    follower = story.replica("b", whole[:4], epochs[:2])
    before = story.replica("a1", whole, epochs)
    after = story.replica("a2", [(9, 3), (10, 3), (11, 3)], epochs)
    return [("follow", follower, "--leader", leader) for leader in (before, after)]


def hard_failures(story):
    """Scenario 3: multiple hard failures; what the first leader copied stays, and its last record goes."""
    story.remote(1, [(0, 0), (1, 0)], [(0, 0)], [(0, 0)])
    follower = story.replica("a1", [(0, 0), (1, 0), (2, 0)], [(0, 0)])
    leader = story.replica("b1", [(0, 0), (1, 1)], [(0, 0), (1, 1)])
    story.remote(2, [(1, 1)], [(1, 1)], [(0, 0), (1, 1)])
    later = story.replica("b2", [(2, 1)], [(0, 0), (1, 1)])
    lookups = [("lookup", "offset", offset, later) for offset in (0, 1, 2)]
    return [("follow", follower, "--leader", leader), *lookups]


def unclean_election(story):
    """Scenario 4: an unclean election with a truncation; two segments begin at one offset."""
    story.remote(1, [(0, 0), (1, 0), (2, 0)], [(0, 0)], [(0, 0)])
    story.remote(2, [(0, 0), (1, 1)], [(0, 0), (1, 1)], [(0, 0), (1, 1)])
    leader = story.replica("b", [(2, 1)], [(0, 0), (1, 1)])
    return [("lookup", "offset", offset, leader) for offset in (0, 1, 2)]


def parted_histories(story):
    """Scenario 5: the log in remote storage diverges from the local one; a new follower."""
    story.remote(1, [(n, 0) for n in range(4)], [(0, 0)], [(0, 0)])
    story.remote(2, [(0, 0), (1, 0), (2, 1), (3, 1)], [(0, 0), (1, 2)], [(0, 0), (1, 2)])
    story.remote(3, [(4, 0), (5, 2)], [(0, 4), (2, 5)], [(0, 0), (2, 5)])
    leader = story.replica("a", [(6, 2)], [(0, 0), (2, 5)])
    return [("follow", story.replica("b", [], []), "--leader", leader), ("lookup", "offset", 5, leader)]


def follower_to_leader(story):
    """A follower becomes leader: it goes on copying after what is copied of its own epochs."""
    story.remote(1, [(0, 0), (1, 0), (2, 0)], [(0, 0)], [(0, 0)])
    story.remote(2, [(3, 1), (4, 1)], [(1, 3)], [(0, 0), (1, 3)])
    records = [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1), (5, 1), (6, 2), (7, 3)]
    return [("offsets", story.replica("b", records, [(0, 0), (1, 3), (2, 6), (3, 7)]))]


STORIES = (new_follower, away, hard_failures, unclean_election, parted_histories, follower_to_leader)


def main():
    """Write each story into a directory of its own, and print its commands."""
    for tell in STORIES:
        story = Story(Path(sys.argv[1]) / tell.__name__)
        print(f"# {tell.__doc__}")
        for words in tell(story):
            print(shlex.join(["kcli", *story.command(*words)]))


if __name__ == "__main__":
    main()
