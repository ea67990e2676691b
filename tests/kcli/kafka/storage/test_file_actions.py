"""What a start makes of each file: handmade directories, and those that a real broker started with."""

import json
import tarfile
from pathlib import Path

import pytest

from formats.index import TXN_INDEX_ENTRY, AbortedTxn
from kcli.kafka.kraft.start_outcome import predict
from kcli.kafka.storage.file_actions import all_deleted, snapshot_bytes
from kcli.kafka.storage.loaded_log import Settings, checkpoints
from kcli.kafka.storage.producer_state import Producer
from kcli.logdir.partition import Partition
from tests.partitions import epoch_lines, orders, put_range, segment, unit

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
EMPTY_SNAPSHOT_SIZE = 10


def started(directory, settings=SETTINGS):
    """Return the prediction of a start."""
    partition = Partition(unit(directory).target)
    reporting = predict(partition, checkpoints(partition), settings=settings)
    while True:
        try:
            next(reporting)
        except StopIteration as done:
            return done.value


def changes(directory, settings=SETTINGS):
    """Return name -> (action, size before, size after) of the files that do not stay as they are."""
    found = started(directory, settings)
    assert found.error is None
    assert {change.file for change in found.files if change.action != "create"} == {
        path.name for path in directory.iterdir() if path.is_file()
    }
    return {change.file: change[1:4] for change in found.files if change.action != "keep"}


def name(base, kind):
    return f"{base:020d}.{kind}"


def test_a_clean_start_touches_the_indexes_of_the_active_segment_alone(tmp_path):
    directory = orders(tmp_path / "d", *LOG, recovery=30)
    segment(directory, 30, put_range(30, 5))
    assert changes(directory) == {
        name(30, "index"): ("rewrite", 0, 1000),
        name(30, "timeindex"): ("rewrite", 0, 996),
        name(30, "snapshot"): ("create", None, EMPTY_SNAPSHOT_SIZE),
        name(35, "snapshot"): ("create", None, EMPTY_SNAPSHOT_SIZE),
    }


def test_recovery_cuts_rebuilds_and_deletes(tmp_path):
    directory = orders(tmp_path / "d", LOG[0], LOG[1], LOG[2][:-1], epochs=((0, 0), (1, 25)), clean=False)
    segment(directory, 30, put_range(30, 5))
    (directory / name(0, "txnindex")).write_bytes(TXN_INDEX_ENTRY.pack(AbortedTxn(0, 1, 2, 3, 4)))
    kept = len(LOG[0]) + len(LOG[1])
    assert changes(directory) == {
        name(0, "log"): ("truncate", kept + len(LOG[2]) - 1, kept),
        name(0, "index"): ("rewrite", 0, 1000),
        name(0, "timeindex"): ("rewrite", 0, 996),
        name(0, "txnindex"): ("truncate", 34, 0),
        name(20, "snapshot"): ("create", None, EMPTY_SNAPSHOT_SIZE),
        name(30, "log"): ("delete", len(put_range(30, 5)), None),
        name(30, "index"): ("delete", 0, None),
        name(30, "timeindex"): ("delete", 0, None),
        "leader-epoch-checkpoint": (
            "rewrite",
            len(epoch_lines((0, 0), (1, 25))),
            len(epoch_lines((0, 0))),
        ),
    }


def test_leftovers_go_and_swaps_take_their_names(tmp_path):
    directory = orders(tmp_path / "d", *LOG)
    segment(directory, 30, put_range(30, 5))
    for kind in ("log", "index", "timeindex"):
        (directory / f"{name(0, kind)}.swap").write_bytes(LOG[0] + LOG[2] if kind == "log" else b"")
        (directory / f"{name(30, kind)}.deleted").write_bytes(b"")
    (directory / "notes.txt").write_text("mine")
    found = changes(directory)
    assert {file: change[0] for file, change in found.items() if not file.endswith("snapshot")} == {
        **{name(0, kind): "delete" for kind in ("log", "index", "timeindex")},
        **{f"{name(0, kind)}.swap": "rename" for kind in ("log", "index", "timeindex")},
        **{f"{name(30, kind)}.deleted": "delete" for kind in ("log", "index", "timeindex")},
        name(30, "index"): "rewrite",
        name(30, "timeindex"): "rewrite",
    }
    assert found[f"{name(0, 'log')}.swap"] == ("rename", *[len(LOG[0]) + len(LOG[2])] * 2)


def test_a_directory_without_a_log_gets_a_segment_and_a_checkpoint(tmp_path):
    directory = orders(tmp_path / "d", epochs=None, log_start=7)
    for kind in ("log", "index", "timeindex"):
        (directory / name(0, kind)).unlink()
    (directory / name(3, "index")).write_bytes(bytes(8))
    assert changes(directory) == {
        name(3, "index"): ("delete", 8, None),
        name(7, "log"): ("create", None, 0),
        name(7, "index"): ("create", None, 1000),
        name(7, "timeindex"): ("create", None, 996),
        name(7, "snapshot"): ("create", None, EMPTY_SNAPSHOT_SIZE),
        "leader-epoch-checkpoint": ("create", None, 0),
    }


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
    found = started(unpacked / folder / partition, settings)
    assert (found.error is not None) == fact.get("failed", False)
    if found.error is not None:
        return
    log = found.log
    assert (log.log_start_offset, log.log_end_offset) == (fact["log_start_offset"], fact["log_end_offset"])
    assert sorted(log.producers.disk) == fact["snapshots"]
    entries = {
        str(one.base_offset): [one.offset_index.entries, one.time_index.entries] for one in log.segments[:-1]
    }
    assert entries == fact["index_entries"]
    epochs = [list(entry) for entry in log.epochs]
    assert epochs == fact["epochs"][: len(epochs)] and len(fact["epochs"]) - len(epochs) <= 1
    after = {
        change.file.removesuffix(".swap"): change.size_after
        for change in found.files
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
