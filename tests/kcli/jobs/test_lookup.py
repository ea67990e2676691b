"""Lookups on whole partition directories."""

import os

import pytest

from kcli.jobs import lookup
from kcli.jobs.log_lookup import outside
from tests.builders import put_batch, put_record, put_records
from tests.messages import put_message, put_set, put_wrapper
from tests.partitions import (
    codes,
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

A, B, C = (
    put_range(0, 5, timestamp=1000),
    put_range(5, 5, epoch=1, timestamp=2000),
    put_range(20, 10, epoch=2, timestamp=3000),
)


def by_offset(path, offset):
    outcome = lookup.offset(unit(path), offset=offset)
    return rows(outcome)[0], codes(outcome)


def by_time(path, timestamp):
    outcome = lookup.timestamp(unit(path), timestamp=timestamp)
    return rows(outcome)[0], codes(outcome)


def place(row):
    return row["found"], row["offset"], row["record_timestamp"], row["reason"].partition(":")[0]


def closed(directory, base, log, largest, **more):
    """A segment after a clean stop: the time index ends with (largest timestamp, its batch's last offset)."""
    segment(directory, base, log, timeindex=time_entries((largest[0], largest[1] - base)), **more)


@pytest.fixture
def directory(tmp_path):
    path = log_dir(tmp_path / "d") / "orders-0"
    closed(path, 0, A + B, (2004, 9), index=offset_entries((9, len(A))))
    closed(path, 20, C, (3009, 29))
    return path


@pytest.mark.parametrize(("offset", "base", "word"), [(9, 0, "in batch"), (15, 20, "gap")])
def test_an_offset_that_is_found_says_where_and_why(directory, offset, base, word):
    """Which batch it is, and by which entry of the index, the oracle says of random logs."""
    before = snapshot(directory)
    row, found_codes = by_offset(directory, offset)
    assert (row["file"], row["path"]) == (f"{base:020d}.log", f"{directory}/{base:020d}.log")
    assert row["reason"].partition(":")[0] == word
    assert found_codes == []
    assert snapshot(directory) == before


@pytest.mark.parametrize(
    ("offset", "number", "word"), [(30, 30, "log end"), (31, 31, "above log end"), ("latest", 30, "log end")]
)
def test_an_offset_outside_the_log_is_not_found(directory, offset, number, word):
    row, _ = by_offset(directory, offset)
    assert (row["offset"], row["found"], row["reason"].partition(":")[0]) == (number, False, word)
    assert {
        row[key]
        for key in ("segment_base_offset", "file", "path", "position", "leader_epoch", "index_entry_offset")
    } == {None}


def test_offsets_below_the_log_start_are_not_found(directory):
    (directory.parent / "log-start-offset-checkpoint").write_text("0\n1\norders 0 7\n")
    assert by_offset(directory, 6)[0]["reason"].startswith("below log start")
    row, _ = by_offset(directory, "earliest")
    assert (row["offset"], row["batch_base_offset"]) == (7, 5)
    assert place(by_time(directory, 0)[0]) == (True, 7, 2002, "found")


def test_a_lookup_at_which_the_broker_fails_is_an_error(directory):
    (directory / f"{0:020d}.index").write_bytes(offset_entries((5, len(A) - 4)))
    outcome = lookup.offset(unit(directory), offset=9)
    assert (outcome.rows, outcome.error.error, outcome.error.position) == ([], "lookup-failed", len(A) - 4)
    assert "CorruptRecordException" in outcome.error.message


def test_a_lookup_by_time_begins_where_the_index_leads_for_the_log_start(tmp_path):
    """What is before that is not read: a compressed batch that cannot be unpacked."""
    damaged = put_batch(b"no gzip", 5, attributes=1, base_timestamp=1000, max_timestamp=5000)
    path = log_dir(tmp_path / "d", log_start=9) / "orders-0"
    closed(path, 0, damaged + B, (5000, 4), index=offset_entries((9, len(damaged))))
    assert place(by_time(path, 2000)[0]) == (True, 9, 2004, "found")


def test_a_found_record_names_its_segment_and_position(directory):
    row, _ = by_time(directory, 2001)
    assert (row["file"], row["path"]) == (f"{0:020d}.log", f"{directory}/{0:020d}.log")
    assert (row["offset"], row["leader_epoch"]) == (6, 1)
    assert (row["segment_base_offset"], row["position"]) == (0, len(A))


def test_only_the_first_segment_that_reaches_the_time_is_searched(tmp_path):
    path = log_dir(tmp_path / "d", log_start=6) / "orders-0"
    closed(path, 0, put_range(0, 5, timestamp=9000) + put_range(5, 5, timestamp=100), (9004, 4))
    closed(path, 10, put_range(10, 5, timestamp=9500), (9504, 14))
    row, found_codes = by_time(path, 8000)
    assert place(row) == (False, None, None, "not in segment")
    assert found_codes == ["LOOKUP-002"]


def test_the_modification_time_counts_where_no_timestamp_is_known(tmp_path):
    path = log_dir(tmp_path / "d") / "orders-0"
    log = put_records([put_record()], base_timestamp=-1, max_timestamp=-1)
    segment(path, 0, log)
    closed(path, 1, put_range(1, 1, timestamp=5000), (5000, 1))
    os.utime(path / f"{0:020d}.log", (7, 7))
    assert (place(by_time(path, 6000)[0])[0], by_time(path, 6000)[1]) == (False, ["LOOKUP-001", "LOOKUP-002"])
    os.utime(path / f"{0:020d}.log", (1, 1))
    assert place(by_time(path, 4000)[0]) == (True, 1, 5000, "found")


def test_a_log_without_timestamps_has_no_answer(tmp_path):
    path = orders(tmp_path / "d")
    assert place(by_time(path, None)[0]) == place(by_time(path, 5)[0]) == (False, None, None, "no timestamps")
    for file in path.iterdir():
        file.unlink()
    assert place(by_time(path, None)[0]) == (False, None, None, "no timestamps")


def preallocate(directory):
    for extension in ("index", "timeindex"):
        path = directory / f"{20:020d}.{extension}"
        path.write_bytes(bytes(12_000))


def test_a_clean_start_on_preallocated_indexes(directory):
    preallocate(directory)
    row, found_codes = by_time(directory, 3005)
    assert place(row) == (False, None, None, "after all records")
    assert found_codes == ["IDX-003", "IDX-007"]


def test_a_partition_alone_is_recovered_where_its_indexes_are_preallocated(directory):
    preallocate(directory)
    for name in ("meta.properties", ".kafka_cleanshutdown"):
        (directory.parent / name).unlink()
    row, found_codes = by_time(directory, 3005)
    assert place(row) == (True, 25, 3005, "found")
    assert found_codes == ["START-006"]


def test_old_compressed_messages_that_cannot_be_unpacked(tmp_path):
    path = log_dir(tmp_path / "d") / "orders-0"
    good = put_message(1, timestamp=700)
    closed(path, 0, good + put_wrapper(9, put_set(0, [5]), timestamp=900), (900, 9))
    assert place(by_time(path, 650)[0]) == (True, 1, 700, "found")
    outcome = lookup.timestamp(unit(path), timestamp=800)
    assert outcome.rows == []
    assert (outcome.error.error, outcome.error.path, outcome.error.position) == (
        "corrupt",
        f"{path}/{0:020d}.log",
        len(good) + 34,
    )
    outcome = lookup.offset(unit(path), offset=4)
    assert (outcome.error.error, outcome.error.position) == ("lookup-failed", len(good))


def test_a_batch_that_cannot_be_unpacked(tmp_path):
    path = log_dir(tmp_path / "d") / "orders-0"
    good = put_range(0, 3, timestamp=100)
    closed(
        path, 0, good + put_records([put_record()], base_offset=3, attributes=7, max_timestamp=900), (900, 3)
    )
    outcome = lookup.timestamp(unit(path), timestamp=500)
    assert outcome.rows == []
    assert (outcome.error.error, outcome.error.path, outcome.error.position) == (
        "unsupported",
        f"{path}/{0:020d}.log",
        len(good) + 22,
    )


BAD_HEADERS_COUNT = b"\x0c\x00\x00\x02\x01\x01\x01"
"""A record at offset delta 1 without key and value, and -1 headers."""


@pytest.mark.parametrize("codec", [0, 3])
def test_damage_after_the_record_that_is_found_is_not_read(tmp_path, codec):
    """Kafka up to 4.3 reads a compressed batch to its end; a flipped byte showed that 4.4 does not."""
    path = log_dir(tmp_path / "d") / "orders-0"
    batch = put_records([put_record(), BAD_HEADERS_COUNT], codec, base_timestamp=100, max_timestamp=100)
    closed(path, 0, batch, (100, 1))
    assert place(rows(lookup.timestamp(unit(path), timestamp=100))[0]) == (True, 0, 100, "found")


def test_damage_below_the_log_start_fails_a_lookup_that_reads_it(tmp_path):
    path = log_dir(tmp_path / "d", log_start=2) / "orders-0"
    bad = put_records([put_record(), BAD_HEADERS_COUNT], base_timestamp=100, max_timestamp=100)
    closed(path, 0, bad + put_range(2, 3, timestamp=100), (100, 2))
    outcome = lookup.timestamp(unit(path), timestamp=50)
    assert (outcome.rows, outcome.error.field) == ([], "headers count")


@pytest.mark.parametrize(
    ("offset", "word"),
    [(4, "below log start"), (5, "remote"), (7, "remote"), (8, None), (9, None), (10, "log end")],
)
def test_outside_of_a_tiered_log(offset, word):
    reason = outside(offset, 5, 8, 10)
    assert (reason.partition(":")[0] if reason else None) == word
