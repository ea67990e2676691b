"""What kcli answers from files against what the brokers that wrote them answered and did."""

import gzip
import json

import pytest
from typer.testing import CliRunner

from formats.checkpoint import read_leader_epoch_checkpoint
from formats.index import TIME_INDEX_ENTRY
from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import Walk
from tests.recordings import pack

pytestmark = pytest.mark.slow


def place(row):
    return f"{row['topic']}-{row['partition']}"


@pytest.mark.parametrize("name", pack.NAMES)
def test_a_recording_says_where_it_comes_from(name):
    manifest = pack.manifest(name)
    assert manifest["name"] == name
    assert manifest["kafka_version"] == "4.3.1"
    assert manifest["made_by"] == f"python -m tests.recordings.record {name}"
    assert manifest["steps"]
    assert {path.split("/")[0] for path in manifest["files"] if "/" in path} == set(manifest["captures"])


def test_a_changed_recording_is_refused(tmp_path):
    folder = tmp_path / "log"
    (folder / "capture").mkdir(parents=True)
    (folder / "capture" / "file").write_bytes(b"as recorded")
    pack.save(folder, {"name": "small"}, tmp_path)
    assert (
        pack.unpack("small", tmp_path / "good", tmp_path) / "capture" / "file"
    ).read_bytes() == b"as recorded"
    (folder / "capture" / "file").write_bytes(b"changed")
    pack.tar(folder, "small", tmp_path / "small.tar.gz")
    with pytest.raises(AssertionError, match=r"small\.tar\.gz does not match small\.json: capture/file"):
        pack.unpack("small", tmp_path / "bad", tmp_path)


@pytest.mark.parametrize("name", pack.NAMES)
def test_packing_what_was_unpacked_gives_the_same_tar_times_included(name, tmp_path, recording):
    pack.tar(recording(name), name, tmp_path / "again.tar.gz")
    assert gzip.decompress((tmp_path / "again.tar.gz").read_bytes()) == gzip.decompress(
        (pack.DATA / f"{name}.tar.gz").read_bytes()
    )
    assert len({path.stat().st_mtime_ns // 1_000_000 for path in recording(name).rglob("*.log")}) > 2


def failover_answers():
    return pack.manifest("failover")["facts"]["offset_for_leader_epoch"]


def end_offsets(ask, recording, broker):
    """(node, topic-partition, epoch) -> kcli's row, for every epoch that live leaders were asked."""
    epochs = ",".join(
        str(epoch) for epoch in range(max(row["requested_epoch"] for row in failover_answers()) + 1)
    )
    found = {}
    for node in (1, 2, 3):
        for asked in (epochs, "all"):
            answer = ask(
                "epoch",
                "end-offset",
                "--broker",
                broker,
                "--epoch",
                asked,
                recording("failover") / f"node{node}",
            )
            found.update({(node, place(row), row["requested_epoch"]): row for row in answer.rows})
    return found


def test_failover_every_live_answer_is_ours(ask, recording):
    ours = end_offsets(ask, recording, "running")
    live = failover_answers()
    assert len(live) > 30
    for row in live:
        mine = ours[row["node"], place(row), row["requested_epoch"]]
        assert (mine["leader_epoch"], mine["end_offset"]) == (row["leader_epoch"], row["end_offset"]), row
    assert {ours[row["node"], place(row), row["requested_epoch"]]["rule"] for row in live} >= {
        "undefined-request",
        "latest",
        "above-all",
        "between",
    }


def test_failover_a_starting_broker_drops_only_epochs_without_records(ask, recording):
    ours = end_offsets(ask, recording, "starting")
    differing = set()
    for row in failover_answers():
        mine = ours[row["node"], place(row), row["requested_epoch"]]
        if (mine["leader_epoch"], mine["end_offset"]) != (row["leader_epoch"], row["end_offset"]):
            differing.add((row["node"], place(row)))
            assert (mine["rule"], row["end_offset"]) == ("above-all", mine["log_end_offset"]), row
    assert {partition for _, partition in differing} == {"quiet-0", "empty-0"}
    for node, partition in differing:
        output = ask("epoch", "show", recording("failover") / f"node{node}" / partition)
        assert "EPOCH-003" in {finding["code"] for finding in output.findings}


def test_failover_replicas_agree_on_records(ask, recording):
    rows = [
        row
        for node in (1, 2, 3)
        for row in ask("ls", recording("failover") / f"node{node}").rows
        if row["topic"] in {"three", "txn", "quiet", "empty"}
    ]
    latest = {
        place(row): row["offset"]
        for row in pack.manifest("failover")["facts"]["offsets"]
        if row["spec"] == "latest"
    }
    assert len(rows) == 3 * len(latest)
    assert {(place(row), row["log_end_offset"]) for row in rows} == set(latest.items())
    assert {row["broker_id"] for row in rows} == {1, 2, 3}


def truncations():
    return pack.manifest("truncation")["facts"]["truncations"]


def interval(topic):
    return pack.manifest("truncation")["facts"]["topics"][topic].get("index.interval.bytes", 4096)


@pytest.fixture(scope="module")
def predicted(recording, ask):
    """topic -> kcli's row for the replica as it was killed, truncated to where the broker truncated it."""
    found = {}
    for row in truncations():
        path = recording("truncation") / "before-follower" / place(row)
        output = ask(
            "truncate",
            "--dry-run",
            "--to-offset",
            row["offset"],
            "--index-interval-bytes",
            interval(row["topic"]),
            path,
        )
        (found[row["topic"]],) = output.rows
    return found


def entries(path, size):
    return path.stat().st_size // size if path.exists() else 0


@pytest.mark.parametrize(
    "topic", ["quiet", "quiet-segments", "quiet-zstd", "quiet-idempotent", "quiet-txn", "all-lost"]
)
def test_truncation_of_a_log_that_stayed_as_it_was_truncated(topic, predicted, recording):
    """Nothing was written after the truncation: the stopped follower's directory is the prediction."""
    row, after = predicted[topic], recording("truncation") / "after-follower-stopped" / f"{topic}-0"
    segments = [segment for segment in row["segments"] if segment["action"] != "delete"]
    assert [f"{segment['base_offset']:020d}.log" for segment in segments] == sorted(
        path.name for path in after.glob("*.log")
    )
    for segment in segments:
        stem = after / f"{segment['base_offset']:020d}"
        assert segment["size_after"] == stem.with_suffix(".log").stat().st_size
        assert segment["offset_index_entries_after"] == entries(stem.with_suffix(".index"), 8)
        live = segment["time_index_entries_after"]
        closing = segment is segments[-1] and is_newer_than_index(stem, live)
        assert live + closing == entries(stem.with_suffix(".timeindex"), 12)
        assert segment["txn_index_entries_after"] == entries(stem.with_suffix(".txnindex"), 34)
    assert [(entry["epoch"], entry["start_offset"]) for entry in row["epochs_after"]] == epochs_on_disk(after)
    kept = [snapshot["offset"] for snapshot in row["producer_snapshots"] if snapshot["action"] != "delete"]
    assert kept == sorted(int(path.stem) for path in after.glob("*.snapshot"))


def is_newer_than_index(stem, live):
    """Whether a clean stop adds the log's largest timestamp to the `live` entries of its time index."""
    log = DataFile(str(stem.with_suffix(".log")))
    largest = max((header.max_timestamp for _, header in Walk(log)), default=-1)
    log.close()
    indexed = [
        entry.timestamp
        for entry in TIME_INDEX_ENTRY.rows(stem.with_suffix(".timeindex").read_bytes()[: 12 * live])
    ]
    return largest > max(indexed, default=-1)


def epochs_on_disk(directory):
    return [
        tuple(entry)
        for entry in read_leader_epoch_checkpoint((directory / "leader-epoch-checkpoint").read_bytes())
    ]


@pytest.mark.parametrize("topic", ["plain", "segments", "zstd", "txn"])
def test_truncation_of_a_log_that_then_caught_up(topic, predicted, recording):
    """What was left is the beginning of what is there now; the new leader's epoch begins right after it."""
    row = predicted[topic]
    before, after = (
        recording("truncation") / capture / f"{topic}-0"
        for capture in ("before-follower", "after-follower-stopped")
    )
    assert row["records_removed"] == {"plain": 25, "segments": 60, "zstd": 25, "txn": 16}[topic]
    for segment in row["segments"]:
        if segment["action"] != "delete":
            name = f"{segment['base_offset']:020d}.log"
            size = segment["size_after"]
            assert (after / name).read_bytes()[:size] == (before / name).read_bytes()[:size]
    kept = [(entry["epoch"], entry["start_offset"]) for entry in row["epochs_after"]]
    assert epochs_on_disk(after) == [*kept, (kept[-1][0] + 1, row["target_offset"])]


def test_truncation_covers_every_kind(predicted):
    assert {segment["action"] for row in predicted.values() for segment in row["segments"]} == {
        "keep",
        "cut",
        "delete",
    }
    assert all(row["kind"] == "partial" for row in predicted.values())


def test_truncation_target_follows_from_the_leaders_answer(ask, recording):
    """The broker truncated to what its leader's files answer for the newest epoch of its own."""
    assert len(truncations()) == 10
    for row in truncations():
        follower = ask("epoch", "show", recording("truncation") / "before-follower" / place(row)).rows
        leader = recording("truncation") / "before-leader" / place(row)
        (answer,) = ask(
            "epoch", "end-offset", "--broker", "running", "--epoch", follower[-1]["epoch"], leader
        ).rows
        assert answer["end_offset"] == row["offset"], row


def test_tiered_every_event_is_as_kafka_reads_it(recording, ask):
    folder = recording("tiered")
    expected = [json.loads(line) for line in (folder / "rlmm-events.jsonl").read_text().splitlines()]
    rows = {
        (row["metadata_partition"], row["metadata_offset"]): row
        for row in ask("rlmm", "dump", folder / "node1").rows
    }
    assert len(rows) == len(expected)
    assert {event["state"] for event in expected} == {
        "COPY_SEGMENT_STARTED",
        "COPY_SEGMENT_FINISHED",
        "DELETE_SEGMENT_STARTED",
        "DELETE_SEGMENT_FINISHED",
    }
    for event in expected:
        row = rows[event["metadata_partition"], event["metadata_offset"]]
        assert row["error"] is None
        assert row["record_type"] == event["type"]
        same = event.keys() - {"type", "to_string"}
        assert {key: row[key] for key in same} == {key: event[key] for key in same}


def test_tiered_log_starts_and_ends_are_the_live_ones(recording, ask):
    rows = {place(row): row for row in ask("ls", recording("tiered") / "node1").rows}
    columns = {"earliest": "log_start_offset", "latest": "log_end_offset"}
    live = [row for row in pack.manifest("tiered")["facts"]["offsets"] if row["spec"] in columns]
    assert {row["offset"] for row in live if row["spec"] == "earliest"} >= {0, 30}
    for row in live:
        assert rows[place(row)][columns[row["spec"]]] == row["offset"], row


def test_tiered_text_is_what_kafka_prints_of_an_event(recording):
    from commands.app import app

    folder = recording("tiered")
    lines = (
        CliRunner()
        .invoke(app, ["rlmm", "dump", "-o", "text", "--format", "kafka", str(folder / "node1")])
        .stdout.splitlines()
    )
    output = [
        json.loads(line)["to_string"] for line in (folder / "rlmm-events.jsonl").read_text().splitlines()
    ]
    assert len(lines) == len(output)
    for line, text in zip(lines, output, strict=True):
        assert line.endswith(text)


@pytest.mark.parametrize("capture", ["running", "stopped"])
def test_single_earliest_and_latest(capture, recording, ask):
    rows = {place(row): row for row in ask("ls", recording("single") / capture).rows}
    columns = {"earliest": "log_start_offset", "latest": "log_end_offset"}
    live = [row for row in pack.manifest("single")["facts"]["offsets"] if row["spec"] in columns]
    assert len(live) >= 16
    for row in live:
        assert rows[place(row)][columns[row["spec"]]] == row["offset"], row


@pytest.mark.parametrize("capture", ["running", "stopped"])
def test_single_lookup_by_timestamp(capture, recording, ask):
    live = [
        row
        for row in pack.manifest("single")["facts"]["offsets"]
        if row["spec"] not in {"earliest", "latest"}
    ]
    for spec in {row["spec"] for row in live}:
        rows = {
            place(row): row
            for row in ask(
                "lookup", "timestamp", spec.removesuffix("-timestamp"), recording("single") / capture
            ).rows
        }
        for row in live:
            if row["spec"] == spec:
                ours = rows[place(row)]
                assert ours["found"] is (row["offset"] >= 0), row
                if ours["found"]:
                    assert (ours["offset"], ours["record_timestamp"], ours["leader_epoch"]) == (
                        row["offset"],
                        row["timestamp"],
                        row["leader_epoch"],
                    ), row


@pytest.mark.parametrize("capture", ["running", "stopped"])
def test_single_an_offset_is_found_in_the_batch_that_holds_it(capture, recording, ask):
    for topic in ("txn", "codecs"):
        directory = recording("single") / capture / f"{topic}-0"
        (listed,) = ask("ls", directory).rows
        for offset in range(listed["log_start_offset"], listed["log_end_offset"], 7):
            (row,) = ask("lookup", "offset", offset, directory).rows
            assert row["batch_base_offset"] <= offset <= row["batch_last_offset"]


@pytest.mark.parametrize("topic", [row["topic"] for row in truncations()])
def test_replicas_differ_from_where_the_follower_truncated_to(topic, recording, ask):
    """Leader and follower differ from the offset to which the broker truncated; afterwards they do not."""
    root = recording("truncation")
    (target,) = [row["offset"] for row in truncations() if row["topic"] == topic]
    dirs = [root / name / f"{topic}-0" for name in ("before-follower", "before-leader")]
    ranges = ask("replica", "diff", *dirs).rows
    assert [row["first_offset"] for row in ranges if row["verdict"] != "equal"][:1] == [target]
    assert all(row["last_offset"] < target for row in ranges if row["verdict"] == "equal")


def test_replicas_of_a_cluster_that_failed_over_are_equal(recording, ask):
    root = recording("failover")
    rows = ask("replica", "diff", *(root / f"node{node}" for node in (1, 2, 3))).rows
    assert len(rows) == 14
    assert {row["verdict"] for row in rows} == {"equal"}
