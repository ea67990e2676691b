"""What a broker answers to a consumer that checks its position, and what the consumer concludes (KIP-320).

The truth is `ReplicaManager.lastOffsetForLeaderEpoch` and `Partition.getLocalLog` with
`checkCurrentLeaderEpoch` for the broker; `SubscriptionState` (`maybeValidatePositionForCurrentLeader`,
`maybeCompleteValidation`) and `OffsetsForLeaderEpochUtils` of the clients for the consumer.
"""

from typing import NamedTuple

from kcli.kafka.storage.leader_epochs import UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET, EndOffset

UNFENCED = -1
"""The current leader epoch of a request that is not fenced."""

FENCED = "FENCED_LEADER_EPOCH"
UNKNOWN_LEADER_EPOCH = "UNKNOWN_LEADER_EPOCH"
NOT_LEADER = "NOT_LEADER_OR_FOLLOWER"
NO_PARTITION = "UNKNOWN_TOPIC_OR_PARTITION"

METADATA, CACHE = "metadata", "cache"


class Leadership(NamedTuple):
    """What a broker knows of the partition's leader.

    `epoch`: None where nothing says it; `source`: `metadata`, or `cache`, where the partition's own may be
    newer. `is_known`: to the cluster; `is_replica`, `is_leader`: the broker's part.
    """

    epoch: int | None
    source: str
    is_known: bool = True
    is_replica: bool = True
    is_leader: bool = True


def request_error(current: int, leadership: Leadership) -> str | None:
    """Return the error to a request of a `current` epoch, -1: none; epochs are compared before leadership."""
    if not leadership.is_known:
        return NO_PARTITION
    if not leadership.is_replica:
        return NOT_LEADER
    if current != UNFENCED:
        assert leadership.epoch is not None
        if leadership.epoch > current:
            return FENCED
        if leadership.epoch < current:
            return UNKNOWN_LEADER_EPOCH
    return None if leadership.is_leader else NOT_LEADER


VALID, TRUNCATED, UNDEFINED = "valid", "truncated", "undefined"
UNCHECKED, RETRY, OUT_OF_RANGE = "unchecked", "retry", "out-of-range"
EARLIEST, LATEST, NO_RESET = "earliest", "latest", "none"
"""Values of auto.offset.reset."""

LOG_TRUNCATION = "LogTruncationException"
OFFSET_OUT_OF_RANGE = "OffsetOutOfRangeException"


class Position(NamedTuple):
    """The offset that a consumer reads next, and the leader epoch of the record before; -1: it knows none."""

    offset: int
    epoch: int


class Bounds(NamedTuple):
    """What ListOffsets answers for earliest and latest; None where it is not known."""

    earliest: int | None
    latest: int | None


class Validation(NamedTuple):
    """What becomes of a position, or the `exception` that is thrown.

    `outcome`: `valid`; `truncated` to an offset that the answer names, `undefined` without one; `unchecked`
    for a position without epoch; `retry` after `error`; `out-of-range` by the fetch that follows.
    `next_offset`, `next_epoch`: the position then, if known.
    """

    outcome: str
    next_offset: int | None
    next_epoch: int | None
    exception: str | None = None
    error: str | None = None


def validate(
    position: Position, error: str | None, answer: EndOffset, reset: str, bounds: Bounds
) -> Validation:
    """Return what a consumer with a reset policy concludes from an answer of OffsetForLeaderEpoch.

    The answer's end decides, not its epoch: with a policy a consumer goes back to it, without an end by it.
    """
    offset, epoch = position
    if epoch == UNDEFINED_EPOCH:
        return Validation(UNCHECKED, offset, None)
    if error is not None:
        return Validation(RETRY, None, None, error=error)
    is_undefined = UNDEFINED_EPOCH_OFFSET in {answer.end_offset, answer.epoch}
    if not is_undefined and answer.end_offset >= offset:
        return Validation(VALID, offset, epoch)
    if reset == NO_RESET:
        return Validation(UNDEFINED if is_undefined else TRUNCATED, None, None, LOG_TRUNCATION)
    if is_undefined:
        return Validation(UNDEFINED, bounds.earliest if reset == EARLIEST else bounds.latest, None)
    return Validation(TRUNCATED, answer.end_offset, answer.epoch)


def conclude(
    position: Position,
    answer: tuple[str | None, EndOffset],
    reset: str,
    bounds: Bounds,
    log_end_offset: int,
    *,
    leader_epoch: int | None = None,
) -> Validation:
    """Return what becomes of a position, by the answer (error, end) that a broker gives and the first fetch.

    With a later epoch than the partition's (`updateLatestMetadata`) a consumer waits for ever for its leader.
    Out of the log the fetch resets it (`handleInitializeErrors`).
    """
    error, end = answer
    if error is None and leader_epoch is not None and position.epoch > leader_epoch:
        error = UNKNOWN_LEADER_EPOCH
    validation = validate(position, error, end, reset, bounds)
    if validation.outcome not in {VALID, UNCHECKED} or validation.next_offset is None:
        return validation
    if (bounds.earliest or 0) <= validation.next_offset <= log_end_offset:
        return validation
    if reset == NO_RESET:
        return Validation(OUT_OF_RANGE, None, None, OFFSET_OUT_OF_RANGE)
    return Validation(OUT_OF_RANGE, bounds.earliest if reset == EARLIEST else bounds.latest, None)
