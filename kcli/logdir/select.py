"""Which partitions a command reads: by topic, by partition, with leftovers or without."""

import re
from fnmatch import fnmatchcase
from typing import NamedTuple

from formats.names import (
    PartitionDir,
)

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
        """Whether a partition of this name is selected.

        An unparseable name passes only an empty selection.
        """
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


ALL_PARTITIONS = Selection()
