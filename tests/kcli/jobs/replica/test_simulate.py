"""Stories step by step: LEO and HW (`Apache Kafka in action`), KIP-101 with its scenarios, KIP-279."""

from itertools import groupby

import pytest

from kcli.jobs.replica.simulate import ScenarioError, bundled, checked_scenario, load_scenario, simulate

A_LOSES_B = [  # step, then log end and high watermark of A and B
    ("start", (0, 0), (0, 0)),
    ("produce m0", (1, 0), (0, 0)),
    ("fetch B", (1, 0), (1, 0)),
    ("fetch B", (1, 1), (1, 1)),
    ("produce m1", (2, 1), (1, 1)),
    ("fetch B", (2, 1), (2, 1)),
    ("fetch B unanswered", (2, 2), (2, 1)),
]


def steps_of(name, **changes):
    """Return the rows of each step of a story."""
    rows = simulate(load_scenario(name)._replace(**changes))
    return [list(step) for _, step in groupby(rows, lambda row: row.step)]


def ends(steps):
    return [(rows[0].action, *((row.log_end_offset, row.high_watermark) for row in rows)) for rows in steps]


def values(row):
    return [record.value for record in row.log]


def events(steps):
    return [event for rows in steps for row in rows for event in row.events]


def test_the_high_watermark_moves_with_the_second_fetch():
    steps = steps_of("high-watermark")

    assert ends(steps) == [
        ("start", (0, 0), (0, 0)),
        ("produce m0", (1, 0), (0, 0)),
        ("fetch follower", (1, 0), (1, 0)),
        ("fetch follower", (1, 1), (1, 1)),
    ]
    assert [dict(rows[0].remote_log_end_offsets) for rows in steps] == [
        {"follower": end} for end in (0, 0, 0, 1)
    ]


def test_truncation_to_the_high_watermark_loses_a_record():
    steps = steps_of("loss")

    assert ends(steps) == [
        *A_LOSES_B,
        ("bounce B", (2, 2), (1, 1)),
        ("crash A", (2, 2), (1, 1)),
        ("elect B", (2, 2), (1, 1)),
        ("restart A", (2, 2), (1, 1)),
        ("fetch A", (1, 1), (1, 1)),
        ("produce m2", (1, 1), (2, 2)),
        ("fetch A", (2, 2), (2, 2)),
    ]
    assert {tuple(values(row)) for row in steps[-1]} == {("m0", "m2")}
    assert "m1 is lost: offset 1 was committed" in events(steps)


def test_epochs_keep_it():
    steps = steps_of("loss-cured")

    assert ends(steps)[:10] == [
        *A_LOSES_B,
        ("bounce B", (2, 2), (2, 1)),
        ("crash A", (2, 2), (2, 1)),
        ("elect B", (2, 2), (2, 2)),
    ]
    assert {tuple(values(row)) for row in steps[-1]} == {("m0", "m1", "m2")}
    assert steps[-1][1].epochs == ((0, 0), (1, 2))
    assert not [event for event in events(steps) if "lost" in event or "differs" in event]


def test_truncation_to_the_high_watermark_lets_replicas_diverge():
    a, b = steps_of("divergence")[-1]

    assert (values(a), values(b)) == (["m0", "m1", "m3"], ["m0", "m2", "m3"])


def test_epochs_make_them_agree():
    steps = steps_of("divergence-cured")
    a, b = steps[-1]

    assert values(a) == values(b) == ["m0", "m2", "m3"]
    assert "truncates to 1, m1 gone: asks for epoch 0, B answers: epoch 0 ends at 1" in events(steps)


def test_an_answer_without_its_epoch_leaves_a_divergence_after_fast_failovers():
    steps = steps_of("fast-failovers")
    a, b = steps[-1]

    assert values(a) == ["m0", "m1", "a2", "a3", "a4", "a5", "a6"]
    assert values(b) == ["m0", "m1", "b2", "b3", "b4", "a5", "a6"]
    assert "differs from A at offset 2: b2, not a2" in events(steps)


@pytest.mark.parametrize(
    ("name", "numbers"), [("fast-failovers-cured", [19, 19]), ("fast-failovers-fetch", [20, 21])]
)
def test_with_its_epoch_two_rounds_find_the_common_offset(name, numbers):
    steps = steps_of(name)
    a, b = steps[-1]

    assert a.log == b.log
    assert [
        (rows[1].step, event) for rows in steps for event in rows[1].events if event.startswith("truncates")
    ] == [
        (numbers[0], "truncates to 3, b3, b4, b5 gone: asks for epoch 3, A answers: epoch 2 ends at 5"),
        (numbers[1], "truncates to 2, b2 gone: asks for epoch 1, A answers: epoch 0 ends at 2"),
    ]


@pytest.mark.parametrize("protocol", ["epoch-v0", "epoch", "fetch"])
def test_no_protocol_saves_what_an_unclean_leader_lacks(protocol):
    steps = steps_of("unclean", protocol=protocol)

    assert sum("is lost" in event for event in events(steps)) == 2
    assert {tuple(values(row)) for row in steps[-1]} <= {("m0", "m3"), ("m0",)}


@pytest.mark.parametrize("name", list(bundled()))
def test_high_watermarks_stay_within_logs_and_every_row_is_a_replica_of_a_step(name):
    story = load_scenario(name)
    rows = simulate(story)

    assert all(0 <= row.high_watermark <= row.log_end_offset == len(row.log) for row in rows)
    assert len(rows) == (len(story.steps) + 1) * len(story.replicas)


@pytest.mark.parametrize(
    ("step", "answer"),
    [
        ("fetch A", "A is the leader"),
        ("fetch C", "there is no replica C"),
        ("fetch B twice", "expected: fetch REPLICA [unanswered]"),
        ("restart B", "B is up"),
        ("crash B losing", "expected: crash REPLICA [losing N][, REPLICA...]"),
        ("crash B losing x", "expected: crash REPLICA [losing N][, REPLICA...]"),
        ("bounce A", "A has no leader to follow"),
        ("elect A B", "expected: elect REPLICA"),
        ("sleep 3", "expected one of produce, fetch, crash, bounce, restart, elect"),
        ("", "expected one of produce"),
    ],
)
def test_a_step_that_makes_no_sense_is_named(step, answer):
    with pytest.raises(ScenarioError) as error:
        simulate(checked_scenario("x", {"replicas": ["A", "B"], "steps": [step]}))

    assert f"step 1, {step!r}: " in str(error.value)
    assert answer in str(error.value)


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({"steps": None}, "steps: expected a list of texts"),
        ({"replicas": None}, "replicas: expected a list of texts"),
        ({"replicas": ["A", "A"]}, "each once"),
        ({"leader": "B"}, "leader B: expected one of the replicas"),
        ({"protocol": "raft"}, "protocol raft: expected one of"),
        ({"brokers": 3}, "brokers: expected title"),
    ],
)
def test_what_is_no_scenario_is_refused(changes, answer):
    with pytest.raises(ScenarioError) as error:
        checked_scenario("x", {"replicas": ["A"], "steps": ["elect A"], **changes})

    assert answer in str(error.value)


def test_a_file_that_is_no_toml_is_refused(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text("replicas = [")
    with pytest.raises(ScenarioError, match=f"^{path}: "):
        load_scenario(str(path))
