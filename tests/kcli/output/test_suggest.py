"""Suggestions for words that are misspelt."""

import pytest

from kcli.output.suggest import close_to, did_you_mean

KNOWN = ("epoch", "explain", "dump", "demo")


@pytest.mark.parametrize(
    ("word", "close"), [("e", ["epoch", "explain"]), ("dmup", ["dump"]), ("nosuch", []), ("", [])]
)
def test_words_that_begin_so_come_before_those_that_are_alike(word, close):
    assert close_to(word, KNOWN) == close


def test_advice_follows_a_suggestion():
    assert did_you_mean("e", KNOWN) == "did you mean epoch or explain? "
    assert did_you_mean("xyz", KNOWN) == ""
