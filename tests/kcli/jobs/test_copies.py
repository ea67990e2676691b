"""Which of several copies of a partition is read: the leader's, else the longest log."""

from formats.messages.reader import Message
from kcli.jobs import copies
from kcli.jobs.cluster_metadata import KnownMetadata
from kcli.jobs.copies import counted_copies
from kcli.kafka.kraft.metadata_image import Image
from kcli.logdir.find import find
from kcli.logdir.targets import Selection
from tests.partitions import log_dir, put_range, segment

OFFSETS = "__consumer_offsets"
TOPIC_ID, OTHER_ID = "AAAAAAAAAAAAAAAAAAAAAw", "AAAAAAAAAAAAAAAAAAAABQ"


def broker(root, number, records, topic_id=TOPIC_ID):
    """Write a log dir with one partition of so many records."""
    directory = log_dir(root / f"b{number}") / f"{OFFSETS}-0"
    meta = root / f"b{number}" / "meta.properties"
    meta.write_text(f"version=1\ncluster.id=abc\nnode.id={number}\n")
    segment(directory, 0, put_range(0, records))
    (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")


def known(monkeypatch, leader):
    """Have the metadata say who leads."""
    image = Image()
    image.replay(0, Message("TopicRecord", 2, 0, {"name": OFFSETS, "topicId": TOPIC_ID}, (), b""))
    fields = {
        "partitionId": 0,
        "topicId": TOPIC_ID,
        "replicas": [1, 2],
        "isr": [1],
        "leader": leader,
        "removingReplicas": [],
        "addingReplicas": [],
        "leaderRecoveryState": 0,
        "leaderEpoch": 0,
        "partitionEpoch": 0,
    }
    image.replay(1, Message("PartitionRecord", 3, 0, fields, (), b""))
    monkeypatch.setattr(copies, "metadata_of", lambda _: [KnownMetadata("abc", 1, "", image)])


def counted(root):
    found = counted_copies(find([str(path) for path in sorted(root.iterdir())], Selection()))
    shown = [target.shown.removeprefix(f"{root}/").partition("/")[0] for target in found.targets]
    return shown, [note.message for note in found.notes if note.kind == copies.COPIES]


def test_the_copy_of_the_leader_is_read_where_the_metadata_names_it(tmp_path, monkeypatch):
    broker(tmp_path, 1, 3)
    broker(tmp_path, 2, 5)
    known(monkeypatch, leader=1)

    assert counted(tmp_path) == (["b1"], ["the leader's copy by the metadata is read, of 2 copies"])


def test_else_the_longest_log_is(tmp_path, monkeypatch):
    broker(tmp_path, 1, 3)
    broker(tmp_path, 2, 5)

    message = "the longest log (the metadata here does not know it) is read, of 2 copies"
    assert counted(tmp_path) == (["b2"], [message])
    known(monkeypatch, leader=-1)
    assert counted(tmp_path) == (["b2"], ["the longest log (its leader is broker -1) is read, of 2 copies"])


def test_a_copy_of_an_earlier_topic_of_the_name_does_not_count(tmp_path, monkeypatch):
    broker(tmp_path, 1, 3)
    broker(tmp_path, 2, 5, OTHER_ID)
    known(monkeypatch, leader=2)

    assert counted(tmp_path)[0] == ["b1"]


def test_one_copy_is_read_without_a_word(tmp_path):
    broker(tmp_path, 1, 3)

    assert counted(tmp_path) == (["b1"], [])
