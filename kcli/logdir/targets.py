"""Targets: one thing to read each, a partition directory or a file, and where it was reached from."""

import os
import re
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import NamedTuple

from formats.names import NORMAL, PartitionDir
from kcli.logdir.buffers import shown

PARTITION = "partition"
PRODUCER_EXPIRATION_MS = 86_400_000  # broker default of producer.id.expiration.ms
OFFSETS_RETENTION_MS = 7 * 86_400_000  # broker default of offsets.retention.minutes


class Server(NamedTuple):
    """What the server.properties of a broker says: `remote_log` is remote.log.storage.system.enable."""

    log_dirs: tuple[str, ...] = ()
    metadata_log_dir: str | None = None
    remote_log: bool | None = None
    index_interval_bytes: int | None = None
    segment_index_bytes: int | None = None
    producer_expiration_ms: int = PRODUCER_EXPIRATION_MS
    offsets_retention_ms: int = OFFSETS_RETENTION_MS


NO_SERVER = Server()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One thing to read: a partition directory, or a file.

    `path` opens it, `shown` is how it was reached from the argument (for people and rows). `kind` is
    `partition`, `remote-segments` or the file's kind in `formats.names`. `name` is the partition directory's
    parsed name, None where it has none (a file outside a partition directory, a directory of another name).
    `log_dir` is the log dir around it, None when there is none. `metadata_dir` is another log dir, in which
    the metadata log of its broker lies; None where none is known, or it lies in `log_dir`.
    """

    kind: str
    path: str
    shown: str
    name: PartitionDir | None
    log_dir: str | None
    metadata_dir: str | None = None
    server: Server = NO_SERVER


def entry_of(directory: Target, name: str, kind: str) -> Target:
    """Return the target of an entry of a directory, of the partition that the directory is of."""
    path, shown_path = os.path.join(directory.path, name), os.path.join(directory.shown, shown(name))
    return replace(directory, kind=kind, path=path, shown=shown_path)


def partition_of(target: Target) -> Target:
    """Return the target of the partition directory around a file's target."""
    path, shown_path = os.path.dirname(target.path) or ".", os.path.dirname(target.shown) or "."
    return replace(target, kind=PARTITION, path=path, shown=shown_path)


def shown_as(target: Target, path: str) -> str:
    """Return a path, of a target or beside it, as reached from the argument; one elsewhere as it is."""
    parent = target if target.kind == PARTITION else partition_of(target)
    if path == parent.path:
        return parent.shown
    if path == target.path:
        return target.shown
    name = os.path.basename(path)
    return os.path.join(parent.shown, shown(name)) if path == os.path.join(parent.path, name) else shown(path)


INTERNAL_TOPICS = re.compile(r"__.*")


class Selection(NamedTuple):
    """Which partitions are selected, topics by names or globs; empty fields select everything."""

    topics: tuple[str, ...] = ()
    topic_regexes: tuple[str, ...] = ()
    partitions: frozenset[int] = frozenset()
    exclude_internal: bool = False
    include_leftovers: bool = False

    @property
    def names(self) -> bool:
        """Whether some topics or partitions are selected, and not all."""
        return bool(self.topics or self.topic_regexes or self.partitions or self.exclude_internal)

    def wants(self, name: PartitionDir | None) -> bool:
        """Whether a partition of this name is selected; an unparseable one where all are."""
        if name is None:
            return not (self.topics or self.topic_regexes or self.partitions)
        if (self.topics or self.topic_regexes) and not (
            any(fnmatchcase(name.topic, pattern) for pattern in self.topics)
            or any(re.fullmatch(regex, name.topic) for regex in self.topic_regexes)
        ):
            return False
        if self.partitions and name.partition not in self.partitions:
            return False
        return not (self.exclude_internal and INTERNAL_TOPICS.fullmatch(name.topic))

    def takes(self, name: PartitionDir | None) -> bool:
        """Whether a partition directory of this name in a log dir is read."""
        is_leftover = name is not None and name.kind != NORMAL
        return self.wants(name) and (self.include_leftovers or not is_leftover)


ALL_PARTITIONS = Selection()
NO_PARTITIONS = Selection(partitions=frozenset({-1}))
