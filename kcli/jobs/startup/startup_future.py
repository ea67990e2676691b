"""The -future logs that a starting broker makes the current ones: `LogManager.recoverAbandonedFutureLogs`.

A move to another log dir ends with a record that assigns the partition to it, then with a rename. A broker
that stopped between the two renames the directory when it starts, and deletes the log that was current.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from formats.names import FUTURE, NORMAL, PartitionDir, parse_partition_dir
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.election import PartitionState
from kcli.kafka.storage.start_files import DELETE, FileChange
from kcli.logdir.log_dirs import LogDirState
from kcli.rows.startup import StartupRow

Replicas: TypeAlias = Mapping[tuple[str, int], PartitionState]
"""(topic id, partition) -> its state in the metadata."""
REPLACED = "the broker deletes the log: the metadata assigns the -future one"


class StartedPartition(NamedTuple):
    """A partition's row with its log dir, its topic id, and its first unstable offset once it is loaded.

    `topic_id` is None where no file says it, or where the broker asks for none; `first_unstable_offset`
    without a transaction that is open, or completed in what the start replays.
    """

    row: StartupRow
    log_dir: str | None
    topic_id: str | None
    first_unstable_offset: int | None = None

    @property
    def name(self) -> PartitionDir | None:
        """What the name of its directory says."""
        return parse_partition_dir(os.path.basename(self.row.where.dir))

    def is_current_of(self, other: "StartedPartition") -> bool:
        """Whether it is the log that a -future one is to replace."""
        mine, its = self.name, other.name
        return (
            mine is not None
            and its is not None
            and (mine.kind, mine.topic, mine.partition) == (NORMAL, its.topic, its.partition)
            and self.topic_id == other.topic_id
        )


def promoted(
    partitions: Sequence[StartedPartition], dirs: Iterable[LogDirState], replicas: Replicas, node_id: int
) -> tuple[tuple[StartedPartition, ...], list[Finding]]:
    """Return the partitions after -future logs took the place of others, and a finding for each of these."""
    ids = {one.path: one.meta.directory_id for one in dirs if one.meta is not None}
    futures = list(_abandoned(partitions, ids, replicas, node_id))
    findings, after = [], list(partitions)
    for future in futures:
        words = "the metadata assigns the partition to this log dir: the -future log becomes the current one"
        for number, one in enumerate(partitions):
            if one.is_current_of(future):
                words += f", and {one.row.where.dir} is deleted"
                after[number] = one._replace(row=one.row._replace(files=tuple(map(_deleted, one.row.files))))
        findings.append(Finding("START-016", words, dir=future.row.where.dir))
    return tuple(after), findings


def _abandoned(
    partitions: Iterable[StartedPartition],
    ids: Mapping[str, str | None],
    replicas: Replicas,
    node_id: int,
) -> Iterator[StartedPartition]:
    for one in partitions:
        name, directory_id = one.name, ids.get(one.log_dir or "")
        if name is None or name.kind != FUTURE or one.row.error is not None or directory_id is None:
            continue
        state = replicas.get((one.topic_id or "", name.partition))
        if state is not None and state.directory_of(node_id) == directory_id:
            yield one


def _deleted(change: FileChange) -> FileChange:
    return change._replace(action=DELETE, size_after=None, reason=REPLACED)
