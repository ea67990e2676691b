"""Which producer snapshots are missing, as the recorded logs of brokers and their starts show."""

import pytest

from formats.producer_snapshot import ProducerEntry
from kcli.kafka.integrity.checks.producers import ProducerRun, snapshot_gaps, snapshot_misfits

BASES = (0, 24, 53)
END = 62


@pytest.mark.parametrize(
    ("snapshots", "is_clean", "codes"),
    [
        ((24, 53, 62), True, []),
        ((24, 53), False, []),
        ((53, 62), True, []),  # before 2.8 the last two alone
        ((24, 62), True, ["PROD-008"]),
        ((24, 53), True, ["PROD-008"]),
        ((), True, ["PROD-007"]),
        ((), False, ["PROD-008"]),
        ((24, 53, 62, 99), True, ["PROD-009"]),
    ],
)
def test_gaps(snapshots, is_clean, codes):
    found = snapshot_gaps(snapshots, BASES, END, is_clean=is_clean, has_producers=True)
    assert [code for code, _ in found] == codes


@pytest.mark.parametrize("is_clean", [True, False])
def test_without_producers_none_is_missed(is_clean):
    assert list(snapshot_gaps((), BASES, END, is_clean=is_clean, has_producers=False)) == []


def test_a_log_of_one_segment_that_runs_has_none_yet():
    assert list(snapshot_gaps((), (0,), END, is_clean=False, has_producers=True)) == []


@pytest.mark.parametrize(
    ("epoch", "sequence", "offset", "open_since", "is_found"),
    [
        (0, 8, 596, -1, False),  # the batch at 596 was cleaned: the producer wrote later ones
        (0, 7, 595, 590, False),  # the end marker was cleaned
        (2, -1, -1, -1, False),  # the end marker of a fenced transaction was cleaned
        (0, 5, 593, -1, True),
    ],
)
def test_a_snapshot_of_a_compacted_log_may_know_more_than_its_batches(
    epoch, sequence, offset, open_since, is_found
):
    """As a running 4.3.1 broker leaves them that cleans its log after the roll."""
    run = ProducerRun(epoch=0 if epoch < 2 else 1, last_sequence=7, last_offset=595)
    entry = ProducerEntry(26, epoch, sequence, offset, 0, 1, 0, open_since)
    codes = [
        [code for code, _ in snapshot_misfits((entry,), {26: run}, 599, 0, is_compacted=is_compacted)]
        for is_compacted in (True, False)
    ]
    assert codes == [["PROD-002"] * is_found, codes[1]]
    assert codes[1] != []
