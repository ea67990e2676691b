"""The plan of a truncation: many segments in few lines, and what is lost."""

import io

from rich.console import Console

from kcli.output.screen import Screen
from kcli.output.table.truncations import draw_truncations
from kcli.rows.places import Where
from kcli.rows.truncation import TruncatedSegment, TruncationRow

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
    out = io.StringIO()
    console = Console(file=out, width=80, color_system=None, _environ={})
    for part in draw_truncations(rows, Screen(80), ()):
        console.print(part, crop=False)
    return out.getvalue().splitlines()


def test_many_segments_of_one_fate_are_three_lines():
    lines = drawn(row())
    header = next(number for number, line in enumerate(lines) if "SEGMENT" in line)

    assert [" ".join(line.split()) for line in lines[header + 1 : header + 8]] == [
        "0 0..9 1.0 KiB 1.0 KiB",
        "10 10..189 18 KiB 18 KiB 18 segments that stay",
        "190 190..199 1.0 KiB 1.0 KiB",
        "~ 200 200..209 1.0 KiB 512 B cut at 205, index 4→2, timeindex 3→1",
        "- 210 210..219 1.0 KiB \u2013 delete",
        "- 220 220..499 28 KiB \u2013 28 segments to delete",
        "- 500 500..509 1.0 KiB \u2013 delete",
    ]
    text = " ".join(lines)
    assert "Lost: 305 records in 61 batches, 30 KiB, offsets 205..509" in text
    assert "Plan: 20 segments stay, 1 cut, 30 deleted. 1 partition loses 305 records, 30 KiB." in text


def test_a_count_that_is_not_known_is_a_least():
    assert "loses an unknown number of records, 30 KiB." in " ".join(
        drawn(row(records_removed=None, records_lost=None))
    )


def test_what_was_deleted_before_is_removed_but_not_lost():
    changes = {"log_start_offset_before": 400, "records_lost": 110, "lost_offsets": "400..509"}
    some = " ".join(drawn(row(**changes)))
    assert "Removed: 305 records in 61 batches, 30 KiB, offsets 205..509" in some
    assert (
        "Lost: 110 records, offsets 400..509. Those below the log start offset 400 were deleted before."
        in some
    )
    assert "1 partition loses 110 records, 30 KiB." in some
    assert "Lost: offsets 400..509. Those" in " ".join(drawn(row(**{**changes, "records_lost": None})))

    none = drawn(row(log_start_offset_before=510, records_lost=0))
    assert "Lost: no records, they were deleted before: the log starts at 510." in " ".join(none)
    assert "30 deleted. Nothing is lost." in " ".join(none)


def test_of_many_partitions_there_is_a_table():
    lines = drawn(*(row(where=Where(f"d/t-{number}", 1, None, "t", number)) for number in range(5)))

    assert " ".join(lines[2].split()) == "TOPIC-PARTITION TO END AFTER HW RECORDS LOST CUT DELETED"
    assert "5 partitions lose 1,525 records" in " ".join(lines)
