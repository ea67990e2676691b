"""`rlmm dump --layout kip`: what KIP-405 lays out and no release writes."""

import json

from tests.remote_events import FILE

DUMP = ("rlmm", "dump", "--layout", "kip")


def rows(done):
    return json.loads(done.stdout)["rows"]


def test_a_flat_file_and_committed_offsets(kcli, tmp_path):
    (tmp_path / "foo-7.metadata").write_bytes(FILE)
    head, stored, deleted = rows(kcli(*DUMP, "-o", "json", tmp_path / "foo-7.metadata"))
    assert (head["covered_offset"], head["entries"], stored["topic"]) == (42, 2, "foo")
    assert (stored["leader_epoch"], stored["segment_size_bytes"]) == (5, 4096)
    assert (stored["state"], deleted["state"]) == ("COPY_SEGMENT_FINISHED", "DELETE_PARTITION_STARTED")
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


def test_text_and_other_layouts_are_refused(kcli, tmp_path):
    (tmp_path / "flat").write_bytes(FILE)
    assert kcli(*DUMP, "-o", "text", tmp_path / "flat").exit_code == 2
    assert kcli("rlmm", "dump", "--layout", "none", tmp_path / "flat").exit_code == 2
    assert "DeletePartitionStateRecord" in kcli(*DUMP, "-o", "table", tmp_path / "flat").stdout
