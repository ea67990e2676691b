"""`kcli explain`: what a finding's code means."""

import pytest

from kcli.kafka.findings.catalogue import CATALOGUE


@pytest.mark.parametrize("code", CATALOGUE)
def test_every_code_is_explained(kcli, code):
    rule = CATALOGUE[code]

    for word in (code, code.lower()):
        result = kcli("explain", word)
        assert result.exit_code == 0
        assert (
            result.stdout == f"{code} ({rule.severity}): {rule.title}\n"
            f"  broker: {rule.broker}\n  what to do: {rule.action}\n"
        )


def test_a_stop_is_unclean_and_never_a_start():
    words = [f"{rule.title} {rule.broker} {rule.action}" for rule in CATALOGUE.values()]
    assert [text for text in words if "unclean start" in text or "starts uncleanly" in text] == []
    assert "from the recovery point on" in CATALOGUE["LOG-003"].broker


def test_without_a_code_all_are_listed(kcli):
    result = kcli("explain")

    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(CATALOGUE)


@pytest.mark.parametrize("word", ["LOG-01", "log-1", "LOG1", "LOG001", "log_001", "LOG-0001"])
def test_a_code_with_other_digits_names_the_code(kcli, word):
    assert (
        kcli("explain", word).stderr == f"kcli: explain {word.upper()}: no such code; did you mean LOG-001?\n"
    )


def test_an_unknown_code_without_a_close_one_names_the_list(kcli):
    assert (
        kcli("explain", "zzzzzz").stderr
        == "kcli: explain ZZZZZZ: no such code; kcli explain alone lists all\n"
    )
