"""Where the bytes lie that `salvage` leaves out of a copy: in the file of the partition, each once."""

import gzip
import json

import pytest

from tests.partitions import log_dir, orders, put_range, segment
from tests.recordings import pack

SNAPSHOT = gzip.decompress((pack.DATA.parent / "batches" / "snapshot.checkpoint.gz").read_bytes())
MARKER = {"attributes": 0x30, "producer_id": 7, "producer_epoch": 0}


def flipped(batch):
    return batch[:-1] + bytes([batch[-1] ^ 1])


def assert_each_byte_once(row, logs):
    """The ranges do not overlap, and what is in none of them is the copy."""
    copied = b""
    for name, data in logs.items():
        ranges = [(loss["start"], loss["end"]) for loss in row["lost"] if loss["file"] == name]
        at = 0
        for start, end in ranges:
            assert at <= start < end <= len(data)
            copied += data[at:start]
            at = end
        copied += data[at:]
    assert row["bytes"] == len(copied)
    assert row["bytes"] + row["bytes_lost"] == sum(map(len, logs.values()))
    return copied


def salvaged(kcli, directory, out):
    (row,) = json.loads(kcli("salvage", directory, "--out", out, "-o", "json").stdout)["rows"]
    return row


def test_a_log_that_goes_for_a_snapshot_is_lost_around_its_damage(kcli, tmp_path):
    directory = log_dir(tmp_path / "d") / "__cluster_metadata-0"
    batches = [put_range(base, 5) for base in range(0, 30, 5)]
    batches[1], batches[3] = flipped(batches[1]), flipped(batches[3])
    log = b"".join(batches)
    segment(directory, 0, log)
    (directory / f"{40:020d}-{0:010d}.checkpoint").write_bytes(SNAPSHOT)
    row = salvaged(kcli, directory, tmp_path / "out")
    assert assert_each_byte_once(row, {f"{0:020d}.log": log}) == b""
    assert [(loss["reason"], loss["first_offset"]) for loss in row["lost"]] == [
        ("snapshot", 0),
        ("checksum", 5),
        ("snapshot", 10),
        ("checksum", 15),
        ("snapshot", 20),
    ]
    assert (row["batches"], row["batches_lost"]) == (0, 6)


@pytest.mark.parametrize("suffix", ["", ".swap"])
def test_batches_that_recovery_refuses_lie_where_they_were(kcli, tmp_path, suffix):
    """Markers without a key of one, before and after a batch of wrong checksum."""
    batches = [
        put_range(0, 5),
        put_range(5, 1, **MARKER),
        flipped(put_range(6, 4)),
        put_range(10, 1, **MARKER),
        put_range(11, 4),
    ]
    directory, log = orders(tmp_path / "data", *batches), b"".join(batches)
    path = directory / f"{0:020d}.log"
    name = path.rename(f"{path}{suffix}").name
    row = salvaged(kcli, directory, tmp_path / "out")
    assert assert_each_byte_once(row, {name: log}) == batches[0] + batches[4]
    assert [(loss["reason"], loss["first_offset"]) for loss in row["lost"]] == [
        ("transaction", 5),
        ("checksum", 6),
        ("transaction", 10),
    ]
    assert (row["batches"], row["batches_lost"]) == (2, 3)
