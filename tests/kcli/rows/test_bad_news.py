"""The rule of exit status 1: bad news, whichever command says it; --fail-on never is for who only looks."""

import json

import pytest

from kcli.kafka.kraft.fates import fates
from kcli.kafka.kraft.metadata_image import Image, PartitionState, Topic
from kcli.rows.bad_news import FORETELL_A_START
from tests.partitions import orders, put_range
from tests.starts.observe import prepare


@pytest.fixture
def partition(tmp_path):
    """A log of three records that this replica alone holds."""
    batches = [put_range(offset, 1) for offset in range(3)]
    return orders(tmp_path / "d", *batches, epochs=((0, 0),))


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--to-offset", "1"), 1),
        (("--to-offset", "1", "--fail-on", "never"), 0),
        (("--to-offset", "1", "-q"), 1),
        (("--to-offset", "3"), 0),
        (("--leader-epochs", "0:0@2"), 1),
        (("--leader-epochs", "0:0@3"), 0),
    ],
)
def test_a_truncation_that_loses_records_is(kcli, partition, words, status):
    assert kcli("truncate", *words, partition).exit_code == status


def test_a_partition_without_a_leader_is_if_it_had_one(kcli, tmp_path):
    """A broker that was stopped led nothing any more."""
    prepare("4.3.1", "healthy", tmp_path)
    assert kcli("failover", "--broker", "1", tmp_path / "d0").exit_code == 0


def test_a_broker_that_starts_without_a_log_dir_is(kcli, tmp_path):
    prepare("4.3.1", "healthy", tmp_path)
    dirs = tmp_path / "d0", tmp_path / "d1"
    assert kcli("startup", *dirs).exit_code == 0
    (dirs[1] / "recovery-point-offset-checkpoint").write_bytes(bytes(9))
    assert [kcli("startup", *dirs, "--fail-on", level).exit_code for level in ("error", "never")] == [1, 0]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ("healthy", 0),
        ("whole -future log, assigned", 0),
        ("-future log behind, assigned", 1),
        ("unknown topic", 1),
        ("topic deleted", 1),
        ("volume with a new id", 1),
        ("log flipped, killed", 1),
        ("log torn, killed", 0),
        ("partition.metadata missing", 1),
        ("metadata log of NUL bytes", 1),
        ("volume empty", 1),
        ("quorum-state empty", 1),
        ("meta.properties of version 9 in d1", 1),
        ("lost+found", 1),
    ],
)
def test_every_command_that_foretells_a_start_has_the_same_status(kcli, tmp_path, change, status):
    properties = prepare("4.3.1", change, tmp_path)
    for command in sorted(FORETELL_A_START):
        words = (command, "--server-config", properties)
        assert [kcli(*words).exit_code, kcli(*words, "--fail-on", "never").exit_code] == [status, 0], command


def test_a_log_without_a_topic_id_is_where_the_metadata_expects_one(kcli, tmp_path, partition):
    """A bare copy of a directory is judged by no metadata."""
    assert [kcli(command, partition.parent).exit_code for command in sorted(FORETELL_A_START)] == [0, 0, 0]
    prepare("4.3.1", "partition.metadata missing", tmp_path / "broker")
    answer = json.loads(kcli("ls", "-o", "json", tmp_path / "broker/d0", tmp_path / "broker/d1").stdout)
    (found,) = (finding for finding in answer["findings"] if finding["code"] == "START-012")
    (row,) = (row for row in answer["rows"] if row["topic"] == "orders" and row["partition"] == 1)
    assert len(found["expected"]) == len(row["topic_id"])


def test_a_replica_that_alone_was_in_sync_is_lost_with_its_log():
    """The others truncate to it, once it leads."""
    image = Image()
    for isr in ((1,), (1, 2)):
        state = PartitionState((1, 2), isr, 1, 0, 0)
        image.topics["T"] = Topic("orders", {0: state})
        (empty,) = fates(image, 1, (4, 4), (), None).empty
        assert empty.is_only == (isr == (1,))
