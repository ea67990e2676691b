"""What a start makes of each file of directories that a real broker started with."""

import json
import tarfile
from pathlib import Path

import pytest

from kcli.kafka.findings.collector import collect_findings
from kcli.kafka.kraft.meta_properties import StartFailure
from kcli.kafka.kraft.partition_start import attempt, start_from
from kcli.kafka.storage.file_actions import all_deleted, file_changes, snapshot_bytes
from kcli.kafka.storage.loaded_log import Settings, checkpoints
from kcli.kafka.storage.producer_state import Producer
from kcli.logdir.partition import Partition
from tests.partitions import epoch_lines, orders, put_range, unit

DATA = Path(__file__).parents[3] / "data" / "startup"
FACTS = json.loads((DATA / "damaged.json").read_text())["facts"]
RECORDED = [
    pytest.param(f"{trial}/{log_dir}", name, fact, id=f"{trial}:{name}")
    for trial, log_dirs in FACTS.items()
    for log_dir, partitions in log_dirs.items()
    for name, fact in partitions.items()
]
SETTINGS = Settings(now_ms=2_000_000, index_interval_bytes=100, max_index_size=1000)
LOG = (put_range(0, 10), put_range(10, 10), put_range(20, 10))


def started(directory, settings=SETTINGS):
    """Return the log that a start loads or its failure, and what happens to the files."""
    partition = Partition(unit(directory).target)
    steps = start_from(partition, checkpoints(partition), settings=settings)
    log = collect_findings(attempt(partition, steps))
    return log, () if isinstance(log, StartFailure) else file_changes(partition, log)


def name(base, kind):
    return f"{base:020d}.{kind}"


def test_a_delete_directory_goes_as_a_whole(tmp_path):
    directory = orders(tmp_path / "d", *LOG)
    found = all_deleted(Partition(unit(directory).target), "gone")
    assert {(change.action, change.size_after, change.reason) for change in found} == {
        ("delete", None, "gone")
    }


def test_producers_are_written_in_the_order_of_a_java_map():
    producers = {number: Producer(5, None, 1, 2, 3, 0, 4) for number in (17, 3, 1 << 32, 16)}
    data = snapshot_bytes(producers)
    assert [int.from_bytes(data[at : at + 8], "big") for at in range(10, len(data), 46)] == [
        16,
        17,
        1 << 32,
        3,
    ]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("damaged")
    with tarfile.open(DATA / "damaged.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.parametrize(("folder", "partition", "fact"), RECORDED)
def test_a_broker_started_as_predicted_and_left_these_files(unpacked, folder, partition, fact):
    """`damaged.json` says what it logged and left; the checkpoint of epochs may be written later."""
    settings = Settings(fact["now_ms"], fact["index_interval_bytes"], 65536)
    log, files = started(unpacked / folder / partition, settings)
    assert isinstance(log, StartFailure) == fact.get("failed", False)
    if isinstance(log, StartFailure):
        return
    assert (log.log_start_offset, log.log_end_offset) == (fact["log_start_offset"], fact["log_end_offset"])
    assert sorted(log.producers.disk) == fact["snapshots"]
    entries = {
        str(segment.base_offset): [segment.offset_index.entries, segment.time_index.entries]
        for segment in log.segments[:-1]
    }
    assert entries == fact["index_entries"]
    epochs = [list(entry) for entry in log.epochs]
    assert epochs == fact["epochs"][: len(epochs)] and len(fact["epochs"]) - len(epochs) <= 1
    after = {
        change.file.removesuffix(".swap"): change.size_after
        for change in files
        if change.size_after is not None
    }
    assert {str(int(file[:20])): size for file, size in after.items() if file.endswith(".log")} == fact[
        "segments"
    ]
    assert [int(file[:20]) for file in sorted(after) if file.endswith(".snapshot")] == fact["snapshots"]
    for base, (offsets, times) in fact["index_entries"].items():
        indexes = (after[name(int(base), "index")], after[name(int(base), "timeindex")])
        assert indexes == (offsets * 8, times * 12)
    assert after["leader-epoch-checkpoint"] <= len(epoch_lines(*fact["epochs"]))
