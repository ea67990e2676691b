"""`kcli scan` on the command line."""

import json

import jsonschema
import pytest

from kcli.output.schema import document_schema
from kcli.rows.declare import declared_type
from kcli.rows.scan import ScanPartitionRow, ScanSegmentRow
from kcli.words import parse_rate
from tests.partitions import put_range

pytestmark = pytest.mark.slow


@pytest.fixture
def data(log_dir):
    log_dir.partition("orders-0")
    log_dir.partition("orders-1", end=30)
    log_dir.partition("__transaction_state-0", epochs=((0, 0),), end=1)
    return log_dir.path


def document(kcli, *words):
    done = kcli("scan", "-o", "json", *words)
    answer = json.loads(done.stdout)
    jsonschema.validate(answer, document_schema("scan"))
    return answer, done.exit_code


def test_a_document_has_both_kinds_of_rows(kcli, data):
    answer, status = document(kcli, data)

    assert [(row["type"], row["topic"], row["partition"]) for row in answer["rows"]] == [
        ("scan_segment", "__transaction_state", 0),
        ("scan_partition", "__transaction_state", 0),
        ("scan_segment", "orders", 0),
        ("scan_partition", "orders", 0),
        ("scan_segment", "orders", 1),
        ("scan_partition", "orders", 1),
    ]
    assert (answer["findings"], answer["errors"], status) == ([], [], 0)


def test_a_transaction_that_goes_on_in_the_next_segment_is_not_called_open(kcli, demo):
    log = demo / "payments-0"
    done = " ".join(kcli("scan", log, "-o", "table").stdout.split())
    assert "1 transaction from 21, going on in 27" in done and "open at" not in done
    alone = " ".join(kcli("scan", log / f"{0:020}.log", "-o", "table").stdout.split())
    assert "1 transaction from 21, open at the end" in alone


@pytest.mark.parametrize(
    ("words", "columns"),
    [
        ((), declared_type(ScanSegmentRow).names),
        (("--summary",), declared_type(ScanPartitionRow).names),
        (("--only", "scan_partition"), declared_type(ScanPartitionRow).names),
        (("--only", "scan_segment"), declared_type(ScanSegmentRow).names),
    ],
)
def test_csv_has_one_kind_of_rows(kcli, data, words, columns):
    done = kcli("scan", data, "-o", "csv", *words)
    header, *lines = done.stdout.splitlines()

    assert (done.exit_code, header.split(","), len(lines)) == (0, list(columns), 3)


def test_topic_and_columns_options_apply_to_scan(kcli, data):
    done = kcli(
        "scan", data, "--exclude-internal", "--columns", "partition,records,epochs,valid_batches", "-o", "csv"
    )

    assert done.stdout == "partition,records,epochs,valid_batches\n0,40,3,3\n1,30,3,3\n"


def test_damage_sets_the_exit_status(kcli, data):
    log = data / "orders-0" / "00000000000000000000.log"
    log.write_bytes(log.read_bytes()[:-1] + b"x")
    answer, status = document(kcli, data)

    assert ([finding["code"] for finding in answer["findings"]], status) == (["LOG-003"], 1)
    assert document(kcli, data, "--no-verify")[0]["rows"][2]["unchecked_batches"] == 3


def test_files_that_are_no_log_are_refused(kcli, data):
    answer, status = document(kcli, data / "meta.properties", data / "orders-0")

    assert (answer["errors"][0]["error"], len(answer["rows"]), status) == ("wrong-kind", 2, 4)


def test_every_way_to_read_gives_the_same_rows(kcli, data):
    (data / "orders-0" / "00000000000000000000.log").write_bytes(
        b"".join(put_range(base, 10, codec=3) for base in range(0, 4000, 10))
    )
    expected = kcli("scan", data, "-o", "ndjson", "--ratio").stdout

    for words in (("--cold",), ("--rate", "10M"), ("--jobs", "2")):
        assert kcli("scan", data, "-o", "ndjson", "--ratio", *words).stdout == expected


@pytest.mark.parametrize(("text", "rate"), [("1", 1), ("50M", 50 << 20), ("7K", 7168), ("2G", 2 << 30)])
def test_rates_are_parsed(text, rate):
    assert parse_rate(text, "--rate") == rate


@pytest.mark.parametrize("command", [("scan",), ("rlmm", "dump"), ("ls",)])
@pytest.mark.parametrize("jobs", [(), ("--jobs", "2")])
def test_a_damaged_file_of_the_log_dir_is_a_finding(kcli, log_dir, command, jobs):
    """Else the columns that it would fill are null as if there were none."""
    log_dir.partition("__remote_log_metadata-0")
    (log_dir.path / "meta.properties").write_text("version=7\n")
    answer = json.loads(kcli(*command, "-o", "json", *jobs, log_dir.path / "__remote_log_metadata-0").stdout)
    paths = [finding["path"] for finding in answer["findings"] if finding["code"] == "DIR-005"]
    assert paths == [str(log_dir.path / "meta.properties")]


@pytest.mark.parametrize(
    ("name", "content"), [("partition.metadata", b""), ("leader-epoch-checkpoint", b"0\n7\n0 0\n")]
)
def test_a_log_that_would_not_load_is_an_error_of_scan_and_its_rows_are_given(kcli, data, name, content):
    (data / "orders-0" / name).write_bytes(content)
    scan, ls = (json.loads(kcli(*words, "-o", "json", data).stdout) for words in (("scan",), ("ls",)))

    (error,) = scan["errors"]
    (refused,) = (finding for finding in ls["findings"] if finding["code"] == "START-008")
    assert (error["error"], error["path"], ls["errors"]) == ("load-failed", refused["path"], [])
    assert {row["partition"]: row["is_complete"] for row in scan["rows"] if "is_complete" in row}[0]


def test_zeros_after_a_clean_stop_have_the_verdict_of_ls(kcli, data):
    (data / ".kafka_cleanshutdown").write_bytes(b"")
    with open(data / "orders-0" / "00000000000000000000.log", "ab") as log:
        log.write(bytes(100))
    scan, ls = (json.loads(kcli(*words, "-o", "json", data).stdout) for words in (("scan",), ("ls",)))

    assert [error["error"] for error in scan["errors"]] == ["load-failed"]
    assert "START-008" in {finding["code"] for finding in ls["findings"]}
    assert "LOG-009" in {finding["code"] for finding in scan["findings"]}
    dumped = kcli("dump", "-o", "json", data)
    (refused,) = [
        finding for finding in json.loads(dumped.stdout)["findings"] if finding["code"].startswith("LOG-")
    ]
    assert (dumped.exit_code, refused["severity"]) == (1, "error")
    assert refused in ls["findings"]

    (data / ".kafka_cleanshutdown").unlink()
    dumped = kcli("dump", "-o", "json", data)
    (trimmed,) = [
        finding for finding in json.loads(dumped.stdout)["findings"] if finding["code"].startswith("LOG-")
    ]
    assert (dumped.exit_code, trimmed["code"], trimmed["severity"]) == (0, "LOG-004", "info")


def test_a_log_file_by_itself_is_read_alone(kcli, data):
    (data / "orders-0" / "partition.metadata").write_bytes(b"")
    answer = kcli("scan", data / "orders-0" / "00000000000000000000.log", "-o", "json")

    assert (answer.exit_code, json.loads(answer.stdout)["errors"]) == (0, [])


def test_a_partition_that_would_not_load_is_marked_on_a_terminal(kcli, data):
    (data / "orders-0" / "partition.metadata").write_bytes(b"")
    shown = kcli("scan", "--summary", "-o", "table", data).stdout

    assert [line for line in shown.splitlines() if "orders-0" in line and "does not load" in line]
    assert [line for line in shown.splitlines() if "orders-1" in line and "does not load" not in line]
