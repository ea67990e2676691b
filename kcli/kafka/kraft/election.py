"""Who leads a partition next: the controller's rules of election, as values in and values out.

KRaft: `PartitionChangeBuilder` of 4.3.1 (KIP-966 for eligible leader replicas, KAFKA-15021 for the leader
epoch of an ISR that shrinks), and `PartitionReassignmentReplicas` for a reassignment that is complete.
ZooKeeper: `Election` and the `OfflineReplica` transition of `ZkReplicaStateMachine`, as of 3.9.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from kcli.kafka.kraft.metadata_image import Brokers, Change, PartitionState, merged

NO_LEADER = -1
NO_BUMP_ON_SHRINK_FROM = 12
"""The level of metadata.version from which a shrinking ISR leaves the leader epoch alone: 3.6-IV0."""
RECOVERING_FROM = 3
"""The level from which an unclean election marks the partition as recovering: 3.2-IV0."""

_BUCKETS = 16
"""Of a HashSet of up to twelve ints, which are their own hashes."""

LEADER_STAYS = "the leader stays"
IN_ISR = "the first live replica in the ISR"
IN_ELR = "the first live replica in the ELR, the ISR being empty"
LAST_KNOWN = "unclean: the last known leader"
UNCLEAN = "unclean: the first live replica, none of them in sync"
NO_REPLICA = "no live replica may lead"

IsAcceptable: TypeAlias = Callable[[int], bool]


class Elected(NamedTuple):
    """The leader that an election gives, -1 for none; `rule` is why."""

    leader: int
    is_unclean: bool
    rule: str


class Rules(NamedTuple):
    """What an election depends on besides the partition itself; `metadata_version`: the feature's level.

    `min_isr`: the topic's min.insync.replicas, at most its replication factor.
    """

    is_acceptable: IsAcceptable
    min_isr: int = 1
    may_be_unclean: bool = False
    has_elr: bool = False
    metadata_version: int = NO_BUMP_ON_SHRINK_FROM


def changed(
    partition: PartitionState, target_isr: Brokers, rules: Rules, unclean_shutdown: Brokers = ()
) -> tuple[Change | None, Elected]:
    """Return what a new ISR changes, None for nothing, and its election; no unclean replica is in the ELR."""
    isr, replicas, removing, adding = _completed(partition, target_isr)
    elr = _target_elr(partition, isr, rules, unclean_shutdown)
    elected = elect(partition._replace(replicas=replicas, isr=isr, elr=elr), partition, rules)
    leader: int | None = None
    unclean_isr: Brokers | None = None
    is_recovering: bool | None = None
    if elected.leader != partition.leader:
        leader = elected.leader
        if elected.leader in elr:
            isr, elr = (leader,), tuple(replica for replica in elr if replica != leader)
        if elected.is_unclean:
            unclean_isr = (leader,)
            if not partition.is_recovering and rules.metadata_version >= RECOVERING_FROM:
                is_recovering = True
    if leader is None and not set(partition.replicas) <= set(replicas):
        leader = partition.leader
    if unclean_isr is not None or not rules.has_elr:
        elr = ()
    new_isr = unclean_isr
    if new_isr is None and (isr or rules.has_elr) and isr != partition.isr:
        new_isr = isr
    if (
        rules.metadata_version < NO_BUMP_ON_SHRINK_FROM
        and leader is None
        and new_isr is not None
        and not set(partition.isr) <= set(new_isr)
    ):
        leader = partition.leader
    change = Change(
        isr=new_isr,
        leader=leader,
        replicas=_if_new(replicas, partition.replicas),
        removing=_if_new(removing, partition.removing),
        adding=_if_new(adding, partition.adding),
        is_recovering=is_recovering,
        elr=_if_new(elr, partition.elr),
        last_known_elr=_last_known(partition, leader) if rules.has_elr else None,
        directories=_directories(partition, replicas),
    )
    return (None if change == Change() else change), elected


def elect(target: PartitionState, before: PartitionState, rules: Rules) -> Elected:
    """Return who leads a partition with ISR, ELR and replicas of `target`; its leader `before` may stay."""

    def may_lead(replica: int) -> bool:
        in_sync = target.isr or target.elr
        return replica in in_sync and rules.is_acceptable(replica)

    if may_lead(before.leader):
        return Elected(before.leader, is_unclean=False, rule=LEADER_STAYS)
    for replica in filter(may_lead, target.replicas):
        return Elected(replica, is_unclean=False, rule=IN_ISR if target.isr else IN_ELR)
    if (
        rules.has_elr
        and not target.isr
        and not target.elr
        and len(before.last_known_elr) == 1
        and rules.is_acceptable(before.last_known_elr[0])
    ):
        return Elected(before.last_known_elr[0], is_unclean=True, rule=LAST_KNOWN)
    if rules.may_be_unclean:
        for replica in filter(rules.is_acceptable, target.replicas):
            return Elected(replica, is_unclean=True, rule=UNCLEAN)
    return Elected(NO_LEADER, is_unclean=False, rule=NO_REPLICA)


def _if_new(value: Brokers, old: Brokers) -> Brokers | None:
    return None if value == old else value


def _completed(partition: PartitionState, isr: Brokers) -> tuple[Brokers, Brokers, Brokers, Brokers]:
    """Return ISR, replicas, removing and adding, as they are once a reassignment that can be is complete."""
    removing, adding = partition.removing, partition.adding
    as_it_is = (isr, partition.replicas, removing, adding)
    if not removing and not adding:
        return as_it_is
    new_isr = tuple(replica for replica in isr if replica not in removing)
    replicas = tuple(replica for replica in partition.replicas if replica not in removing)
    if removing and not (new_isr and replicas):
        return as_it_is
    if not set(adding) <= set(new_isr):
        return as_it_is
    if len(adding) < len(removing) and not set(replicas) <= set(new_isr):
        return as_it_is
    return new_isr, replicas, (), ()


def _target_elr(
    partition: PartitionState, isr: Brokers, rules: Rules, unclean_shutdown: Iterable[int]
) -> Brokers:
    """Return the ELR of replicas in sync below the least ISR, in a HashSet's order: another is a change."""
    if not rules.has_elr:
        return partition.elr
    if len(isr) >= rules.min_isr:
        return ()
    candidates = sorted(dict.fromkeys((*partition.elr, *partition.isr)), key=lambda id_: id_ % _BUCKETS)
    return tuple(replica for replica in candidates if replica not in isr and replica not in unclean_shutdown)


def _last_known(partition: PartitionState, leader: int | None) -> Brokers | None:
    """Return the last known leader where it changes: kept from when there is none until there is one."""
    if leader == NO_LEADER and not partition.last_known_elr:
        return (partition.leader,)
    if leader is not None and leader >= 0 and partition.last_known_elr:
        return ()
    return None


def _directories(partition: PartitionState, replicas: Brokers) -> tuple[str, ...] | None:
    """Return the log dirs of replicas of which some went; None where none did."""
    if replicas == partition.replicas or not partition.directories:
        return None
    return tuple(partition.directory_of(replica) or "" for replica in replicas)


def zookeeper_failure(
    partition: PartitionState, broker: int, *, is_live: IsAcceptable, may_be_unclean: bool
) -> tuple[PartitionState, Elected]:
    """Return a partition after a broker failed, as a controller of a ZooKeeper cluster makes it.

    First the leaderless partition elects, then the ISR loses the replica: each write adds one to both epochs.
    """
    elected = Elected(partition.leader, is_unclean=False, rule=LEADER_STAYS)
    if partition.leader == broker or not is_live(partition.leader):
        elected = _offline_election(partition, is_live, may_be_unclean=may_be_unclean)
        if elected.leader != NO_LEADER:
            isr = (elected.leader,) if elected.is_unclean else tuple(filter(is_live, partition.isr))
            is_recovering = elected.is_unclean or partition.is_recovering
            partition = _written(partition, elected.leader, isr, is_recovering=is_recovering)
    if broker in partition.isr:
        smaller_isr = tuple(replica for replica in partition.isr if replica != broker)
        leader = NO_LEADER if partition.leader == broker else partition.leader
        isr = smaller_isr if len(partition.isr) > 1 else partition.isr
        partition = _written(partition, leader, isr, is_recovering=partition.is_recovering)
    return partition, elected


def _offline_election(partition: PartitionState, is_live: IsAcceptable, *, may_be_unclean: bool) -> Elected:
    live = list(filter(is_live, partition.replicas))
    for replica in live:
        if replica in partition.isr:
            return Elected(replica, is_unclean=False, rule=IN_ISR)
    if may_be_unclean and live:
        return Elected(live[0], is_unclean=True, rule=UNCLEAN)
    return Elected(NO_LEADER, is_unclean=False, rule=NO_REPLICA)


def _written(partition: PartitionState, leader: int, isr: Brokers, *, is_recovering: bool) -> PartitionState:
    return merged(partition, Change(isr=isr, leader=leader, is_recovering=is_recovering))
