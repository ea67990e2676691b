"""The snapshots in the salvaged copy of a metadata log: as they are, but for the damaged ones."""

import os
from collections.abc import Collection
from contextlib import suppress

from formats.names import CLUSTER_METADATA, KRAFT_SNAPSHOT, parse_file
from kcli.jobs.salvage.partition_copy import FILE_NOT_SAVED, PartitionCopy, copy_bytes
from kcli.kafka.kraft.metadata_snapshot import snapshot_trouble
from kcli.kafka.storage.metadata_log import name_error, snapshots
from kcli.logdir.buffers import DataFile, FileError, irregular, shown
from kcli.logdir.partition_names import first_base


def copy_snapshots(copy: PartitionCopy) -> None:
    """Copy the snapshots of a metadata log; report which are not in the copy, and why.

    One that a node would delete at its start is not copied, nor what keeps it from starting by its name, nor
    a damaged one.
    """
    partition, copied = copy.partition, []
    for name in partition.entries:
        file, path, new = parse_file(name), os.path.join(partition.path, name), os.path.join(copy.path, name)
        trouble = name_error(name) if partition.topic == CLUSTER_METADATA else None
        if trouble is not None:
            _report(copy, name, f"a node does not start with this name ({trouble})")
        elif file.kind == KRAFT_SNAPSHOT and file.epoch is not None and not file.suffix:
            try:
                with DataFile(path) as snapshot, open(new, "wb") as into:
                    copy_bytes(snapshot, 0, snapshot.size, into.write)
            except FileError as error:
                with suppress(FileNotFoundError):
                    os.unlink(new)
                if os.path.lexists(path):  # else a broker that runs has removed it
                    _report(copy, name, f"cannot be read ({irregular(path) or error.message})")
            else:
                copied.append(name)
    if partition.topic == CLUSTER_METADATA:
        _remove_damaged(copy, copied)


def _remove_damaged(copy: PartitionCopy, names: Collection[str]) -> None:
    """Remove the damaged snapshots from the copy.

    Not the newest one where the log does not go back to a whole one: what was before the log is in it alone.
    """
    troubles = {name: snapshot_trouble(os.path.join(copy.path, name)) for name in names}
    whole = [name for name, trouble in troubles.items() if trouble is None]
    reached = snapshots(whole, min(copy.batches, default=first_base(os.listdir(copy.path)))).values()
    damaged = {name: trouble for name, trouble in troubles.items() if trouble is not None}
    if damaged and 0 not in copy.batches and not {*whole} & {*reached}:
        del damaged[max(damaged, key=_age)]
    for name, trouble in damaged.items():
        os.unlink(os.path.join(copy.path, name))
        _report(copy, name, f"damaged ({trouble.message})", trouble.position)


def _age(name: str) -> tuple[int, int]:
    """Return what the newest snapshot has the most of: its epoch, then its end offset."""
    file = parse_file(name)
    return file.epoch or 0, file.base_offset or 0


def _report(copy: PartitionCopy, name: str, why: str, position: int | None = None) -> None:
    copy.report(FILE_NOT_SAVED, shown(name), f"{why}: it is not in the copy", position)
