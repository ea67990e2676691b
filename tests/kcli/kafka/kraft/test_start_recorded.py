"""Starts over damaged directories, against what a real broker made of the very same bytes."""

import json
import tarfile
from pathlib import Path

import pytest

from formats.types import TopicPartition
from kcli.kafka.kraft.start import load
from kcli.kafka.storage.loaded_log import Settings
from kcli.kafka.storage.log_segment import BrokerError
from kcli.logdir.find import find
from kcli.logdir.partition import Partition
from kcli.logdir.select import Selection

DATA = Path(__file__).parents[3] / "data" / "startup"
FACTS = json.loads((DATA / "damaged.json").read_text())["facts"]
CASES = [
    pytest.param(f"{trial}/{log_dir}", name, fact, id=f"{trial}:{name}")
    for trial, log_dirs in FACTS.items()
    for log_dir, partitions in log_dirs.items()
    for name, fact in partitions.items()
]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("damaged")
    with tarfile.open(DATA / "damaged.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def start(folder, name, fact):
    partition = Partition(
        next(
            target for target in find([str(folder)], Selection()).targets if target.path.endswith(f"/{name}")
        )
    )
    facts = partition.directory
    key = TopicPartition(partition.topic, partition.number)
    return load(
        partition,
        clean=facts.clean_shutdown,
        recovery_point=(facts.recovery_points or {}).get(key, 0),
        log_start_offset=(facts.log_start_offsets or {}).get(key, 0),
        settings=Settings(
            now_ms=fact["now_ms"], index_interval_bytes=fact["index_interval_bytes"], max_index_size=65536
        ),
    )


@pytest.mark.parametrize(("folder", "name", "fact"), CASES)
def test_the_broker_did_the_same(unpacked, folder, name, fact):
    if fact.get("failed"):
        with pytest.raises(BrokerError):
            start(unpacked / folder, name, fact)
        return
    found = start(unpacked / folder, name, fact)
    assert (found.log_start_offset, found.log_end_offset) == (
        fact["log_start_offset"],
        fact["log_end_offset"],
    )
    assert {str(segment.base_offset): segment.log_size for segment in found.segments} == fact["segments"]
    assert sorted(found.producers.disk) == fact["snapshots"]
    assert {
        str(segment.base_offset): [segment.offset_index.entries, segment.time_index.entries]
        for segment in found.segments[:-1]
    } == fact["index_entries"]
    epochs = [list(entry) for entry in found.epochs]
    assert epochs == fact["epochs"][: len(epochs)]
    assert len(fact["epochs"]) - len(epochs) <= 1
