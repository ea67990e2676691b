"""What `check` concludes about producers apart from whole partitions, of which tests/kcli/jobs has tests."""

import pytest

from formats.index import AbortedTxn
from kcli.kafka.integrity.checks.producer_files import txn_index_misfits
from kcli.kafka.integrity.checks.producers import Aborted

ENTRY = AbortedTxn(0, 2, 895, 899, 900)


@pytest.mark.parametrize(
    ("log_start", "expected", "codes"),
    [
        (898, {Aborted(2, 898, 899)}, []),
        (898, {Aborted(2, 898, 899), Aborted(3, 900, 901)}, ["IDX-009"]),
        (0, {Aborted(2, 898, 899)}, ["IDX-008", "IDX-009"]),
        (0, {Aborted(2, 895, 899)}, []),
    ],
    ids=["deleted-beginning", "another-without-entry", "other-offsets", "equal"],
)
def test_a_transaction_that_began_in_a_deleted_segment_is_that_of_its_marker(log_start, expected, codes):
    found = txn_index_misfits((ENTRY,), frozenset(expected), frozenset(), log_start, 910)
    assert [code for code, _, _ in found] == codes


@pytest.mark.parametrize(
    ("stable", "begins", "codes"),
    [(900, (), []), (890, (890,), []), (905, (905,), []), (890, (), ["IDX-008"]), (901, (890,), ["IDX-008"])],
)
def test_the_last_stable_offset_is_after_the_marker_or_where_a_transaction_begins(stable, begins, codes):
    entry = ENTRY._replace(last_stable_offset=stable)
    found = txn_index_misfits((entry,), frozenset({Aborted(2, 895, 899)}), frozenset(begins), 0, 910)
    assert [code for code, _, _ in found] == codes
