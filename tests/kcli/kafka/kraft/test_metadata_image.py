"""The fold over metadata records: transactions, deletions, settings, what does not fit."""

import pytest

from formats.messages.reader import Message
from kcli.kafka.kraft.metadata_image import LOST, MIGRATING, Broker, Image

TOPIC_ID, OTHER_ID = "u4NdSfWRQjaZ_ENyxMXLJA", "AAAAAAAAAAAAAAAAAAAAAw"
DIRECTORY = "AAAAAAAAAAAAAAAAAAAABQ"


def message(type_name, /, **fields):
    return Message(type_name, 0, 0, fields, (), b"")


TOPIC = message("TopicRecord", name="orders", topicId=TOPIC_ID)
PARTITION = message(
    "PartitionRecord",
    partitionId=0,
    topicId=TOPIC_ID,
    replicas=[1, 2],
    isr=[1, 2],
    removingReplicas=[],
    addingReplicas=[],
    leader=1,
    leaderRecoveryState=0,
    leaderEpoch=3,
    partitionEpoch=4,
)


def change(**fields):
    unchanged = dict.fromkeys(("isr", "replicas", "removingReplicas", "addingReplicas"))
    given = {"partitionId": 0, "topicId": TOPIC_ID, "leader": -2, "leaderRecoveryState": -1, **unchanged}
    return message("PartitionChangeRecord", **{**given, **fields})


def replayed(*messages):
    image = Image()
    for offset, message in enumerate(messages):
        image.replay(offset, message)
    return image


def only(image):
    ((_, _, partition),) = image.partitions()
    return partition


def test_a_deleted_topic_takes_its_partitions_and_settings_with_it():
    setting = {"resourceType": 2, "resourceName": "orders", "name": "min.insync.replicas", "value": "2"}
    config = message("ConfigRecord", **setting)
    image = replayed(TOPIC, PARTITION, config)
    assert image.config("orders", "min.insync.replicas") == "2"

    image.replay(3, message("RemoveTopicRecord", topicId=TOPIC_ID))

    assert image.config("orders", "min.insync.replicas") is None
    assert image.removed == [("orders", TOPIC_ID, 1, 3, frozenset())]
    assert list(image.partitions()) == []


@pytest.mark.parametrize(
    "unfit",
    [
        change(),
        message("RemoveTopicRecord", topicId=OTHER_ID),
        message("FenceBrokerRecord", id=1, epoch=2),
        message("EndTransactionRecord"),
        message("ClearElrRecord", topicName="orders"),
    ],
)
def test_what_does_not_fit_is_reported_and_changes_nothing(unfit):
    image = replayed(unfit)

    assert [misfit.offset for misfit in image.misfits] == [0]
    assert (image.topics, image.brokers) == ({}, {})


@pytest.mark.parametrize(
    ("broker", "directory", "expected"),
    [
        (Broker(1, is_fenced=False), DIRECTORY, True),
        (Broker(1, is_fenced=False, directories=(DIRECTORY,)), DIRECTORY, True),
        (Broker(1, is_fenced=False, directories=(DIRECTORY,)), TOPIC_ID, False),
        (Broker(1, is_fenced=False, directories=(DIRECTORY,)), MIGRATING, True),
        (Broker(1, is_fenced=False), LOST, False),
        (Broker(1, is_fenced=True), DIRECTORY, False),
        (Broker(1, is_fenced=False, is_shutting_down=True), DIRECTORY, False),
    ],
)
def test_who_may_lead(broker, directory, expected):
    image = replayed(TOPIC, PARTITION, change(directories=[directory, directory]))
    image.brokers[1] = broker

    assert image.is_acceptable(only(image), 1) is expected
