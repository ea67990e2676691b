"""What a person does about a file that a full disk or a power cut left, and what server.log says of it."""

import os
import re

import pytest

from formats.properties import read_partition_metadata
from tests.commands.answers import ask
from tests.starts.observe import prepare

D1, ORDERS, QUORUM = "d1/{}", "d1/orders-1/{}", "d0/__cluster_metadata-0/{}"
"""Where a file lies."""
EPOCHS = "leader-epoch-checkpoint"
CHECKPOINT, NO_NODE = "reading checkpoint file", "RuntimeException: Error: node ID not found"
NULS, EMPTY, CUT = "nothing but NUL bytes", "an empty file", "a file that is cut"


@pytest.fixture
def root(tmp_path):
    """Log dirs that a broker stopped cleanly."""
    prepare("4.3.1", "healthy", tmp_path)
    return tmp_path


def left(path, kind):
    """Leave a file as a crash does."""
    data = path.read_bytes()
    path.write_bytes({NULS: bytes(len(data)), EMPTY: b"", CUT: data[: len(data) * 2 // 3]}[kind])


@pytest.mark.parametrize(
    ("place", "name", "kind", "outcome", "log_line", "todo"),
    [
        (D1, "recovery-point-offset-checkpoint", NULS, "starts-degraded", CHECKPOINT, "move it"),
        (D1, "replication-offset-checkpoint", CUT, "starts-degraded", CHECKPOINT, "move it away"),
        (D1, "log-start-offset-checkpoint", EMPTY, "starts", None, None),
        (D1, "meta.properties", NULS, "fails", NO_NODE, "node.id=1"),
        (D1, "meta.properties", EMPTY, "fails", NO_NODE, "cluster.id="),
        (ORDERS, EPOCHS, NULS, "starts-degraded", CHECKPOINT, "kcli salvage"),
        (ORDERS, EPOCHS, EMPTY, "starts", None, None),
        (ORDERS, "partition.metadata", NULS, "starts-degraded", "reading partition metadata", "topic_id: "),
        (ORDERS, "partition.metadata", EMPTY, "fails", "NullPointerException", "topic_id: "),
        (ORDERS, "partition.metadata", CUT, "fails", "IllegalArgumentException", "topic_id: "),
        (QUORUM, "quorum-state", NULS, "fails", "reading the Quorum status", "move it away"),
        (QUORUM, EPOCHS, NULS, "fails", CHECKPOINT, "move it away: the start"),
        (QUORUM, "quorum-state", CUT, "fails", "reading the Quorum status", "move it away"),
    ],
)
def test_a_file_that_a_crash_left_is_named_with_what_to_do(root, place, name, kind, outcome, log_line, todo):
    path = root / place.format(name)
    topic_id = read_partition_metadata((root / ORDERS.format("partition.metadata")).read_bytes()).topic_id
    left(path, kind)
    document = ask("startup", root / "d0", root / "d1")[0]
    (broker,) = (row for row in document["rows"] if row["type"] == "startup_broker")
    assert broker["outcome"] == outcome
    if log_line is None:
        assert (broker["cause_path"], broker["server_log"], broker["remedy"]) == (None, None, None)
        return
    assert broker["cause_path"] == str(path)
    assert kind in broker["reason"]
    assert log_line in broker["server_log"]
    assert todo in broker["remedy"]
    assert "topic_id" not in todo or topic_id in broker["remedy"]
    checked = ask("check", root / "d0", root / "d1")[0]
    assert any(kind in finding["message"] and todo in finding["message"] for finding in checked["findings"])
    assert not any(r"\x00" in finding["message"] for finding in (*checked["findings"], *document["findings"]))


def test_a_start_needs_a_block_for_each_file_that_it_writes(root):
    """The metadata log is recovered at each start."""

    def needed():
        document = ask("startup", root / "d0", root / "d1")[0]
        return next(row["bytes_needed"] for row in document["rows"] if row["type"] == "startup_broker")

    before = needed()
    (path,) = (root / "d0" / "__cluster_metadata-0").glob("*.timeindex")
    path.unlink()
    assert needed() == before + 4096
    path.touch()
    os.truncate(path, 131064)  # as a killed broker leaves it: preallocated, which takes no block of the disk
    assert needed() == before + 4096


def test_a_lost_version_is_written_anew_with_the_ids_that_stand_in_the_file(root):
    for path in root.glob("d?/meta.properties"):
        path.write_text(re.sub("(?m)^version=.*\n", "", path.read_text()))
    document = ask("startup", root / "d0", root / "d1")[0]
    cluster = re.search("cluster.id=(.*)", path.read_text())[1]
    (stop, *_) = (finding["message"] for finding in document["findings"] if finding["code"] == "START-009")
    assert f"node.id=1 and cluster.id={cluster};" in stop


def test_a_damaged_id_is_not_written_anew(root):
    for path in root.glob("d?/meta.properties"):
        path.write_text("version=1\nnode.id=5x\ncluster.id=x y\n")
    document = ask("startup", root / "d0", root / "d1")[0]
    (stop, *_) = (finding["message"] for finding in document["findings"] if finding["code"] == "START-009")
    assert "node.id=NODE and cluster.id=CLUSTER, as on other nodes;" in stop
