"""`kcli epoch validate`, and the current leader epoch of `kcli epoch end-offset`: errors, positions."""

import gzip
import shutil
from functools import partial
from pathlib import Path

import pytest

from tests.commands.answers import document
from tests.partitions import epoch_lines, orders, put_range, segment

METADATA = Path(__file__).parents[1] / "data" / "metadata" / "failover.log.gz"
LOG = (put_range(0, 10), put_range(10, 10, epoch=2))
EPOCHS = ((0, 0), (2, 10))
POSITIONS = "20:2,25:2,12:0,15:3,5:-1"


@pytest.fixture
def directory(tmp_path):
    return orders(tmp_path / "d", *LOG, epochs=EPOCHS, watermark=18)


@pytest.fixture
def metadata(tmp_path):
    """Return the metadata of a cluster in which broker 2 leads f-three-0 in epoch 3, f-three-1 in epoch 2."""
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(gzip.decompress(METADATA.read_bytes()))
    return folder


def replica(root, broker, name="f-three-0"):
    directory = root / f"{broker}" / name
    segment(directory, 0, b"".join(LOG))
    (directory / "leader-epoch-checkpoint").write_text(epoch_lines(*EPOCHS))
    if broker is not None:
        (directory.parent / "meta.properties").write_text(f"version=1\ncluster.id=x\nnode.id={broker}\n")
    (directory.parent / ".kafka_cleanshutdown").write_text("")
    return directory


asked = partial(document, "epoch")


def concluded(document):
    return [(row["outcome"], row["next_offset"], row["next_offset_epoch"]) for row in document["rows"]]


@pytest.mark.parametrize(
    ("reset", "truncated", "undefined", "exception"),
    [
        ("latest", ("truncated", 20, 2), ("undefined", 18, None), None),
        ("earliest", ("truncated", 20, 2), ("undefined", 0, None), None),
        ("none", ("truncated", None, None), ("undefined", None, None), "LogTruncationException"),
    ],
)
def test_positions(directory, reset, truncated, undefined, exception):
    document = asked("validate", "--position", POSITIONS, "--reset", reset, directory, status=1)
    back = (truncated[0], truncated[1] and 10, truncated[2] and 0)

    assert concluded(document) == [("valid", 20, 2), truncated, back, undefined, ("unchecked", 5, None)]
    assert {row["exception"] for row in document["rows"][1:4]} == {exception}
    assert [finding["code"] for finding in document["findings"]] == ["EPOCH-005"], "25 is past the log end"


def test_latest_is_not_made_up(tmp_path):
    """Without a checkpointed high watermark it is unknown where the reset goes."""
    directory = orders(tmp_path / "d", *LOG, epochs=EPOCHS)
    document = asked("validate", "--position", "15:3", directory, status=1)

    assert concluded(document) == [("undefined", None, None)]


@pytest.mark.parametrize(
    ("current", "error", "findings"),
    [
        ("1", "FENCED_LEADER_EPOCH", []),
        ("2", None, ["EPOCH-011"]),
        ("3", "UNKNOWN_LEADER_EPOCH", ["EPOCH-011"]),
    ],
)
def test_the_current_epoch_by_the_cache(directory, current, error, findings):
    document = asked("end-offset", "--epoch", "2", "--current-leader-epoch", current, directory)
    (row,) = document["rows"]

    assert (row["error"], row["partition_leader_epoch"], row["partition_leader_epoch_source"]) == (
        error,
        2,
        "cache",
    )
    assert (row["leader_epoch"], row["end_offset"], row["rule"]) == (
        (-1, -1, "error") if error else (2, 20, "latest")
    )
    assert [finding["code"] for finding in document["findings"]] == findings


def test_an_epoch_without_records_counts(tmp_path):
    """A start drops it from the cache, but the broker was given it."""
    directory = orders(tmp_path / "d", *LOG, epochs=(*EPOCHS, (4, 20)))
    document = asked("end-offset", "--epoch", "2", "--current-leader-epoch", "3", directory)

    assert [row["error"] for row in document["rows"]] == ["FENCED_LEADER_EPOCH"]


@pytest.mark.parametrize(
    ("broker", "name", "current", "error"),
    [
        (2, "f-three-0", "3", None),
        (None, "f-three-0", "3", None),  # of an unknown broker: taken for the leader's
        (2, "f-three-1", "2", None),
        (2, "f-three-0", "4", "UNKNOWN_LEADER_EPOCH"),
        (1, "f-three-0", "2", "FENCED_LEADER_EPOCH"),
        (1, "f-three-0", "3", "NOT_LEADER_OR_FOLLOWER"),
        (9, "f-three-0", "2", "NOT_LEADER_OR_FOLLOWER"),
        (2, "orders-0", "3", "UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
def test_the_current_epoch_by_the_metadata(tmp_path, metadata, broker, name, current, error):
    words = ("--current-leader-epoch", current, "--metadata", metadata, replica(tmp_path, broker, name))
    (row,) = asked("end-offset", "--epoch", "2", *words)["rows"]
    ends = int(error == "UNKNOWN_LEADER_EPOCH")
    (position,) = asked("validate", "--position", "20:2", *words, status=ends)["rows"]

    assert (row["error"], row["partition_leader_epoch_source"]) == (error, "metadata")
    assert row["partition_leader_epoch"] == {"f-three-0": 3, "f-three-1": 2}.get(name)
    assert (position["error"], position["outcome"]) == (error, "retry" if error else "valid")


def test_a_position_of_a_later_epoch_than_the_metadatas_is_never_validated(tmp_path, metadata):
    words = ("--position", "15:3,15:4", "--reset", "none", "--metadata", metadata, replica(tmp_path, 2))
    known, later = asked("validate", *words, status=1)["rows"]
    assert (known["outcome"], known["error"]) == ("undefined", None)
    assert (later["outcome"], later["error"], later["exception"]) == ("retry", "UNKNOWN_LEADER_EPOCH", None)


def test_two_metadata_logs_are_refused(kcli, directory, metadata, tmp_path):
    for number in (0, 1):
        shutil.copytree(metadata, tmp_path / "both" / f"__cluster_metadata-{number}")
    done = kcli("epoch", "validate", "--position", "20:2", "--metadata", tmp_path / "both", directory)

    assert (done.exit_code, "expected one __cluster_metadata-0" in done.stderr) == (2, True), done.stderr


def test_the_checkpointed_high_watermark_is_not_past_the_log_end(tmp_path):
    """`UnifiedLog.updateHighWatermark`: it is kept within the log."""
    for name, bounds, expected in (
        ("a", {"watermark": 99}, 20),
        ("b", {"log_start": 12, "watermark": 3}, 12),
    ):
        directory = orders(tmp_path / name, *LOG, epochs=EPOCHS, **bounds)
        document = asked("validate", "--position", "15:3", "--reset", "latest", directory, status=1)

        assert concluded(document) == [("undefined", expected, None)]


def test_without_an_epoch_there_is_nothing_to_compare(tmp_path):
    directory = orders(tmp_path / "d", *LOG, epochs=None)
    (error,) = asked("end-offset", "--epoch", "2", "--current-leader-epoch", "3", directory, status=3)[
        "errors"
    ]

    assert error["error"] == "unknown-leader-epoch"
    assert "--metadata" in error["message"]


@pytest.mark.parametrize(
    ("reset", "expected"),
    [
        ("latest", ("out-of-range", 18, None)),
        ("earliest", ("out-of-range", 12, None)),
        ("none", ("out-of-range", None, None)),
    ],
)
def test_a_valid_position_below_the_log_is_reset_by_its_fetch(tmp_path, reset, expected):
    directory = orders(tmp_path / "d", *LOG, epochs=EPOCHS, log_start=12, watermark=18)
    words = ("validate", "--position", "5:0,25:-1,15:2", "--reset", reset, directory)
    document = asked(*words, status=1)

    assert concluded(document) == [expected, expected, ("valid", 15, 2)]
    exceptions = {row["exception"] for row in document["rows"][:2]}
    assert exceptions == {"OffsetOutOfRangeException" if reset == "none" else None}
