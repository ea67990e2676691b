"""Forecasts against what a controller decided, as its metadata log has it; the rules of the ZooKeeper era."""

import gzip
from copy import deepcopy
from pathlib import Path

import pytest

from formats.messages.metadata import decode_metadata
from formats.record import batch_records
from kcli.kafka.kraft.election import NO_LEADER, PartitionState, zookeeper_failure
from kcli.kafka.kraft.failover import Defaults, forecast
from kcli.kafka.kraft.metadata_image import Image
from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import Walk

RECORDED = Path(__file__).parents[3] / "data" / "metadata" / "failover.log.gz"


def batches(path):
    """Return the messages of each data batch of a metadata log."""
    with DataFile(str(path)) as file:
        for position, header in Walk(file):
            if not header.is_control:
                data = file.read(position, header.size)
                yield [(one.offset, decode_metadata(one.value)) for one in batch_records(data, 1 << 20)]


def who_goes(messages):
    """Return the broker that a batch of the controller fences or takes into its controlled shutdown."""
    found = [
        message.fields["brokerId"]
        for _, message in messages
        if message.name == "BrokerRegistrationChangeRecord"
        and (message.fields["fenced"] == 1 or message.fields.get("inControlledShutdown"))
    ]
    return found[0] if len(found) == 1 else None


def test_every_recorded_failure_of_a_broker_is_predicted(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(gzip.decompress(RECORDED.read_bytes()))
    image, foreseen = Image(), 0
    for messages in batches(path):
        broker = who_goes(messages)
        before = deepcopy(image)
        for offset, message in messages:
            image.replay(offset, message)
        if broker is None:
            continue
        after = by_key(image)
        predicted = {(one.topic_id, one.number): one.after for one in forecast(before, [broker], Defaults())}
        assert predicted == after
        foreseen += sum(partition != by_key(before)[key] for key, partition in after.items())
    assert (image.unfit, foreseen) == ([], 39)


def by_key(image):
    return {(topic, number): partition for topic, number, partition in image.partitions()}


OLD = PartitionState(replicas=(1, 2, 3), isr=(1, 2, 3), leader=1, leader_epoch=5, partition_epoch=9)


@pytest.mark.parametrize(
    ("partition", "broker", "live", "may_be_unclean", "expected"),
    [
        pytest.param(OLD, 1, {2, 3}, False, (2, (2, 3), 6, 10), id="the leader fails"),
        pytest.param(OLD, 3, {1, 2}, False, (1, (1, 2), 6, 10), id="a follower fails: the epoch rises, too"),
        pytest.param(OLD._replace(isr=(1,)), 1, {2, 3}, False, (-1, (1,), 6, 10), id="the last one in sync"),
        pytest.param(OLD._replace(isr=(1,)), 1, {2, 3}, True, (2, (2,), 6, 10), id="unclean"),
        pytest.param(OLD._replace(isr=(3, 1)), 1, {2, 3}, False, (3, (3,), 6, 10), id="only the ISR counts"),
        pytest.param(OLD, 1, set(), True, (-1, (2, 3), 6, 10), id="none is left"),
    ],
)
def test_zookeeper_controller(partition, broker, live, may_be_unclean, expected):
    after, elected = zookeeper_failure(
        partition, broker, is_live=live.__contains__, may_be_unclean=may_be_unclean
    )

    assert (after.leader, after.isr, after.leader_epoch, after.partition_epoch) == expected
    assert (elected.leader == NO_LEADER) == (after.leader == NO_LEADER)
    assert after.is_recovering == elected.is_unclean
