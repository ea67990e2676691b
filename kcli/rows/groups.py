"""The rows of `group`: what the logs of the group coordinators come to."""

from typing import Annotated, NamedTuple

from formats.types import TopicPartition
from kcli.rows.declare import Timestamp
from kcli.rows.partitions import OfDirectory


class GroupRow(NamedTuple):
    """A group as its coordinator holds it once it has loaded the partition."""

    coordinator: OfDirectory
    group_id: Annotated[str, "of the group"]
    group_type: Annotated[str, "classic, consumer, share or streams"]
    state: Annotated[str, "Empty, Stable, Assigning, Reconciling or NotReady"]
    protocol_type: Annotated[str | None, "null for a group that commits alone made"]
    protocol: Annotated[str | None, "assignor of a classic group, or that the members of another ask for"]
    generation: Annotated[int | None, "of a classic group, the epoch of another; null without either"]
    leader: Annotated[str | None, "member id; of classic groups alone"]
    members: Annotated[int, "how many it has"]
    coordinator_partition: Annotated[int | None, "of __consumer_offsets"]
    topics: Annotated[tuple[str, ...], "of which an offset is committed"]
    committed_partitions: Annotated[int, "of which an offset is committed"]
    last_commit_timestamp: Annotated[Timestamp | None, "the newest of its commits; null without one"]


class GroupOffsetRow(NamedTuple):
    """A committed offset, or where a share group starts, and the log that it is about."""

    coordinator: OfDirectory
    group_id: Annotated[str, "of the group"]
    topic: Annotated[str, "that was read"]
    partition: Annotated[int, "that was read"]
    committed_offset: Annotated[
        int | None, "next offset to read; null where a transaction that is open has the only commit"
    ]
    committed_leader_epoch: Annotated[int | None, "of the last record read; -1 where the commit has none"]
    metadata: Annotated[str | None, "text that the consumer added"]
    commit_timestamp: Annotated[Timestamp | None, "when it was committed"]
    expire_timestamp: Annotated[
        Timestamp | None, "when the coordinator removes it; null while the group keeps it"
    ]
    expired: Annotated[bool, "whether that time has passed"]
    log_start_offset: Annotated[int | None, "of the log; null where it is not here"]
    log_end_offset: Annotated[int | None, "of the log; null where it is not here, or not known"]
    high_watermark: Annotated[int | None, "of the log; null where it is not known"]
    lag: Annotated[int | None, "high watermark, else log end, less the committed offset"]
    position: Annotated[
        str,
        "valid, out-of-range, diverged or unknown, as a consumer finds it (KIP-320); unknown, too, where the "
        "epoch of the commit is newer than the leader's: the consumer waits for ever (UNKNOWN_LEADER_EPOCH)",
    ]
    pending_offset: Annotated[int | None, "committed by a transaction that is open; null without one"] = None
    pending_producer_id: Annotated[int | None, "of that transaction"] = None
    removed_by: Annotated[int | None, "offset of the tombstone that removed it; null where it counts"] = None

    @property
    def waits(self) -> bool:
        """Whether a consumer waits for ever: its log is here, and no leader has the epoch of the commit."""
        is_here = None not in {self.log_end_offset, self.committed_offset} and self.removed_by is None
        return is_here and self.position == "unknown"


class GroupMemberRow(NamedTuple):
    """A member of a group."""

    coordinator: OfDirectory
    group_id: Annotated[str, "of the group"]
    member_id: Annotated[str, "of the member"]
    group_instance_id: Annotated[str | None, "of a static member"]
    client_id: Annotated[str, "client.id"]
    client_host: Annotated[str, "that it came from"]
    assignment: Annotated[
        tuple[TopicPartition, ...] | None, "partitions that it has; null where its protocol hides them"
    ]
    subscribed_topics: Annotated[tuple[str, ...] | None, "that it asks for; null where that is hidden"]


class GroupCommitRow(NamedTuple):
    """A commit or a tombstone."""

    coordinator: OfDirectory
    group_id: Annotated[str, "of the group"]
    offset_of_record: Annotated[int, "in the partition of __consumer_offsets"]
    timestamp: Annotated[Timestamp, "of the record"]
    topic: Annotated[str, "that was read"]
    partition: Annotated[int, "that was read"]
    committed_offset: Annotated[int | None, "next offset to read; null for a tombstone"]
    previous_offset: Annotated[int | None, "that counted before; null without one"]
    change: Annotated[str, "first, forward, back, same, removed or pending"]


class GroupStorageRow(NamedTuple):
    """What the records of a type of a group take in the log of its coordinator."""

    coordinator: OfDirectory
    group_id: Annotated[str, "of the group"]
    record_type: Annotated[str, "as OffsetCommit or GroupMetadata; the number of a type that is not known"]
    records: Annotated[int, "how many, older ones and tombstones among them"]
    tombstones: Annotated[int, "how many of them"]
    record_bytes: Annotated[int, "of their keys and values, before compression"]
    dirty_bytes: Annotated[int, "those that the cleaner has not reached, by cleaner-offset-checkpoint"]
