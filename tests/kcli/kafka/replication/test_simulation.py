"""The stories step by step, as the documents have them that they come from.

Sources: the update of LEO and HW by two fetches (as in `Apache Kafka in action`), KIP-101 with its two
scenarios, KIP-279.
"""

import pytest

from kcli.jobs.replica.simulate import bundled, parsed, scenario, simulated
from kcli.kafka.replication.simulation import ScenarioError
from kcli.kafka.replication.story import run

A_LOSES_B = [  # step, then log end and high watermark of A and B
    ("start", (0, 0), (0, 0)),
    ("produce m0", (1, 0), (0, 0)),
    ("fetch B", (1, 0), (1, 0)),
    ("fetch B", (1, 1), (1, 1)),
    ("produce m1", (2, 1), (1, 1)),
    ("fetch B", (2, 1), (2, 1)),
    ("fetch B unanswered", (2, 2), (2, 1)),
]


def moments(name, **changes):
    return list(run(scenario(name)._replace(**changes)))


def ends(views):
    return [
        (view.action, *((one.log_end_offset, one.high_watermark) for one in view.replicas)) for view in views
    ]


def values(replica):
    return [record.value for record in replica.log]


def events(views):
    return [event for view in views for one in view.replicas for event in one.events]


def test_the_high_watermark_moves_with_the_second_fetch():
    views = moments("high-watermark")

    assert ends(views) == [
        ("start", (0, 0), (0, 0)),
        ("produce m0", (1, 0), (0, 0)),
        ("fetch follower", (1, 0), (1, 0)),
        ("fetch follower", (1, 1), (1, 1)),
    ]
    assert [dict(view.replicas[0].remote) for view in views] == [{"follower": end} for end in (0, 0, 0, 1)]


def test_truncation_to_the_high_watermark_loses_a_record():
    views = moments("loss")

    assert ends(views) == [
        *A_LOSES_B,
        ("bounce B", (2, 2), (1, 1)),
        ("crash A", (2, 2), (1, 1)),
        ("elect B", (2, 2), (1, 1)),
        ("restart A", (2, 2), (1, 1)),
        ("fetch A", (1, 1), (1, 1)),
        ("produce m2", (1, 1), (2, 2)),
        ("fetch A", (2, 2), (2, 2)),
    ]
    assert {tuple(values(one)) for one in views[-1].replicas} == {("m0", "m2")}
    assert "m1 is lost: offset 1 was committed" in events(views)


def test_epochs_keep_it():
    views = moments("loss-cured")

    assert ends(views)[:10] == [
        *A_LOSES_B,
        ("bounce B", (2, 2), (2, 1)),
        ("crash A", (2, 2), (2, 1)),
        ("elect B", (2, 2), (2, 2)),
    ]
    assert {tuple(values(one)) for one in views[-1].replicas} == {("m0", "m1", "m2")}
    assert views[-1].replicas[1].epochs == ((0, 0), (1, 2))
    assert not [event for event in events(views) if "lost" in event or "differs" in event]


def test_truncation_to_the_high_watermark_lets_replicas_diverge():
    a, b = moments("divergence")[-1].replicas

    assert (values(a), values(b)) == (["m0", "m1", "m3"], ["m0", "m2", "m3"])


def test_epochs_make_them_agree():
    views = moments("divergence-cured")
    a, b = views[-1].replicas

    assert values(a) == values(b) == ["m0", "m2", "m3"]
    assert "truncates to 1, m1 gone: asks for epoch 0, B answers: epoch 0 ends at 1" in events(views)


def test_an_answer_without_its_epoch_leaves_a_divergence_after_fast_failovers():
    views = moments("fast-failovers")
    a, b = views[-1].replicas

    assert values(a) == ["m0", "m1", "a2", "a3", "a4", "a5", "a6"]
    assert values(b) == ["m0", "m1", "b2", "b3", "b4", "a5", "a6"]
    assert "differs from A at offset 2: b2, not a2" in events(views)


@pytest.mark.parametrize(
    ("name", "steps"), [("fast-failovers-cured", [19, 19]), ("fast-failovers-fetch", [20, 21])]
)
def test_with_its_epoch_two_rounds_find_the_common_offset(name, steps):
    views = moments(name)
    a, b = views[-1].replicas

    assert a.log == b.log
    assert [
        (view.number, event)
        for view in views
        for event in view.replicas[1].events
        if event.startswith("truncates")
    ] == [
        (steps[0], "truncates to 3, b3, b4, b5 gone: asks for epoch 3, A answers: epoch 2 ends at 5"),
        (steps[1], "truncates to 2, b2 gone: asks for epoch 1, A answers: epoch 0 ends at 2"),
    ]


@pytest.mark.parametrize("protocol", ["epoch-v0", "epoch", "fetch"])
def test_no_protocol_saves_what_an_unclean_leader_lacks(protocol):
    views = moments("unclean", protocol=protocol)

    assert sum("is lost" in event for event in events(views)) == 2
    assert {tuple(values(one)) for one in views[-1].replicas} <= {("m0", "m3"), ("m0",)}


@pytest.mark.parametrize("name", [row.name for row in bundled()])
def test_high_watermarks_stay_within_logs_and_every_row_is_a_replica_of_a_step(name):
    rows = simulated(scenario(name))

    assert all(0 <= row.high_watermark <= row.log_end_offset == len(row.log) for row in rows)
    assert len(rows) == (len(scenario(name).steps) + 1) * len(scenario(name).replicas)


STORY = 'replicas = ["A", "B"]\nsteps = ["{}"]\n'


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
        ("elect A B", "expected one name after elect"),
        ("sleep 3", "expected one of produce, fetch, crash, bounce, restart, elect"),
        ("", "expected one of produce"),
    ],
)
def test_a_step_that_makes_no_sense_is_named(step, answer):
    with pytest.raises(ScenarioError) as error:
        list(run(parsed("x", STORY.format(step))))

    assert f"step 1, {step!r}: " in str(error.value)
    assert answer in str(error.value)
