"""The bins of the Spark engine and of the Spark source: consecutive, about equal, as few as it takes."""

from hypothesis import given
from hypothesis import strategies as st

from kcli.engine.contract import Unit
from kcli.engine.spark_bins import BINS_A_CORE, COST_OF_A_UNIT, consecutive_bins


def groups_of(sizes):
    """Return groups of one unit that has so many bytes to read."""
    return [[Unit(number=number, targets=(), end=size)] for number, size in enumerate(sizes)]


def lengths(sizes, *limits):
    return [len(some) for some in consecutive_bins(groups_of(sizes), *limits)]


@given(st.lists(st.integers(1, 1 << 30), min_size=1, max_size=60), st.integers(1, 20))
def test_bins_keep_the_order_and_none_is_much_above_its_share(sizes, count):
    groups = groups_of(sizes)
    bins = list(consecutive_bins(groups, 1, 1, count))
    assert [unit for some in bins for unit in some] == [unit for (unit,) in groups]
    assert len(bins) <= count
    costs = [COST_OF_A_UNIT + size for size in sizes]
    share = -(-sum(costs) // count)
    for some in bins:
        assert sum(COST_OF_A_UNIT + unit.end for unit in some) <= share + max(costs) + 1


def test_equal_costs_make_equal_bins():
    assert lengths([5] * 12, 1, 1, 4) == [3, 3, 3, 3]


def test_a_few_bins_a_core_and_more_for_much_data():
    cost = COST_OF_A_UNIT + 100
    assert len(lengths([100] * 100, 2, cost * 1000)) == 2 * BINS_A_CORE
    assert len(lengths([100] * 1000, 2, cost * 10)) == 100


def test_units_of_a_group_stay_together():
    units = [Unit(number=number, targets=(), end=5) for number in range(6)]
    groups = [units[:2], units[2:3], units[3:]]
    assert list(consecutive_bins(groups, 1, 1, 6)) == groups
