"""The options of the format: what they give, and the words for those that cannot be used."""

import json

import pytest

from kcli.dump.options import RecordFilter
from kcli.logdir.targets import ALL_PARTITIONS, Selection
from kcli.views.options import OPTION_NAMES, query
from kcli.words import WordError


def test_defaults():
    asked = query({"path": "/data"})

    assert (asked.view, asked.paths, asked.partitions) == ("batches", ("/data",), None)
    assert (asked.selection, asked.filter) == (ALL_PARTITIONS, RecordFilter())


@pytest.mark.parametrize(
    ("options", "paths"),
    [
        ({"path": "a, b,"}, ("a", "b")),
        ({"paths": '["a,b", "c"]'}, ("a,b", "c")),
        ({"paths": "a,b"}, ("a", "b")),
        ({"path": "a", "paths": '["b"]'}, ("a", "b")),
        ({"path": "file:/data/x,file:///data/y"}, ("/data/x", "/data/y")),
        ({"path": "/data/k-*"}, ("/data/k-*",)),
    ],
)
def test_paths(options, paths):
    assert query(options).paths == paths


def test_a_path_with_a_comma_is_one_path_if_it_exists(tmp_path):
    (tmp_path / "a,b").mkdir()

    assert query({"path": str(tmp_path / "a,b")}).paths == (str(tmp_path / "a,b"),)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no path"),
        ({"path": " , "}, "no path"),
        ({"path": "a", "view": "batch"}, "option view batch: one of batches, records"),
        ({"path": "a", "vew": "batches"}, "option vew: not one of view, path"),
        ({"path": "s3://bucket/x"}, "kcli reads files, not URLs"),
        ({"paths": "[1]"}, "option paths: a JSON list of texts"),
        ({"path": "a", "view": "findings", "of": "batches"}, "option of: not one of view, path"),
        ({"path": "a", "partitions": "0"}, "option partitions '0': expected a whole number from 1"),
        ({"path": "a", "leftovers": "yes"}, "option leftovers yes: one of true, false"),
        ({"path": "a", "offsets": "..x"}, "option offsets ..x: expected offsets such as 100..200"),
        ({"path": "a", "view": "epochs", "epochs": "1"}, "option epochs: it is not for the view epochs"),
        ({"path": "a", "view": "rlmm", "topic": "a"}, "option topic: it is not for the view rlmm"),
        ({"path": "a", "pushdown": "once"}, "option pushdown: not one of view, path"),
        ({"path": "a", "topic": ""}, "option topic: an empty name"),
        ({"path": "a", "topic": "a,"}, "option topic: an empty name"),
        ({"path": "a", "partition": ""}, "partition '': expected a whole number"),
        ({"path": "a", "epochs": "1_0"}, "option epochs '1_0': expected a whole number"),
        ({"path": "a", "producer_ids": "0..1000000"}, "more than 1000000 numbers"),
        ({"path": "a", "times": "soon.."}, "time 'soon': expected epoch milliseconds"),
        ({"path": "a", "location": "b"}, "use CREATE TEMPORARY VIEW name USING kcli OPTIONS (...)"),
        (
            {"path": "a", "option.path": "a", "external": "true"},
            "use CREATE TEMPORARY VIEW name USING kcli OPTIONS (...)",
        ),
        ({}, "use CREATE TEMPORARY VIEW name USING kcli OPTIONS (...)"),
    ],
)
def test_a_wrong_option_is_named_in_the_error(options, message):
    with pytest.raises(WordError) as raised:
        query(options)

    assert message in str(raised.value)


def test_a_path_may_begin_or_end_with_a_blank(tmp_path):
    (tmp_path / "t-0 ").mkdir()

    assert query({"path": f"{tmp_path}/t-0 "}).paths == (f"{tmp_path}/t-0 ",)
    assert query({"paths": json.dumps([f"{tmp_path}/t-0 ", " a "])}).paths == (f"{tmp_path}/t-0 ", "a")


def test_options_select_partitions_and_rows():
    options = {
        "path": "a",
        "topic": "a, b*",
        "partition": "1-2, 5",
        "offsets": "5..9",
        "times": "..100",
        "epochs": "3",
        "producer_ids": "7,8..9",
    }
    asked = query(options)

    assert asked.selection == Selection(topics=("a", "b*"), partitions=frozenset({1, 2, 5}))
    assert asked.filter == RecordFilter(
        offsets=(5, 9), times=(-(1 << 63), 100), epochs=frozenset({3}), producer_ids=frozenset({7, 8, 9})
    )


def test_every_option_is_in_the_table():
    from kcli.views import options

    assert [name for name in OPTION_NAMES if f"| `{name}`" not in options.__doc__] == []
