"""Which events of a metadata partition are here: where an offset up to the end is missing, an event is."""

import pytest

from kcli.kafka.findings.findings import Finding
from kcli.kafka.remote.coverage import (
    CUT_BY_AT,
    DAMAGED,
    ENDS_IN_PART,
    UNREADABLE_COPY,
    EventCoverage,
    merge_coverages,
    missing_events,
)


def coverage(*ranges, start=0, end=0, trouble=None):
    found = EventCoverage(start, end, trouble=trouble)
    for first, last in ranges:
        found.add(first, last)
    return found


def test_events_that_follow_one_another_are_one_range():
    assert coverage((0, 4), (5, 9), (7, 8), (11, 12)).ranges == [(0, 9), (11, 12)]


@pytest.mark.parametrize(
    ("found", "gone"),
    [
        (coverage((10, 19), (25, 29), end=40), [(0, 9), (20, 24), (30, 39)]),
        # a log that is as long as its checkpoint says is whole
        (coverage((0, 29), end=30), []),
        (coverage((0, 29), end=31), [(30, 30)]),
        # events below the log start are gone though their batches are still there, each offset once
        (coverage((0, 14), (20, 29), start=22), [(0, 21)]),
        (coverage((0, 14), (20, 29), (31, 35), start=22), [(0, 21), (30, 30)]),
        (coverage((0, 14), (20, 29), start=17), [(0, 16), (17, 19)]),
        # of an empty log all is gone that it had
        (coverage(start=7, end=9), [(0, 6), (7, 8)]),
        (coverage(), []),
        # after damage nothing is known to be gone but what is before the first event
        (coverage((10, 19), (25, 29), end=40, trouble=DAMAGED), [(0, 9)]),
        (coverage(start=7, end=9, trouble=DAMAGED), []),
        (coverage(start=7, end=9, trouble=UNREADABLE_COPY), []),
        # a file that cannot be read may hold what is missing
        (coverage((10, 19), (25, 29), end=40, trouble=UNREADABLE_COPY), []),
        # what a moment cuts off is not all that is gone
        (coverage((10, 19), trouble=CUT_BY_AT), [(0, 9)]),
    ],
)
def test_which_events_are_gone(found, gone):
    assert found.missing() == gone
    assert found.trouble is None or gone or found.lacks == found.trouble


@pytest.mark.parametrize("trouble", [DAMAGED, CUT_BY_AT])
def test_a_trouble_is_what_a_log_without_a_gap_lacks(trouble):
    assert coverage((0, 19), trouble=trouble).lacks == trouble
    assert coverage((0, 29), end=30).lacks is None


def test_past_a_batch_that_is_there_in_part_a_file_has_no_event():
    torn = coverage((0, 19), (25, 29), end=40)
    torn.add_findings([Finding("LOG-001", "")])
    assert (torn.missing(), torn.trouble) == ([(20, 24), (30, 39)], ENDS_IN_PART)
    torn.add_findings([Finding("LOG-003", ""), Finding("LOG-001", "")])
    assert (torn.missing(), torn.lacks) == ([], DAMAGED)


@pytest.mark.parametrize(
    ("code", "trouble"),
    [
        ("LOG-001", ENDS_IN_PART),
        ("LOG-003", DAMAGED),
        ("RLMM-001", DAMAGED),
        ("RLMM-002", None),  # a null value names no segment
        ("LOG-005", None),  # a broker appends
        ("LOG-004", None),  # zeros after the last event, as of a file that was made larger before
        ("DIR-002", None),
    ],
)
def test_events_are_missing_after_damage_and_where_a_value_is_not_taken(code, trouble):
    found = coverage((0, 9))
    found.add_findings([Finding(code, "")])

    assert found.lacks == trouble


def test_a_file_that_cannot_be_read_stays_the_trouble():
    found = coverage((0, 9), trouble=UNREADABLE_COPY)
    found.add_findings([Finding("LOG-003", "")])

    assert found.trouble == UNREADABLE_COPY


def test_copies_have_together_what_one_of_them_has():
    found = merge_coverages([coverage((20, 29), start=20, end=30), coverage((0, 9), (15, 21), end=10)])

    assert (found.start, found.end) == (0, 30)
    assert found.ranges == [(0, 9), (15, 29)]
    assert found.missing() == [(10, 14)]


@pytest.mark.parametrize(
    ("troubles", "trouble"),
    [
        ((None, UNREADABLE_COPY), None),
        ((DAMAGED, None), None),
        ((UNREADABLE_COPY, DAMAGED), DAMAGED),
        ((UNREADABLE_COPY, UNREADABLE_COPY), UNREADABLE_COPY),
    ],
)
def test_a_copy_without_trouble_makes_up_for_the_others(troubles, trouble):
    assert merge_coverages([coverage((0, 9), trouble=trouble) for trouble in troubles]).trouble == trouble


def test_words_say_which_offsets_are_gone():
    assert missing_events((0, 9)) == "the events before offset 10 are gone"
    assert missing_events((0, 0)) == "the events before offset 1 are gone"
    assert missing_events((5, 5), " of t-0") == "the events of offset 5 of t-0 are gone"
    assert missing_events((5, 6), " of t-0") == "the events of offsets 5..6 of t-0 are gone"
