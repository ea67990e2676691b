"""`rlmm` where the events about a partition are not all here: a recorded cluster without some of them."""

import shutil

import pytest

from tests.commands.answers import ask
from tests.starts.observe import prepare
from tests.tiered import LOG, METADATA, SPECS, batch_position, cluster

pytestmark = pytest.mark.slow

ABSENT = {"t-plain-0", "t-delete-records-0"}
"""Their events are in __remote_log_metadata-0."""


def live_offsets():
    said = cluster().answers["offsets"]
    return {(each["topic"], each["partition"], each["spec"]): each["offset"] for each in said}


def offsets_of(document):
    return {
        (row["topic"], row["partition"], spec): row[f"{spec.replace('-', '_')}_offset"]
        for row in document["rows"]
        for spec in SPECS
    }


def errors_of(document):
    return {error["path"].rpartition("/")[2]: error["error"] for error in document["errors"]}


@pytest.mark.parametrize("command", [("offsets",), ("lookup", "offset", "5"), ("coverage",), ("retention",)])
def test_without_its_events_a_partition_has_no_answer_and_the_others_have(node, command):
    shutil.rmtree(node / METADATA)
    limits = ("--retention-ms", "1000") if command == ("retention",) else ()
    document, status = ask("rlmm", *command, node, *limits)

    assert (status, errors_of(document)) == (4, dict.fromkeys(ABSENT, "no-remote-metadata"))
    assert all("which is not here" in error["message"] for error in document["errors"])
    assert {f"{row['topic']}-{row['partition']}" for row in document["rows"]}.isdisjoint(ABSENT)
    if command == ("offsets",):
        live = live_offsets()
        found = offsets_of(document)
        assert found == {key: live[key] for key in found} and len(found) == 54


@pytest.mark.parametrize("command", ["state", "check"])
def test_a_partition_without_its_events_is_an_error_where_the_events_are_asked(node, command):
    assert errors_of(ask("rlmm", command, node)[0]) == {}
    shutil.rmtree(node / METADATA)
    document, status = ask("rlmm", command, node)

    assert (status, errors_of(document)) == (4, dict.fromkeys(ABSENT, "no-remote-metadata"))
    assert all(f"are in {METADATA}, which is not here" in error["message"] for error in document["errors"])
    document, _ = ask("rlmm", command, node, "--topic", "t-txn")
    assert errors_of(document) == {}
    document, _ = ask("rlmm", command, *node.glob("__remote_log_metadata-*"))
    assert errors_of(document) == {}


def test_a_broker_of_zookeeper_has_one_error_a_log_dir(tmp_path):
    prepare("4.3.1", "log dirs of ZooKeeper", tmp_path)
    document, _ = ask("rlmm", "coverage", tmp_path / "d0", tmp_path / "d1")

    assert errors_of(document) == {"d0": "no-remote-metadata", "d1": "no-remote-metadata"}
    assert all(error["message"].startswith("its broker uses ZooKeeper") for error in document["errors"])


def test_a_follower_needs_the_events_of_its_leader(node, tmp_path):
    shutil.rmtree(node / METADATA)
    shutil.copytree(node / "t-plain-0", tmp_path / "fol" / "t-plain-0")
    document, status = ask("rlmm", "follow", tmp_path / "fol" / "t-plain-0", "--leader", node)

    assert (status, document["rows"]) == (3, [])
    assert [error["error"] for error in document["errors"]] == ["no-remote-metadata"]


def test_a_partition_alone_has_its_events_in_its_log_dir(node):
    document, status = ask("rlmm", "offsets", node / "t-plain-0")
    live = live_offsets()
    assert (status, offsets_of(document).items() <= live.items(), len(document["rows"])) == (0, True, 1)

    shutil.rmtree(node / METADATA)
    document, status = ask("rlmm", "offsets", node / "t-plain-0")
    assert (status, errors_of(document)) == (3, {"t-plain-0": "no-remote-metadata"})
    (error,) = document["errors"]
    assert f"are in {METADATA}, which is not here" in error["message"]

    shutil.rmtree(node / "__cluster_metadata-0")
    document, status = ask("rlmm", "offsets", node / "t-plain-0")
    assert (status, errors_of(document)) == (3, {"t-plain-0": "no-remote-metadata"})


def test_lookup_offset_with_remote_metadata_that_lacks_the_partition(node, tmp_path):
    words = ("lookup", "offset", "5", node / "t-plain-0", "--remote-metadata")
    assert ask(*words, node)[0]["rows"][0]["remote_segment_id"] is not None
    other = shutil.copytree(node, tmp_path / "other")
    shutil.rmtree(other / METADATA)
    document, status = ask(*words, other)
    assert (status, errors_of(document)) == (3, {"t-plain-0": "no-remote-metadata"})


def test_lookup_offset_where_no_metadata_partition_is_left(node):
    for directory in node.glob("__remote_log_metadata-*"):
        shutil.rmtree(directory)
    document, status = ask("lookup", "offset", "5", node / "t-plain-0", "--remote-metadata", node)
    assert (status, errors_of(document)) == (3, {"t-plain-0": "no-remote-metadata"})

    document, _ = ask("lookup", "offset", "latest", node / "t-plain-0", "--remote-metadata", node)
    assert (errors_of(document), document["rows"][0]["reason"].partition(":")[0]) == ({}, "log end")


def test_both_lookups_begin_where_a_leader_does(node):
    """No leader epoch leads to the remote segments: RemoteLogManager.findLogStartOffset finds none."""
    (node / "t-plain-0" / "leader-epoch-checkpoint").write_text("0\n1\n3 343\n")
    words = ("lookup", "offset", "100", node / "t-plain-0", "--remote-metadata", node)
    plain, remote = ask(*words)[0], ask("rlmm", *words)[0]

    for document in (plain, remote):
        (row,) = document["rows"]
        assert row["reason"].startswith("below log start: the log starts at 343; a fetch gets OFFSET_OUT_OF")
        assert "EPOCH-001" in {finding["code"] for finding in document["findings"]}
    assert ask("lookup", "offset", "earliest", *words[3:])[0]["rows"][0]["offset"] == 343


def test_check_says_that_no_epoch_leads_to_the_remote_segments(node):
    def found():
        return [
            finding["dir"] for finding in ask("check", node)[0]["findings"] if finding["code"] == "EPOCH-001"
        ]

    assert found() == []
    directory = node / "t-plain-0"
    (directory / "leader-epoch-checkpoint").write_text("0\n1\n3 343\n")
    assert found() == [str(directory)]
    (directory / "leader-epoch-checkpoint").write_text("0\n2\n2 300\n3 343\n")  # after an unclean election
    assert found() == []


def test_check_counts_ages_to_the_last_event_and_rlmm_check_to_now(node):
    """A copy of a log dir that is looked at later is whole; a copy that hangs at a live broker is said."""

    def unfinished(*words):
        return [finding for finding in ask(*words, node)[0]["findings"] if finding["code"] == "RLMM-009"]

    assert (len(unfinished("check")), len(unfinished("rlmm", "check"))) == (0, 2)
    assert unfinished("rlmm", "check", "--at", "100") == []  # past the last event of each metadata partition


def test_the_cluster_metadata_says_which_topics_need_no_events(node):
    for directory in node.glob("__remote_log_metadata-*"):
        shutil.rmtree(directory)
    document, status = ask("rlmm", "offsets", node)

    assert (status, {row["topic"] for row in document["rows"]}) == (4, {"local-only", "t-disabled"})
    assert all(offsets_of(document)[key] == live_offsets()[key] for key in offsets_of(document))


def test_a_topic_with_remote_storage_and_no_event_yet_is_tiered(node):
    """Its metadata partition is here, and empty."""
    (node / METADATA / LOG).write_bytes(b"")
    row = ask("rlmm", "offsets", node, "--topic", "t-delete-records")[0]["rows"][0]
    assert (row["remote_storage"], row["latest_tiered_offset"]) == (True, -1)


def test_copies_of_a_metadata_partition_are_taken_together(node, tmp_path):
    whole = ask("rlmm", "offsets", node)[0]["rows"]
    state = [{**row, "dir": None} for row in ask("rlmm", "state", node / METADATA)[0]["rows"]]
    source = cluster().node1
    for name in ("gap", "late"):
        (tmp_path / name).mkdir()
        shutil.copytree(source / METADATA, tmp_path / name / METADATA)
    shutil.copy(source / "meta.properties", tmp_path / "gap")
    data = (source / METADATA / LOG).read_bytes()
    (tmp_path / "gap" / METADATA / LOG).unlink()
    (tmp_path / "gap" / METADATA / f"{12:020}.log").write_bytes(data[batch_position(data, 12) :])
    (tmp_path / "late" / METADATA / LOG).write_bytes(data[: batch_position(data, 20)])
    shutil.rmtree(node / METADATA)

    for names in (("gap", "late"), ("late", "gap")):
        more = [word for name in names for word in ("--remote-metadata", tmp_path / name)]
        document, status = ask("rlmm", "offsets", node, *more)
        assert (status, document["rows"], document["findings"]) == (0, whole, [])
        document, _ = ask("rlmm", "state", *(tmp_path / name for name in names), "--at", "1000")
        rows = [{**row, "dir": None} for row in document["rows"]]
        assert rows == state and {row["dir"] for row in document["rows"]} == {
            str(tmp_path / names[0] / METADATA)
        }
    document, status = ask("rlmm", "offsets", node, "--remote-metadata", tmp_path / "gap")
    (finding,) = document["findings"]
    assert (status, finding["code"]) == (1, "RLMM-032")
    assert finding["message"] == f"the events before offset 12 of {METADATA} are gone"


def test_a_metadata_partition_that_cannot_be_read_fails_its_own_partitions(node):
    (node / METADATA / LOG).unlink()
    (node / METADATA / LOG).mkdir()
    document, status = ask("rlmm", "offsets", node)

    assert (status, set(errors_of(document))) == (4, ABSENT)
    assert "no-remote-metadata" not in errors_of(document).values()
    found = offsets_of(document)
    assert found == {key: live_offsets()[key] for key in found} and len(found) == 54


@pytest.mark.parametrize("command", ["state", "coverage"])
def test_a_metadata_partition_of_another_cluster_does_not_count(node, tmp_path, command):
    other = tmp_path / "other"
    shutil.copytree(node / METADATA, other / METADATA)
    text = (node / "meta.properties").read_text()
    lines = ["cluster.id=another" if "cluster.id" in line else line for line in text.splitlines()]
    (other / "meta.properties").write_text("\n".join(lines) + "\n")
    (other / METADATA / LOG).write_bytes(b"")
    shutil.rmtree(node / METADATA)
    document, status = ask("rlmm", command, node, other)
    assert (status, errors_of(document)) == (4, dict.fromkeys(ABSENT, "no-remote-metadata"))
