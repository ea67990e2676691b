"""The plan of a truncation: many segments in few lines, and what is lost."""

from kcli.rows.partitions import Where
from kcli.rows.truncation import TruncatedSegment, TruncationRow
from tests.kcli.output.writing import draw_lines

KEPT, DELETED = 20, 30
SIZE = 1024


def segment(number):
    entries = (SIZE, SIZE, 4, 4, 3, 3, 0, 0)
    if number < KEPT:
        return TruncatedSegment(10 * number, "keep", *entries)
    if number == KEPT:
        return TruncatedSegment(10 * number, "cut", SIZE, SIZE // 2, 4, 2, 3, 1, 0, 0)
    return TruncatedSegment(10 * number, "delete", SIZE, None, 4, None, 3, None, 0, None)


def row(**changes):
    values = {
        "where": Where("d/t-0", 1, None, "t", 0),
        "target_offset": 205,
        "kind": "partial",
        "log_end_offset_before": 510,
        "log_end_offset_after": 205,
        "log_end_offset_after_restart": 205,
        "log_start_offset_before": 0,
        "log_start_offset_after": 0,
        "high_watermark_before": 205,
        "high_watermark_after": 205,
        "recovery_point_before": None,
        "recovery_point_after": 205,
        "batches_removed": 61,
        "records_removed": 305,
        "records_lost": 305,
        "bytes_removed": 30 * SIZE + SIZE // 2,
        "first_removed_offset": 205,
        "last_removed_offset": 509,
        "first_removed_timestamp": 1_700_000_000_000,
        "max_removed_timestamp": 1_700_000_000_000,
        "segments": tuple(map(segment, range(KEPT + 1 + DELETED))),
        "epochs_before": (),
        "epochs_after": (),
        "producer_snapshots": (),
        "rounds": (),
        "warnings": (),
    }
    return TruncationRow(**{**dict.fromkeys(TruncationRow._fields), **values, **changes})


def drawn(*rows):
    return draw_lines(rows, width=100)


def test_many_segments_of_one_fate_are_one_line():
    lines = drawn(row())
    header = next(number for number, line in enumerate(lines) if "SEGMENT" in line)

    assert [" ".join(line.split()) for line in lines[header + 1 : header + 4]] == [
        "0 0..199 20 KiB 20 KiB 20 segments: keep",
        "~ 200 200..209 1.0 KiB 512 B cut at 205",
        "- 210 210..509 30 KiB \u2013 30 segments: delete",
    ]
    assert "1 partition loses 305 records, 30 KiB. Segments: 20 kept, 1 cut, 30 deleted." in lines


def test_a_count_that_is_not_known_is_a_least():
    lost = row(lost_offsets="205..509")
    unknown = lost._replace(records_lost=None)

    assert "loses an unknown number of records, 30 KiB." in " ".join(drawn(unknown))
    assert "2 partitions lose at least 305 records" in " ".join(drawn(lost, unknown))


def test_what_was_deleted_before_is_not_lost():
    changes = {"log_start_offset_before": 400, "records_lost": 110, "lost_offsets": "400..509"}
    some, none = drawn(row(**changes)), drawn(row(log_start_offset_before=510, records_lost=0))

    assert any(" ".join(line.split()).startswith("400 → 0 510 → 205") for line in some)
    assert "1 partition loses 110 records, 30 KiB." in " ".join(some)
    assert "The truncation loses nothing." in " ".join(none)
