"""Rows many at once and one by one are twins: the same in every format, of every recorded or damaged log."""

import random
from dataclasses import replace
from itertools import product

import pyarrow.parquet as pq
import pytest

from formats.batch import CONTROL_MASK, DELETE_HORIZON_MASK, TRANSACTIONAL_MASK
from formats.batch import TIMESTAMP_TYPE_MASK as LOG_APPEND_TIME
from formats.compression import LZ4, ZSTD
from kcli.dump.options import DumpOptions
from kcli.jobs.log_pass import log_ranges
from kcli.output.formats import FORMATS
from tests.builders import put_record, put_records
from tests.formats import recorded
from tests.kcli.dump.plain import assert_as_plain
from tests.kcli.dump.random_logs import FILTERS, log
from tests.out_rows import columns_without_head, without_head
from tests.partitions import log_dir

pytestmark = pytest.mark.slow

FILTERED = [DumpOptions(filter=asked) for asked in FILTERS.values()] + [
    DumpOptions(decoder="__cluster_metadata")
]
VALUES = [None, b"", b"x", b"\xff\0"]


def both(kcli, path, words, monkeypatch, form="parquet"):
    """Return the output, stderr and the exit status: the same, many rows at once and one by one."""
    found = []
    for at_once in (True, False):
        with monkeypatch.context() as patch:
            if not at_once:
                patch.setattr(DumpOptions, "is_as_stored", property(lambda _: False))
            out = path.parents[2] / f"out.{form}"
            out.unlink(missing_ok=True)
            to = ("--out", out) if FORMATS[form].extension else ("-o", form)
            result = kcli("dump", *to, *words, path)
            shown = (
                result.stdout
                if not FORMATS[form].extension
                else table(out)
                if form == "parquet"
                else without_head(out.read_text())
            )
            found.append((shown, result.stderr.replace(str(out), ""), result.exit_code))
    assert found[0][0] == found[1][0]
    assert found[0][1:] == found[1][1:]
    return found[0]


def table(out):
    return columns_without_head(pq.read_table(out)) if out.exists() else None


@pytest.mark.parametrize(
    ("words", "form"),
    [
        *product([(), ("--records",)], ["parquet", "csv", "ndjson", "json", "tsv"]),
        *product(
            [("--records", "--columns", "offset,value,file"), ("--columns", "crc,is_valid")], ["csv", "json"]
        ),
        *product([("--records", "--jobs", "2")], ["parquet", "ndjson", "tsv"]),
    ],
)
def test_recorded_logs(words, form, kcli, tmp_path, monkeypatch):
    path = log_dir(tmp_path / "d") / "orders-0" / f"{0:020}.log"
    path.parent.mkdir()
    rows = 0
    for name in (*recorded.LOGS, *recorded.LEGACY) if "--jobs" not in words else recorded.LOGS[:1]:
        path.write_bytes(recorded.stored(f"{name}.log"))
        shown, _, status = both(kcli, path, words, monkeypatch, form)
        assert status in {0, 1}
        rows += shown.num_rows if form == "parquet" else shown.count("\n")
    assert rows > 10


def test_every_kind_of_value(kcli, tmp_path, monkeypatch):
    """Nulls, empty ones, headers, control records; a directory whose name each format escapes differently."""
    path = log_dir(tmp_path / 'd,"\t\u00e9\udcff') / "orders-0" / f"{0:020}.log"
    path.parent.mkdir()
    headers = [(b"k", b"v"), (b"", None), (b'\xff\t,"', b"")]
    records = [
        put_record(key=key, value=value, headers=headers[:count])
        for key in VALUES
        for value in VALUES
        for count in range(4)
    ]
    controls = [
        put_record(key=key, value=bytes(6)) for key in (bytes(4), b"\0\0\0\1", b"\0\0\0\x63", b"\0", None)
    ]
    batches = [
        put_records(records[:9], LZ4, base_offset=100),
        put_records(
            records, base_offset=200, attributes=LOG_APPEND_TIME | DELETE_HORIZON_MASK, base_timestamp=7
        ),
        put_records(
            controls,
            base_offset=300,
            attributes=CONTROL_MASK | TRANSACTIONAL_MASK,
            producer_id=5,
            base_sequence=2**31 - 2,
        ),
        put_records([put_record(value=bytes(200_000))] * 3, ZSTD, base_offset=400),
    ]
    path.write_bytes(b"".join(batches))
    for form in ("csv", "ndjson", "json", "tsv"):
        for words in ((), ("--records",), ("--records", "--null", "~nil~")):
            shown, _, status = both(kcli, path, words, monkeypatch, form)
            assert shown.count("\n") >= 4
            assert status == bool(words)
            assert ("~nil~" in shown) == ("--null" in words and form in {"csv", "tsv"})


@pytest.mark.parametrize("seed", range(3))
def test_damage(seed, kcli, tmp_path, monkeypatch):
    chance = random.Random(seed)
    for name in ("SHOWN_RANGE", "BATCHES_RANGE"):
        monkeypatch.setattr(log_ranges, name, 1000)
    monkeypatch.setattr("formats.record_columns.MOST_RECORDS", 2 if seed % 2 else 1 << 17)
    monkeypatch.setattr("formats.record_columns.CHUNK_RECORDS", 2)
    monkeypatch.setattr("kcli.dump.blocks.PART_RECORDS", 2)
    path = log_dir(tmp_path / "d") / "orders-0" / f"{0:020}.log"
    path.parent.mkdir()
    for _ in range(4):
        data = bytearray(b"".join(log(chance)))
        for _ in range(chance.randrange(3)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        for form in ("parquet", chance.choice(["csv", "ndjson", "json", "tsv"])):
            both(kcli, path, ("--records",), monkeypatch, form)
            both(kcli, path, (), monkeypatch, form)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("records", [False, True], ids=["batches", "records"])
def test_rows_are_those_of_the_plain_twin(seed, records, tmp_path):
    chance = random.Random(seed)
    path = tmp_path / f"{0:020}.log"
    for options in (DumpOptions(records=records), *FILTERED):
        options = replace(options, records=records)
        data = bytearray(b"".join(log(chance)))
        for _ in range(chance.randrange(3)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        assert_as_plain(path, options)


@pytest.mark.parametrize("name", recorded.LEGACY)
@pytest.mark.parametrize("records", [False, True], ids=["batches", "records"])
def test_rows_of_magic_0_and_1_are_those_of_the_plain_twin(name, records, tmp_path):
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(recorded.stored(f"{name}.log"))
    assert_as_plain(path, DumpOptions(records=records))
