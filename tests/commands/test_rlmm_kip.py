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
