"""What a file's name and directory say about it, and its siblings of the same segment."""

import os

from formats.names import FileName, parse_file
from kcli.logdir.buffers import shown
from kcli.logdir.directory import NO_DIRECTORY, directory_facts
from kcli.logdir.tree import Target


def from_file(target: Target) -> tuple[str | int | None, ...]:
    """Return the values of kcli.rows.FROM_FILE: dir, broker_id, cluster_id, topic, partition, file."""
    directory, name = os.path.split(target.shown)
    facts = directory_facts(target.log_dir) if target.log_dir is not None else NO_DIRECTORY
    topic, partition = (shown(target.name.topic), target.name.partition) if target.name else (None, None)
    return (directory or ".", facts.broker_id, facts.cluster_id, topic, partition, name)


def file_name(target: Target) -> FileName:
    """Return what the name of a target's file says."""
    return parse_file(os.path.basename(target.path))


def sibling(target: Target, extension: str) -> str | None:
    """Return the path of another file of the same segment, with the same suffix; None if there is none."""
    directory, name = os.path.split(target.path)
    stem, _, rest = name.partition(".")
    suffix = rest.partition(".")[2]
    path = os.path.join(directory, f"{stem}.{extension}" + (f".{suffix}" if suffix else ""))
    return path if os.path.lexists(path) else None
