"""A partition directory: its files by kind, its segments in order, opened only when asked."""

import os
from dataclasses import dataclass
from functools import cached_property

from formats.checkpoint import EpochEntry, check_epoch_entries, read_leader_epoch_checkpoint
from formats.names import NORMAL, FileName, canonical_name, parse_file
from formats.properties import read_partition_metadata
from kcli.logdir.buffers import FileError, decode_optional, shown
from kcli.logdir.find import Note
from kcli.logdir.log_dirs import NO_DIRECTORY, PARTITION_METADATA_FILE, DirectoryFacts, directory_facts
from kcli.logdir.partition_names import listed_log, unexpected_names
from kcli.logdir.segment import Segment
from kcli.logdir.targets import Target

LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"


@dataclass(frozen=True)
class Partition:
    """One partition directory; every property reads the disk at first use and keeps it. FileErrors."""

    target: Target

    @property
    def path(self) -> str:
        """The directory to open."""
        return self.target.path

    @property
    def shown(self) -> str:
        """The directory as reached from the argument."""
        return self.target.shown

    @property
    def topic(self) -> str | None:
        """The topic by the directory's name; None when the name is no partition's."""
        return self.target.name.topic if self.target.name else None

    @property
    def state(self) -> str:
        """normal, delete, stray or future, by the name; normal when that is no partition's."""
        return self.target.name.kind if self.target.name else NORMAL

    @property
    def number(self) -> int | None:
        """The partition's number by the directory's name."""
        return self.target.name.partition if self.target.name else None

    @cached_property
    def directory(self) -> DirectoryFacts:
        """What the log dir around it says; empty facts for a partition directory alone."""
        return directory_facts(self.target.log_dir) if self.target.log_dir is not None else NO_DIRECTORY

    @property
    def names(self) -> list[str]:
        """The files of the directory, sorted by name as the broker sorts them."""
        return self._listed[0]

    @property
    def entries(self) -> list[str]:
        """Every entry of the directory: its files, and the other entries, as of `listed`."""
        files, non_files = self._listed
        return [*files, *non_files]

    @property
    def unexpected_names(self) -> tuple[Note, ...]:
        """What is named like a file of a log and is none, or has no offset in its name."""
        return tuple(unexpected_names(self.target, *self._listed))

    @cached_property
    def _listed(self) -> tuple[list[str], list[str]]:
        return listed_log(self.path)

    @cached_property
    def files(self) -> tuple[tuple[str, FileName], ...]:
        """Every file with its parsed name."""
        return tuple((name, parse_file(name)) for name in self.names)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The segments by base offset: every .log of a name that a broker opens, with the files beside it."""
        by_stem: dict[str, set[str]] = {}
        for name in self.names:
            if canonical_name(name) == name:
                stem, _, extension = name.partition(".")
                by_stem.setdefault(stem, set()).add(extension)
        segments = [
            Segment(self.path, int(stem), stem, frozenset(kinds))
            for stem, kinds in by_stem.items()
            if "log" in kinds
        ]
        return tuple(sorted(segments, key=lambda segment: segment.base_offset))

    def epoch_entries(self) -> list[EpochEntry] | None:
        """Return the lines of leader-epoch-checkpoint in file order, none of them negative; None without."""

        def decode(data: bytes) -> list[EpochEntry]:
            entries = read_leader_epoch_checkpoint(data)
            check_epoch_entries(entries, data)
            return entries

        return decode_optional(os.path.join(self.path, LEADER_EPOCH_CHECKPOINT), decode)

    def topic_id(self) -> str | None:
        """Return the topic id of partition.metadata, or None if there is no such file."""
        metadata = decode_optional(os.path.join(self.path, PARTITION_METADATA_FILE), read_partition_metadata)
        return None if metadata is None else metadata.topic_id


def misnamed(path: str, name: str) -> FileError:
    """Return the error for a log whose name is not canonical while the canonical file is missing."""
    message = (
        f"the broker takes it for {canonical_name(name)}, and begins that as an empty segment: what follows "
        "is not foreseen here"
    )
    return FileError(path, "unsupported", message)


def shown_path(partition: Partition, path: str) -> str:
    """Return a path below the partition directory as reached from the argument."""
    if path == partition.path:
        return partition.shown
    return os.path.join(partition.shown, shown(os.path.relpath(path, partition.path)))


def shown_error(partition: Partition, error: FileError) -> FileError:
    """Return the same error with its path as reached from the argument."""
    return FileError(shown_path(partition, error.path), *error.args[1:])
