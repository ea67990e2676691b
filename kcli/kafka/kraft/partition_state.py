"""A partition in the metadata, and what a change makes of it, as `PartitionRegistration.merge`."""

from typing import NamedTuple, TypeAlias

Brokers: TypeAlias = tuple[int, ...]


class PartitionState(NamedTuple):
    """The state of a partition in the metadata: brokers by id, epochs; a leader of -1 is none.

    `last_known_elr`: with one entry the last leader before there was none. `directories`: of `replicas`.
    """

    replicas: Brokers
    isr: Brokers
    leader: int
    leader_epoch: int
    partition_epoch: int
    elr: Brokers = ()
    last_known_elr: Brokers = ()
    removing: Brokers = ()
    adding: Brokers = ()
    is_recovering: bool = False
    directories: tuple[str, ...] = ()

    def directory_of(self, broker: int) -> str | None:
        """Return the id of the log dir of a broker's replica; None where it is unknown."""
        by_broker = dict(zip(self.replicas, self.directories, strict=False))
        return by_broker.get(broker)


class Change(NamedTuple):
    """A PartitionChangeRecord: what it sets, None for nothing; any `leader` raises the leader epoch."""

    isr: Brokers | None = None
    leader: int | None = None
    replicas: Brokers | None = None
    removing: Brokers | None = None
    adding: Brokers | None = None
    is_recovering: bool | None = None
    elr: Brokers | None = None
    last_known_elr: Brokers | None = None
    directories: tuple[str, ...] | None = None


def merged(partition: PartitionState, change: Change) -> PartitionState:
    """Return the partition after a change; its partition epoch rises always."""
    return PartitionState(  # field by field: a metadata log has a million of them
        replicas=partition.replicas if change.replicas is None else change.replicas,
        isr=partition.isr if change.isr is None else change.isr,
        leader=partition.leader if change.leader is None else change.leader,
        leader_epoch=partition.leader_epoch + (change.leader is not None),
        partition_epoch=partition.partition_epoch + 1,
        elr=partition.elr if change.elr is None else change.elr,
        last_known_elr=partition.last_known_elr if change.last_known_elr is None else change.last_known_elr,
        removing=partition.removing if change.removing is None else change.removing,
        adding=partition.adding if change.adding is None else change.adding,
        is_recovering=partition.is_recovering if change.is_recovering is None else change.is_recovering,
        directories=partition.directories if change.directories is None else change.directories,
    )
