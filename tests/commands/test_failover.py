"""`kcli failover`: words, rows, findings and refusals, on the metadata log of a real cluster."""

import base64
import gzip
import json
import shutil
import struct
from pathlib import Path

import pytest

from formats.batch import BATCH
from tests.builders import put_batch, put_record
from tests.formats.control_values import VALUES
from tests.partitions import orders, put_range

pytestmark = pytest.mark.slow

RECORDED = Path(__file__).parents[1] / "data" / "metadata" / "failover.log.gz"
LOG = "00000000000000000000.log"
NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
(VOTERS,) = (bytes.fromhex(value) for _, name, value, _ in VALUES if name == "KRAFT_VOTERS")
EVERY_BROKER = ("--broker", "1,2,3")


@pytest.fixture
def metadata(tmp_path):
    folder = tmp_path / "d0" / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    (folder / LOG).write_bytes(gzip.decompress(RECORDED.read_bytes()))
    (folder / "leader-epoch-checkpoint").write_text("0\n1\n1 0\n")
    (folder.parent / "meta.properties").write_text("version=1\ncluster.id=x\nnode.id=100\n")
    return folder


def append(metadata, record, **fields):
    """Append a record to the recorded log, at its end."""
    batch = put_batch(record, 1, base_offset=231, partition_leader_epoch=1, **fields)
    (metadata / LOG).write_bytes((metadata / LOG).read_bytes() + batch)


def document(done):
    return json.loads(done.stdout)


def rows(done):
    return document(done)["rows"]


def test_a_partition_that_loses_its_leader_is_bad_news(kcli, metadata):
    assert kcli("failover", *EVERY_BROKER, metadata).exit_code == 1
    assert kcli("failover", *EVERY_BROKER, "--fail-on", "never", metadata).exit_code == 0
    assert kcli("failover", "--all", "--topic", "f-three", metadata).exit_code == 0


def test_all_shows_what_does_not_change(kcli, metadata):
    words = ("failover", "--broker", "3", metadata, "-o", "json", "--topic", "f-two")
    shown, every = (rows(kcli(*words, *more)) for more in ((), ("--all",)))
    assert (shown, [row["outcome"] for row in every]) == ([], ["unchanged"])


@pytest.mark.parametrize(
    ("brokers", "minimum", "writable"),
    [("3", 2, True), ("3", 3, False), ("2,3", 2, False), ("2,3", 1, True), ("1,2,3", 1, False)],
)
def test_a_partition_is_writable_with_a_leader_and_enough_replicas(
    kcli, metadata, brokers, minimum, writable
):
    """All three replicas are in the ISR before."""
    words = (b"f-three", b"min.insync.replicas", b"%d" % minimum)
    of_topic = b"\2" + b"".join(bytes([len(word) + 1]) + word for word in words)
    append(metadata, put_record(value=b"\1\4\0" + of_topic + b"\0"))
    found = rows(kcli("failover", "--broker", brokers, metadata, "-o", "json", "--topic", "f-three"))

    assert [(row["min_insync_replicas"], row["writable"]) for row in found] == [(minimum, writable)] * 3


def test_of_several_nodes_of_a_cluster_the_newest_metadata_decides(kcli, metadata, tmp_path):
    """Its partitions are counted once, the node of each log in the quorum."""
    other = tmp_path / "d1" / "__cluster_metadata-0"
    shutil.copytree(metadata.parent, other.parent)
    append(other, put_record(value=b"\1\x14\0\0"))
    words = ("failover", "--broker", "1", "--controller", "-o", "json", metadata.parent)
    found = rows(kcli(*words, other.parent))

    partitions = [row for row in found if "partition" in row]
    assert (len(partitions), {row["dir"] for row in partitions}) == (10, {str(other)})
    assert len(found) == 12
    (other.parent / "meta.properties").write_text("version=1\ncluster.id=y\nnode.id=100\n")
    assert len([row for row in rows(kcli(*words, other.parent)) if "partition" in row]) == 20


def controllers(folder, **ends):
    """Return the metadata logs of a quorum of nodes 1, 2 and 3, led by 1 in epoch 4; they end as given."""
    voters = b"".join(struct.pack(">i", voter) + b"\0" for voter in (1, 2, 3))
    change = b"\0\0" + struct.pack(">i", 1) + b"\4" + voters + b"\1" + b"\0"
    paths = []
    for name, (epoch, end) in ends.items():
        path = folder / name / "__cluster_metadata-0"
        path.mkdir(parents=True)
        path.joinpath(LOG).write_bytes(
            put_batch(put_record(key=b"\0\0\0\2", value=change), 1, attributes=0x20, partition_leader_epoch=4)
            + put_batch(put_record(value=b"\1\x14\0\0"), 1, base_offset=end - 1, partition_leader_epoch=epoch)
        )
        path.parent.joinpath("meta.properties").write_text(f"version=1\ncluster.id=x\nnode.id={name[-1]}\n")
        paths.append(path)
    return paths


@pytest.mark.parametrize(
    ("ends", "electable", "votes"),
    [
        ({"n2": (4, 50), "n3": (4, 40)}, [True, False], [2, 1]),
        ({"n2": (4, 50), "n3": (4, 50)}, [True, True], [2, 2]),
        ({"n2": (4, 90), "n3": (5, 40)}, [False, True], [1, 2]),
        ({"n2": (4, 50)}, [None], [1]),
        ({"n1": (4, 90), "n2": (4, 50), "n3": (4, 10)}, [False, True, False], [2, 2, 1]),
    ],
)
def test_who_can_lead_the_quorum_next(kcli, tmp_path, ends, electable, votes):
    found = rows(kcli("failover", "--controller", *controllers(tmp_path / "q", **ends), "-o", "json"))

    assert {(row["leader"], row["leader_epoch"], row["majority"]) for row in found} == {(1, 4, 2)}
    assert ([row["votes"] for row in found], [row["electable"] for row in found]) == (votes, electable)
    assert [row["next_leader_epoch"] for row in found] == [last + 1 for last, _ in ends.values()]


def snapshot(metadata, *, footer=True):
    """Return a snapshot of the recorded log's records, its offsets from 0 on as Kafka writes them."""
    data = (metadata / LOG).read_bytes()
    key = {"header": b"\0\0\0\3", "footer": b"\0\0\0\4"}
    controls = [
        put_batch(put_record(key=key[word], value=value), 1, attributes=0x20, partition_leader_epoch=1)
        for word, value in (("header", bytes(11)), ("footer", bytes(3)))
    ]
    path = metadata.parent / "00000000000000000500-0000000001.checkpoint"
    path.write_bytes(controls[0] + data + controls[1] * footer)
    return path


def test_nodes_vote_where_a_broker_is_asked_about_that_is_not_registered(kcli, tmp_path):
    paths = controllers(tmp_path / "q", n2=(4, 50), n3=(4, 40))
    done = kcli("failover", "--controller", "--broker", "9", *paths, "-o", "json")

    errors = {error["error"] for error in document(done)["errors"]}
    assert (done.exit_code, errors) == (4, {"unknown-broker"})
    assert [(row["votes"], row["electable"]) for row in rows(done)] == [(2, True), (1, False)]


def test_a_snapshot_says_the_same_as_its_log(kcli, metadata):
    path = snapshot(metadata)
    of_log = rows(kcli("failover", "--broker", "1", metadata, "-o", "json"))
    of_snapshot = rows(kcli("failover", "--broker", "1", path, "-o", "json"))

    assert [{**row, "dir": ""} for row in of_log] == [{**row, "dir": ""} for row in of_snapshot]
    (row,) = rows(kcli("failover", "--controller", path, "-o", "json"))
    assert (row["log_end_offset"], row["last_epoch"], row["leader"]) == (500, 1, None)


def test_a_snapshot_without_its_footer_is_refused(kcli, metadata):
    done = kcli("failover", "--broker", "1", snapshot(metadata, footer=False), "-o", "json")

    assert done.exit_code == 3
    assert "does not end with its footer" in document(done)["errors"][0]["message"]


@pytest.mark.parametrize("named", ["", "orders-0"])
@pytest.mark.parametrize(
    "words",
    [
        ("ls",),
        ("startup",),
        ("check",),
        ("truncate", "--to-offset", "0"),
        ("rlmm", "coverage"),
        ("producers",),
        ("txn", "open"),
        ("sql", "FROM producers"),
        ("salvage", "--out", "{tmp}/saved"),
    ],
    ids=" ".join,
)
def test_every_command_that_reads_the_metadata_says_what_kafka_cannot_decode(
    kcli, metadata, tmp_path_factory, words, named
):
    append(metadata, put_record(value=b"\1\2\0\x20ord"))
    orders(metadata.parent, put_range(0, 5))
    place = metadata.parent / ("orders-0" if words[0] == "salvage" else named)
    words = [word.format(tmp=tmp_path_factory.mktemp("out")) for word in words]
    done = kcli(*words, place, "-o", "json")

    said = "MetadataParseException: offset 231: byte 3: TopicRecord name: expected 31 bytes, found 3"
    codes = {finding["code"] for finding in document(done)["findings"] if finding["message"].startswith(said)}
    assert done.exit_code in {1, 3}
    assert codes in ({"META-001"}, {"START-009"})


def test_who_is_not_here_and_another_partition_have_no_answer(kcli, metadata, demo):
    for words, answer in (
        (("7", metadata), "broker 7 is not registered here, only 1, 2, 3"),
        (("1", demo / "orders-0"), "this is no directory of __cluster_metadata"),
    ):
        done = kcli("failover", "--broker", *words, "-o", "ndjson")
        assert (done.exit_code, answer in done.stdout) == (3, True)


@pytest.mark.parametrize(("version", "error"), [(0, "its broker uses ZooKeeper"), (1, "name the log dir of")])
def test_a_log_dir_without_a_metadata_log_is_refused(kcli, metadata, version, error):
    shutil.move(metadata, metadata.parent / "orders-0")
    key = "node.id" if version else "broker.id"
    (metadata.parent / "meta.properties").write_text(f"version={version}\ncluster.id=x\n{key}=1\n")
    done = kcli("failover", "--broker", "1", metadata.parent, "-o", "json")

    assert done.exit_code == 3
    assert error in document(done)["errors"][0]["message"]


def test_partitions_that_are_offline_already_are_counted_apart(kcli, metadata):
    """Partition 0 of f-three has no leader before broker 1 goes."""
    found = rows(kcli("failover", "--all", metadata, "-o", "json", "--topic", "f-three"))
    topic_id = base64.urlsafe_b64decode(found[0]["topic_id"] + "==")
    record = b"\1\5\0" + bytes(4) + topic_id + b"\1\1\4\xff\xff\xff\xff"
    append(metadata, put_record(value=record))
    words = ("--unclean-leader-election", "-o", "table")
    shown = kcli("failover", "--broker", "1,2,3", metadata, "--topic", "f-three", *words).stdout

    assert "3 partitions: 2 go offline, 1 offline already" in shown


@pytest.mark.parametrize(
    ("state", "leader", "epoch", "voters"),
    [
        ((7, 101), 101, 7, [100, 101]),
        ((7, -1), None, 7, [100, 101]),
        ((0, 101), 100, 1, [100]),
        ((1, -1), 100, 1, [100, 101]),
    ],
)
def test_quorum_state_knows_of_later_elections(kcli, metadata, state, leader, epoch, voters):
    content = {
        "clusterId": "",
        "leaderId": state[1],
        "leaderEpoch": state[0],
        "votedId": -1,
        "data_version": 0,
    }
    content |= {"appliedOffset": 0, "currentVoters": [{"voterId": 100}, {"voterId": 101}]}
    (metadata / "quorum-state").write_text(json.dumps(content))
    (row,) = rows(kcli("failover", "--controller", metadata, "-o", "json"))

    assert (row["leader"], row["leader_epoch"], row["voters"]) == (leader, epoch, voters)
    assert row["next_leader_epoch"] == epoch + 1


def test_the_voters_of_a_dynamic_quorum_are_those_of_its_log(kcli, metadata):
    """With kraft.version 1 they are a record, and quorum-state names none."""
    content = {"leaderId": 1, "leaderEpoch": 7, "votedId": -1, "votedDirectoryId": NO_ID, "data_version": 1}
    (metadata / "quorum-state").write_text(json.dumps(content))
    append(metadata, put_record(key=b"\0\0\0\6", value=VOTERS), attributes=0x20)
    (row,) = rows(kcli("failover", "--controller", metadata, "-o", "json"))

    assert (row["leader"], row["leader_epoch"], row["voters"]) == (1, 7, [1])


def test_a_quorum_state_that_cannot_be_read_is_a_finding(kcli, metadata):
    (metadata / "quorum-state").write_text("{}")
    found = document(kcli("failover", "--controller", metadata, "-o", "json"))

    assert "DIR-010" in {finding["code"] for finding in found["findings"]}
    assert found["rows"][0]["leader"] == 100


@pytest.mark.parametrize(
    ("ends", "electable", "said"),
    [
        ({"n1": (4, 50), "n2": (4, 40)}, [True, None], "2 of 3 voters would start here, node 1 may lead"),
        ({"n1": (4, 50), "n2": (5, 40), "n3": (5, 30)}, [False, True, True], "3 of 3 voters would start"),
        ({"n2": (4, 50), "n9": (4, 90)}, [None, None], None),
        ({"n3": (4, 50)}, [None], None),
    ],
)
def test_a_start_of_several_controllers_says_who_may_lead(kcli, tmp_path, ends, electable, said):
    dirs = [path.parent for path in controllers(tmp_path / "q", **ends)]
    brokers = [row for row in rows(kcli("startup", *dirs, "-o", "json")) if row["type"] == "startup_broker"]

    assert [row["electable"] for row in brokers] == electable
    assert [row["voters"] for row in brokers] == [[1, 2, 3]] * len(ends)
    shown = " ".join(kcli("startup", *dirs, "-o", "table").stdout.split())
    assert said in shown if said else "Quorum" not in shown
    assert all(f"Broker {name[-1]} would start" in shown for name in ends), "each broker has its verdict"


def test_a_copy_with_another_directory_id_has_no_vote_of_a_dynamic_quorum(kcli, tmp_path):
    """A voters record of node 1 with directory 03fe...: the copy of node 1 has it or another one."""
    paths = controllers(tmp_path / "q", n1=(4, 50), n2=(4, 40))
    for path in paths:
        log = path / LOG
        record = put_record(key=b"\0\0\0\6", value=VOTERS)
        batch = put_batch(record, 1, base_offset=1, attributes=0x20, partition_leader_epoch=4)
        first = BATCH.read(log.read_bytes()).size
        log.write_bytes(log.read_bytes()[:first] + batch + log.read_bytes()[first:])
    found = {}
    for directory_id in ("A_4DBAUGBwgJCgsMDQ4PEA", "B_4DBAUGBwgJCgsMDQ4PEA"):
        words = f"version=1\ncluster.id=x\nnode.id=1\ndirectory.id={directory_id}\n"
        (paths[0].parent / "meta.properties").write_text(words)
        done = rows(kcli("failover", "--controller", *paths, "-o", "json"))
        found[directory_id[0]] = [row["votes"] for row in done]

    assert found == {"A": [0, None], "B": [None, None]}, "node 1 leads, and goes away"


def test_an_old_and_a_new_copy_of_one_broker_are_named(kcli, tmp_path):
    """The same node.id and directory.id in two places; of another directory.id it is another log dir."""
    dirs = [path.parent for path in controllers(tmp_path / "q", n1=(4, 50), n2=(4, 40))]
    said = "copies of one broker, this one {}: its metadata log ends at {}, there at {}"
    for words in ("startup", "check"):
        for number, directory_id in enumerate(("A_4DBAUGBwgJCgsMDQ4PEA", "B_4DBAUGBwgJCgsMDQ4PEA")):
            for folder, name in ((tmp_path / "a" / words, dirs[0]), (tmp_path / "b" / words, dirs[1])):
                shutil.copytree(name, folder / str(number))
            paths = [tmp_path / each / words / str(number) for each in "ab"]
            for path, of_path in zip(paths, ("A_4DBAUGBwgJCgsMDQ4PEA", directory_id), strict=True):
                text = f"version=1\ncluster.id=x\nnode.id=1\ndirectory.id={of_path}\n"
                (path / "meta.properties").write_text(text)
            found = document(kcli(words, *paths, "-o", "json"))["findings"]
            copies = {
                finding["dir"]: finding["message"] for finding in found if finding["code"] == "START-023"
            }
            assert len(copies) == (0 if number else 2)
            if not number:
                assert copies[str(paths[0])].endswith(said.format("newer", 50, 40))
                assert copies[str(paths[1])].endswith(said.format("older", 40, 50))
