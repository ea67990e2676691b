"""What makes a coordinator's log large: records and bytes of each group by type of record."""

from typing import NamedTuple

import numpy as np

from formats.primitives import int16, string_bytes
from kcli.kafka.coordinator.commit_table import TYPE_SIZE, WORD, hash_bytes
from kcli.kafka.coordinator.coordinator_log import CoordinatorRecords, Ints
from kcli.kafka.coordinator.group_fold import LENGTH_SIZE, shorts


class GroupRecords(NamedTuple):
    """Records of a type of a group; `size` counts bytes of keys and values, `dirty_size` the uncleaned."""

    group_id: str
    record_type: int
    records: int
    tombstones: int
    size: int
    dirty_size: int


class StorageUse:
    """Counts records; `first_dirty` is the first offset that the cleaner has not reached, None for none."""

    def __init__(self, first_dirty: int | None) -> None:
        self._first_dirty = first_dirty or 0
        self._counts: dict[bytes, Ints] = {}

    def take(self, records: CoordinatorRecords) -> None:
        """Count records: those whose key begins with a type and a group."""
        data = np.frombuffer(records.data, np.uint8)
        size = TYPE_SIZE + LENGTH_SIZE + shorts(data, records.key_start + TYPE_SIZE)
        records = records.subset((size <= records.key_length) & (size >= TYPE_SIZE + LENGTH_SIZE))
        size = TYPE_SIZE + LENGTH_SIZE + shorts(data, records.key_start + TYPE_SIZE)
        _, first, which = np.unique(
            hash_bytes(records.data + bytes(WORD), records.key_start, size),
            return_index=True,
            return_inverse=True,
        )
        sizes = records.key_length + np.maximum(records.value_length, 0)
        is_dirty = records.offset >= self._first_dirty
        columns = (np.ones_like(sizes), records.value_length < 0, sizes, np.where(is_dirty, sizes, 0))
        counts = np.array([np.bincount(which, column, len(first)) for column in columns]).astype(np.int64).T
        for number, own in zip(first.tolist(), counts, strict=True):
            prefix = (records.key(number) or b"")[: int(size[number])]
            total = self._counts.get(prefix)
            self._counts[prefix] = own if total is None else total + own

    def largest_first(self) -> list[GroupRecords]:
        """Return what was counted."""
        uses = []
        for prefix, counts in self._counts.items():
            group = (string_bytes(prefix, TYPE_SIZE)[0] or b"").decode(errors="replace")
            uses.append(GroupRecords(group, int16(prefix, 0)[0], *counts.tolist()))
        return sorted(uses, key=lambda use: (-use.size, use.group_id, use.record_type))
