"""The rows of `epoch`: the leader epochs of a partition, and what they answer."""

from typing import Annotated, NamedTuple

from kcli.rows.partitions import Where

ERRORS = (
    "FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER or UNKNOWN_TOPIC_OR_PARTITION; null "
    "for none"
)


class EpochRow(NamedTuple):
    """One leader epoch of the cache."""

    where: Where
    epoch: Annotated[int, "leader epoch"]
    start_offset: Annotated[int, "first offset written in this epoch, inclusive"]
    end_offset: Annotated[int, "exclusive: the next epoch's start, the log end offset for the last"]
    source: Annotated[str, "checkpoint or batches"]


class EndOffsetRow(NamedTuple):
    """The broker's answer to OffsetsForLeaderEpoch."""

    where: Where
    requested_epoch: Annotated[int, "the epoch asked for"]
    leader_epoch: Annotated[int, "the epoch answered; -1 undefined"]
    end_offset: Annotated[int, "exclusive end of the answered epoch; -1 undefined"]
    log_end_offset: Annotated[int, "the log end offset that the answer was computed with"]
    log_end_offset_source: Annotated[
        str, "index (last index entry and the tail), recovered, headers or given"
    ]
    rule: Annotated[str, "undefined-request, latest, above-all, below-all or between; error where one is"]
    current_leader_epoch: Annotated[int | None, "that the request names; null for none"]
    partition_leader_epoch: Annotated[
        int | None, "that it is compared with; null where nothing is, or the metadata lacks the partition"
    ]
    partition_leader_epoch_source: Annotated[
        str | None, "metadata, or cache: the newest epoch of the cache; null where nothing is compared"
    ]
    error: Annotated[str | None, ERRORS]


class EpochAtRow(NamedTuple):
    """The leader epoch of one offset."""

    where: Where
    offset: Annotated[int, "the offset asked for"]
    epoch: Annotated[int | None, "the leader epoch at that offset; null where the cache has none"]
    start_offset: Annotated[int | None, "first offset of that epoch"]


class PositionRow(NamedTuple):
    """What a consumer makes of its position, by a replica's answer to OffsetForLeaderEpoch (KIP-320)."""

    where: Where
    offset: Annotated[int, "position of the consumer: the offset that it reads next"]
    offset_epoch: Annotated[int, "leader epoch of its position; -1 where it knows none"]
    outcome: Annotated[
        str,
        "valid; truncated where the answer ends below the position; undefined where the answer is; unchecked "
        "where there is no epoch to ask for; retry after an error; out-of-range where the next fetch is",
    ]
    error: Annotated[str | None, ERRORS]
    leader_epoch: Annotated[int, "the epoch answered; -1 undefined"]
    end_offset: Annotated[int, "exclusive end of the answered epoch: the divergent offset; -1 undefined"]
    reset: Annotated[str, "auto.offset.reset: earliest, latest or none"]
    next_offset: Annotated[int | None, "where it reads on; null where it does not, or that is not known"]
    next_offset_epoch: Annotated[int | None, "leader epoch of that position; null where it has none"]
    exception: Annotated[
        str | None,
        "LogTruncationException or OffsetOutOfRangeException without a reset policy; null where none is",
    ]
    log_start_offset: Annotated[int, "earliest offset of the replica"]
    high_watermark: Annotated[int | None, "latest offset for consumers; null where it is unknown"]
    log_end_offset: Annotated[int, "the log end offset that the answer was computed with"]
    log_end_offset_source: Annotated[
        str, "index (last index entry and the tail), recovered, headers or given"
    ]


class EpochSpan(NamedTuple):
    """One epoch of a replica; `end_offset` is exclusive."""

    epoch: int
    start_offset: int
    end_offset: int


class EpochDiffRow(NamedTuple):
    """The leader epochs of two replicas of a partition."""

    where: Where
    other_dir: Annotated[str, "partition directory of the other replica"]
    other_broker_id: Annotated[int | None, "of its meta.properties"]
    divergence_offset: Annotated[
        int | None,
        "the first offset that both have in different epochs; null if one is a prefix of the other",
    ]
    last_common_epoch: Annotated[
        int | None, "of the last offset before that both have; null where they share none"
    ]
    records_only_here: Annotated[
        int | None,
        "records from where they part, or from the other's log end; null where they hide their count",
    ]
    records_only_there: Annotated[int | None, "the same of the other replica"]
    log_end_offset: Annotated[int, "of this replica"]
    other_log_end_offset: Annotated[int, "of the other one"]
    epochs: Annotated[tuple[EpochSpan, ...], "of this replica"]
    other_epochs: Annotated[tuple[EpochSpan, ...], "of the other one"]
