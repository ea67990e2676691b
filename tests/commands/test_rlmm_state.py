"""`rlmm state`: segments in their states, up to a place or a time, and the questions of the cache."""

import json

import jsonschema
import pytest

pytestmark = pytest.mark.slow

FIRST = "SMhZR4WsR5Km8AhfV5FZ5g"
"""The first segment that the demo's broker copied."""


@pytest.fixture
def state(kcli, demo):
    def ask(*words):
        done = kcli("rlmm", "state", demo, *words, "-o", "json")
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)["rows"]

    return ask


def offsets(rows):
    return [(row["start_offset"], row["end_offset"]) for row in rows]


def test_the_state_at_an_offset_and_at_a_time(state):
    at_offset = state("--at", "2")

    assert [(row["state"], row["referenced"]) for row in at_offset] == [
        ("COPY_SEGMENT_FINISHED", True),
        ("COPY_SEGMENT_STARTED", False),
    ]
    assert at_offset[1]["copy_finished_ms"] is None
    assert state("--at", "2026-11-21T14:15:58.447Z") == at_offset
    assert state("--at", "2026-11-21T14:15:58.446Z") == state("--at", "1")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--list", "2"), [(45, 74), (75, 89)]),
        (("--lookup", "2:74"), [(45, 74)]),
        (("--next-txn", "0:0"), []),
    ],
)
def test_what_the_cache_answers(state, words, expected):
    assert offsets(state(*words)) == expected


@pytest.mark.parametrize("words", [("--highest", "2"), ("--history", FIRST)])
def test_rows_match_the_schema(kcli, demo, words):
    schema = json.loads(kcli("schema", "rlmm", "state").stdout)
    document = json.loads(kcli("rlmm", "state", demo, *words, "-o", "json").stdout)

    assert document["rows"]
    jsonschema.validate(document, schema)


def test_a_topic_is_the_users(state, kcli, demo):
    assert state("--topic", "cl*") == state()
    assert kcli("rlmm", "state", demo, "--topic", "orders").exit_code == 3


def test_no_segment_of_a_topic_that_is_there_is_an_answer(kcli, demo):
    done = kcli("rlmm", "state", demo, "--lookup", "9:5", "--topic", "clicks", "-o", "json")
    assert (done.exit_code, json.loads(done.stdout)["rows"]) == (0, [])
    wrong = kcli("rlmm", "state", demo, "--lookup", "9:5", "--topic", "click")
    assert wrong.exit_code == 3 and "did you mean clicks?" in wrong.stderr
    none = kcli("rlmm", "state", demo, "--topic", "clicks", "--partition", "7")
    assert none.exit_code == 3 and "did you mean" not in none.stderr


def test_a_history_without_events_is_no_answer(kcli, demo):
    done = kcli("rlmm", "state", demo, "--history", "A" * 22)
    assert (done.exit_code, f"no event here is about segment {'A' * 22}" in done.stderr) == (3, True)
    assert kcli("rlmm", "state", demo, "--history", "xyz").exit_code == 2


def test_digits_of_a_time_in_ms_are_a_time(state):
    every = state()
    at = sorted(row["event_timestamp_ms"] for row in every)[2]
    assert (
        len(state("--at", str(at)))
        == len([row for row in every if row["copy_started_ms"] <= at])
        < len(every)
    )
