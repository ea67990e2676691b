"""`dump` of a broker's index cache and of LocalTieredStorage: each file with its kind."""

import shutil

import pytest

from tests.commands.answers import ask
from tests.tiered import cluster


@pytest.mark.parametrize("whole", [True, False], ids=["storage", "one partition of it"])
def test_dump_of_local_tiered_storage_reads_each_file_and_knows_its_partition(whole):
    storage = cluster().storage
    path = storage if whole else next(storage.glob("t-txn-0-*"))
    document, status = ask("dump", path)
    rows = [row for row in document["rows"] if row["topic"] == "t-txn"]

    assert (status, document["errors"], document["findings"]) == (0, [], [])
    assert {row["partition"] for row in rows} == {0}
    assert {row["type"] for row in rows} == {
        "dump_batch",
        "dump_index",
        "dump_timeindex",
        "dump_txnindex",
        "dump_producer",
        "dump_leader_epoch",
    }
    assert {row["topic"] for row in document["rows"]} == (
        {"t-delete-records", "t-idle", "t-local", "t-plain", "t-retention", "t-txn"} if whole else {"t-txn"}
    )


def test_a_cached_index_has_the_entries_of_the_index_in_the_storage():
    node1, storage, _ = cluster()
    cached, status = ask("dump", node1 / "remote-log-index-cache", "--only", "dump_txnindex")
    stored, _ = ask("dump", storage, "--topic", "t-txn", "--only", "dump_txnindex")
    fields = ("producer_id", "first_offset", "last_offset", "last_stable_offset")

    def of(document, separator):
        ids = {row["file"]: row["file"].split(separator, 1)[1].split(".")[0] for row in document["rows"]}
        return {(ids[row["file"]], *(row[field] for field in fields)) for row in document["rows"]}

    assert status == 0
    assert of(cached, "_")
    assert of(cached, "_") <= of(stored, "-")


def test_topic_and_partition_select_directories_of_the_storage():
    document, status = ask("dump", cluster().storage, "--topic", "t-plain", "--partition", "1")

    assert status == 0
    assert {(row["topic"], row["partition"]) for row in document["rows"]} == {("t-plain", 1)}


def test_check_and_scan_read_the_logs_of_every_partition_in_the_storage():
    storage = cluster().storage
    document, status = ask("check", storage)
    logs = {path: len(list(path.glob("*.log"))) for path in storage.iterdir()}

    assert (status, document["errors"], document["findings"]) == (0, [], [])
    assert {row["dir"]: (row["result"], row["segments"]) for row in document["rows"]} == {
        str(path): ("clean", count) for path, count in logs.items() if count
    }
    rows = ask("scan", storage, "--topic", "t-txn", "--only", "scan_partition")[0]["rows"]
    assert [(row["topic"], row["segments"], row["is_complete"]) for row in rows] == [("t-txn", 14, True)]


def test_an_empty_directory_in_the_storage_is_no_error(tmp_path):
    storage = tmp_path / "storage"
    shutil.copytree(cluster().storage, storage)
    (storage / "t-deleted-0-N0Z8XN6ITaqfO0jBK5XCvg").mkdir()
    document, status = ask("check", storage)
    assert (status, document["errors"]) == (0, [])
    document, status = ask("check", storage / "t-deleted-0-N0Z8XN6ITaqfO0jBK5XCvg")
    assert status == 3


def test_an_index_cache_has_no_logs_to_check():
    document, status = ask("check", cluster().node1 / "remote-log-index-cache")
    assert (status, [error["error"] for error in document["errors"]]) == (3, ["wrong-kind"])


@pytest.mark.parametrize("command", ["ls", "epoch show", "startup", "lookup offset 1"])
def test_commands_about_logs_refuse_a_directory_of_remote_segments(command):
    path = next(cluster().storage.glob("t-txn-0-*"))
    document, status = ask(*command.split(), path)

    assert (status, document["rows"]) == (3, [])
    (error,) = document["errors"]
    assert error["error"] == "wrong-kind"
    assert error["message"].startswith("this is a directory of remote segments")


def test_names_of_directories_of_the_storage():
    from formats.names import PartitionDir, parse_tiered_dir

    topic_id = "yW3JJjv6TtONh_sVFuEf3g"
    assert parse_tiered_dir(f"a-1.b_c-7-{topic_id}") == (PartitionDir("a-1.b_c", 7), topic_id)
    assert parse_tiered_dir(f"a-0--{topic_id[1:]}") == (PartitionDir("a", 0), f"-{topic_id[1:]}")
    for name in (f"a-{topic_id}", f"-0-{topic_id}", f"a-0-{topic_id}x", f"a-99999999999-{topic_id}", "a-0"):
        assert parse_tiered_dir(name) is None
