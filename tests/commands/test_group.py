"""`group`: the groups of log dirs, their commits, members and history."""

import base64
import gzip
import json
from pathlib import Path

import pytest

from kcli.logdir.targets import OFFSETS_RETENTION_MS
from tests.commands.answers import ask, codes, document
from tests.groups import NOW, batch, commit, commit_key, coordinator, group_key, group_value
from tests.metadata_records import OTHER_ID, TOPIC_ID, put_log, put_topic, record, topic
from tests.metadata_records import batch as metadata_batch
from tests.metadata_records import partition as metadata_partition
from tests.partitions import log_dir, orders, put_range
from tests.transactions import ended

RUNNING = Path(__file__).parents[1] / "data" / "groups" / "running.json.gz"
WEEK = OFFSETS_RETENTION_MS


@pytest.fixture
def running(tmp_path):
    """The logs of __consumer_offsets of a broker, and what it answered."""
    recorded = json.loads(gzip.decompress(RUNNING.read_bytes()))
    for name, log in recorded["logs"].items():
        directory = coordinator(tmp_path / "d", number=int(name.rpartition("-")[2]))
        (directory / f"{0:020d}.log").write_bytes(base64.b64decode(log))
    return tmp_path / "d", recorded


def test_groups_are_as_the_broker_lists_them(running):
    root, recorded = running
    listed = document("group", "list", root)["rows"]
    found = {
        (row["group_id"], row["group_type"].title(), row["protocol_type"] or "", row["state"])
        for row in listed
    }
    assert found == {
        (row["group"], row["type"], row["protocol"], row["state"]) for row in recorded["group_list"]
    }


def test_offsets_are_as_the_broker_answers(running):
    root, recorded = running
    names = ("group_id", "topic", "partition", "committed_offset", "metadata", "committed_leader_epoch")
    found = {tuple(row[name] for name in names) for row in document("group", "offsets", root)["rows"]}
    keys = ("group", "topic", "partition", "offset", "metadata")
    assert found == {
        (*(commit[name] for name in keys), -1 if commit["leader_epoch"] is None else commit["leader_epoch"])
        for commit in recorded["group_offsets"]
    }


def test_commits_of_old_releases_are_those_that_their_consumers_made(tmp_path):
    recorded = json.loads(gzip.decompress(RUNNING.with_name("upgraded.json.gz").read_bytes()))
    for name, log in recorded["logs"].items():
        directory, _, file = name.partition("/")
        coordinator(tmp_path / "d", number=int(directory.rpartition("-")[2]))
        (tmp_path / "d" / directory / file).write_bytes(base64.b64decode(log))
    found = {}
    for row in document("group", "offsets", tmp_path / "d")["rows"]:
        name = f"{row['topic']}-{row['partition']}"
        found.setdefault(row["group_id"], {})[name] = row["committed_offset"]
    expected = recorded["last_committed"]
    assert len(expected) > 20
    assert {group: found.get(group) for group in expected} == expected


def test_members_have_the_partitions_of_their_protocol(running):
    rows = {row["group_id"]: row for row in document("group", "members", running[0])["rows"]}
    assert set(rows) == {"g-classic", "g-consumer", "g-share", "g-static"}
    assert rows["g-static"]["group_instance_id"] == "inst-1"
    assert rows["g-static"]["assignment"] == [{"topic": "codec-lz4", "partition": 0}]
    assert rows["g-consumer"]["subscribed_topics"] == ["codec-gzip", "five-parts"]
    assert len(rows["g-consumer"]["assignment"]) == 6


def test_a_deleted_group_is_in_its_history_and_with_all(running):
    root, _ = running
    rows = document("group", "history", "--group", "g-deleted", root)["rows"]
    assert [(row["committed_offset"], row["previous_offset"], row["change"]) for row in rows] == [
        (3, None, "first"),
        (None, 3, "removed"),
    ]
    (row,) = document("group", "offsets", "--all", "--group", "g-deleted", root)["rows"]
    assert (row["committed_offset"], row["removed_by"]) == (3, rows[1]["offset_of_record"])
    assert ask("group", "offsets", "--group", "g-deleted", root)[1] == 3


EPOCHS = {"epochs": ((0, 0), (2, 30)), "watermark": 35}


@pytest.mark.parametrize(
    ("offset", "epoch", "position", "lag"),
    [
        (20, 0, "valid", 15),
        (40, 2, "valid", 0),
        (20, -1, "valid", 15),
        (32, 0, "diverged", 3),
        (20, 5, "unknown", 15),
        (9, 0, "out-of-range", 26),
        (41, -1, "out-of-range", -1),
        (41, 2, "out-of-range", -1),
        (41, 0, "out-of-range", -1),
    ],
)
def test_the_position_is_what_a_consumer_finds(tmp_path, offset, epoch, position, lag):
    orders(tmp_path / "d", put_range(0, 30), put_range(30, 10, epoch=2), log_start=10, **EPOCHS)
    coordinator(tmp_path / "d", commit(0, offset=offset, epoch=epoch), log_start=10, watermark=35)
    found, status = ask("group", "offsets", tmp_path / "d")
    (row,) = found["rows"]
    assert (row["position"], row["lag"]) == (position, lag)
    assert (row["log_start_offset"], row["log_end_offset"], row["high_watermark"]) == (10, 40, 35)
    assert status == int(position != "valid")


def test_a_consumer_waits_for_an_epoch_that_the_leader_does_not_have(tmp_path, kcli):
    """Of the leader the metadata says the epoch, which may have no record yet."""
    orders(tmp_path / "d", put_range(0, 30), put_range(30, 10, epoch=2), log_start=10, **EPOCHS)
    log = commit(0, offset=20, epoch=4), commit(1, group="h", offset=20, epoch=5)
    coordinator(tmp_path / "d", *log, log_start=10, watermark=35)
    assert [row["position"] for row in document("group", "offsets", tmp_path / "d", status=1)["rows"]] == [
        "unknown",
        "unknown",
    ]
    led = record("PartitionRecord", topicId=TOPIC_ID, replicas=[1], isr=[1], leader=1, leaderEpoch=4)
    internal = topic("__consumer_offsets", OTHER_ID), metadata_partition(0, OTHER_ID)
    put_log(tmp_path / "d", metadata_batch(0, topic(), led, *internal))
    rows = document("group", "offsets", tmp_path / "d", status=1)["rows"]
    assert [(row["group_id"], row["position"]) for row in rows] == [("g", "valid"), ("h", "unknown")]
    drawn = kcli("group", "offsets", tmp_path / "d", "-o", "table").stdout
    assert drawn.startswith("2 groups, 2 offsets: 1 waiting for ever, lag 15 of the others.")
    assert "UNKNOWN_LEADER_EPOCH" in drawn


def test_the_verdict_counts_no_removed_commit_and_says_what_expires(tmp_path, kcli):
    orders(tmp_path / "d", put_range(0, 30), log_start=10)
    gone = batch(2, (commit_key("g", "orders", 0), None))
    directory = coordinator(tmp_path / "d", commit(0, offset=3), commit(1, "h", offset=20), gone)
    put_topic(tmp_path / "d", "__consumer_offsets")
    found, status = ask("group", "offsets", "--all", directory, tmp_path / "d")
    assert [(row["group_id"], row["position"]) for row in found["rows"]] == [
        ("g", "out-of-range"),
        ("h", "valid"),
    ]
    assert status == 0
    drawn = kcli("group", "offsets", "--at", NOW + 2 * WEEK, "--all", tmp_path / "d", "-o", "table").stdout
    assert drawn.startswith("1 group, 1 offset: lag 10, 1 expired, which a running broker deletes.")


def test_a_pending_commit_alone_has_no_lag(tmp_path, kcli):
    orders(tmp_path / "d", put_range(0, 30))
    coordinator(tmp_path / "d", commit(0, producer=4))
    put_topic(tmp_path / "d", "__consumer_offsets")
    drawn = kcli("group", "offsets", tmp_path / "d", "-o", "table").stdout
    assert drawn.startswith("1 group, 0 offsets: nothing committed yet, 1 pending.")


def test_the_retention_is_that_of_the_server_config(tmp_path):
    directory = coordinator(tmp_path / "d", commit(0, at=NOW))
    config = tmp_path / "server.properties"
    config.write_text(f"node.id=7\nlog.dirs={tmp_path / 'd'}\noffsets.retention.minutes=2\n")
    (row,) = document("group", "offsets", "--server-config", config, directory)["rows"]
    assert row["expire_timestamp"] == NOW + 120_000


def test_at_asks_for_an_earlier_state(tmp_path):
    log = commit(0, offset=2, timestamp=NOW), commit(1, offset=5, timestamp=NOW + 10)
    directory = coordinator(
        tmp_path / "d",
        *log,
        commit(2, offset=9, producer=4, timestamp=NOW + 10),
        ended(3, 4, timestamp=NOW + 10),
    )
    for at, offset in ((0, 2), (1, 5), (2, 5), (3, 9), (NOW + 9, 2), (NOW + 10, 9)):
        (row,) = document("group", "offsets", "--at", at, directory)["rows"]
        assert row["committed_offset"] == offset, at


def test_lines_for_reset_offsets(tmp_path, kcli):
    log = commit(0, offset=2), commit(1, group="h", partition=1, offset=5), commit(2, "i", producer=3)
    directory = coordinator(tmp_path / "d", *log)
    words = ("group", "offsets", "--format", "reset-offsets", "-o", "csv")
    assert kcli(*words, "--group", "g", directory).stdout == "orders,0,2\n"
    assert kcli(*words, directory).stdout == "g,orders,0,2\nh,orders,1,5\n"
    assert kcli(*words[:4], directory).exit_code == 2


def test_only_some_groups_and_topics(tmp_path):
    log = commit(0, "a"), commit(1, "b", "users"), commit(2, "b", partition=4)
    directory = coordinator(tmp_path / "d", *log)

    def shown(*words):
        rows = document("group", "offsets", *words, directory)["rows"]
        return [(row["group_id"], row["topic"], row["partition"]) for row in rows]

    assert shown("--group", "b") == [("b", "orders", 4), ("b", "users", 0)]
    assert shown("--group", "?", "--topic", "users") == [("b", "users", 0)]
    assert shown("--partition", "4") == [("b", "orders", 4)]
    listed = document("group", "list", "--topic", "users", directory)["rows"]
    assert [(row["group_id"], row["committed_partitions"], row["topics"]) for row in listed] == [
        ("b", 1, ["users"])
    ]
    found, status = ask("group", "list", "--group", "z", directory)
    assert status == 3
    assert "no group here is z" in found["errors"][0]["message"]


def test_history_says_what_each_commit_does(tmp_path, kcli):
    log = (
        *(commit(number, offset=offset) for number, offset in enumerate((5, 7, 7, 3))),
        batch(4, (commit_key("g", "orders", 0), None)),
        commit(5, offset=1),
        commit(6, "other"),
    )
    rows = document("group", "history", "--group", "g", coordinator(tmp_path / "d", *log))["rows"]
    assert [row["change"] for row in rows] == ["first", "forward", "same", "back", "removed", "first"]
    assert [row["previous_offset"] for row in rows] == [None, 5, 7, 7, 3, None]
    assert [row["offset_of_record"] for row in rows] == [0, 1, 2, 3, 4, 5]
    assert kcli("group", "history", tmp_path / "d").exit_code == 2


def test_no_checksum_is_verified_as_no_coordinator_does(tmp_path):
    damaged = bytearray(commit(1, partition=1))
    damaged[17] ^= 1  # of the checksum
    directory = coordinator(tmp_path / "d", commit(0), bytes(damaged), commit(2, partition=2))
    found = document("group", "offsets", directory, status=1)
    assert [row["partition"] for row in found["rows"]] == [0, 1, 2]
    (damage,) = (finding for finding in found["findings"] if finding["code"] == "LOG-003")
    assert "a coordinator verifies no checksum" in damage["message"]
    assert not {"COORD-001", "COORD-002"} & {*codes(found)}


def test_damage_is_a_finding_and_what_lies_behind_it_is_read(tmp_path):
    damaged = bytearray(commit(1, partition=1))
    damaged[61] ^= 0x40  # the length of the record
    directory = coordinator(tmp_path / "d", commit(0), bytes(damaged), commit(2, partition=2))
    found = document("group", "offsets", directory, status=1)
    assert [row["partition"] for row in found["rows"]] == [0, 2]
    assert set(codes(found)) >= {"LOG-003", "DUMP-002", "COORD-001", "COORD-002"}
    assert "COORD-002" in codes(document("check", directory, status=1))


def test_what_a_start_cuts_of_a_coordinators_log_is_read_and_said(tmp_path, kcli):
    damaged = bytearray(commit(1, partition=1))
    damaged[17] ^= 1  # of the checksum
    directory = coordinator(tmp_path / "d", commit(0), bytes(damaged), commit(2, group="late"))
    (tmp_path / "d" / ".kafka_cleanshutdown").unlink()
    for words in (("list",), ("offsets", "--group", "late"), ("list", "--storage")):
        found = document("group", *words, directory, status=1)
        assert "late" in {row["group_id"] for row in found["rows"]}
        assert {"START-001", "COORD-001"} <= {*codes(found)}
        assert "COORD-002" not in codes(found)
        drawn = kcli("group", *words, directory, "-o", "table").stdout
        assert drawn.startswith("Incomplete: __consumer_offsets-0: a start cuts the log at offset 1,")


def test_coordinators_that_were_not_read_are_said_first(tmp_path, kcli):
    for name in ("members", "none"):
        coordinator(tmp_path / name, commit(0))
    coordinator(tmp_path / "members", batch(0, (group_key("g"), group_value(("m", "orders")))), number=2)
    refused = coordinator(tmp_path / "refused", bytes(100), number=1)
    said = f"Incomplete: 1 input has no answer ({refused}/{0:020d}.log)"
    for root in (tmp_path / "members", tmp_path / "none"):
        for command in ("offsets", "list", "members", "history --group g"):
            done = kcli("group", *command.split(), root, refused, "-o", "table")
            assert done.exit_code == 4
            assert "".join(done.stdout.split()).startswith(said.replace(" ", "")), command


def test_an_entry_that_is_no_log_is_said_first(tmp_path, kcli):
    coordinator(tmp_path / "d", commit(0))
    (tmp_path / "d" / "__consumer_offsets-1" / f"{0:020d}.log").mkdir(parents=True)
    said = f"Incomplete: __consumer_offsets-1/{0:020d}.log: a directory, not a regular file; "
    for command in ("group offsets", "group list", "group members", "txn open"):
        done = kcli(*command.split(), tmp_path / "d", "-o", "table")
        assert (done.exit_code, " ".join(done.stdout.split()).startswith(said)) == (1, True), command
    metrics = kcli("group", "offsets", tmp_path / "d", "-o", "prometheus").stdout
    assert "\nkcli_group_offsets_errors 1\n" in metrics


def test_a_log_dir_without_coordinators_is_refused(tmp_path):
    orders(tmp_path / "d", put_range(0, 3))
    found, status = ask("group", "list", tmp_path / "d")
    assert status == 3
    assert "no partition of __consumer_offsets is here" in found["errors"][0]["message"]


def test_of_several_brokers_the_longest_copy_is_read(tmp_path):
    coordinator(tmp_path / "a", commit(0, offset=1))
    coordinator(tmp_path / "b", commit(0, offset=1), commit(1, offset=2))
    found = document("group", "offsets", tmp_path / "a", tmp_path / "b")
    (row,) = found["rows"]
    assert (row["committed_offset"], row["dir"]) == (2, f"{tmp_path}/b/__consumer_offsets-0")
    assert "REPL-007" in codes(found)


def test_a_record_that_ends_the_load_is_named_by_check_too(tmp_path):
    bad = batch(1, (group_key("g"), b"\0\x63"))
    directory = coordinator(tmp_path / "d", commit(0), bad, commit(2, partition=1))
    for words in (("group", "list"), ("check",)):
        (finding,) = (
            finding for finding in ask(*words, directory)[0]["findings"] if finding["code"] == "COORD-002"
        )
        assert finding["found"] == 1, words
        assert "a value of unknown version 99" in finding["message"]


def test_storage_counts_what_each_group_writes(tmp_path):
    log = commit(0, offset=2), commit(1, offset=3), batch(2, (commit_key("g", "orders", 0), None))
    directory = coordinator(tmp_path / "d", *log, batch(3, (group_key("other"), group_value())))
    (tmp_path / "d" / "cleaner-offset-checkpoint").write_text("0\n1\n__consumer_offsets 0 1\n")
    rows = document("group", "list", "--storage", directory)["rows"]
    key, value = len(commit_key("g", "orders", 0)), 24
    assert [(row["group_id"], row["record_type"], row["records"], row["tombstones"]) for row in rows] == [
        ("g", "OffsetCommit", 3, 1),
        ("other", "GroupMetadata", 1, 0),
    ]
    assert (rows[0]["record_bytes"], rows[0]["dirty_bytes"]) == (3 * key + 2 * value, 2 * key + value)
    assert [
        row["group_id"] for row in document("group", "list", "--storage", "--group", "o*", directory)["rows"]
    ] == ["other"]


def test_storage_tells_apart_a_group_whose_tombstone_is_last(tmp_path):
    """Its key ends less than a word before the end of the records."""
    tombstones = [(group_key(group), None) for group in ("abcdb", "abcde")]
    directory = coordinator(tmp_path / "d", batch(0, *tombstones))
    rows = document("group", "list", "--storage", directory)["rows"]
    assert [row["group_id"] for row in rows] == ["abcdb", "abcde"]


def test_partitions_that_are_not_here_are_said_first(tmp_path, kcli):
    coordinator(tmp_path / "d", commit(0))
    put_topic(tmp_path / "d", "__consumer_offsets", 3)
    drawn = kcli("group", "list", tmp_path / "d", "-o", "table").stdout
    assert drawn.startswith("Incomplete: __consumer_offsets: partitions 1, 2 of 3 are not here.")
    assert "COORD-004" in codes(document("group", "list", tmp_path / "d"))
    refused = kcli("group", "offsets", "--group", "b", tmp_path / "d")
    assert refused.exit_code == 3
    assert "b belongs to __consumer_offsets-2, which is not here" in " ".join(refused.stderr.split())
    (tmp_path / "d" / "__cluster_metadata-0").rename(tmp_path / "gone")
    (tmp_path / "d" / "__consumer_offsets-0").rename(tmp_path / "d" / "__consumer_offsets-1")
    drawn = " ".join(kcli("group", "list", tmp_path / "d", "-o", "table").stdout.split())
    assert "partition 0 is not here; no metadata here says how many partitions it has" in drawn


def test_that_no_metadata_says_how_many_partitions_there_are_is_said(tmp_path, kcli):
    coordinator(tmp_path / "d", commit(0))
    drawn = " ".join(kcli("group", "list", tmp_path / "d", "-o", "table").stdout.split())
    message = "no metadata here says how many partitions it has"
    assert drawn.startswith(f"May be incomplete: __consumer_offsets: {message}. 1 group: 1 Empty.")
    assert codes(document("group", "list", tmp_path / "d")) == ["COORD-005"]
    refused = kcli("group", "offsets", "--group", "b", tmp_path / "d")
    assert "no metadata here says how many partitions __consumer_offsets has" in refused.stderr
    put_topic(log_dir(tmp_path / "other"), "__consumer_offsets", 9)
    metadata = tmp_path / "other" / "__cluster_metadata-0"
    found = document("group", "list", tmp_path / "d", metadata)["findings"]
    assert [finding["message"] for finding in found] == ["partitions 1..8 of 9 are not here"]


def test_groups_of_two_clusters_are_told_apart(tmp_path, kcli):
    for name, end in (("one", 20), ("two", 30)):
        coordinator(orders(tmp_path / name, put_range(0, end)).parent, commit(0, offset=5))
        (tmp_path / name / "meta.properties").write_text(f"version=1\ncluster.id={name}\nnode.id=7\n")
    put_topic(tmp_path / "one", "__consumer_offsets", 2)
    orders(tmp_path / "bare", put_range(0, 99))
    (tmp_path / "bare" / "meta.properties").unlink()
    dirs = [tmp_path / name for name in ("one", "two", "bare")]
    found = document("group", "offsets", *dirs)
    assert [(row["cluster_id"], row["lag"]) for row in found["rows"]] == [("one", 15), ("two", 25)]
    assert {finding["message"] for finding in found["findings"] if finding["code"].startswith("COORD")} == {
        "of cluster one: partition 1 of 2 is not here",
        "of cluster two: no metadata here says how many partitions it has",
    }
    drawn = kcli("group", "offsets", *dirs, "-o", "table").stdout
    assert "2 groups, 2 offsets: lag 40." in drawn
    assert [line.split()[-1] for line in drawn.splitlines() if "orders-0" in line] == ["one", "two"]
    refused = kcli("group", "offsets", *dirs, "-o", "csv", "--format", "reset-offsets")
    assert (refused.exit_code, refused.stdout) == (3, "")
    assert "groups of 2 clusters, one, two: name the log dirs of one" in refused.stderr


def test_a_group_of_pending_commits_alone_is_there(tmp_path, kcli):
    directory = coordinator(tmp_path / "d", commit(0, producer=4, offset=9))
    put_topic(tmp_path / "d", "__consumer_offsets")
    (row,) = document("group", "history", "--group", "g", directory)["rows"]
    assert (row["change"], row["committed_offset"], row["previous_offset"]) == ("pending", 9, None)
    assert kcli("group", "members", "--group", "g", directory, "-o", "table").stdout == "No members.\n"
    assert ask("group", "members", "--group", "z", directory)[1] == 3
