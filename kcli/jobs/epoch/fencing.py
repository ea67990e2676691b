"""What a broker knows of a partition's leader where a request names its epoch, and what it answers then."""

from collections.abc import Generator
from typing import NamedTuple

from kcli.kafka.findings.findings import Finding
from kcli.kafka.replication.fencing import CACHE, FENCED, METADATA, UNFENCED, Leadership, request_error
from kcli.kafka.storage import epochs
from kcli.kafka.storage.epochs import EndOffset, EpochCache
from kcli.logdir.buffers import FileError
from kcli.logdir.partition import Partition


class Fence(NamedTuple):
    """The current leader epoch that a request names, -1 for none, and the KRaft metadata to compare it with.

    Without `metadata` it is compared with the newest epoch of the cache.
    """

    current: int = UNFENCED
    metadata: str | None = None


NO_FENCE = Fence()


class EpochAnswer(NamedTuple):
    """What a broker answers to OffsetForLeaderEpoch: an error, or the end offset."""

    error: str | None
    end: EndOffset


def leadership_of(
    partition: Partition, fence: Fence, entries: EpochCache
) -> Generator[Finding, None, Leadership | None]:
    """Return what the broker knows of the partition's leader; None where neither epoch nor metadata is given.

    FileError where a request names an epoch, and nothing says the partition's own.
    """
    if fence == NO_FENCE:
        return None
    if fence.metadata is not None:
        from kcli.jobs.cluster_metadata import state_in

        found = yield from state_in(fence.metadata, partition)
        if found is None:
            return Leadership(None, METADATA, is_known=False)
        state, broker = found[1], partition.directory.broker_id
        is_here = broker is None or broker in state.replicas
        return Leadership(state.leader_epoch, METADATA, True, is_here, broker in {None, state.leader})
    newest = [cache[-1].epoch for cache in (entries, epochs.replay(partition.epoch_entries() or ())) if cache]
    if not newest:
        message = "no leader epoch of this partition is known: its cache is empty; name --metadata"
        raise FileError(partition.path, "unknown-leader-epoch", message)
    known = Leadership(max(newest), CACHE)
    if request_error(fence.current, known) != FENCED:
        yield Finding(
            "EPOCH-011",
            f"the newest epoch of the cache, {known.epoch}, is taken for the partition's leader epoch",
            dir=partition.shown,
        )
    return known


def answer_to(
    requested: int, entries: EpochCache, log_end_offset: int, fence: Fence, known: Leadership | None
) -> EpochAnswer:
    """Return what a broker answers to a request for the end of an epoch."""
    error = None if known is None else request_error(fence.current, known)
    if error is not None:
        return EpochAnswer(error, epochs.NO_END_OFFSET)
    return EpochAnswer(error, epochs.end_offset_for(entries, requested, log_end_offset))
