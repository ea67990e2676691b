"""`truncate --rescue`: every record that a truncation loses is in the file, as it was; what is refused."""

import base64
import json

import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from commands.app import app
from formats.compression import ZSTD
from tests.builders import put_record, put_records
from tests.partitions import orders, records_of, segment, snapshot

pytestmark = pytest.mark.slow

COMMIT = (bytes(4)[:2] + b"\0\1", bytes(6))
HEADERS = [(b"h", b"x"), (b"", None), (b"h", b""), (b"\xff\\xff", b"\xfe")]
RECORDS = [
    {"key": None, "value": None},
    {"key": b"", "value": b""},
    {"key": b"text", "value": b"\xff\x00\xfe"},
    {"key": b"\xc3\xa9", "value": b"v", "headers": HEADERS, "timestamp_delta": -7},
]


def kcli(*words):
    return CliRunner().invoke(app, ["truncate", "--dry-run", *(str(word) for word in words)])


def batch(base, **fields):
    """Return a batch of the four records above."""
    records = [put_record(offset_delta=number, **record) for number, record in enumerate(RECORDS)]
    fields = {"base_timestamp": 1000 + base, "max_timestamp": 1000 + base, "last_offset_delta": 3, **fields}
    return put_records(records, base_offset=base, **fields)


@pytest.fixture
def partition(tmp_path):
    """Three batches in a first segment, then one of LogAppendTime, an open transaction and its marker."""
    appended = batch(12, codec=ZSTD, attributes=0x08, max_timestamp=9999, partition_leader_epoch=3)
    open_one = batch(16, attributes=0x10, producer_id=5, producer_epoch=2, base_sequence=40)
    key, value = COMMIT
    marker = put_records(
        [put_record(key=key, value=value)],
        base_offset=20,
        attributes=0x30,
        producer_id=5,
        producer_epoch=2,
        base_timestamp=2000,
        max_timestamp=2000,
    )
    directory = orders(tmp_path / "d", batch(0), batch(4), batch(8), watermark=9, epochs=((0, 0), (3, 12)))
    segment(directory, 12, appended + open_one + marker)
    return directory


def as_stored(header, record):
    """Return a record in the terms of a rescued one."""
    appended, is_control = header.attributes & 0x08, header.attributes & 0x20
    return (
        record.offset,
        header.max_timestamp if appended else record.timestamp,
        "LogAppendTime" if appended else "CreateTime",
        record.key,
        record.value,
        [(name, value) for name, value in record.headers],
        header.partition_leader_epoch,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence + record.offset - header.base_offset if header.base_sequence >= 0 else -1,
        bool(header.attributes & 0x10),
        "COMMIT" if is_control else None,
    )


FIELDS = ("offset", "timestamp", "timestamp_type", "key", "value", "headers", "partition_leader_epoch")
FIELDS += ("producer_id", "producer_epoch", "sequence", "is_transactional", "control_type")


def read_back(path):
    """Return what a file of rescued records has, in the same terms."""
    if path.suffix == ".parquet":
        rows, bytes_of = pyarrow.parquet.read_table(path).to_pylist(), lambda value: value
    else:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        assert {row.pop("type") for row in rows} <= {"rescued_record"}
        bytes_of = lambda text: None if text is None else base64.b64decode(text, validate=True)
    found = []
    for row in rows:
        row["key"], row["value"] = bytes_of(row["key"]), bytes_of(row["value"])
        row["headers"] = [
            (
                header["key"].encode() if header["key_bytes"] is None else bytes_of(header["key_bytes"]),
                bytes_of(header["value"]),
            )
            for header in row["headers"]
        ]
        found.append((row["topic"], row["partition"], tuple(row[name] for name in FIELDS)))
    return found


@pytest.mark.parametrize("extension", ["ndjson", "parquet"])
@pytest.mark.parametrize(
    ("words", "first"),
    [
        (["--to-offset", 4], 4),
        (["--to-high-watermark"], 8),  # the batch that holds the high watermark goes as a whole
        (["--leader-epochs", "0:0,1:4@9"], 4),
        (["--to-offset", 0], 0),
    ],
)
def test_what_is_read_back_is_what_the_truncation_loses(partition, tmp_path, extension, words, first):
    before = snapshot(partition)
    out = tmp_path / f"lost.{extension}"
    done = kcli(*words, "--rescue", out, "-o", "json", partition)
    assert done.exit_code == 1, done.output
    expected = [("orders", 0, as_stored(*record)) for record in records_of(partition, first)]
    assert read_back(out) == expected
    assert f"{len(expected)} records of 1 partition saved in {out}\n" in done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert row["lost_offsets"] == f"{first}..20"
    assert snapshot(partition) == before


def test_every_partition_is_in_the_file_also_of_several_workers(partition, tmp_path):
    other = partition.parent / "orders-1"
    segment(other, 0, batch(0) + batch(4))
    expected = [
        (path.name[:-2], number, as_stored(*record))
        for number, path in enumerate((partition, other))
        for record in records_of(path, 4)
    ]
    for jobs in ("1", "2"):
        out = tmp_path / f"lost-{jobs}.ndjson"
        done = kcli("--to-offset", 4, "--rescue", out, "--jobs", jobs, "--limit", 1, partition.parent)
        assert done.exit_code == 1, done.output
        assert read_back(out) == expected


def test_past_damage_is_saved_what_can_be_read_and_a_finding_says_the_rest(partition, tmp_path):
    log = partition / f"{0:020}.log"
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    out = tmp_path / "lost.ndjson"
    done = kcli("--to-offset", 4, "--rescue", out, "-o", "json", partition)
    assert done.exit_code == 1
    assert "LOG-003" in {finding["code"] for finding in json.loads(done.stdout)["findings"]}
    saved = [record[0] for _, _, record in read_back(out)]
    assert {4, 12, 20} <= set(saved)


def test_where_nothing_goes_the_file_has_no_records(partition, tmp_path):
    out = tmp_path / "lost.parquet"
    done = kcli("--to-offset", 21, "--rescue", out, "-o", "json", partition)
    assert (done.exit_code, read_back(out)) == (0, [])
    assert json.loads(done.stdout)["rows"][0]["lost_offsets"] is None


def test_without_an_answer_there_is_no_file(tmp_path):
    out = tmp_path / "lost.ndjson"
    done = kcli("--to-offset", 4, "--rescue", out, tmp_path / "nothing")
    assert (done.exit_code, list(tmp_path.iterdir())) == (3, [])


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("lost.csv", 2, "ends in .ndjson or .parquet"),
        ("d/lost.ndjson", 5, "kcli never writes there"),
        ("d/orders-0/lost.ndjson", 5, "kcli never writes there"),
        ("there.ndjson", 5, "choose another name"),
    ],
)
def test_refused_files(partition, tmp_path, name, status, message):
    (tmp_path / "there.ndjson").write_text("saved before\n")
    done = kcli("--to-offset", 4, "--rescue", tmp_path / name, partition)
    assert (done.exit_code, done.stdout) == (status, "")
    assert message in done.stderr
    assert (tmp_path / "there.ndjson").read_text() == "saved before\n"


def test_a_file_that_takes_no_more_is_one_error(partition, tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kcli.dump.rescue.os.fsync", full)
    out = tmp_path / "lost.ndjson"
    done = kcli("--to-offset", 4, "--rescue", out, partition)
    assert (done.exit_code, out.exists()) == (4, False)
    assert f"--rescue {out}: cannot write: no space left on device" in done.stderr


def test_what_is_saved_needs_no_advice_to_save_it(partition, tmp_path):
    words = ["--to-offset", "4", partition, "-o", "json"]
    (plain,) = json.loads(kcli(*words).stdout)["rows"]
    (saved,) = json.loads(kcli(*words, "--rescue", tmp_path / "made" / "lost.ndjson").stdout)["rows"]

    assert plain["warnings"][-1].startswith("this saves what will be lost: kcli dump")
    assert saved == {**plain, "warnings": plain["warnings"][:-1]}
    assert len((tmp_path / "made" / "lost.ndjson").read_text().splitlines()) > 0
