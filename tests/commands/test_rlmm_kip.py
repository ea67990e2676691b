"""`rlmm dump --layout kip`: what KIP-405 lays out and no release writes."""

import json

from tests.builders import put_record, put_records
from tests.formats.test_kip405 import DELETE, FILE, METADATA, TEXT_ID, UPDATE
from tests.partitions import segment

DUMP = ("rlmm", "dump", "--layout", "kip")


def rows(done):
    return json.loads(done.stdout)["rows"]


def topic(tmp_path, *values):
    directory = tmp_path / "__remote_log_metadata-3"
    records = [put_record(offset_delta=number, value=value) for number, value in enumerate(values)]
    segment(directory, 0, put_records(records))
    return directory


def test_records_of_the_topic(kcli, tmp_path):
    done = kcli(*DUMP, "-o", "json", topic(tmp_path, METADATA, UPDATE, DELETE))
    found = rows(done)
    assert done.exit_code == 0
    assert [(row["metadata_partition"], row["metadata_offset"], row["state"]) for row in found] == [
        (3, 0, "COPY_SEGMENT_FINISHED"),
        (3, 1, "DELETE_SEGMENT_STARTED"),
        (3, 2, "DELETE_PARTITION_MARKED"),
    ]
    assert {(row["topic"], row["topic_id"], row["partition"]) for row in found} == {("foo", TEXT_ID, 7)}
    assert [row["leader_epoch"] for row in found] == [5, 5, 6]
    assert found[0]["segment_leader_epochs"] == [
        {"epoch": 4, "start_offset": 10},
        {"epoch": 5, "start_offset": 15},
    ]


def test_a_record_of_another_layout_is_a_finding(kcli, tmp_path):
    done = kcli(*DUMP, "-o", "json", topic(tmp_path, METADATA, METADATA[:-1], None))
    assert done.exit_code == 1
    assert [(row["error"] is None, row["raw"] is None) for row in rows(done)] == [
        (True, True),
        (False, False),
        (False, True),
    ]
    assert [one["code"] for one in json.loads(done.stdout)["findings"]] == ["RLMM-001", "RLMM-002"]


def test_a_flat_file_and_committed_offsets(kcli, tmp_path):
    (tmp_path / "foo-7.metadata").write_bytes(FILE)
    head, stored, deleted = rows(kcli(*DUMP, "-o", "json", tmp_path / "foo-7.metadata"))
    assert (head["covered_offset"], head["entries"]) == (42, 2)
    assert (stored["topic"], stored["segment_size_bytes"]) == ("foo", 4096)
    assert deleted["state"] == "DELETE_PARTITION_STARTED"
    (tmp_path / "_rlmm_committed_offsets").write_text("0 2022\n4 104\n")
    found = rows(kcli(*DUMP, "-o", "json", tmp_path / "_rlmm_committed_offsets"))
    assert [(row["metadata_partition"], row["committed_offset"]) for row in found] == [(0, 2022), (4, 104)]


def test_what_lies_before_damage_is_shown(kcli, tmp_path):
    (tmp_path / "flat").write_bytes(FILE[:-1])
    done = kcli(*DUMP, "-o", "json", tmp_path / "flat")
    document = json.loads(done.stdout)
    assert done.exit_code == 4
    assert [row["type"] for row in document["rows"]] == ["rlmm_kip_file", "rlmm_kip_event"]
    assert document["errors"][0]["position"] is not None
    (tmp_path / "_rlmm_committed_offsets").write_text("0\n1\n0 5\n")
    assert kcli(*DUMP, tmp_path / "_rlmm_committed_offsets").exit_code == 3


def test_a_topic_is_the_users_and_text_is_refused(kcli, tmp_path):
    path = topic(tmp_path, METADATA)
    assert rows(kcli(*DUMP, "-o", "json", "--topic", "foo", path))
    assert kcli(*DUMP, "-o", "text", path).exit_code == 2
    assert kcli("rlmm", "dump", "--layout", "none", path).exit_code == 2
    table = kcli(*DUMP, "-o", "table", path).stdout
    assert "foo-7" in table


def flat(tmp_path, data=FILE):
    directory = tmp_path / "foo-7"
    directory.mkdir()
    (directory / "remote_log_metadata").write_bytes(data)
    return directory / "remote_log_metadata"


def test_the_state_of_records(kcli, tmp_path):
    state = ("rlmm", "state", "--layout", "kip", "-o", "json")
    started = METADATA[:-1] + b"\0"
    path = topic(tmp_path, started, UPDATE, DELETE)
    (row,) = rows(kcli(*state, path))
    assert (row["topic"], row["partition"], row["topic_id"]) == ("foo", 7, TEXT_ID)
    assert (row["state"], row["start_offset"], row["metadata_offset"]) == ("DELETE_SEGMENT_STARTED", 10, 1)
    assert [(one["epoch"], one["start_offset"]) for one in row["segment_leader_epochs"]] == [(4, 10), (5, 15)]
    history = rows(kcli(*state, path, "--history", row["segment_id"]))
    assert [one["state"] for one in history] == ["COPY_SEGMENT_STARTED", "DELETE_SEGMENT_STARTED"]
    (at,) = rows(kcli(*state, path, "--at", "0"))
    assert at["state"] == "COPY_SEGMENT_STARTED"

    found = json.loads(
        kcli("rlmm", "check", "--layout", "kip", path, "--at", "2026-01-01", "-o", "json").stdout
    )
    assert {one["code"] for one in found["findings"]} == {"RLMM-010", "RLMM-016"}


def test_the_state_of_a_flat_file_and_what_a_replay_adds(kcli, tmp_path):
    state = ("rlmm", "state", "--layout", "kip", "-o", "json")
    path = flat(tmp_path)
    (row,) = rows(kcli(*state, path))
    assert (row["topic"], row["partition"], row["topic_id"]) == ("foo", 7, TEXT_ID)
    assert (row["state"], row["segment_size_bytes"], row["metadata_offset"]) == (
        "COPY_SEGMENT_FINISHED",
        4096,
        None,
    )
    (alone,) = rows(kcli(*state, path, "--replay"))
    assert (alone["covered_offset"], alone["segments"], alone["events_after"]) == (42, 1, 0)

    directory = tmp_path / "__remote_log_metadata-3"
    records = [
        put_record(offset_delta=number, value=value) for number, value in enumerate([METADATA, UPDATE])
    ]
    segment(directory, 42, put_records(records, base_offset=42))
    (replayed,) = rows(kcli(*state, path, directory, "--replay"))
    assert (replayed["covered_offset"], replayed["last_offset"], replayed["events_after"]) == (42, 43, 1)
    assert replayed["segments_changed"] == (
        row["segment_id"] == rows(kcli(*DUMP, "-o", "json", directory))[1]["segment_id"]
    )

    segment(tmp_path / "__remote_log_metadata-4", 0, put_records(records))
    several = kcli(*state, path, directory, tmp_path / "__remote_log_metadata-4")
    assert several.exit_code == 2 and "name one with it" in several.stderr
    assert kcli(*state, path, "--from", "snapshots").exit_code == 2


def test_a_flat_file_outside_of_a_partition_directory_is_of_no_partition(kcli, tmp_path):
    (tmp_path / "flat").write_bytes(FILE)
    done = kcli("rlmm", "state", "--layout", "kip", tmp_path / "flat", "-o", "json")
    assert json.loads(done.stdout)["errors"][0]["error"] == "no-partition"
