"""Whom `replica elect` names: the leader that is left when the other brokers fail one after the other."""

import random

import pytest

from kcli.jobs.replica.elect import _elected
from kcli.kafka.kraft.election import Rules, changed
from kcli.kafka.kraft.metadata_image import PartitionState, merged


def after_failures(state, live, rules):
    """Return the partition after each broker that is not live failed, as the controller fences it."""
    failed = []
    for broker in state.replicas:
        if broker in live:
            continue
        failed.append(broker)
        if broker not in state.isr:
            continue
        acceptable = rules._replace(is_acceptable=lambda replica: replica not in failed)
        change, _ = changed(state, tuple(replica for replica in state.isr if replica != broker), acceptable)
        state = state if change is None else merged(state, change)
    return state


@pytest.mark.parametrize("has_elr", [False, True])
def test_the_leader_is_the_one_after_all_other_brokers_failed(has_elr):
    choose = random.Random(20)
    for _ in range(3000):
        replicas = tuple(choose.sample(range(1, 6), choose.randrange(1, 5)))
        isr = tuple(choose.sample(replicas, choose.randrange(1, len(replicas) + 1)))
        min_isr = choose.randrange(1, len(replicas) + 1)
        outside = [replica for replica in replicas if replica not in isr]
        elr = tuple(choose.sample(outside, choose.randrange(len(outside) + 1)))
        state = PartitionState(
            replicas, isr, choose.choice(isr), 3, 5, elr if has_elr and len(isr) < min_isr else ()
        )
        live = frozenset(choose.sample(replicas, choose.randrange(1, len(replicas) + 1)))
        rules = Rules(live.__contains__, min_isr, may_be_unclean=choose.random() < 0.3, has_elr=has_elr)
        expected = after_failures(state, live, rules)
        chosen = _elected(state, rules)
        assert chosen.elected.leader == expected.leader, (state, live, rules)


def test_a_replica_of_the_elr_leads_when_the_isr_is_gone():
    state = PartitionState((1, 3, 2), (1,), 1, 5, 3, elr=(2,))
    chosen = _elected(state, Rules((2, 3).__contains__, 2, may_be_unclean=True, has_elr=True))
    assert (chosen.elected.leader, chosen.elected.is_unclean) == (2, False)
    assert 2 in chosen.in_sync and 3 not in chosen.in_sync
