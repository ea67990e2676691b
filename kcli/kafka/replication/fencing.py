"""Whether a broker answers a request that names the partition's current leader epoch (KIP-320).

The truth is `ReplicaManager.lastOffsetForLeaderEpoch`, and `Partition.getLocalLog` with
`checkCurrentLeaderEpoch`.
"""

from typing import NamedTuple

UNFENCED = -1
"""The current leader epoch of a request that is not fenced."""

FENCED = "FENCED_LEADER_EPOCH"
UNKNOWN = "UNKNOWN_LEADER_EPOCH"
NOT_LEADER = "NOT_LEADER_OR_FOLLOWER"
NO_PARTITION = "UNKNOWN_TOPIC_OR_PARTITION"

METADATA, CACHE = "metadata", "cache"


class Leadership(NamedTuple):
    """What a broker knows of the partition's leader.

    `epoch` is None where nothing says it; `source`: `metadata`, or `cache` where it is the newest of the
    leader epoch cache, and the partition's own may be newer. `is_known`: the cluster has the partition;
    `is_replica`, `is_leader`: the broker's part in it.
    """

    epoch: int | None
    source: str
    is_known: bool = True
    is_replica: bool = True
    is_leader: bool = True


def request_error(current: int, leadership: Leadership) -> str | None:
    """Return the error to a request that names the `current` leader epoch, -1 for none; None for no error.

    The epochs are compared before the broker looks whether it leads at all.
    """
    if not leadership.is_known:
        return NO_PARTITION
    if not leadership.is_replica:
        return NOT_LEADER
    if current != UNFENCED:
        assert leadership.epoch is not None
        if leadership.epoch > current:
            return FENCED
        if leadership.epoch < current:
            return UNKNOWN
    return None if leadership.is_leader else NOT_LEADER
