"""`scan`: rows of segments and partitions, the same however logs are cut and whichever engine reads them."""

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.dump.job import Dump
from kcli.dump.options import DumpOptions
from kcli.engine.contract import Unit
from kcli.engine.pool import pool
from kcli.jobs.log_pass import scan
from kcli.kafka.integrity.damaged import verified_batches
from kcli.logdir.buffers import DataFile
from kcli.logdir.find import file_target
from kcli.logdir.segment import DamagedRange, Stop
from kcli.rows import type_name
from tests.builders import put_batch, put_record, put_records
from tests.kcli.jobs.scans import rows, scanned, shape, two_partitions, units_of
from tests.messages import put_set
from tests.partitions import put_range, segment
from tests.seeds import examples

pytestmark = pytest.mark.slow


@pytest.fixture
def data(tmp_path):
    return two_partitions(tmp_path)


def test_rows(data):
    outcomes = scanned(data)
    segments, partitions = rows(outcomes, "scan_segment"), rows(outcomes, "scan_partition")

    assert [(row["topic"], row["partition"], row["file"], row["batches"]) for row in segments] == [
        ("orders", 0, "00000000000000000000.log", 20),
        ("orders", 0, "00000000000000000040.log", 20),
        ("orders", 0, "00000000000000000080.log", 0),
        ("orders", 1, "00000000000000000000.log", 20),
        ("orders", 1, "00000000000000000040.log", 11),
    ]
    assert [
        (row["segments"], row["batches"], row["records"], row["base_offset"], row["last_offset"])
        for row in partitions
    ] == [(3, 40, 80, 0, 79), (2, 31, 60, 0, 61)]
    assert (partitions[0]["epochs"], partitions[0]["producers"], partitions[0]["open_transactions"]) == (
        2,
        20,
        20,
    )
    assert (partitions[0]["first_open_offset"], partitions[0]["is_complete"], partitions[0]["broker_id"]) == (
        40,
        True,
        7,
    )
    assert (partitions[1]["invalid_batches"], partitions[1]["valid_batches"]) == (1, 30)
    assert (partitions[1]["offset_gaps"], partitions[1]["first_gap_offset"]) == (1, 18)
    wrong = len(put_range(18, 2))
    assert (partitions[1]["damaged_ranges"], partitions[1]["damaged_bytes"], partitions[1]["tail_bytes"]) == (
        1,
        wrong + 64,
        9,
    )
    assert [row["stop"] for row in segments] == ["end", "end", "end", "end", "short"]


def test_findings(data):
    reported = [
        (finding.code, os.path.basename(finding.file), finding.position)
        for o in scanned(data)
        for finding in o.findings
    ]
    size = len(put_range(0, 2))

    assert reported == [
        ("LOG-003", "00000000000000000000.log", 9 * size),
        ("LOG-002", "00000000000000000040.log", 10 * size),
        ("LOG-001", "00000000000000000040.log", 11 * size + 64),
    ]


def judged(path):
    """Believed bytes of a log, its damage, and its tail, from a walk batch by batch."""
    marks = bytearray(b"?" * path.stat().st_size)
    with DataFile(str(path)) as file:
        for item in verified_batches(file, 0):
            if isinstance(item, Stop):
                start, end, mark = item.position, file.size, b"t"
                marks[start:end] = marks[start:end].replace(b"?", mark)
                continue
            if isinstance(item, DamagedRange):
                start, end, mark = item.start, item.end, b"d"
            elif item.valid:
                start, end, mark = item.batch.position, item.batch.position + item.batch.header.size, b"b"
            else:
                continue
            assert not marks[start:end].strip(b"?")
            marks[start:end] = mark * (end - start)
    return marks.count(b"b"), marks.count(b"d") + marks.count(b"?"), marks.count(b"t")


@examples(60)
@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from([1, 0x81, 0xFF])), max_size=12),
    st.sampled_from([0, 1, 2000]),
)
@pytest.mark.parametrize(
    "tail",
    [b"", bytes(70), b"\1" * 9, b"\xff" * 99, put_range(40, 2)[:-1]],
    ids=["none", "zeros", "short", "damage", "incomplete"],
)
def test_every_byte_is_counted_once(tmp_path_factory, tail, flips, most):
    directory = tmp_path_factory.mktemp("d") / "t-0"
    data = bytearray(b"".join(put_range(base, 2, magic=2 + (base == 6)) for base in range(0, 40, 2)) + tail)
    for at, mask in flips:
        data[at % len(data)] ^= mask
    segment(directory, 0, data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kcli.kafka.integrity.log_scan.MOST_GAPS", most)
        outcomes = scanned(directory)
    for row in rows(outcomes, "scan_segment") + rows(outcomes, "scan_partition"):
        counted = (row["batch_bytes"], row["damaged_bytes"], row["tail_bytes"])

        assert counted == judged(directory / "00000000000000000000.log")
        assert sum(counted) == row["log_bytes"] == len(data)


def test_means_are_of_the_batches_that_are_believed(tmp_path):
    good = put_range(0, 3)
    segment(
        tmp_path / "t-0",
        0,
        good + put_range(3, 5, magic=3, crc=1) + put_range(8, 5, magic=3) + put_range(13, 5, crc=1),
    )
    for outcomes in (scanned(tmp_path / "t-0"), scanned(tmp_path / "t-0", verify=False)):
        (row,) = rows(outcomes, "scan_segment")
        believed = 2 if row["valid_batches"] else 4

        assert (row["batches"], row["records"]) == (4, 8 if believed == 2 else 18)
        assert row["mean_batch_bytes"] == round(row["batch_bytes"] / believed)
        assert row["records_per_batch"] == row["records"] / believed


def test_records_are_those_of_batches_that_say_how_many_they_have(tmp_path):
    """The header of a compressed message of magic 0 or 1 does not."""
    segment(tmp_path / "t-0", 0, put_range(0, 4) + put_set(4, (1, 2)))
    segment(tmp_path / "t-0", 10, put_set(10, (1, 2)))
    mixed, alone = rows(scanned(tmp_path / "t-0"), "scan_segment")

    assert (mixed["uncounted_batches"], mixed["records"], mixed["records_per_batch"]) == (1, 4, 4)
    assert (alone["uncounted_batches"], alone["records"], alone["records_per_batch"]) == (1, None, None)


def test_overlaps_and_unreadable_markers_are_reported(tmp_path):
    segment(
        tmp_path / "t-0",
        0,
        put_range(0, 5) + put_range(3, 1) + put_range(2, 1, attributes=0x30, producer_id=1),
    )
    (outcome,) = scanned(tmp_path / "t-0")

    assert [(finding.code, finding.message, finding.more) for finding in outcome.findings][1:] == [
        ("LOG-017", "offset 3: not above the batch before it", 1)
    ]
    assert outcome.findings[0].code == "DUMP-002"


def test_only_the_selected_rows(data):
    for kind in ("scan_segment", "scan_partition"):
        outcomes = scanned(data, rows=frozenset({kind}))
        assert {type_name(row) for o in outcomes for row in o.rows} == {kind}


def test_named_files_with_what_was_added_to_their_names(data):
    log = data / "orders-0" / "00000000000000000040.log"
    log.rename(f"{log}.deleted")

    assert len(rows(scanned(data / "orders-0"), "scan_segment")) == 2
    assert [row["file"] for row in rows(scanned(f"{log}.deleted"), "scan_segment")] == [
        "00000000000000000040.log.deleted"
    ]


def test_processes_give_the_same(data):
    assert shape(scanned(data, engine=pool(2))) == shape(scanned(data))


@pytest.mark.spark
@pytest.mark.filterwarnings("default")
def test_spark_gives_the_same(data):
    from kcli.engine.spark import spark

    assert shape(scanned(data, engine=spark("local[2]"), ratio=True)) == shape(scanned(data, ratio=True))


def test_ratio(tmp_path):
    segment(tmp_path / "t-0", 0, put_range(0, 300, codec=4) + put_range(300, 1))
    (row,) = rows(scanned(tmp_path / "t-0", ratio=True), "scan_segment")
    packed = len(put_range(0, 300, codec=4)) - 61

    zstd = row["codecs"][1]
    assert (zstd["codec"], zstd["batches"], zstd["bytes"]) == ("zstd", 1, packed + 61)
    assert zstd["decompressed_bytes"] == len(put_range(0, 300)) - 61
    assert zstd["ratio"] == round(zstd["decompressed_bytes"] / packed, 2)
    assert row["codecs"][0]["ratio"] == 1.0
    assert rows(scanned(tmp_path / "t-0"), "scan_segment")[0]["codecs"][1]["ratio"] is None


def test_ratio_of_batches_that_are_too_large(tmp_path):
    small, large = put_range(0, 10, codec=4), put_range(10, 300, codec=4)
    segment(
        tmp_path / "t-0",
        0,
        small
        + large
        + put_range(310, 300)
        + put_records([put_record(value=bytes(9999))], 2, base_offset=610),
    )
    (outcome,) = scanned(tmp_path / "t-0", ratio=True, max_batch_bytes=len(large) - 1)
    none, snappy, zstd = rows([outcome], "scan_segment")[0]["codecs"]

    assert (none["decompressed_bytes"], none["ratio"]) == (len(put_range(310, 300)) - 61, 1.0)
    assert (snappy["decompressed_bytes"], snappy["ratio"]) == (None, None)
    assert zstd["decompressed_bytes"] == len(put_range(0, 10)) - 61
    (finding,) = outcome.findings
    assert (finding.code, finding.position, finding.more) == ("DUMP-002", len(small), 1)
    assert finding.message == f"offset 10: a batch of {len(large)} bytes; --max-batch-bytes raises the bound"


@pytest.mark.parametrize("bound", [1 << 20, 700, 100, 65])
@pytest.mark.parametrize("codec", [1, 2, 3, 4, 7])
def test_what_cannot_be_decompressed_is_reported_as_dump_does(tmp_path, codec, bound):
    raw = (
        put_batch(b"?", 1, attributes=7, base_offset=1)
        if codec == 7
        else put_records([put_record(value=bytes(9999))], codec, base_offset=1)
    )
    segment(tmp_path / "t-0", 0, raw + put_batch(b"no zstd", 1, attributes=4, base_offset=2))
    dump = Dump(DumpOptions(records=True, max_batch_bytes=bound))
    reported = [finding for unit in units_of(tmp_path / "t-0") for finding in dump(unit).findings]
    (outcome,) = scanned(tmp_path / "t-0", ratio=True, max_batch_bytes=bound)

    assert [finding.code for finding in reported] == ["DUMP-002"]
    assert outcome.findings == reported


def test_a_batch_without_records_is_decompressed_to_nothing(tmp_path):
    segment(tmp_path / "t-0", 0, put_batch(b"", 0))
    (row,) = rows(scanned(tmp_path / "t-0", ratio=True), "scan_segment")

    assert row["codecs"] == [
        {"codec": "none", "batches": 1, "bytes": 61, "decompressed_bytes": 0, "ratio": None}
    ]


def test_a_bug_is_one_units_error(data, monkeypatch):
    monkeypatch.setattr(scan, "scan_log", lambda *_: 1 / 0)

    assert {o.error.error for o in scanned(data)} == {"internal"}


@pytest.mark.slow
@pytest.mark.parametrize("middle", [b"\xff" * 300_000, bytes(300_000)], ids=["damage", "zeros"])
def test_the_rate_holds_for_damage_and_zeros_too(tmp_path, middle):
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(put_records([put_record()]) + middle)
    began = time.monotonic()
    found = scan.ScanLog(scan.ScanOptions(rate=1_000_000, cold=True)).read(
        Unit(number=0, targets=(file_target(str(path)),))
    )

    assert found.error is None
    assert time.monotonic() - began >= 0.3
