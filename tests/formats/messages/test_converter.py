"""JSON text as Jackson and Java print it."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.messages.converter import json_text, to_json
from formats.messages.declare import declared

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (1024.5, "1024.5"),
        (0.001, "0.001"),
        (0.000999, "9.99E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (-1.5e10, "-1.5E10"),
        (1e-10, "1.0E-10"),
        (5e-324, "4.9E-324"),
        (5.9e-323, "5.9E-323"),
        (2e23, "2.0E23"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
    ],
)
def test_double(value: float, text: str):
    """As `Double.toString` since Java 19: the nearest two digits where one would do."""
    assert json_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(math.inf, "Infinity"), (-math.inf, "-Infinity"), (math.nan, "NaN"), (1.5, 1.5)]
)
def test_no_number_of_json_is_a_text(value: float, text: str | float):
    """As Jackson prints it; so any writer of JSON can."""
    schema = declared("Quota 1 versions 0\n    value  float64")["Quota"]
    assert to_json(schema, 0, {"value": value}) == {"value": text}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_means_itself(value: float):
    assert float(json_text(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", '""'),
        ("plain", '"plain"'),
        ('quo"te\\', '"quo\\"te\\\\"'),
        ("\b\f\n\r\t", '"\\b\\f\\n\\r\\t"'),
        ("\0\x1b\x1f", '"\\u0000\\u001B\\u001F"'),
        ("é中😀\u2028\x7f/", '"é中😀\u2028\x7f/"'),
        (None, "null"),
        (True, "true"),
        (-5, "-5"),
        ([], "[]"),
        ({}, "{}"),
        ({"a": [1, {"b": None}], "c": "d"}, '{"a":[1,{"b":null}],"c":"d"}'),
    ],
)
def test_text(value: object, text: str):
    assert json_text(value) == text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_it_is_json(value: object):
    assert json.loads(json_text(value)) == value
