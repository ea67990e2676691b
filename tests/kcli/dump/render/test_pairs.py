"""Pairs come back in the order asked for, from memory or from a file."""

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.dump.render import pairs as module
from kcli.dump.render.pairs import Pairs, packed

NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1)
MANY = st.lists(st.lists(st.tuples(NUMBERS | st.integers(0, 3), NUMBERS), max_size=4), max_size=6)


@given(MANY, st.booleans())
def test_pairs_come_back_in_order_and_sorted(lists, is_in_file):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "IN_MEMORY", 20 if is_in_file else 1 << 20)
        patch.setattr(module, "PAIRS_AT_ONCE", 3)
        with closing(Pairs()) as found:
            for some in lists:
                found.add(b"".join(packed(*pair) for pair in some))
            given_pairs = [pair for some in lists for pair in some]

            assert list(found) == given_pairs
            assert list(found.by_first()) == sorted(dict(given_pairs).items())
            assert list(found.by_first(reverse=True)) == sorted(dict(given_pairs).items(), reverse=True)


def test_pairs_stay_in_memory_where_no_directory_takes_a_file(monkeypatch):
    def refuse(*_):
        raise FileNotFoundError

    monkeypatch.setattr(module, "IN_MEMORY", 20)
    monkeypatch.setattr(module, "scratch_directory", refuse)
    with closing(Pairs()) as found:
        for number in range(9):
            found.add(packed(number, -number))

        assert list(found.by_first()) == [(number, -number) for number in range(9)]
