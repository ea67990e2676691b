"""A broker's start over damaged log dirs, predicted by `startup`, then let happen.

Each trial begins with the same two log dirs of a broker that was stopped in order.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner

from commands.app import app
from tests.live.workload import free_base_port
from tests.recordings.brokers import Cluster, Node, wait
from tests.recordings.client import create, producer, records, write

pytestmark = [pytest.mark.oracle, pytest.mark.slow]

PARTITIONS = 4
OFFLINE = "Stopping serving logs in dir"
OFFLINE_BEFORE = "Error while reading meta.properties file"
METADATA_DIR_FAILED = "Shutdown broker because the metadata log dir"


def partition_in(log_dir: Path) -> Path:
    return min(path for path in log_dir.glob("events-*") if path.is_dir())


def nothing(_first: Path, _second: Path) -> None:
    """Change nothing."""


def twice(first: Path, second: Path) -> None:
    partition = partition_in(first)
    shutil.copytree(partition, second / partition.name)


def lost_and_found(_first: Path, second: Path) -> None:
    (second / "lost+found").mkdir()


def meta(change: Callable[[str], str | None]) -> Callable[[Path, Path], None]:
    def damage(_first: Path, second: Path) -> None:
        path = second / "meta.properties"
        text = change(path.read_text())
        if text is None:
            path.unlink()
        else:
            path.write_text(text)

    return damage


def same_directory_id(first: Path, second: Path) -> None:
    shutil.copy(first / "meta.properties", second / "meta.properties")


def epochs(text: str, *, of_first: bool = False) -> Callable[[Path, Path], None]:
    def damage(first: Path, second: Path) -> None:
        (partition_in(first if of_first else second) / "leader-epoch-checkpoint").write_text(text)

    return damage


def zero_tail(_first: Path, second: Path) -> None:
    with max(partition_in(second).glob("*.log")).open("ab") as log:
        log.write(bytes(100))


def metadata_file(text: str | None) -> Callable[[Path, Path], None]:
    def damage(_first: Path, second: Path) -> None:
        path = partition_in(second) / "partition.metadata"
        if text is None:
            path.unlink()
        else:
            path.write_text(text)

    return damage


def second_metadata_log(first: Path, second: Path) -> None:
    shutil.copytree(first / "__cluster_metadata-0", second / "__cluster_metadata-0")


def checkpoint(name: str, text: str) -> Callable[[Path, Path], None]:
    def damage(_first: Path, second: Path) -> None:
        (second / name).write_text(text)

    return damage


def directory_for(name: str) -> Callable[[Path, Path], None]:
    def damage(_first: Path, second: Path) -> None:
        (second / name).unlink(missing_ok=True)
        (second / name).mkdir()

    return damage


def newest_snapshot(change: Callable[[bytearray], object]) -> Callable[[Path, Path], None]:
    def damage(first: Path, _second: Path) -> None:
        path = max((first / "__cluster_metadata-0").glob("*.checkpoint"))
        data = bytearray(path.read_bytes())
        change(data)
        path.write_bytes(data)

    return damage


def flip_in_the_middle(data: bytearray) -> None:
    data[len(data) // 2] ^= 1


def cut_the_footer(data: bytearray) -> None:
    del data[-20:]


def in_place_of_a_snapshot(change: Callable[[Path], object]) -> Callable[[Path, Path], None]:
    def damage(first: Path, _second: Path) -> None:
        path = max((first / "__cluster_metadata-0").glob("*.checkpoint"))
        path.unlink()
        change(path)

    return damage


def named_like_a_snapshot(name: str) -> Callable[[Path, Path], None]:
    def damage(first: Path, _second: Path) -> None:
        metadata = first / "__cluster_metadata-0"
        newest = max(metadata.glob("*.checkpoint"))
        shutil.copy(newest, metadata / name.format(newest.stem))

    return damage


def no_quorum_state(first: Path, _second: Path) -> None:
    (first / "__cluster_metadata-0" / "quorum-state").unlink()


def without_marker(first: Path, second: Path) -> None:
    zero_tail(first, second)
    for log_dir in (first, second):
        (log_dir / ".kafka_cleanshutdown").unlink()


TRIALS: dict[str, tuple[Callable[[Path, Path], None], str | None, int]] = {
    "nothing": (nothing, None, 0),
    "twice": (twice, "IllegalStateException", 0),
    "lost+found": (lost_and_found, "KafkaException", 0),
    "another cluster": (
        meta(lambda text: text.replace("cluster.id=", "cluster.id=x")),
        "RuntimeException",
        0,
    ),
    "another node": (meta(lambda text: text.replace("node.id=1", "node.id=2")), "RuntimeException", 0),
    "no meta.properties": (meta(lambda _: None), "RuntimeException", 0),
    "the same directory.id": (same_directory_id, "RuntimeException", 0),
    "meta.properties of another version": (meta(lambda _: "version=9\n"), None, 1),
    "meta.properties without a node": (meta(lambda _: "version=1\ncluster.id=x\n"), None, 1),
    "a second metadata log": (second_metadata_log, "KafkaException", 0),
    "epochs miscounted": (epochs("0\n9\n"), None, 1),
    "epochs miscounted beside the metadata log": (
        epochs("0\n9\n", of_first=True),
        "KafkaStorageException",
        1,
    ),
    "a negative epoch": (epochs("0\n1\n0 -1\n"), "IllegalArgumentException", 0),
    "a word for an epoch": (epochs("0\n1\nx 1\n"), "NumberFormatException", 0),
    "recovery points miscounted": (checkpoint("recovery-point-offset-checkpoint", "0\n9\n"), None, 1),
    "a word for a recovery point": (
        checkpoint("recovery-point-offset-checkpoint", "0\n1\nevents 0 x\n"),
        None,
        0,
    ),
    "log starts of another version": (checkpoint("log-start-offset-checkpoint", "7\n0\n"), None, 1),
    "cleaner points miscounted": (checkpoint("cleaner-offset-checkpoint", "0\n9\n"), None, 1),
    "high watermarks miscounted": (checkpoint("replication-offset-checkpoint", "0\n9\n"), None, 1),
    "a word for a high watermark": (
        checkpoint("replication-offset-checkpoint", "0\n1\nevents 0 x\n"),
        None,
        0,
    ),
    "a directory for a lock": (directory_for(".lock"), "KafkaException", 0),
    "a directory for meta.properties": (directory_for("meta.properties"), None, 1),
    "zeros after a clean stop": (zero_tail, "CorruptRecordException", 0),
    "zeros after a crash": (without_marker, None, 0),
    "a flipped bit in a snapshot": (newest_snapshot(flip_in_the_middle), "CorruptRecordException", 0),
    "an empty snapshot": (newest_snapshot(bytearray.clear), "NoSuchElementException", 0),
    "a snapshot without its footer": (newest_snapshot(cut_the_footer), None, 0),
    "garbage after a snapshot": (
        newest_snapshot(lambda data: data.extend(b"x" * 40)),
        "CorruptRecordException",
        0,
    ),
    "a snapshot without its header": (
        newest_snapshot(lambda data: data.__delitem__(slice(12 + int.from_bytes(data[8:12], "big")))),
        "IllegalStateException",
        0,
    ),
    "a directory for a snapshot": (in_place_of_a_snapshot(Path.mkdir), "UncheckedIOException", 0),
    "a link that leads nowhere for a snapshot": (
        in_place_of_a_snapshot(lambda path: path.symlink_to("nowhere")),
        None,
        0,
    ),
    "a snapshot and a copy of it": (named_like_a_snapshot("{} (1).checkpoint"), None, 0),
    "an old- snapshot": (named_like_a_snapshot("old-{}.checkpoint"), "NumberFormatException", 0),
    "a short name of a snapshot": (
        named_like_a_snapshot("abc.checkpoint"),
        "StringIndexOutOfBoundsException",
        0,
    ),
    "no quorum-state": (no_quorum_state, None, 0),
    "no partition.metadata": (metadata_file(None), None, 0),
    "another topic id": (metadata_file("version: 0\ntopic_id: 5hQ1pUdRTm6vQ7JUuZUV1A\n"), None, 0),
    "an empty partition.metadata": (metadata_file(""), "NullPointerException", 0),
    "a broken partition.metadata": (metadata_file("version 0\n"), None, 1),
}
"""What is done to the log dirs, the exception that ends the process, and how many log dirs go offline."""
USUAL = ("twice", "zeros after a crash", "a flipped bit in a snapshot")
"""The trials of a usual run: each takes a broker's start of some seconds. `STARTUP_TRIALS=all` runs all."""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Node, Path]]:
    folder = tmp_path_factory.mktemp("trials")
    log_dirs = [folder / "data-1", folder / "data-2"]
    settings = {
        "log.dirs": ",".join(map(str, log_dirs)),
        "metadata.log.dir": log_dirs[0],
        "metadata.log.max.record.bytes.between.snapshots": 200,
        "metadata.log.max.snapshot.interval.ms": 1500,
    }
    random = Random("trials")
    with Cluster(folder, {1: "broker,controller"}, free_base_port(), random, settings) as cluster:
        create(cluster, {"events": {}}, [[1]] * PARTITIONS)
        to = producer(cluster)
        for partition in range(PARTITIONS):
            write(to, "events", records(random, 20), partition=partition)
        metadata = log_dirs[0] / "__cluster_metadata-0"
        wait(lambda: any(metadata.glob("*[1-9]-*.checkpoint")), "a snapshot")
        cluster.nodes[1].stop()
        for log_dir in log_dirs:
            shutil.copytree(log_dir, folder / "before" / log_dir.name)
        yield cluster.nodes[1], folder


def predicted(config: Path) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    line = ["startup", "--server-config", str(config), "-o", "json", "--segment-index-bytes", "12000"]
    done = CliRunner().invoke(app, line)
    answer = json.loads(done.stdout)
    broker, *partitions = answer["rows"]
    return broker, partitions, answer["findings"]


@pytest.mark.parametrize("name", TRIALS if os.environ.get("STARTUP_TRIALS") == "all" else USUAL)
def test_a_broker_starts_or_ends_as_predicted(node: tuple[Node, Path], name: str) -> None:
    broker, folder = node
    damage, exception, offline = TRIALS[name]
    log_dirs = [folder / "data-1", folder / "data-2"]
    for log_dir in log_dirs:
        shutil.rmtree(log_dir)
        shutil.copytree(folder / "before" / log_dir.name, log_dir)
    damage(*log_dirs)

    row, partitions, findings = predicted(broker.folder / "server.properties")
    assert (row["outcome"], row["error"]) == ("fails" if exception else "starts", exception)
    assert [one["outcome"] for one in row["log_dirs"]].count("offline") == offline

    def said() -> str:
        output = broker.folder / f"output-{broker.starts}.log"
        words = broker.words.read_text(errors="replace") if broker.words.exists() else ""
        return words + output.read_text(errors="replace")

    def settled() -> bool:
        return not broker.running or "Kafka Server started" in said()

    broker.launch()
    try:
        wait(settled, f"the broker to start or to end: {name}")
        if offline and not exception:
            wait(lambda: OFFLINE in said() or OFFLINE_BEFORE in said(), "the log dir to go offline")
        words = said()
        assert broker.running == (exception is None), words[-3000:]
        if exception is not None:
            assert exception in words or METADATA_DIR_FAILED in words, words[-3000:]
        for one in row["log_dirs"]:
            is_offline = f"{OFFLINE} {one['dir']}" in words or f"{OFFLINE_BEFORE} {one['dir']}" in words
            assert is_offline == (one["outcome"] == "offline"), one
        if exception is None and not offline:
            strays = {Path(one["dir"]).name for one in findings if one["code"] in {"START-012", "START-013"}}
            assert strays == {path.name.partition(".")[0] for path in log_dirs[1].glob("*-stray")}
            for partition in partitions:
                if Path(partition["dir"]).name not in {"__cluster_metadata-0", *strays}:
                    assert_files(Path(partition["dir"]), partition["files"])
    finally:
        broker.kill()


def assert_files(directory: Path, files: list[dict[str, Any]]) -> None:
    """Compare names and sizes, but for the epochs, to which a leader adds its own."""
    mine = {one["file"]: one["size_after"] for one in files if one["action"] != "delete"}
    found = {path.name: path.stat().st_size for path in directory.iterdir()}
    added = {"leader-epoch-checkpoint", "leader-epoch-checkpoint.tmp"}
    assert {name: size for name, size in found.items() if name not in added} == {
        name: size for name, size in mine.items() if name not in added
    }
