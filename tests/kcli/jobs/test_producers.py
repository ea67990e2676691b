"""What a broker remembers of producers after a start: by a snapshot and the log, until they expire."""

from dataclasses import replace
from functools import partial

from formats.producer_snapshot import ProducerEntry
from kcli.jobs.producers import producers
from kcli.logdir.targets import Server
from tests.partitions import codes, locked, orders, rows, unit
from tests.transactions import DAY, NOW, ended, sent, snapshot_file

at_now = partial(producers, now_ms=NOW)
BATCHES = (
    sent(0, 7, count=3, timestamp=NOW - DAY + 1, transactional=False),
    sent(3, 8, epoch=2, count=2, timestamp=NOW - 5),
    ended(5, 8, epoch=3, timestamp=NOW - 4, coordinator_epoch=6),
    sent(6, 9, epoch=1, sequence=4, timestamp=NOW - DAY),
)


def test_a_row_says_what_the_producer_sent_last(tmp_path):
    directory = orders(tmp_path / "d", *BATCHES, clean=False)
    first, second, third = rows(at_now(unit(directory)))
    assert {key: value for key, value in first.items() if key not in {"dir", "cluster_id"}} == {
        "broker_id": 7,
        "topic": "orders",
        "partition": 0,
        "producer_id": 7,
        "producer_epoch": 0,
        "last_sequence": 2,
        "last_offset": 2,
        "last_timestamp": NOW - DAY + 1,
        "coordinator_epoch": -1,
        "current_txn_start_offset": None,
        "expires_at": NOW + 1,
    }
    # a marker that begins an epoch, as transactions of version 2 end, forgets the last batch
    assert (second["producer_epoch"], second["last_sequence"], second["coordinator_epoch"]) == (3, -1, 6)
    assert (third["current_txn_start_offset"], third["expires_at"]) == (6, None)


def test_a_snapshot_loses_those_who_expired_by_the_time_of_the_start(tmp_path):
    directory = orders(tmp_path / "d", *BATCHES)
    snapshot_file(
        directory / f"{7:020}.snapshot",
        ProducerEntry(7, 0, 2, 2, 2, NOW - DAY, -1, -1),
        ProducerEntry(8, 3, -1, -1, 0, NOW - 4, 6, -1),
        ProducerEntry(9, 1, 4, 6, 0, NOW - DAY, -1, 6),
    )

    late, early = at_now(unit(directory)), producers(unit(directory), now_ms=NOW - 1)
    assert [row["producer_id"] for row in rows(late)] == [8, 9]
    assert codes(late) == ["PROD-010"]
    assert [row["producer_id"] for row in rows(early)] == [7, 8, 9]
    assert codes(early) == []

    asked = unit(directory)
    server = Server(producer_expiration_ms=2 * DAY)
    patient = at_now(replace(asked, targets=(replace(asked.target, server=server),)))
    assert [row["expires_at"] for row in rows(patient)] == [NOW + DAY, NOW - 4 + 2 * DAY, None]


def test_a_clean_start_without_a_snapshot_remembers_nobody(tmp_path):
    outcome = at_now(unit(orders(tmp_path / "d", *BATCHES)))
    assert (rows(outcome), codes(outcome)) == ([], ["PROD-007"])


def test_a_running_broker_remembers_what_the_file_holds(tmp_path):
    directory = orders(tmp_path / "d", *BATCHES, clean=False)
    with locked(directory.parent):
        assert [row["producer_id"] for row in rows(at_now(unit(directory)))] == [7, 8, 9]


def test_the_first_line_counts_a_partition_once_and_who_expired(tmp_path, kcli):
    log = sent(0, 9, epoch=1, timestamp=NOW), sent(1, 8, timestamp=NOW)
    orders(tmp_path / "a", *log, clean=False)
    orders(tmp_path / "b", log[0], clean=False)
    both = kcli("producers", tmp_path / "a", tmp_path / "b", "--at", NOW, "-o", "table").stdout
    assert both.startswith("2 producers remembered. 2 transactions open")
    directory = orders(tmp_path / "c", sent(0, 7, timestamp=NOW, transactional=False))
    snapshot_file(directory / f"{1:020}.snapshot", ProducerEntry(7, 0, 0, 0, 0, NOW, -1, -1))
    late = kcli("producers", directory, "--at", NOW + DAY, "-o", "table").stdout
    assert late.startswith("1 producer known, all expired by now: --at TIME shows them.")
