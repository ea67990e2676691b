"""`kcli dump --offsets`, `--tail` and `--limit`: which records are shown, and what is read for them."""

from tests.commands.answers import codes

LOG = "00000000000000000000.log"


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


def test_segments_that_cannot_hold_the_offsets_are_not_read(dump, long_log):
    (long_log / "00000000000000000400.log").write_bytes(b"\xff" * 100)
    _, document = dump(long_log, "--offsets", "10..20")

    assert document["findings"] == []
    assert codes(dump(long_log, "--offsets", "10..400")[1])
