"""`kcli dump`: every file of a log dir, selections, damage, and the options of kafka-dump-log."""

import json
from pathlib import Path

import pytest

from kcli.dump import pauses
from kcli.jobs.log_pass.log_ranges import SHOWN_RANGE, WRITTEN_RANGE
from kcli.rows.declare import declared_type
from kcli.rows.dump import DumpBatchRow
from kcli.rows.partitions import FROM_FILE
from tests.builders import put_record, put_records
from tests.formats import recorded
from tests.formats.control_values import VALUES
from tests.unprivileged import as_unprivileged

FILES = Path(__file__).parents[1] / "data" / "files"
LOG = "00000000000000000000.log"
QUORUM_CONTROLS = ("SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS")
DIRECTORY_TEXT = "A_4DBAUGBwgJCgsMDQ4PEA"
TOPIC_ID = "u4NdSfWRQjaZ_ENyxMXLJA"


# Every file


def everything(log_dir):
    """A log dir with one of every file that Kafka keeps in it, and two that it does not know."""
    folder = log_dir.partition("orders-0")
    files = {
        "00000000000000000007.snapshot": "txn.snapshot",
        "00000000000000000000.txnindex": "txn.txnindex",
        "partition.metadata": "partition.metadata",
        "quorum-state": "quorum-state",
        "00000000000000000000.index.deleted": "segments.index",
        "00000000000000000000.timeindex.swap": "segments.timeindex",
    }
    for name, source in files.items():
        (folder / name).write_bytes((FILES / source).read_bytes())
    (folder / "00000000000000000000.log.cleaned").write_bytes((folder / LOG).read_bytes())
    (folder / "00000000000000000165-0000000001.checkpoint").write_bytes(
        recorded.stored("snapshot.checkpoint")
    )
    (folder / "notes.txt").write_text("mine")
    (folder / "remote_log_snapshot").write_bytes(bytes(18))
    log_dir.path.joinpath("replication-offset-checkpoint").write_text("0\n1\norders 0 40\n")
    log_dir.path.joinpath(".kafka_cleanshutdown").write_bytes((FILES / "clean-shutdown").read_bytes())
    log_dir.path.joinpath("_rlmm_committed_offsets").write_text("0\n1\n3 17\n")
    log_dir.path.joinpath(".lock").write_text("")
    log_dir.path.joinpath("mine").mkdir()
    cache = log_dir.path / "remote-log-index-cache"
    cache.mkdir()
    (cache / f"42_{TOPIC_ID}.index").write_bytes((FILES / "segments.index").read_bytes())
    return folder


def test_every_file_has_a_row(dump, log_dir):
    everything(log_dir)
    rows, document = dump(log_dir.path)

    assert document["errors"] == []
    found = {(row["file"], kind) for kind, rows_of_kind in rows.items() for row in rows_of_kind}
    assert found == {
        (LOG, "dump_batch"),
        (f"{LOG}.cleaned", "dump_batch"),
        ("00000000000000000165-0000000001.checkpoint", "dump_batch"),
        ("00000000000000000000.index.deleted", "dump_index"),
        ("00000000000000000000.timeindex.swap", "dump_timeindex"),
        ("00000000000000000000.txnindex", "dump_txnindex"),
        ("00000000000000000007.snapshot", "dump_producer"),
        ("leader-epoch-checkpoint", "dump_leader_epoch"),
        ("partition.metadata", "dump_partition_metadata"),
        ("quorum-state", "dump_quorum_state"),
        ("remote_log_snapshot", "rlmm_snapshot"),
        ("notes.txt", "dump_file"),
        ("meta.properties", "dump_meta_properties"),
        ("replication-offset-checkpoint", "dump_offset"),
        (".kafka_cleanshutdown", "dump_clean_shutdown"),
        ("_rlmm_committed_offsets", "rlmm_committed_offset"),
        (".lock", "dump_file"),
        ("mine", "dump_file"),
        (f"42_{TOPIC_ID}.index", "dump_index"),
    }
    (offset,) = rows["dump_offset"]
    assert (offset["topic"], offset["partition"], offset["offset"]) == ("orders", 0, 40)
    assert [(row["epoch"], row["start_offset"]) for row in rows["dump_leader_epoch"]] == [
        (0, 0),
        (2, 10),
        (3, 25),
    ]
    assert {(row["file"], row["kind"], row["size_bytes"]) for row in rows["dump_file"]} == {
        ("notes.txt", "unknown", 4),
        (".lock", "lock", 0),
        ("mine", "unknown", None),
    }


def test_one_partition_of_a_log_dir_leaves_out_what_belongs_to_none(dump, log_dir):
    everything(log_dir)
    log_dir.partition("other-1")
    rows, _ = dump(log_dir.path, "--topic", "other")

    assert {row["file"] for kind in rows.values() for row in kind} == {LOG, "leader-epoch-checkpoint"}


def test_files_and_directories_mixed(dump, log_dir):
    folder = log_dir.partition("orders-0")
    rows, _ = dump(folder / LOG, log_dir.path / "meta.properties", folder)

    assert len(rows["dump_batch"]) == 6
    assert rows["dump_meta_properties"][0]["node_id"] == 1


def test_a_file_of_a_log_dir_has_the_facts_of_it(dump, log_dir):
    log_dir.partition("orders-0")
    named, _ = dump(log_dir.path / "meta.properties")
    found, _ = dump(log_dir.path, "--only", "dump_meta_properties")

    assert named == {"dump_meta_properties": found["dump_meta_properties"]}
    assert named["dump_meta_properties"][0]["cluster_id"]


def test_keys_of_a_batch_are_those_of_the_contract(dump, log_dir):
    rows, _ = dump(log_dir.partition("orders-0") / LOG)

    assert list(rows["dump_batch"][1]) == [
        *(column.name for column in FROM_FILE),
        *declared_type(DumpBatchRow).names[len(FROM_FILE) :],
    ]
    batch = rows["dump_batch"][1]
    assert (batch["topic"], batch["partition"], batch["cluster_id"]) == (
        "orders",
        0,
        "d4AOWUsZhgy8XcdU-9gSlQ",
    )
    assert (batch["base_offset"], batch["last_offset"], batch["count"], batch["is_valid"]) == (
        10,
        24,
        15,
        True,
    )


def test_a_file_that_cannot_be_decoded_is_an_error_and_the_others_are_shown(dump, log_dir):
    folder = log_dir.partition("orders-0")
    (folder / "partition.metadata").write_text("x")
    rows, document = dump(folder)

    assert (document["status"], [error["path"] for error in document["errors"]]) == (
        4,
        [str(folder / "partition.metadata")],
    )
    assert len(rows["dump_batch"]) == 3


# Records


@pytest.mark.parametrize("words", [("--records",), (), ("-o", "text"), ("-o", "text", "--print-data-log")])
def test_output_is_the_same_however_often_a_scan_stops(kcli, tmp_path, monkeypatch, words):
    for name in ("shapes", "codec-zstd"):
        (tmp_path / f"{name}-0").mkdir()
        (tmp_path / f"{name}-0" / LOG).write_bytes(recorded.stored(f"{name}.log"))
    output = words if "-o" in words else (*words, "-o", "ndjson")
    command = ("dump", *output, tmp_path / "shapes-0", tmp_path / "codec-zstd-0")
    whole = kcli(*command).stdout
    monkeypatch.setattr(pauses, "ROWS_PER_CALL", 1)

    assert kcli(*command).stdout == whole
    monkeypatch.setattr(pauses, "_suspended", Forgetful())
    assert kcli(*command).stdout == whole


@pytest.mark.parametrize(
    ("words", "size"),
    [
        (("--out", "x.parquet"), WRITTEN_RANGE),
        (("--out", "x/", "--where", "offset < 3"), WRITTEN_RANGE),
        (("--out", "x.html"), SHOWN_RANGE),
        (("--out", "x.txt", "-o", "text"), SHOWN_RANGE),
        (("-o", "ndjson"), SHOWN_RANGE),
    ],
)
def test_with_spark_only_what_workers_write_comes_in_large_ranges(kcli, monkeypatch, words, size):
    commands = []
    monkeypatch.setattr("kcli.cli.run.run", commands.append)
    kcli("dump", "--records", "--spark", *words, LOG)

    assert [command.split.keywords for command in commands] == [{"size": size}]


class Forgetful(dict):
    """A store that keeps nothing: every piece of a scan starts anew, as in another process."""

    def __setitem__(self, key, value):
        pass


# Damage


def test_damage_is_a_finding_and_the_dump_goes_on(dump, long_log):
    data = (long_log / LOG).read_bytes()
    size = len(data) // 200
    at = 50 * size
    (long_log / LOG).write_bytes(data[:at] + b"\xff" * size + data[at + size :])
    rows, document = dump(long_log / LOG)

    assert [row["base_offset"] for row in rows["dump_batch"]] == [
        offset for offset in range(0, 400, 2) if offset != 100
    ]
    (finding,) = document["findings"]
    assert document["status"] == 1
    assert (finding["code"], finding["position"], finding["expected"]) == ("LOG-002", at, 102)
    assert (
        finding["message"]
        == f"bytes {at} to {at + size} are no batches (bad length -1); next good offset 102"
    )


# Words that are refused, and what cannot be read


def test_a_directory_that_cannot_be_listed_spoils_nothing_else(log_dir):
    log_dir.partition("orders-0")
    cache = log_dir.path / "remote-log-index-cache"
    cache.mkdir()
    cache.chmod(0)
    run = "CliRunner().invoke(app, ['dump', '-o', 'json', sys.argv[1]]).stdout"
    # once before, so that nothing is left to import
    answer = as_unprivileged(
        f"from commands.app import app\nfrom typer.testing import CliRunner\n{run}",
        f"print({run})",
        log_dir.path,
    )
    document = json.loads(answer)

    assert "dump_batch" in {row["type"] for row in document["rows"]}
    assert [(error["path"], error["error"]) for error in document["errors"]] == [
        (str(cache), "no-permission")
    ]


@pytest.mark.parametrize("words", [(), ("--records",)])
def test_a_directory_prints_its_batches_or_records(kcli, log_dir, words):
    log_dir.partition("orders-0")
    only = "dump_record" if words else "dump_batch"
    answer = kcli("dump", log_dir.path, "-o", "tsv", *words)

    assert (answer.exit_code, answer.stdout) == (
        0,
        kcli("dump", log_dir.path, "-o", "tsv", "--only", only, *words).stdout,
    )
    assert answer.stdout.count("\n") > 2


# The metadata log


def metadata_log(log_dir, records, controls=()):
    """Return a metadata log with these values, and before them control records by type and value."""
    folder = log_dir.path / "__cluster_metadata-0"
    folder.mkdir()
    marks = [
        put_records([put_record(key=bytes([0, 0, 0, kind]), value=value)], attributes=0x20)
        for kind, value in controls
    ]
    data = put_records([put_record(number, value=value) for number, value in enumerate(records)])
    (folder / LOG).write_bytes(b"".join([*marks, data]))
    return folder / LOG


def test_a_control_record_of_the_quorum_is_decoded(kcli, log_dir):
    known = {
        kind: (bytes.fromhex(value), said) for kind, name, value, said in VALUES if name in QUORUM_CONTROLS
    }
    path = metadata_log(log_dir, [], [(kind, value) for kind, (value, _) in known.items()])
    found = json.loads(kcli("dump", "--records", path, "-o", "json").stdout)["rows"]

    assert [row["control_type"] for row in found] == list(QUORUM_CONTROLS)
    voters = dict(found[-1]["decoded_value"]["voters"][0])
    assert voters.pop("voterDirectoryId") == DIRECTORY_TEXT
    assert voters["endpoints"] == [{"name": "CONTROLLER", "host": "h\u00e9", "port": 65535}]
    assert voters["kRaftVersionFeature"] == {"minSupportedVersion": 0, "maxSupportedVersion": 1}
    assert [row["decoded_value"] for row in found[:3]] == [said for _, said in list(known.values())[:3]]
    shown = kcli("dump", "--records", path, "-o", "table").stdout
    assert "KRAFT_VOTERS 1 CONTROLLER://h\u00e9:65535" in shown
    path.write_bytes(path.read_bytes()[found[-1]["position"] :])
    alone = " ".join(kcli("dump", "--records", path, "-o", "table").stdout.split())
    assert f"voters voterId=1 voterDirectoryId={DIRECTORY_TEXT} endpoints=[{{name=CONTROLLER host=h" in alone
    assert "kRaftVersionFeature={minSupportedVersion=0 maxSupportedVersion=1}" in alone


def test_a_metadata_record_shows_its_type_and_the_names_behind_its_numbers(kcli, log_dir):
    topic_id = bytes(range(16))
    values = [
        b"\1\2\0\7orders" + topic_id + b"\0",
        b"\1\5\0\0\0\0\3" + topic_id + b"\1\1\4\0\0\0\2",
        b"\1\4\0\2\7orders\2a\2b\0",
        b"\1\x11\0\0\0\0\1" + bytes(8) + b"\1\0\1\xff",
        b"\1\x14\0\0",
    ]
    path = metadata_log(log_dir, values)
    shown = kcli("dump", "--records", path, "-o", "table").stdout

    def alone(*words: str) -> list[str]:
        done = kcli("dump", "--records", path, "-o", "table", *words)
        return [" ".join(line.split()) for line in done.stdout.splitlines()]

    assert "resourceType 2 (TOPIC)" in alone("--offsets", "2..2")
    assert "fenced -1 (false)" in alone("--offsets", "3..3")
    assert "topicId AAECAwQFBgcICQoLDA0ODw (orders)" in alone(
        "--where", "record_type = 'PARTITION_CHANGE_RECORD'"
    )
    assert any(line.startswith("1 ") for line in alone("--offsets", "1..2") if " orders-3 " in line)
    assert "PARTITION_CHANGE orders-3 leader=2" in shown
    assert "CONFIG topic orders a=b" in shown
    assert "BROKER_REGISTRATION_CHANGE brokerId=1 fenced=false" in shown
    assert "NO_OP" in shown
    assert "KEY" not in shown, "no record of the metadata log has one"
