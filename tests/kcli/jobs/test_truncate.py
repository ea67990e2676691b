"""The job of `truncate --dry-run`.

Where its inputs come from, its rows, findings, warnings and refusals.
"""

import json
import os
import subprocess
import sys

import pytest
from jsonschema import Draft202012Validator

from kcli.jobs import truncate
from kcli.jobs.truncate import Request, dry_run
from kcli.kafka.findings.catalogue import CATALOGUE
from kcli.rows.declare import declared_type, row_schema
from kcli.rows.truncation import TruncationRow
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
    time_entries,
    unit,
)

NOW = 1_700_000_000_000
UUID = "5f3a0b1c2d3e4f5061728394a5b6c7d8"


def tens(*bases, epoch=0):
    return [put_range(base, 10, epoch=epoch, timestamp=1000 + base) for base in bases]


SIZE = len(tens(0)[0])


def run(path, **request):
    return dry_run(unit(path), request=Request(now_ms=NOW, **request))


def row(path, **request):
    outcome = run(path, **request)
    assert {finding.code for finding in outcome.findings} <= set(CATALOGUE)
    (found,) = rows(outcome)
    Draft202012Validator(row_schema(declared_type(TruncationRow))).validate(found)
    return found


def named(path):
    (path / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    return path


@pytest.fixture
def partition(tmp_path):
    return named(
        orders(
            tmp_path / "d", *tens(0, 10, 20), epochs=((0, 0), (3, 30)), log_start=5, recovery=12, watermark=25
        )
    )


@pytest.mark.parametrize(
    ("target", "warned"),
    [
        (25, set()),
        (24, {"committed records go"}),
        (20, {"committed records go"}),
        (5, {"committed records go"}),
        (4, {"committed records go", "which is lowered to it"}),
    ],
)
def test_warnings_begin_below_an_offset_not_at_it(tmp_path, target, warned):
    """The high watermark is 25, the log start 5; a batch is cut as a whole, here each has one record."""
    batches = [put_range(offset, 1) for offset in range(30)]
    found = row(named(orders(tmp_path / "d", *batches, log_start=5, watermark=25)), to_offset=target)
    warnings = {"committed records go", "which is lowered to it", "after a restart the log ends"}

    assert {word for word in warnings if any(word in warning for warning in found["warnings"])} == warned


def test_an_epoch_that_begins_at_the_log_end_is_dropped(partition, tmp_path):
    """A start moves the epoch of the log start there, also where the log holds no record from there on."""
    deleted = named(orders(tmp_path / "deleted", *tens(0, 10, 20), log_start=30))
    found = row(deleted, to_offset=30)

    assert (found["epochs_before"], found["epochs_after"]) == ([{"epoch": 0, "start_offset": 30}], [])
    assert "epochs without records are dropped: 0" in found["warnings"]
    assert not any("without records" in warning for warning in row(partition, to_offset=25)["warnings"])


def test_what_will_be_lost_is_saved_from_no_copy(partition):
    [warning] = [text for text in row(partition, to_offset=15)["warnings"] if "kcli dump" in text]
    logs = sorted(partition.glob("*.log"))
    (partition / f"{0:020}.old.log").write_bytes(logs[0].read_bytes())
    found = subprocess.run(
        ["bash", "-c", f"printf '%s\\n' {warning.rpartition(' ')[2]}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert found.split() == [str(log) for log in logs]


@pytest.mark.parametrize("name", ["42.old.log", "42.log", "+42.log", "\u0664\u0662.log"])
def test_a_log_that_is_named_like_one_that_is_not_there_is_refused(partition, name):
    (partition / name).write_bytes(tens(42)[0])
    error = run(partition, to_offset=15).error
    assert (error.error, error.path) == ("unsupported", str(partition / name))
    assert f"the broker takes it for {42:020}.log" in error.message


def test_every_field_of_a_row(partition):
    before = snapshot(partition)
    found = row(partition, to_offset=15)
    assert {
        key: value for key, value in found.items() if key not in {"dir", "warnings", "rescue_command"}
    } == {
        "broker_id": 7,
        "cluster_id": "abc",
        "topic": "orders",
        "partition": 0,
        "target_offset": 15,
        "kind": "partial",
        "log_end_offset_before": 30,
        "log_end_offset_after": 15,
        "log_end_offset_after_restart": 10,
        "log_start_offset_before": 5,
        "log_start_offset_after": 5,
        "high_watermark_before": 25,
        "high_watermark_after": 15,
        "recovery_point_before": 30,
        "recovery_point_after": 15,
        "batches_removed": 2,
        "records_removed": 20,
        "bytes_removed": 2 * SIZE,
        "first_removed_offset": 10,
        "last_removed_offset": 29,
        "first_removed_timestamp": 1010,
        "max_removed_timestamp": 1029,
        "segments": [
            {
                "base_offset": 0,
                "action": "cut",
                "size_before": 3 * SIZE,
                "size_after": SIZE,
                "offset_index_entries_before": 0,
                "offset_index_entries_after": 0,
                "time_index_entries_before": 0,
                "time_index_entries_after": 0,
                "txn_index_entries_before": 0,
                "txn_index_entries_after": 0,
            }
        ],
        "epochs_before": [{"epoch": 0, "start_offset": 5}],
        "epochs_after": [{"epoch": 0, "start_offset": 5}],
        "producer_snapshots": [{"offset": 15, "action": "create"}],
        "lost_offsets": "10..29",
        "records_lost": 20,
        "leader_dir": None,
        "protocol": None,
        "rounds": [],
        "outcome": None,
    }
    assert found["warnings"] == [
        "the target lies below the high watermark 25: committed records go",
        (
            "after a restart the log ends at offset 10, not at 15: the batch that holds the target goes as a "
            "whole"
        ),
        (
            "this saves what will be lost: kcli dump --records --offsets 10..29 -o ndjson "
            f"{partition}/{'?' * 20}.log"
        ),
    ]
    assert snapshot(partition) == before


def test_after_values_are_null_where_a_segment_goes_and_before_values_where_one_comes(tmp_path):
    directory = log_dir(tmp_path / "d") / "orders-0"
    segment(directory, 100, b"".join(tens(100, 110)), offset_entries((19, SIZE)), time_entries((1119, 19)))
    (directory / "leader-epoch-checkpoint").write_text(epoch_lines((0, 100)))
    created, deleted = row(directory, to_offset=50)["segments"]
    keys = ("action", "size_before", "size_after", "time_index_entries_before", "time_index_entries_after")
    assert [created[key] for key in keys] == ["create", None, 0, None, 0]
    assert [deleted[key] for key in keys] == ["delete", 2 * SIZE, None, 1, None]


def test_an_unknown_high_watermark_stays_unknown_and_is_no_target(tmp_path):
    path = orders(tmp_path / "d", *tens(0))
    found = row(path, to_offset=0)
    assert (found["high_watermark_before"], found["high_watermark_after"]) == (None, None)
    assert any("high watermark is unknown" in warning for warning in found["warnings"])
    outcome = run(path, to_high_watermark=True)
    assert (outcome.error.error, outcome.error.path) == ("unknown-high-watermark", str(path))
    assert row(path, to_high_watermark=True, high_watermark=4)["target_offset"] == 4


def test_the_high_watermark_as_target_and_below(partition):
    found = row(partition, to_high_watermark=True)
    assert (found["target_offset"], found["kind"], found["high_watermark_after"]) == (25, "partial", 25)
    assert codes(run(partition, to_high_watermark=True)) == []
    (finding,) = run(partition, to_offset=24).findings
    assert (finding.code, finding.expected, finding.found) == ("TRUNC-002", 25, 24)


def test_an_epoch_as_target(tmp_path):
    path = orders(tmp_path / "d", *tens(0, 10), *tens(20, epoch=4), epochs=((0, 0), (4, 20)))
    assert row(path, to_epoch=0)["target_offset"] == 20
    assert row(path, to_epoch=2)["target_offset"] == 20
    assert (row(path, to_epoch=4)["target_offset"], row(path, to_epoch=4)["kind"]) == (30, "none")
    outcome = run(path, to_epoch=5)
    assert (outcome.rows, outcome.error, codes(outcome)) == ([], None, ["TRUNC-001"])
    assert outcome.findings[0].severity == "error"


def test_the_marker_decides_how_the_broker_stopped(tmp_path):
    log = [*tens(0, 10), bytes(100)]
    stopped, killed = orders(tmp_path / "a", *log), orders(tmp_path / "b", *log, clean=False)
    outcome = run(stopped, to_offset=15)
    assert (outcome.error.error, outcome.error.path, outcome.error.position) == (
        "load-failed",
        str(stopped / f"{0:020d}.log"),
        2 * SIZE,
    )
    assert "the broker would not load this log" in outcome.error.message
    found = row(killed, to_offset=15)
    assert (found["log_end_offset_before"], codes(run(killed, to_offset=15))) == (20, ["LOG-004"])
    assert not any("recovery cuts" in warning for warning in found["warnings"])
    assert row(stopped, to_offset=15, shutdown="unclean")["log_end_offset_before"] == 20


def test_a_torn_batch_that_recovery_cuts_is_no_record_to_save(tmp_path):
    torn = orders(tmp_path / "d", *tens(0, 10), tens(20)[0][:-1], clean=False)
    found = row(torn, to_offset=20)
    assert (found["kind"], found["log_end_offset_before"]) == ("none", 20)
    assert not any("will be lost" in warning for warning in found["warnings"])
    assert codes(run(torn, to_offset=20)) == ["LOG-001"]


def test_a_directory_alone_is_taken_as_clean_and_says_so(tmp_path):
    directory = tmp_path / "orders-0"
    segment(directory, 0, b"".join(tens(0, 10)))
    found = row(named(directory), to_offset=10)
    keys = ("broker_id", "log_start_offset_before", "high_watermark_before")
    assert [found[key] for key in keys] == [None, 0, None]
    assert found["warnings"][0].startswith("no log dir around this directory: taken as stopped cleanly")
    assert "taken as" not in row(directory, to_offset=10, shutdown="clean")["warnings"][0]


def test_the_recovery_point_of_a_directory_alone_is_said_unless_it_is_asked_for(tmp_path):
    directory = tmp_path / "orders-0"
    segment(directory, 0, b"".join(tens(0, 10)))
    truncation = row(directory, to_offset=10, shutdown="unclean")
    assert "taken as not stopped cleanly, with recovery point 0 (" in truncation["warnings"][0]
    truncation = row(directory, to_offset=10, shutdown="unclean", recovery_point=10)
    assert not any("recovery point" in warning for warning in truncation["warnings"])
    segment(directory, 20, b"".join(tens(20)), index=bytes(16))
    assert "not stopped cleanly, with recovery point 20" in row(directory, to_offset=10)["warnings"][0]


def test_a_directory_without_its_metadata_file_is_a_stray(partition):
    (partition / "partition.metadata").unlink()
    assert any("-stray" in warning for warning in row(partition, to_offset=10)["warnings"])


def test_a_start_that_deletes_everything_is_said(tmp_path):
    found = row(orders(tmp_path / "d", *tens(0), log_start=50), to_offset=10)
    assert (found["kind"], found["log_end_offset_before"], found["log_end_offset_after"]) == ("full", 50, 10)
    assert any(
        "the start itself deletes segments first (base offsets 0)" in warning for warning in found["warnings"]
    )


@pytest.mark.parametrize(("name", "code"), [("delete", "leftover"), ("stray", "leftover")])
def test_the_broker_never_truncates_leftovers(tmp_path, name, code):
    directory = log_dir(tmp_path / "d") / f"orders-0.{UUID}-{name}"
    segment(directory, 0, tens(0)[0])
    assert run(directory, to_offset=1).error.error == code


def test_damage_in_what_goes_is_a_finding_with_its_place(partition):
    log = partition / f"{0:020d}.log"
    log.write_bytes(b"".join([*tens(0), bytes(SIZE), *tens(20)]))
    (partition / f"{0:020d}.index").write_bytes(offset_entries((29, 2 * SIZE)))
    outcome = run(partition, to_offset=29)
    assert [(finding.code, finding.position) for finding in outcome.findings] == [("TRUNC-003", SIZE)]
    assert outcome.findings[0].path == str(log)
    assert rows(outcome)[0]["log_end_offset_after_restart"] is None


def test_the_index_settings_reach_recovery(partition):
    asked = {"to_offset": 30, "shutdown": "unclean", "recovery_point": 0, "index_interval_bytes": 0}
    assert row(partition, **asked)["segments"][0]["offset_index_entries_before"] == 2
    assert run(partition, **asked, segment_index_bytes=8).error is not None


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a b", "'a b'/*.log"),
        ("-x", "./-x/*.log"),
        ("caf\udce9", "\"$(printf '\\143\\141\\146\\351')\"/*.log"),
    ],
)
def test_the_command_that_saves_can_be_pasted(name, written):
    assert f"{truncate._quoted(name)}/*.log" == written
    shown = subprocess.run(
        ["sh", "-c", f"printf %s {truncate._quoted(name)}"], capture_output=True, check=True
    )
    assert shown.stdout.endswith(os.fsencode(name))


@pytest.mark.parametrize(
    ("log_start", "target", "removed", "lost"),
    [
        (10, 10, 20, (20, "10..29")),
        (12, 15, 20, (18, "12..29")),  # the batch that holds the log start goes as a whole
        (20, 10, 20, (10, "20..29")),
        (25, 4, 30, (5, "25..29")),
        (29, 0, 30, (1, "29..29")),
        (30, 4, 30, (0, None)),
    ],
)
def test_what_was_deleted_before_is_not_lost(tmp_path, log_start, target, removed, lost):
    path = named(orders(tmp_path / "d", *tens(0, 10, 20), log_start=log_start))
    found = row(path, to_offset=target)

    assert (found["records_removed"], found["first_removed_offset"]) == (removed, 30 - removed)
    assert (found["records_lost"], found["lost_offsets"]) == lost
    assert (found["rescue_command"] is None) == (lost[1] is None)


def test_the_rescue_command_writes_the_records_that_go(partition, tmp_path):
    command = row(partition, to_offset=20)["rescue_command"]
    kcli = f'kcli() {{ {sys.executable} -m kcli "$@"; }}'
    subprocess.run(
        ["sh", "-ec", f"{kcli}; {command}"],
        cwd=tmp_path,
        check=True,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    (saved,) = tmp_path.glob("*.ndjson")

    records = [
        line for line in map(json.loads, saved.read_text().splitlines()) if line["type"] == "dump_record"
    ]
    assert saved.name == "orders-0-20-29.ndjson"
    assert [record["offset"] for record in records] == list(range(20, 30))
    assert {"key", "value", "headers", "timestamp"} <= set(records[0])
