"""Open transactions beside what their coordinators know: which end by themselves, and which hang."""

import time

import pytest
from typer.testing import CliRunner

from commands.app import app
from formats.producer_snapshot import ProducerEntry
from kcli.jobs.open_transactions import DISCARDS_COMMITTED, WRITTEN_AFTER
from tests.builders import put_records
from tests.commands.answers import ask, codes
from tests.messages import put_wrapper
from tests.metadata_records import put_topic
from tests.partitions import locked, log_dir, offset_entries, segment
from tests.transactions import (
    NOW,
    PAYMENTS,
    coordinator,
    ended,
    hanging_log_dir,
    key_of,
    sent,
    snapshot_file,
    state_log,
    value_of,
)

MINUTE = 60_000


@pytest.fixture
def root(tmp_path):
    return hanging_log_dir(tmp_path / "d")


def opened(root, *words, status=1):
    answer, found = ask("txn", "open", root, "--at", NOW, *words)
    assert found == status, answer
    return answer["rows"]


def test_a_row_says_who_holds_the_last_stable_offset(root):
    coordinator(
        root,
        (key_of("pay"), value_of(7, 3, "CompleteCommit", [], timeout=9)),
        (key_of("tax"), value_of(8, 0, "Ongoing", [PAYMENTS])),
    )
    first, second = opened(root)
    assert first == {
        "dir": str(root / "payments-0"),
        "broker_id": 7,
        "cluster_id": "abc",
        "topic": "payments",
        "partition": 0,
        "producer_id": 7,
        "producer_epoch": 3,
        "coordinator_epoch": 0,
        "start_offset": 3,
        "start_timestamp": NOW - 3,
        "last_timestamp": NOW - 3,
        "last_stable_offset": 3,
        "records_waiting": 9,
        "transactional_id": "pay",
        "coordinator_state": "CompleteCommit",
        "timeout_ms": 9,
        "hanging": True,
        "reason": "pay is CompleteCommit in epoch 3, without this partition: " + DISCARDS_COMMITTED,
        "abort_command": "kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic payments "
        "--partition 0 --start-offset 3",
    }
    names = ("start_offset", "last_stable_offset", "transactional_id", "hanging", "reason", "abort_command")
    assert [second[name] for name in names] == [5, 3, "tax", False, "tax is Ongoing", None]


@pytest.mark.parametrize(
    ("value", "hanging", "reason"),
    [
        (value_of(8, 0, "Ongoing", [PAYMENTS], start=NOW - MINUTE - 1), False, "past its timeout"),
        (value_of(8, 1, "PrepareAbort", [PAYMENTS]), False, "PrepareAbort: the coordinator has still to"),
        (value_of(8, 1, "Ongoing", [PAYMENTS]), True, "Ongoing in epoch 1, with this partition"),
        (value_of(8, 0, "Ongoing", [("other", 0)]), True, "Ongoing in epoch 0, without this partition"),
    ],
    ids=["past its timeout", "prepared", "of another epoch", "without it"],
)
def test_what_the_coordinator_does_with_it(root, value, hanging, reason):
    coordinator(root, (key_of("tax"), value))
    row = opened(root, status=int(hanging))[1]
    assert row["hanging"] is hanging
    assert reason in row["reason"]


def test_where_no_coordinator_is_here_the_age_decides(root):
    assert {row["hanging"] for row in opened(root, status=0)} == {None}
    rows = opened(root, "--max-timeout", "1ms")
    assert [row["hanging"] for row in rows] == [True, None]
    assert rows[0]["reason"].startswith("no partition of __transaction_state is here, and its producer wrote")

    coordinator(root, (key_of("tax"), value_of(8, 0, "Ongoing", [PAYMENTS])))
    rows = opened(root, "--max-timeout", "1ms", status=0)
    assert [(row["hanging"], row["abort_command"]) for row in rows] == [(None, None), (False, None)]
    assert "the partitions of __transaction_state here do not know" in rows[0]["reason"]


def test_the_age_in_a_copy_ends_with_its_newest_record(root):
    long_ago = sent(0, 7, timestamp=NOW - 10 * MINUTE) + sent(1, 8, timestamp=NOW)
    segment(root / "payments-0", 0, long_ago)

    def hanging(*words):
        return [row["hanging"] for row in ask("txn", "open", root, *words)[0]["rows"]]

    assert hanging() == [None, None]
    assert hanging("--max-timeout", "9m") == [True, None]
    assert hanging("--at", NOW + 20 * MINUTE) == [True, True]
    with locked(root):
        assert hanging() == [now_is_later(), now_is_later()]


def now_is_later():
    return time.time() * 1000 - NOW > 15 * MINUTE or None


@pytest.mark.parametrize(
    ("state", "epoch", "is_committed"),
    [
        ("CompleteCommit", 3, True),
        ("CompleteCommit", 4, True),
        ("CompleteCommit", 5, False),
        ("CompleteAbort", 3, False),
    ],
)
def test_an_abort_of_what_was_committed_says_what_it_discards(root, state, epoch, is_committed):
    coordinator(root, (key_of("pay"), value_of(7, epoch, state, [])))
    assert (DISCARDS_COMMITTED in opened(root)[0]["reason"]) is is_committed


def test_records_written_after_the_commit_are_no_part_of_it(root):
    coordinator(root, (key_of("pay"), value_of(7, 3, "CompleteCommit", [], updated=NOW - MINUTE)))
    row = opened(root)[0]
    assert row["hanging"] and row["reason"].endswith(WRITTEN_AFTER)


@pytest.mark.parametrize("checkpoint", ["replication-offset-checkpoint", "recovery-point-offset-checkpoint"])
def test_a_log_that_ends_below_a_checkpoint_has_lost_records(root, checkpoint):
    coordinator(root, (key_of("pay"), value_of(7, 3, "CompleteCommit", [])))
    assert opened(root)[0]["hanging"]
    for end, hanging in ((1, True), (2, None)):
        (root / checkpoint).write_text(f"0\n1\n__transaction_state 0 {end}\n")
        assert opened(root)[0]["hanging"] is hanging
    put_topic(root, "__transaction_state")
    answer, status = ask("txn", "list", root)
    assert (codes(answer), status) == (["COORD-001"], 1)
    assert "ends at offset 1, and a checkpoint says that it reached 2" in answer["findings"][0]["message"]
    with locked(root):  # a running broker wrote the checkpoint after the log was read
        assert "COORD-001" not in codes(ask("txn", "list", root)[0])


def test_what_is_gone_behind_the_end_of_a_data_log_is_said_first(root):
    (root / ".kafka_cleanshutdown").touch()
    (root / "recovery-point-offset-checkpoint").write_text("0\n1\npayments 0 500\n")
    for words in (("txn", "open"), ("producers",), ("producers", "--at", "2100-01-01")):
        answer, status = ask(*words, root)
        (lost,) = (finding for finding in answer["findings"] if finding["code"] == "LOG-025")
        assert (lost["dir"], lost["expected"], status) == (str(root / "payments-0"), 12, 1), words
        drawn = CliRunner().invoke(app, [*words, str(root), "-o", "table"]).stdout
        assert drawn.startswith("Incomplete: payments-0: the log was flushed up to offset 500"), words


def test_what_is_said_without_rows_fits_the_terminal_and_has_no_escape_of_a_name(root):
    (root / ".kafka_cleanshutdown").touch()
    (root / "payments-0").rename(root / "pay\x1b[31m-0")
    (root / "recovery-point-offset-checkpoint").write_text("0\n1\npay\x1b[31m 0 500\n")
    words = ["producers", "--at", "2100-01-01", str(root), "-o", "table"]
    drawn = CliRunner().invoke(app, words, env={"COLUMNS": "60"}).stdout
    assert drawn.startswith("Incomplete: pay\\x1b[31m-0: the log was flushed")
    assert max(map(len, drawn.splitlines())) <= 60


def test_a_coordinators_log_that_ends_in_an_incomplete_batch_makes_nothing_hang(root):
    coordinator(root, (key_of("pay"), value_of(7, 3, "CompleteCommit", [])))
    with (root / "__transaction_state-0" / f"{0:020}.log").open("ab") as log:
        log.write(state_log((key_of("pay"), value_of(7, 3, "Ongoing", [PAYMENTS])))[:40])
    assert opened(root, status=0)[0]["hanging"] is None


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_damaged_log_of_a_coordinator_makes_nothing_hang(root, is_clean):
    states = [("pay", 7, "Ongoing"), ("pay", 7, "CompleteCommit"), ("tax", 8, "Empty")]
    coordinator(
        root, *((key_of(name), value_of(producer_id, 3, state)) for name, producer_id, state in states)
    )
    log = root / "__transaction_state-0" / f"{0:020}.log"
    data = bytearray(log.read_bytes())
    data[17] ^= 1  # the checksum of the first batch
    log.write_bytes(data)
    if is_clean:
        (root / ".kafka_cleanshutdown").touch()
    else:
        rows = opened(root)
        assert [row["coordinator_state"] for row in rows] == ["CompleteCommit", "Empty"]
        assert {(row["hanging"], row["abort_command"]) for row in rows} == {(None, None)}

    answer, status = ask("txn", "list", root)
    assert ([row["state"] for row in answer["rows"]], status) == (["CompleteCommit", "Empty"], 1)
    assert ("COORD-001" in codes(answer)) is not is_clean  # a start without a clean stop cuts the log
    assert "TXN-001" not in codes(answer)
    drawn = CliRunner().invoke(app, ["txn", "list", str(root), "-o", "table"]).stdout
    assert drawn.startswith("Incomplete: __transaction_state-0")


def test_a_producer_id_that_no_coordinator_knows_hangs_where_all_are_here(root):
    put_topic(root, "__transaction_state", 2)
    coordinator(root, (key_of("tax"), value_of(8, 0, "Ongoing", [PAYMENTS])))
    assert opened(root, status=0)[0]["reason"].startswith("1 of 2 partitions of __transaction_state here")

    coordinator(root, (key_of("idle"), value_of(6, 0, "Empty")), number=1)
    assert [(row["hanging"], row["reason"]) for row in opened(root)] == [
        (True, "no transactional id has producer id 7"),
        (False, "tax is Ongoing"),
    ]

    coordinator(root, (key_of("idle"), b"\0"), number=1)  # it may say more than can be read
    assert [row["hanging"] for row in opened(root)] == [None, False]


def test_a_transaction_from_before_the_log_start_holds_the_log_start(root):
    (root / "log-start-offset-checkpoint").write_text("0\n1\npayments 0 4\n")
    assert {row["last_stable_offset"] for row in opened(root, status=0)} == {4}


@pytest.mark.parametrize("command", ["list", "open"])
def test_partitions_of_coordinators_that_are_not_here_are_said_first(root, command):
    def drawn(*dirs):
        return CliRunner().invoke(app, ["txn", command, *map(str, dirs), "-o", "table"]).stdout

    pay, tax = (
        (key_of(name), value_of(producer_id, 0, "Empty")) for name, producer_id in (("pay", 7), ("tax", 8))
    )
    coordinator(root, pay)
    assert drawn(root).startswith("May be incomplete: __transaction_state: no metadata here says how many")
    put_topic(log_dir(root.parent / "other"), "__transaction_state", 5)
    message = "Incomplete: __transaction_state: partitions 1..4 of 5 are not here.\n"
    assert drawn(root, root.parent / "other").startswith(message)
    coordinator(root, pay, tax)
    starts = drawn(root, root.parent / "other").partition("\n")[0]
    assert starts.startswith("Incomplete" if command == "list" else "2 open transactions")


def test_the_coordinators_of_one_cluster_say_nothing_of_another(root):
    two = hanging_log_dir(root.parent / "two")
    (two / "meta.properties").write_text("version=1\ncluster.id=two\nnode.id=7\n")
    coordinator(root, (key_of("pay"), value_of(7, 3, "CompleteCommit", [])))
    rows = opened(root, two)
    assert [(row["cluster_id"], row["hanging"]) for row in rows if row["producer_id"] == 7] == [
        ("abc", True),
        ("two", None),
    ]
    assert {row["reason"] for row in rows if row["cluster_id"] == "two"} == {
        "no partition of __transaction_state is here"
    }
    drawn = CliRunner().invoke(app, ["txn", "open", str(root), str(two), "-o", "table"]).stdout
    assert "To end what hangs of cluster abc, as aborted:" in drawn


def test_who_holds_many_transactions_open_is_drawn_at_80_columns(root):
    names = [f"payment-service-7f9c-{number}{'x' * number}" for number in range(12)]
    for number, name in enumerate(names):
        batch = sent(0, 40 + number, timestamp=NOW - number * 86_400_000)
        segment(root / f"payments.settlements-{number}", 0, batch)
        place = [("payments.settlements", number)]
        ids = {name: value_of(40 + number, 0, "CompleteCommit" if number % 2 else "Ongoing", place)}
        coordinator(root, *((key_of(key), value) for key, value in ids.items()), number=number)
    words = ["txn", "open", str(root), "--topic", "payments.settlements", "-o", "table"]
    lines = CliRunner().invoke(app, words, env={"COLUMNS": "80"}).stdout.splitlines()
    head = next(line for line in lines if "TOPIC-PARTITION" in line).split("  ")
    assert {"PRODUCER", "TRANSACTIONAL ID", "STATE"} <= {word.strip() for word in head}
    assert max(map(len, lines)) <= 80
    table = lines[: next(n for n, line in enumerate(lines) if line.startswith("payments.settlements-"))]
    assert all(any(name in line.split() for line in table) for name in names)


def test_topics_are_those_of_data_partitions(root):
    coordinator(root, (key_of("tax"), value_of(8, 0, "Ongoing", [PAYMENTS])))
    segment(root / "quiet-0", 0, sent(0, 9))
    assert [row["topic"] for row in opened(root, "--topic", "payments", status=0)] == ["payments"] * 2
    answer, status = ask("txn", "open", root, "--topic", "absent")
    assert (answer["rows"], status) == ([], 3)


def test_ids_are_those_whose_transaction_holds_what_is_asked_for(root):
    coordinator(
        root,
        (key_of("pay"), value_of(7, 3, "Empty")),
        (key_of("tax"), value_of(8, 0, "Ongoing", [PAYMENTS])),
    )
    for words in (("--topic", "pay*"), ("--partition", 0)):
        answer, status = ask("txn", "list", *words, root)
        assert ([row["transactional_id"] for row in answer["rows"]], status) == (["tax"], 0)
    answer, status = ask("txn", "list", "--topic", "orders", root)
    assert (status, answer["errors"][0]["message"]) == (3, "no transaction here holds what was asked for")


def test_a_path_that_is_missing_is_one_error(root):
    answer, status = ask("txn", "open", root / "absent")
    assert ([error["error"] for error in answer["errors"]], status) == (["not-found"], 3)
    segment(log_dir(root.parent / "quiet") / "quiet-0", 0, sent(0, 9, transactional=False))
    done = CliRunner().invoke(app, ["txn", "open", str(root.parent / "quiet"), "-o", "table"])
    assert done.stdout.startswith("No open transactions.")


def test_a_wrapper_that_cannot_be_opened_hides_the_time_of_a_transaction_behind_it(root):
    (root / ".kafka_cleanshutdown").touch()
    batches = sent(0, 7, 3) + put_wrapper(3, b"no messages") + sent(4, 8)
    (root / "payments-0" / f"{0:020}.log").write_bytes(batches)
    entries = ProducerEntry(7, 3, 0, 0, 0, NOW, -1, 0), ProducerEntry(8, 0, 0, 4, 0, NOW, -1, 4)
    snapshot_file(root / "payments-0" / f"{5:020}.snapshot", *entries)
    rows = opened(root, status=0)
    assert [(row["start_offset"], row["start_timestamp"]) for row in rows] == [(0, NOW), (4, None)]


def test_damage_of_a_coordinators_log_is_a_finding_and_what_follows_is_folded(root):
    coordinator(
        root,
        (key_of("a"), value_of(1, 0, "Empty")),
        (key_of("b"), b"\0"),
        (key_of("c"), value_of(2, 0, "Dead")),
    )
    put_topic(root, "__transaction_state")
    answer, status = ask("txn", "list", root)
    assert [row["transactional_id"] for row in answer["rows"]] == ["a", "c"]
    assert (codes(answer), status) == (["TXN-001"], 1)


def test_bytes_that_cannot_be_read_leave_what_is_behind_them(root):
    coordinator(root, *((key_of(name), value_of(1, 0, "Empty")) for name in "abc"))
    log = root / "__transaction_state-0" / f"{0:020}.log"
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    (root / ".kafka_cleanshutdown").touch()
    answer, status = ask("txn", "list", root)
    assert [row["transactional_id"] for row in answer["rows"]] == ["a", "b", "c"]
    assert "LOG-003" in codes(answer)
    assert not {"COORD-001", "TXN-001"} & {*codes(answer)}  # a coordinator looks at no checksum
    assert status == 1

    size = len(data) // 3
    data[size + 8 : size + 12] = bytes([0, 0, 0, 1])  # the length of the second batch
    log.write_bytes(data)
    log.with_suffix(".index").write_bytes(offset_entries((2, 2 * size)))  # a clean start begins there
    answer, _ = ask("txn", "list", root)
    assert [row["transactional_id"] for row in answer["rows"]] == ["a", "c"]
    assert {"LOG-002", "TXN-001"} <= {*codes(answer)}
    missing, status = ask("txn", "list", root / "payments-0")
    assert (missing["errors"][0]["message"], status) == ("no partition of __transaction_state is here", 3)


def test_check_names_what_hangs_and_what_ends_a_load(root):
    coordinator(
        root,
        (key_of("pay"), value_of(7, 3, "CompleteCommit", [])),
        (key_of("tax"), value_of(8, 0, "Ongoing", [PAYMENTS])),
        (key_of("x"), b"\0"),
    )
    state = ("--since", root.parent / "state")
    answer, _ = ask("check", root, *state)
    assert codes(ask("check", root, *state)[0]) == codes(answer)  # of segments that it knows
    found = {finding["code"]: finding for finding in answer["findings"] if finding["code"].startswith("TXN-")}
    assert set(found) == {"TXN-001", "TXN-004"}
    assert found["TXN-001"]["message"].startswith("offset 2: ")
    assert found["TXN-004"]["message"].startswith("producer 7/3, from offset 3 since ")
    with locked(root):  # a broker that runs may still end it
        assert "TXN-004" not in codes(ask("check", root)[0])


def test_a_follower_that_only_lacks_the_marker_is_no_finding(tmp_path):
    batch, marker = sent(0, 7, count=2), ended(2, 7)
    for number, log in enumerate((batch + marker, batch), 1):
        root = log_dir(tmp_path / f"b{number}", clean=False)
        (root / "meta.properties").write_text(f"version=1\ncluster.id=abc\nnode.id={number}\n")
        segment(root / "payments-0", 0, log)
    coordinator(tmp_path / "b1", (key_of("pay"), value_of(7, 0, "CompleteCommit", [])))
    assert "TXN-004" not in codes(ask("check", tmp_path / "b1", tmp_path / "b2")[0])
    assert opened(tmp_path / "b1", tmp_path / "b2", status=0) == []

    segment(tmp_path / "b1" / "payments-0", 0, batch)  # that copy is as long: the first one counts
    assert codes(ask("check", tmp_path / "b1", tmp_path / "b2")[0]).count("TXN-004") == 1


def test_other_processes_give_the_same_rows(root):
    coordinator(root, (key_of("tax"), value_of(8, 0, "Ongoing", [PAYMENTS])))
    assert opened(root, status=0) == opened(root, "--jobs", 2, status=0)


def test_a_last_batch_without_records_is_read_for_ever_before_3_9_2(root):
    empty = put_records([], base_offset=1, last_offset_delta=0)
    log = state_log((key_of("a"), value_of(1, 0, "Empty"))) + empty
    segment(root / "__transaction_state-0", 0, log)
    for release, expected in (("3.9.1", ["TXN-003"]), ("3.9.2", []), ("4.4", [])):
        answer, _ = ask("txn", "list", root, "--kafka-version", release)
        assert [code for code in codes(answer) if code.startswith("TXN-")] == expected
        assert [row["transactional_id"] for row in answer["rows"]] == ["a"]
