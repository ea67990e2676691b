"""What a start reports about the leader-epoch-checkpoint of a partition."""

import os
from collections.abc import Generator, Iterator, Sequence

from formats.checkpoint import EpochEntry
from kcli.kafka.findings.findings import Finding
from kcli.kafka.storage.leader_epochs import EpochCache, contradicts, replay
from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.logdir.partition import LEADER_EPOCH_CHECKPOINT, Partition


def no_epochs(partition: Partition, message: str = "no such file; the cache starts empty") -> Finding:
    """Return the finding about a partition whose leader-epoch-checkpoint is missing, or lacks its epochs."""
    path = os.path.join(partition.shown, LEADER_EPOCH_CHECKPOINT)
    return Finding("EPOCH-001", message, dir=partition.shown, path=path)


def contradicting_lines(partition: Partition, lines: Sequence[EpochEntry]) -> Iterator[Finding]:
    """Yield that lines of leader-epoch-checkpoint erase one another."""
    left = replay(lines)
    if contradicts(lines, left):
        path = os.path.join(partition.shown, LEADER_EPOCH_CHECKPOINT)
        message = f"{len(lines)} lines leave {len(left)} entries: {list_epochs(left)}"
        yield Finding(
            "EPOCH-002", message, dir=partition.shown, path=path, expected=len(lines), found=len(left)
        )


def checkpointed_epochs(
    partition: Partition, loaded: LoadedLog | None, *, running: bool = False
) -> Generator[Finding, None, EpochCache]:
    """Yield what there is to report about leader-epoch-checkpoint.

    Return its lines replayed, with what recovery adds. A `running` broker has no more to recover.
    """
    path = os.path.join(partition.shown, LEADER_EPOCH_CHECKPOINT)
    lines = partition.epoch_entries() if loaded is None else loaded.epoch_lines
    if lines is None:
        yield no_epochs(partition)
    yield from contradicting_lines(partition, lines or ())
    before = replay(lines or ())
    if running or loaded is None or loaded.recovered_epochs == before:
        return before
    if loaded.recovered_epochs:
        message = f"from the batches of recovered segments: {list_epochs(loaded.recovered_epochs)}"
        yield Finding("EPOCH-003", message, dir=partition.shown, path=path)
    return loaded.recovered_epochs


def list_epochs(entries: EpochCache) -> str:
    """Return the first five epochs with their start offsets, and how many more there are."""
    shown = [f"epoch {entry.epoch} from {entry.start_offset}" for entry in entries[:5]]
    return ", ".join(shown + [f"and {len(entries) - 5} more"] * (len(entries) > 5))
