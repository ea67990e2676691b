"""`kcli dump --offsets`, `--tail` and `--limit`: which records are shown, and what is read for them."""

import pytest

from tests.commands.answers import codes

LOG = "00000000000000000000.log"


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        ("100..200", 100, 200),
        ("101..102", 101, 102),
        ("390..", 390, 399),
        ("..3", 0, 3),
        ("77", 77, 77),
        ("0..0", 0, 0),
    ],
)
def test_offsets(dump, long_log, words, first, last):
    rows, document = dump(long_log, "--records", "--offsets", words)

    assert [row["offset"] for row in rows["dump_record"]] == list(range(first, last + 1))
    assert (list(rows), codes(document)) == (["dump_record"], [])
    batches, _ = dump(long_log, "--offsets", words)
    assert [row["base_offset"] // 2 for row in batches["dump_batch"]] == list(
        range(first // 2, last // 2 + 1)
    )


def test_offsets_reads_from_where_the_index_leads(dump, long_log):
    data = bytearray((long_log / LOG).read_bytes())
    data[8:12] = (
        b"\xff\xff\xff\xff"  # the first batch is damaged: a scan from the beginning would stumble over it
    )
    (long_log / LOG).write_bytes(data)
    _, document = dump(long_log, "--offsets", "300..310")

    assert codes(document) == []


def test_offsets_without_an_index_says_that_it_scanned(dump, long_log):
    (long_log / "00000000000000000000.index").unlink()
    rows, document = dump(long_log, "--offsets", "300..301")

    assert ([row["base_offset"] for row in rows["dump_batch"]], codes(document)) == ([300], ["DUMP-005"])


def test_an_index_that_leads_astray_is_not_followed(dump, long_log):
    (long_log / "00000000000000000000.index").write_bytes((299).to_bytes(4, "big") + (13).to_bytes(4, "big"))
    rows, document = dump(long_log, "--offsets", "300..301")

    assert ([row["base_offset"] for row in rows["dump_batch"]], codes(document)) == ([300], ["DUMP-005"])


@pytest.mark.parametrize("count", [1, 3, 10, 45, 399, 1000])
def test_tail(dump, long_log, count):
    records, _ = dump(long_log, "--records", "--tail", count)
    batches, _ = dump(long_log, "--tail", count)

    assert [row["offset"] for row in records["dump_record"]] == list(range(max(400 - count, 0), 400))
    assert [row["base_offset"] for row in batches["dump_batch"]] == list(
        range(max(400 - 2 * count, 0), 400, 2)
    )


def test_limit(dump, long_log):
    rows, _ = dump(long_log / LOG, "--limit", 3)

    assert [row["base_offset"] for row in rows["dump_batch"]] == [0, 2, 4]


def test_segments_that_cannot_hold_the_offsets_are_not_read(dump, long_log):
    (long_log / "00000000000000000400.log").write_bytes(b"\xff" * 100)
    _, document = dump(long_log, "--offsets", "10..20")

    assert document["findings"] == []
    assert codes(dump(long_log, "--offsets", "10..400")[1])
