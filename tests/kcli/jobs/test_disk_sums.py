"""What topics, log dirs and states take on disk, and what of it goes by itself."""

import pytest

from tests.commands.answers import ask
from tests.partitions import log_dir, offset_entries, put_range, segment, time_entries

BATCH = put_range(0, 10, timestamp=1000, step=0)


@pytest.fixture
def directory(tmp_path):
    root = log_dir(tmp_path / "d")
    index = offset_entries((5, 100)) + bytes(800)
    segment(root / "orders-0", 0, BATCH, index, time_entries((3000, 9)) + bytes(1200))
    segment(root / "orders-1", 0, b"")
    segment(root / "orders-1", 7, BATCH)
    (root / "orders-1" / f"{0:020}.log.deleted").write_bytes(BATCH)
    segment(root / "clicks-0.0123456789abcdef0123456789abcdef-delete", 0, BATCH)
    return root


def sums(path, by):
    document, status = ask("ls", path, "--by", by)
    assert status == 0
    return {row["name"]: row for row in document["rows"]}


def test_a_topic_has_the_sum_of_its_partitions(directory):
    by_topic = sums(directory, "topic")
    assert set(by_topic) == {"orders", "clicks"}
    orders = by_topic["orders"]
    assert (orders["partitions"], orders["segments"], orders["log_bytes"]) == (2, 3, 2 * len(BATCH))
    assert (orders["index_bytes"], orders["preallocated_bytes"]) == (8 + 12, 800 + 1200)
    assert (orders["oldest_timestamp"], orders["newest_timestamp"]) == (1000, 3000)
    assert orders["leaving_bytes"] > 0
    assert orders["file_system_bytes"] is None


def test_what_waits_for_deletion_leaves_whole(directory):
    states = sums(directory, "state")
    leaving = states["delete"]
    assert leaving["leaving_bytes"] == leaving["disk_bytes"] > 0
    assert leaving["log_bytes"] == 0
    assert states["normal"]["partitions"] == 2


def test_a_swap_file_stays_as_a_start_makes_it_part_of_the_log(directory):
    before = sums(directory, "topic")["orders"]
    (directory / "orders-0" / f"{0:020}.log.swap").write_bytes(BATCH)
    after = sums(directory, "topic")["orders"]
    assert after["leaving_bytes"] == before["leaving_bytes"]
    assert after["other_bytes"] == before["other_bytes"] + len(BATCH)


def test_a_log_dir_has_its_file_system(directory):
    (row,) = sums(directory, "log-dir").values()
    assert row["file_system_bytes"] > row["file_system_free_bytes"] >= 0
    assert row["partitions"] == 3


@pytest.fixture
def written(tmp_path):
    """A log of append times whose last segment is preallocated, its indexes behind it."""
    root = log_dir(tmp_path / "d")
    times = {"attributes": 8, "base_timestamp": 1, "max_timestamp": 5000}
    segment(root / "orders-0", 0, put_range(0, 10, **times), timeindex=time_entries((5000, 9)))
    last = b"".join(
        put_range(base, 10, attributes=8, base_timestamp=2, max_timestamp=base * 1000) for base in (10, 20)
    )
    segment(
        root / "orders-0",
        10,
        last + bytes(100),
        offset_entries((9, 0)) + bytes(80),
        time_entries((10_000, 9)) + bytes(120),
    )
    return root


def test_the_newest_record_is_in_the_last_batches_and_append_times_count(written):
    orders = sums(written, "topic")["orders"]
    assert (orders["oldest_timestamp"], orders["newest_timestamp"]) == (5000, 20_000)
    for index in (written / "orders-0").glob("*.timeindex"):
        index.unlink()
    assert sums(written, "topic")["orders"]["newest_timestamp"] == 20_000


def test_a_log_dir_has_its_cache_of_remote_indexes(directory):
    (before,) = sums(directory, "log-dir").values()
    (directory / "remote-log-index-cache").mkdir()
    (directory / "remote-log-index-cache" / "0_a.index").write_bytes(bytes(5000))
    (after,) = sums(directory, "log-dir").values()
    assert after["other_bytes"] - before["other_bytes"] == 5000
    assert after["disk_bytes"] > before["disk_bytes"]
    (selected,) = ask("ls", directory, "--by", "log-dir", "--topic", "orders,clicks")[0]["rows"]
    assert selected["other_bytes"] == before["other_bytes"]


def test_workers_give_the_same_rows(directory):
    assert ask("ls", directory, "--by", "topic") == ask("ls", directory, "--by", "topic", "--jobs", 2)
