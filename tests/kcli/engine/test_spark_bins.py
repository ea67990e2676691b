"""Bins: consecutive, complete, and of about equal cost."""

from hypothesis import given
from hypothesis import strategies as st

from kcli.engine.spark_bins import bin_count, consecutive_bins


@given(st.lists(st.integers(1, 10**12), max_size=50), st.integers(1, 40))
def test_bins_hold_all_items_in_order_and_none_is_much_above_its_share(costs, count):
    bins = list(consecutive_bins(list(enumerate(costs)), costs, count))

    assert [item for some in bins for item in some] == list(enumerate(costs))
    assert len(bins) <= count
    assert all(bins)
    for some in bins:
        assert sum(cost for _, cost in some) <= sum(costs) / count + max(costs) + 1


def test_equal_costs_give_equal_bins():
    assert [len(some) for some in consecutive_bins(range(12), [5] * 12, 4)] == [3, 3, 3, 3]


def test_bins_are_a_few_for_each_core_and_more_where_they_would_be_large():
    assert bin_count([100] * 10, cores=2, most_bytes=1000) == 8
    assert bin_count([100] * 1000, cores=2, most_bytes=1000) == 100
