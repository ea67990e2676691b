"""Leader epochs of whole partition directories: cuts, recovery, findings, files that cannot be used."""

import pytest

from kcli.jobs import epoch as epoch_jobs
from tests.messages import put_message, put_set
from tests.partitions import (
    codes,
    epoch_lines,
    log_dir,
    offset_entries,
    orders,
    put_range,
    rows,
    segment,
    snapshot,
    unit,
)

LOG = (put_range(0, 10), put_range(10, 10, epoch=2), put_range(20, 5, epoch=4))
EPOCHS = ((0, 0), (2, 10), (4, 20))


def ends(outcome):
    return [
        (row["requested_epoch"], row["leader_epoch"], row["end_offset"], row["rule"]) for row in rows(outcome)
    ]


def shown(outcome):
    return [(row["epoch"], row["start_offset"], row["end_offset"]) for row in rows(outcome)]


def test_show_gives_a_row_per_epoch_with_both_ends(tmp_path):
    directory = orders(tmp_path / "d", *LOG, epochs=EPOCHS)
    before = snapshot(directory)
    outcome = epoch_jobs.show(unit(directory))
    assert rows(outcome)[0] == {
        "dir": str(directory),
        "broker_id": 7,
        "cluster_id": "abc",
        "topic": "orders",
        "partition": 0,
        "epoch": 0,
        "start_offset": 0,
        "end_offset": 10,
        "source": "checkpoint",
    }
    assert shown(outcome) == [(0, 0, 10), (2, 10, 20), (4, 20, 25)]
    assert codes(outcome) == []
    assert snapshot(directory) == before


def test_all_asks_for_every_epoch_and_its_neighbours(tmp_path):
    outcome = epoch_jobs.end_offset(unit(orders(tmp_path / "d", *LOG, epochs=EPOCHS)), epochs=None)
    assert ends(outcome) == [
        (-1, -1, -1, "undefined-request"),
        (0, 0, 10, "between"),
        (1, 0, 10, "between"),
        (2, 2, 20, "between"),
        (3, 2, 20, "between"),
        (4, 4, 25, "latest"),
        (5, -1, -1, "above-all"),
    ]
    assert {(row["log_end_offset"], row["log_end_offset_source"]) for row in rows(outcome)} == {(25, "index")}


def test_a_given_log_end_needs_no_log(tmp_path):
    directory = orders(tmp_path / "d", b"no batches at all, only text", epochs=EPOCHS)
    outcome = epoch_jobs.end_offset(unit(directory), epochs=(4, 2), log_end_offset=22)
    assert ends(outcome) == [(4, 4, 22, "latest"), (2, 2, 20, "between")]
    assert rows(outcome)[0]["log_end_offset_source"] == "given"
    cut = epoch_jobs.end_offset(unit(directory), epochs=(4, 2), log_end_offset=20)
    assert ends(cut) == [(4, -1, -1, "above-all"), (2, 2, 20, "latest")]
    assert codes(cut) == ["EPOCH-003"]


def test_entries_at_the_log_end_are_dropped_unless_the_broker_runs(tmp_path):
    directory = orders(tmp_path / "d", *LOG, epochs=(*EPOCHS, (5, 25), (6, 40)))
    starting = epoch_jobs.show(unit(directory))
    assert shown(starting)[-1] == (4, 20, 25)
    assert codes(starting) == ["EPOCH-003"]
    running = epoch_jobs.show(unit(directory), running=True)
    assert shown(running)[-2:] == [(4, 20, 25), (5, 25, 25)]
    assert ends(epoch_jobs.end_offset(unit(directory), epochs=(5,), running=True)) == [(5, 5, 25, "latest")]


def test_the_log_start_cuts_the_cache(tmp_path):
    outcome = epoch_jobs.show(unit(orders(tmp_path / "d", *LOG, epochs=EPOCHS, log_start=15)))
    assert shown(outcome) == [(2, 15, 20), (4, 20, 25)]
    assert codes(outcome) == ["EPOCH-003"]


def test_lines_that_contradict_each_other_are_a_finding(tmp_path):
    outcome = epoch_jobs.show(unit(orders(tmp_path / "d", *LOG, epochs=((0, 0), (9, 3), (2, 3), (4, 20)))))
    assert shown(outcome) == [(0, 0, 3), (2, 3, 20), (4, 20, 25)]
    assert codes(outcome) == ["EPOCH-002"]


def test_a_missing_checkpoint_is_an_empty_cache_and_a_finding(tmp_path):
    directory = orders(tmp_path / "d", *LOG, epochs=None)
    outcome = epoch_jobs.end_offset(unit(directory), epochs=None)
    assert ends(outcome) == [(-1, -1, -1, "undefined-request"), (0, -1, -1, "above-all")]
    assert codes(outcome) == ["EPOCH-001"]
    batches = epoch_jobs.show(unit(directory), source="batches")
    assert shown(batches) == [(0, 0, 10), (2, 10, 20), (4, 20, 25)]
    assert ({row["source"] for row in rows(batches)}, codes(batches)) == ({"batches"}, [])


@pytest.mark.parametrize("log", [(), (put_set(0, [1, 2]), put_message(2, value=b"x"))], ids=["empty", "old"])
def test_a_log_without_epochs_needs_no_checkpoint(tmp_path, log):
    outcome = epoch_jobs.show(unit(orders(tmp_path / "d", *log, epochs=None)))
    assert (outcome.error, shown(outcome), codes(outcome)) == (None, [], [])


def test_a_torn_log_that_is_recovered_twice_has_not_grown(tmp_path):
    """As it is loaded, for its missing index, and as the last segment."""
    directory = orders(tmp_path / "d", *LOG, put_range(25, 5, epoch=4)[:-7], clean=False)
    (directory / f"{0:020}.index").unlink()
    outcome = epoch_jobs.show(unit(directory), running=True)
    assert set(codes(outcome)) == {"LOG-001", "IDX-001", "START-005"}


def test_recovery_finds_epochs_again(tmp_path):
    directory = orders(tmp_path / "d", *LOG, epochs=((0, 0),), clean=False)
    assert shown(epoch_jobs.show(unit(directory))) == [(0, 0, 10), (2, 10, 20), (4, 20, 25)]
    assert codes(epoch_jobs.show(unit(directory))) == ["EPOCH-003"]
    (directory.parent / ".kafka_cleanshutdown").write_text("")
    assert shown(epoch_jobs.show(unit(directory))) == [(0, 0, 25)]
    (directory / "00000000000000000000.index").unlink()
    assert shown(epoch_jobs.show(unit(directory)))[-1] == (4, 20, 25)
    assert codes(epoch_jobs.show(unit(directory))) == ["IDX-001", "EPOCH-003"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (0, (0, 0, 0)),
        (9, (9, 0, 0)),
        (10, (10, 2, 10)),
        (24, (24, 4, 20)),
        ("earliest", (0, 0, 0)),
        ("latest", (25, 4, 20)),
        (99, (99, 4, 20)),
    ],
)
def test_at_gives_the_epoch_of_an_offset(tmp_path, asked, expected):
    outcome = epoch_jobs.at(unit(orders(tmp_path / "d", *LOG, epochs=EPOCHS)), offset=asked)
    (row,) = rows(outcome)
    assert (row["offset"], row["epoch"], row["start_offset"]) == expected
    assert codes(outcome) == (["EPOCH-005"] if asked == 99 else [])


def test_at_an_offset_that_the_cache_does_not_reach(tmp_path):
    (row,) = rows(epoch_jobs.at(unit(orders(tmp_path / "d", *LOG, epochs=((4, 20),))), offset=5))
    assert (row["epoch"], row["start_offset"]) == (None, None)


def test_the_checkpoint_file_leads_to_its_partition(tmp_path):
    directory = orders(tmp_path / "d", *LOG, epochs=EPOCHS)
    outcome = epoch_jobs.show(unit(directory / "leader-epoch-checkpoint"))
    assert [row["dir"] for row in rows(outcome)] == [str(directory)] * 3


def test_a_lone_checkpoint_needs_a_log_end(tmp_path):
    (tmp_path / "leader-epoch-checkpoint").write_text(epoch_lines(*EPOCHS))
    lone = unit(tmp_path / "leader-epoch-checkpoint")
    outcome = epoch_jobs.show(lone)
    assert (outcome.rows, outcome.error.error, outcome.error.path) == (
        [],
        "no-log",
        f"{tmp_path}/leader-epoch-checkpoint",
    )
    assert ends(epoch_jobs.end_offset(lone, epochs=(4,), log_end_offset=30)) == [(4, 4, 30, "latest")]


def test_a_partition_without_a_segment_is_a_finding(tmp_path):
    directory = log_dir(tmp_path / "d", log_start=5) / "orders-0"
    directory.mkdir()
    (directory / "leader-epoch-checkpoint").write_text(epoch_lines((1, 0)))
    outcome = epoch_jobs.show(unit(directory))
    assert shown(outcome) == [(1, 5, 5)]
    assert codes(outcome) == ["LOG-007", "EPOCH-003"]


def test_a_directory_instead_of_the_checkpoint(tmp_path):
    directory = orders(tmp_path / "d", *LOG, epochs=None)
    (directory / "leader-epoch-checkpoint").mkdir()
    assert epoch_jobs.show(unit(directory)).error.error == "is-a-directory"


@pytest.mark.parametrize(
    ("tail", "index", "end", "expected"),
    [
        (LOG[2][:-1], b"", 10, ["LOG-001"]),
        (b"", None, 10, ["IDX-001"]),
        (b"", offset_entries((9, 1)), 0, ["IDX-002", "EPOCH-003"]),
        (b"", offset_entries((9, 10**6)), 0, ["IDX-002", "EPOCH-003"]),
        (b"", bytes(80), 10, ["IDX-003"]),
    ],
)
def test_the_log_end_after_a_clean_stop_is_the_brokers(tmp_path, tail, index, end, expected):
    directory = orders(tmp_path / "d")
    (directory / f"{0:020d}.index").unlink()
    segment(directory, 0, LOG[0] + tail, index)
    outcome = epoch_jobs.end_offset(unit(directory), epochs=(0,))
    assert ends(outcome) == [(0, 0, 10, "latest") if end else (0, -1, -1, "above-all")]
    assert rows(outcome)[0]["log_end_offset"] == end
    assert codes(outcome) == expected


def test_a_finding_names_the_end_that_a_scan_sees(tmp_path):
    directory = orders(tmp_path / "d", *LOG)
    (directory / f"{0:020d}.index").write_bytes(offset_entries((9, 10**6)))
    (found, _) = epoch_jobs.show(unit(directory)).findings
    assert (found.code, found.expected, found.found) == ("IDX-002", 0, 25)


@pytest.mark.parametrize(("tail", "code"), [(bytes(50), "LOG-009"), (b"\xff" * 50, "LOG-002")])
def test_a_tail_that_a_clean_start_cannot_read_stops_the_load(tmp_path, tail, code):
    directory = orders(tmp_path / "d", LOG[0] + tail)
    outcome = epoch_jobs.end_offset(unit(directory), epochs=(0,))
    assert (outcome.rows, outcome.error.error, outcome.error.position) == ([], "load-failed", len(LOG[0]))
    assert "CorruptRecordException" in outcome.error.message
    assert [(found.code, found.position) for found in outcome.findings] == [(code, len(LOG[0]))]


def test_zeros_after_an_unclean_stop_are_preallocation(tmp_path):
    directory = orders(tmp_path / "d", LOG[0] + bytes(50), clean=False)
    outcome = epoch_jobs.end_offset(unit(directory), epochs=(0,))
    assert ends(outcome) == [(0, 0, 10, "latest")]
    assert codes(outcome) == ["LOG-004"]


def test_an_unclean_stop_is_answered_for_the_recovered_log(tmp_path):
    flipped = bytearray(LOG[1])
    flipped[-1] ^= 1
    directory = orders(tmp_path / "d", LOG[0], bytes(flipped), LOG[2], epochs=EPOCHS, clean=False)
    outcome = epoch_jobs.end_offset(unit(directory), epochs=(0,))
    assert [(row["end_offset"], row["log_end_offset_source"]) for row in rows(outcome)] == [(10, "recovered")]
    assert codes(outcome) == ["START-001", "EPOCH-003"]
    running = epoch_jobs.end_offset(unit(directory), epochs=(0,), running=True)
    assert [(row["log_end_offset"], row["log_end_offset_source"]) for row in rows(running)] == [
        (25, "headers")
    ]


def test_damage_in_an_earlier_segment_is_reported(tmp_path):
    directory = orders(tmp_path / "d", LOG[0] + b"\xff" * 40, epochs=None)
    segment(directory, 10, LOG[1])
    outcome = epoch_jobs.show(unit(directory), source="batches")
    assert shown(outcome) == [(0, 0, 10), (2, 10, 20)]
    assert [(finding.code, finding.file) for finding in outcome.findings] == [
        ("LOG-002", "00000000000000000000.log")
    ]


def test_what_the_log_dir_cannot_tell(tmp_path):
    directory = orders(tmp_path / "d", *LOG, epochs=EPOCHS)
    (tmp_path / "d" / "log-start-offset-checkpoint").write_text("7\n")
    outcome = epoch_jobs.show(unit(directory))
    assert len(outcome.rows) == 3
    assert codes(outcome) == ["DIR-005"]


def test_a_negative_base_offset_is_named_with_its_place(tmp_path):
    first = put_range(0, 5)
    directory = orders(tmp_path / "d", first, put_range(-5, 5, epoch=3), put_range(10, 5), epochs=EPOCHS)
    error = epoch_jobs.show(unit(directory), source="batches").error

    assert (error.error, error.position) == ("corrupt", len(first))
    assert error.path == f"{directory}/{0:020}.log"
