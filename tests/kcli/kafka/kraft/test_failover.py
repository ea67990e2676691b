"""Forecasts against what a controller decided, as its metadata log has it."""

import gzip
from copy import deepcopy
from pathlib import Path

from formats.messages.metadata import decode_metadata
from formats.record import batch_records
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
                yield [
                    (record.offset, decode_metadata(record.value)) for record in batch_records(data, 1 << 20)
                ]


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
        predicted = {
            (change.topic_id, change.number): change.after
            for change in forecast(before, [broker], Defaults())
        }
        assert predicted == after
        foreseen += sum(partition != by_key(before)[key] for key, partition in after.items())
    assert (image.misfits, foreseen) == ([], 39)


def by_key(image):
    return {(topic, number): partition for topic, number, partition in image.partitions()}
