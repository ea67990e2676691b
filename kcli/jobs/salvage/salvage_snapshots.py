"""The snapshots in the salvaged copy of a metadata log: as they are, but for the damaged ones."""

import os
from collections.abc import Collection, Iterator
from contextlib import suppress

from formats.names import CLUSTER_METADATA, KRAFT_SNAPSHOT, file_prefix, parse_file
from kcli.jobs.salvage.salvage_places import copy_bytes
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.metadata_snapshot import snapshot_trouble
from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.kafka.storage.metadata_log import name_error, snapshots
from kcli.logdir.buffers import DataFile, FileError, irregular, shown
from kcli.logdir.partition import Partition
from kcli.logdir.partition_names import first_base

BEHIND = "START-007"


def copy_snapshots(partition: Partition, made: str, held: Collection[int]) -> Iterator[Finding]:
    """Copy the snapshots of a metadata log; yield which are not in the copy, and why.

    One that a node would delete at its start is not copied, nor what keeps it from starting by its name, nor
    a damaged one. `held` are the base offsets of the segments of which the copy has batches.
    """
    copied = []
    for name in partition.entries:
        file, path, new = parse_file(name), os.path.join(partition.path, name), os.path.join(made, name)
        trouble = name_error(name) if partition.topic == CLUSTER_METADATA else None
        if trouble is not None:
            yield _left_out(partition, name, f"a node does not start with this name ({trouble})")
        elif file.kind == KRAFT_SNAPSHOT and file.epoch is not None and not file.suffix:
            try:
                with DataFile(path) as snapshot, open(new, "wb") as into:
                    copy_bytes(snapshot, 0, snapshot.size, into.write)
            except FileError as error:
                with suppress(FileNotFoundError):
                    os.unlink(new)
                if os.path.lexists(path):  # else a broker that runs has removed it
                    yield _left_out(partition, name, f"cannot be read ({irregular(path) or error.message})")
            else:
                copied.append(name)
    if partition.topic == CLUSTER_METADATA:
        yield from _without_damaged(partition, made, copied, held)


def _without_damaged(
    partition: Partition, made: str, names: Collection[str], held: Collection[int]
) -> Iterator[Finding]:
    """Remove the damaged snapshots from the copy; yield each.

    Not the newest one where the log does not go back to a whole one: what was before the log is in it alone.
    """
    troubles = {name: snapshot_trouble(os.path.join(made, name)) for name in names}
    whole = [name for name, trouble in troubles.items() if trouble is None]
    reached = snapshots(whole, min(held, default=first_base(os.listdir(made)))).values()
    damaged = {name: trouble for name, trouble in troubles.items() if trouble is not None}
    if damaged and 0 not in held and not {*whole} & {*reached}:
        del damaged[max(damaged, key=_age)]
    for name, trouble in damaged.items():
        os.unlink(os.path.join(made, name))
        yield _left_out(partition, name, f"damaged ({trouble.message})")._replace(position=trouble.position)


def _age(name: str) -> tuple[int, int]:
    """Return what the newest snapshot has the most of: its epoch, then its end offset."""
    file = parse_file(name)
    return file.epoch or 0, file.base_offset or 0


def superseded(loaded: LoadedLog, made: str) -> Iterator[str]:
    """Yield the path of each log of a copy that goes: the newest snapshot is ahead of the log.

    `loaded` is the copy, `made` its directory, where the logs are whole.
    """
    if any(one.code == BEHIND for one in loaded.findings):
        for base in loaded.deleted:
            yield os.path.join(made, f"{file_prefix(base)}.log")


def _left_out(partition: Partition, name: str, why: str) -> Finding:
    path = os.path.join(partition.shown, shown(name))
    return Finding("SALV-014", f"{why}: it is not in the copy", partition.shown, path)
