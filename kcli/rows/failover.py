"""The rows of `failover`: partitions before and after brokers go away, and the quorum of controllers."""

from typing import Annotated, NamedTuple

from kcli.rows.declare import row_type


class FailoverRow(NamedTuple):
    """One partition: as the metadata has it, and as the controller would make it."""

    dir: Annotated[str, "directory of the metadata, as reached from the argument"]
    topic: Annotated[str, "topic"]
    topic_id: Annotated[str, "of the topic"]
    partition: Annotated[int, "of the topic"]
    outcome: Annotated[str, "new-leader, offline, isr-shrinks or unchanged"]
    replicas: Annotated[tuple[int, ...], "brokers in the order of the assignment"]
    adding_replicas: Annotated[tuple[int, ...], "brokers that a reassignment in progress adds"]
    removing_replicas: Annotated[tuple[int, ...], "brokers that it removes"]
    leader: Annotated[int, "broker that leads now; -1 for none"]
    isr: Annotated[tuple[int, ...], "brokers in sync now"]
    elr: Annotated[tuple[int, ...], "eligible leader replicas now (KIP-966)"]
    leader_epoch: Annotated[int, "now"]
    partition_epoch: Annotated[int, "now"]
    next_leader: Annotated[int, "broker that leads then; -1 for none"]
    next_isr: Annotated[tuple[int, ...], "brokers in sync then; without a leader the last one may stay"]
    next_elr: Annotated[tuple[int, ...], "eligible leader replicas then"]
    next_replicas: Annotated[tuple[int, ...], "the assignment then: other where a reassignment completes"]
    next_leader_epoch: Annotated[int, "then"]
    next_partition_epoch: Annotated[int, "then"]
    unclean: Annotated[bool, "whether the next leader may lack records that were committed"]
    min_insync_replicas: Annotated[int, "of the topic, at most its replication factor"]
    writable: Annotated[bool, "whether producers with acks=all can write then"]
    reason: Annotated[str, "by which rule the next leader leads, or why there is none"]


class FailoverControllerRow(NamedTuple):
    """The quorum of controllers by one metadata log, and how far this log is."""

    dir: Annotated[str, "directory of the metadata, as reached from the argument"]
    node_id: Annotated[int | None, "of its meta.properties"]
    leader: Annotated[
        int | None,
        "active controller by quorum-state and the last leader change in the log; null without one",
    ]
    leader_epoch: Annotated[int | None, "of the quorum"]
    voters: Annotated[tuple[int, ...], "controllers that may lead"]
    log_end_offset: Annotated[int, "one past the last record"]
    last_epoch: Annotated[int, "of the last record; -1 without one"]
    next_leader_epoch: Annotated[int, "of the next leader, if the first election succeeds"]
    majority: Annotated[int | None, "how many votes the next one needs; null where no voters are named"]
    votes: Annotated[int | None, "of voters whose logs are named that this node gets; null for no voter"]
    electable: Annotated[
        bool | None, "whether it can lead without the leader; null where logs of other voters must tell"
    ]


FAILOVER = row_type("failover", FailoverRow)
FAILOVER_CONTROLLER = row_type("failover_controller", FailoverControllerRow)

COMMANDS = {"failover": (FAILOVER, FAILOVER_CONTROLLER)}
"""The row types that the command can print, first the usual one."""
