"""The properties of the formatter that KIP-405 specifies; the jobs of `rlmm dump` show what its lines are."""

import pytest

from kcli.kafka.remote.kip405 import PROPERTIES, LineParts, parts


def test_without_properties_nothing_more_is_printed():
    assert parts([]) == LineParts()


@pytest.mark.parametrize("name", [name for name in PROPERTIES if name != "sep"])
@pytest.mark.parametrize(("value", "is_on"), [("true", True), ("TRUE", True), ("false", False)])
def test_a_property_turns_its_part_on_or_off(name, value, is_on):
    assert parts([(name, value)]) == LineParts()._replace(**{PROPERTIES[name]: is_on})


def test_the_separator_is_any_text():
    assert parts([("sep", "true"), ("print.version", "true")]) == LineParts(print_version=True, sep="true")


def test_the_last_value_counts():
    assert not parts([("print.version", "true"), ("print.version", "false")]).print_version


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("print.offset", "true", "print.offset: expected one of print.partition, print.message.offset"),
        ("print_version", "true", "print_version: expected one of"),
        ("print.version", "yes", "print.version: expected true or false, found 'yes'"),
        ("print.version", "", "print.version: expected true or false, found ''"),
    ],
)
def test_other_names_and_values_are_refused(name, value, words):
    with pytest.raises(ValueError, match=words):
        parts([(name, value)])
