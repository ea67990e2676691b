"""The rows of `replica` and `failover`: replicas of a partition compared, elected and simulated."""

from typing import Annotated, NamedTuple

from formats.checkpoint import EpochEntry
from kcli.rows.declare import Timestamp
from kcli.rows.partitions import Where


class ReplicaRangeRow(NamedTuple):
    """Offsets of a partition about which one thing is to say."""

    where: Where
    other_dir: Annotated[str, "partition directory of the other replica, as reached from the argument"]
    other_broker_id: Annotated[int | None, "of its meta.properties"]
    first_offset: Annotated[int, "of the range"]
    last_offset: Annotated[int, "inclusive; below first_offset where neither replica has a batch"]
    verdict: Annotated[str, "equal, differs, only-here, only-there, compacted or unknown"]
    reason: Annotated[
        str | None,
        "in what the first batch differs: boundaries, header, records, compression or unreadable; of "
        "fingerprints: fingerprint or partial; missing where the log of the other has a hole",
    ]
    leader_epoch: Annotated[int | None, "of the first batch of the range here; null without one"]
    other_leader_epoch: Annotated[int | None, "of the first batch of the range there"]
    batches: Annotated[int, "of the range here"]
    other_batches: Annotated[int, "of the range there"]
    bytes: Annotated[int, "of these batches here"]
    other_bytes: Annotated[int, "of these batches there"]


class FingerprintRow(NamedTuple):
    """The batches of a replica whose base offsets are in one range."""

    where: Where
    log_start_offset: Annotated[int, "of the log"]
    log_end_offset: Annotated[int, "of the log"]
    range_offsets: Annotated[int, "offsets of a range, the first begins at 0"]
    first_offset: Annotated[int, "of the first batch; of a log without a batch its end"]
    last_offset: Annotated[int, "of the last batch, inclusive"]
    leader_epoch: Annotated[int, "of the first batch; -1 without one"]
    batches: Annotated[int, "in the range"]
    bytes: Annotated[int, "of these batches"]
    hash: Annotated[str, "first half of SHA-256 of their bytes, leader epochs as zeros; hexadecimal"]
    is_last: Annotated[bool, "whether no fingerprint of the replica follows"]


class ElectionRow(NamedTuple):
    """One candidate and one follower."""

    where: Where
    candidate: Annotated[str, "partition directory of the replica that leads"]
    candidate_broker_id: Annotated[int | None, "of its meta.properties"]
    follower: Annotated[str, "partition directory of a replica that follows"]
    follower_broker_id: Annotated[int | None, "of its meta.properties"]
    log_start_offset: Annotated[int, "of the candidate's log"]
    log_end_offset: Annotated[int, "of the candidate's log"]
    follower_log_end_offset: Annotated[int, "of the follower's log before it truncates"]
    truncate_to: Annotated[
        int | None,
        "log end offset of the follower after it truncates; as before if it keeps all; null if unknown",
    ]
    outcome: Annotated[
        str,
        "converged; out-of-range where the follower is reset to an end of the candidate's log; stuck where "
        "the same fetch would fail for ever; tiered where it goes on with state from remote storage; unknown "
        "where it truncates to its high watermark, and no checkpoint says that",
    ]
    rounds: Annotated[
        int | None, "answers that make the follower truncate; null where the outcome is unknown"
    ]
    records_lost: Annotated[
        int | None,
        "of data that the follower removes, but for those below its log start offset; null where they "
        "cannot be counted or the outcome is unknown",
    ]
    bytes_lost: Annotated[int | None, "of .log files that it removes; null where the outcome is unknown"]
    first_lost_timestamp: Annotated[Timestamp | None, "of the first record that is lost"]
    last_lost_timestamp: Annotated[Timestamp | None, "the largest of the records that are lost"]
    committed_records_lost: Annotated[
        int | None,
        "of them that are known to be committed: below its high watermark, or that of a replica that agrees; "
        "null where no high watermark is known",
    ]
    offsets_below_start: Annotated[
        int,
        "of what the follower keeps, below the log start offset of the candidate, which it takes over: it "
        "deletes the segments that end there, and reads nothing below",
    ]
    would_be_elected: Annotated[
        bool | None,
        "whether Kafka elects the candidate of the replicas here; null if the ISR is unknown, and of copies "
        "of one replica",
    ]
    clean: Annotated[bool | None, "whether its election is clean: it is in the ISR or in the ELR"]
    reason: Annotated[str, "why it is elected, or not"]


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


class RemoteEnd(NamedTuple):
    """What a leader knows of a follower."""

    replica: str
    log_end_offset: int | None


class SimulatedRecord(NamedTuple):
    """A record in the log of a replica; its place in the list is its offset."""

    epoch: int
    value: str


class SimulationRow(NamedTuple):
    """One replica after one step."""

    scenario: Annotated[str, "name of the story, or the file"]
    step: Annotated[int, "number of the step; 0 is the beginning"]
    action: Annotated[str, "the step as it is written"]
    leader_epoch: Annotated[int, "of the partition"]
    replica: Annotated[str, "name"]
    role: Annotated[str, "leader, follower or down"]
    in_isr: Annotated[bool, "whether it is in sync"]
    log_end_offset: Annotated[int, "one past its last record"]
    high_watermark: Annotated[int, "as far as it knows"]
    remote_log_end_offsets: Annotated[
        tuple[RemoteEnd, ...], "of a leader: the log ends of followers by their last fetches; null before one"
    ]
    epochs: Annotated[tuple[EpochEntry, ...], "its leader epochs"]
    log: Annotated[tuple[SimulatedRecord, ...], "its records from offset 0 on"]
    events: Annotated[tuple[str, ...], "what happened to it in this step"]
    title: Annotated[str, "what the story shows"]
    protocol: Annotated[str, "how followers truncate: high-watermark, epoch-v0, epoch or fetch"]


class ScenarioRow(NamedTuple):
    """One of the stories that come with kcli."""

    name: Annotated[str, "what to name it"]
    title: Annotated[str, "what it shows"]
    protocol: Annotated[str, "how followers truncate: high-watermark, epoch-v0, epoch or fetch"]
    replicas: Annotated[tuple[str, ...], "names"]
    steps: Annotated[int, "how many"]
