"""Transactions of every kind on real brokers: kcli's answers from files are those of kafka-transactions.

One hangs as in production: it is committed while the only replica of a partition is away.
"""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from tests.live.tools import asked, same, tools
from tests.processes import free_base_port
from tests.recordings.brokers import Cluster, wait
from tests.recordings.client import create, transactions
from tests.recordings.java_tools import NEWEST, command

pytestmark = pytest.mark.oracle

HERE, AWAY = 1, 2
OPEN_TRANSACTIONS = Path(__file__).parent / "OpenTransactions.java"
ENDS = "caoc"
FAR, SAFE = "far", "safe"
"""A topic of broker 2 alone, and one that takes a marker only with both brokers."""


def rows(cluster: Cluster, *words: object) -> list[dict]:
    """Return the rows of a command over the files of all brokers."""
    dirs = [node.logs for node in cluster.nodes.values()]
    document = asked(*words, *dirs, cluster.nodes[HERE].folder / "metadata")
    assert document["errors"] == []
    return document["rows"]


def tool(cluster: Cluster, *words: object) -> list[dict[str, str]]:
    """Return the table that kafka-transactions prints."""
    server = f"127.0.0.1:{cluster.nodes[HERE].port}"
    printed = cluster.tools.run("kafka-transactions.sh", "--bootstrap-server", server, *words)
    header, *lines = ([cell.strip() for cell in line.split("\t")][:-1] for line in printed.splitlines())
    return [dict(zip(header, line, strict=True)) for line in lines]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    roles = {HERE: "broker,controller", AWAY: "broker"}
    folder: Path = tmp_path_factory.mktemp("transactions")
    with (
        tools() as running,
        Cluster(folder, roles, free_base_port(), Random("transactions"), release=NEWEST) as cluster,
    ):
        cluster.tools = running
        create(cluster, {"__transaction_state": {"cleanup.policy": "compact"}, "near": {}}, [[HERE]])
        create(cluster, {FAR: {}}, [[AWAY]])
        create(cluster, {SAFE: {"min.insync.replicas": 2}}, [[HERE, AWAY]])
        yield cluster


@contextmanager
def open_transactions(cluster: Cluster, *topics: str) -> Iterator[Callable[[], None]]:
    """Give what commits transactions of Kafka's own producer: of version 2, their ends raise the epochs."""
    line = command(str(OPEN_TRANSACTIONS), cluster.bootstrap, *topics, heap=64, release=NEWEST)
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def commit() -> None:
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "committed\n"

        try:
            assert process.stdout.readline() == "sent\n"
            yield commit
        finally:
            process.kill()


def compare_coordinator(cluster: Cluster) -> dict[str, str]:
    """Return the state of each transactional id: the same by the tool and by kcli."""
    by_id = {row["transactional_id"]: row for row in rows(cluster, "txn", "list")}
    listed = {line["TransactionalId"]: line for line in tool(cluster, "list")}
    by_files = {key: (str(row["producer_id"]), row["state"]) for key, row in by_id.items()}
    by_cluster = {key: (line["ProducerId"], line["TransactionState"]) for key, line in listed.items()}
    same("transactional id: producer id, state", by_files, by_cluster)
    for key, row in by_id.items():
        (described,) = tool(cluster, "describe", "--transactional-id", key)
        assert (str(row["producer_epoch"]), str(row["timeout_ms"])) == (
            described["ProducerEpoch"],
            described["TransactionTimeoutMs"],
        )
        names = {f"{partition['topic']}-{partition['partition']}" for partition in row["partitions"]}
        assert names >= {*described["TopicPartitions"].split(",")} - {""}
        if row["state"] == "Ongoing":
            assert str(row["start_timestamp"]) == described["CurrentTransactionStartTimeMs"]
    return {key: row["state"] for key, row in by_id.items()}


def compare_producers(cluster: Cluster, topic: str, broker: int) -> None:
    remembered = [row for row in rows(cluster, "producers", "--topic", topic) if row["broker_id"] == broker]
    found = tool(cluster, "describe-producers", "--topic", topic, "--partition", 0, "--broker-id", broker)
    columns = (
        *("producer_id", "producer_epoch", "coordinator_epoch", "last_sequence", "last_timestamp"),
        "current_txn_start_offset",
    )
    by_files = sorted([str(row[column]) for column in columns] for row in remembered)
    same(
        f"producers of {topic}: {len(columns)} facts of each",
        by_files,
        sorted(list(one.values()) for one in found),
    )
    assert remembered


def hanging(cluster: Cluster) -> set[tuple[str, int, int]]:
    """Return topic, producer id and start offset of what hangs: the same by the tool and by kcli."""
    hang = [row for row in rows(cluster, "txn", "open") if row["hanging"]]
    found = {
        (line["Topic"], int(line["ProducerId"]), int(line["StartOffset"]))
        for broker in cluster.nodes
        for line in tool(cluster, "find-hanging", "--broker-id", broker, "--max-transaction-timeout", 0)
    }
    by_files = {(row["topic"], row["producer_id"], row["start_offset"]) for row in hang}
    same("hanging transaction: topic, producer id, start offset", by_files, found)
    return found


def test_answers_are_those_of_the_running_cluster(cluster):
    transactions(cluster, "near", Random(1), ENDS)
    with open_transactions(cluster, FAR, SAFE) as commit:
        assert hanging(cluster) == set()
        compare_producers(cluster, FAR, AWAY)

        cluster.nodes[AWAY].kill()
        wait(lambda: AWAY not in cluster.metadata().brokers, "broker 2 to be fenced")
        commit()
    states = compare_coordinator(cluster)
    assert states == {
        "tx-0": "CompleteCommit",
        "tx-1": "CompleteCommit",
        "tx-2": "Ongoing",
        f"to-{FAR}": "CompleteCommit",
        f"to-{SAFE}": "PrepareCommit",
    }
    (waits,) = (row for row in rows(cluster, "txn", "open") if row["topic"] == SAFE)
    assert (waits["hanging"], waits["coordinator_state"]) == (False, "PrepareCommit")
    (ends,) = (row for row in rows(cluster, "txn", "list") if row["transactional_id"] == f"to-{SAFE}")
    assert ends["producer_epoch"] == waits["producer_epoch"] + 1

    cluster.nodes[AWAY].start()
    wait(lambda: states_of(cluster)[f"to-{SAFE}"] == "CompleteCommit", "the marker of the other one")
    for topic, broker in (("near", HERE), (FAR, AWAY), (SAFE, HERE)):
        compare_producers(cluster, topic, broker)
    assert {topic for topic, _, _ in hanging(cluster)} == {FAR}

    (row,) = (row for row in rows(cluster, "txn", "open") if row["topic"] == FAR)
    assert (row["transactional_id"], row["coordinator_state"]) == (f"to-{FAR}", "CompleteCommit")
    assert (row["last_stable_offset"], row["records_waiting"]) == (0, 4)
    words = row["abort_command"].replace("HOST:PORT", f"127.0.0.1:{cluster.nodes[AWAY].port}").split()
    cluster.tools.run(*words)
    assert hanging(cluster) == set()
    compare_producers(cluster, FAR, AWAY)


def states_of(cluster: Cluster) -> dict[str, str]:
    return {row["transactional_id"]: row["state"] for row in rows(cluster, "txn", "list")}
