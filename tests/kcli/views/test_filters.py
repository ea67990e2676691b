"""What filters leave: against the filters themselves, value by value."""

import operator

from hypothesis import given
from hypothesis import strategies as st

from kcli.views.filters import HIGHEST, LOWEST, pushed

NUMBERS = st.integers(-5, 5)
COMPARE = {
    "EqualTo": operator.eq,
    "EqualNullSafe": operator.eq,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqual": operator.ge,
    "LessThan": operator.lt,
    "LessThanOrEqual": operator.le,
    "In": lambda number, values: number in values,
}
FILTERS = st.one_of(
    st.tuples(st.sampled_from([name for name in COMPARE if name != "In"]), st.just("offset"), NUMBERS),
    st.tuples(st.just("In"), st.just("offset"), st.lists(NUMBERS).map(tuple)),
)


@given(st.lists(FILTERS, max_size=4))
def test_a_range_holds_exactly_what_all_filters_let_pass(filters):
    left = pushed(filters).range("offset")

    passing = [
        number for number in range(-7, 8) if all(COMPARE[kind](number, value) for kind, _, value in filters)
    ]

    assert [number for number in range(-7, 8) if number in left] == passing
    low, high = left.bounds
    assert all(low <= number <= high for number in passing)
    assert left.few <= set(passing) or not passing


def test_a_range_of_two_columns_is_their_intersection():
    left = pushed([("GreaterThan", "base_offset", 10), ("LessThanOrEqual", "last_offset", 20)])

    assert left.range("base_offset", "last_offset").bounds == (11, 20)
    assert left.range("offset").is_all
    assert left.range("offset").bounds == (LOWEST, HIGHEST)


def test_topics():
    left = pushed([("In", "topic", ("a", "ab", "b")), ("StringStartsWith", "topic", "a")])

    assert [topic for topic in ("a", "ab", "abc", "b", None) if left.wants_topic(topic)] == ["a", "ab"]
    assert pushed([]).wants_topic(None)
    assert not pushed([("EqualTo", "topic", "a")]).wants_topic(None)


def test_an_unknown_filter_leaves_out_nothing():
    refused = [
        ("Not", "topic", None),
        ("StringContains", "topic", "x"),
        ("EqualTo", "topic", None),
        ("EqualTo", "partition", "1"),
        ("EqualTo", "partition", True),
        ("In", "partition", (1, None)),
        ("IsNull", "partition", None),
        ("GreaterThan", "offset", 1.5),
    ]

    left = pushed(refused)

    assert left == pushed([])
    assert left.wants_partition(None)
    assert left.wants_topic("any")


def test_a_partition_that_is_compared_must_be_there():
    left = pushed([("LessThan", "partition", 2)])

    assert [number for number in (0, 1, 2, None) if left.wants_partition(number)] == [0, 1]
