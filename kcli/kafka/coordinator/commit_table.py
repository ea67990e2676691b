"""The newest commit of each key, for millions of records: found by hashes of keys, many at once.

Each key has a slot. The fields of a commit are in arrays by slot, the value as bytes if it is short, as most
are. A dict of keys answers for single ones.
"""

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from kcli.kafka.coordinator.coordinator_log import CoordinatorRecords, Ints

CommitKey: TypeAlias = bytes
"""Group, topic and partition as in the key of a commit, after its type."""
Hashes: TypeAlias = NDArray[np.uint64]

TYPE_SIZE, WORD = 2, 8
LONGEST_KEY = 600
"""Bytes: names of topics have 249 characters at most, those of groups are seldom long."""
SHORT_VALUE = 48
FIRST_SLOTS, DIRECT = 1 << 10, 8
MULTIPLIER, SEED = np.uint64(0x9E3779B97F4A7C15), np.uint64(secrets.randbits(64))
ALL_BITS = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
NO_COMMIT = -1


class Commit(NamedTuple):
    """A commit as stored: the offset and timestamp of its record, and its value."""

    record_offset: int
    timestamp: int
    value: bytes


class CommitTable:
    """The commit that counts of each key."""

    def __init__(self) -> None:
        self._slots: dict[CommitKey, int] = {}
        self._hashes, self._slot_of_hash = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        self._direct, self._shift = np.zeros(2, np.int64), np.uint64(63)
        """By the high bits of a hash the place of one that has them: most hashes are found at once."""
        self._offset = np.zeros(FIRST_SLOTS, np.int64)
        self._timestamp = np.zeros(FIRST_SLOTS, np.int64)
        self._size = np.full(FIRST_SLOTS, NO_COMMIT, np.int64)
        self._value = np.zeros((FIRST_SLOTS, SHORT_VALUE), np.uint8)
        self._long: dict[int, bytes] = {}

    def __iter__(self) -> Iterator[CommitKey]:
        return (key for key, slot in self._slots.items() if self._size[slot] >= 0)

    def get(self, key: CommitKey) -> Commit | None:
        """Return the commit of a key; None without one."""
        slot = self._slots.get(key)
        if slot is None or (size := int(self._size[slot])) < 0:
            return None
        value = self._value[slot, :size].tobytes() if size <= SHORT_VALUE else self._long[slot]
        return Commit(int(self._offset[slot]), int(self._timestamp[slot]), value)

    def put(self, key: CommitKey, commit: Commit) -> None:
        """Take the commit of a key."""
        slot, size = self._slot(key), len(commit.value)
        self._offset[slot], self._timestamp[slot], self._size[slot] = *commit[:2], size
        if size > SHORT_VALUE:
            self._long[slot] = commit.value
        else:
            self._value[slot, :size] = np.frombuffer(commit.value, np.uint8)

    def pop(self, key: CommitKey) -> Commit | None:
        """Remove the commit of a key; return it."""
        commit = self.get(key)
        if commit is not None:
            self._size[self._slots[key]] = NO_COMMIT
        return commit

    def put_all(self, records: "CoordinatorRecords") -> bool:
        """Take the commits of records in order; False for keys that are too long, of which none is taken."""
        if int(records.key_length.max(initial=0)) > LONGEST_KEY:
            return False
        slots = self._slots_of(records, hashes(records))
        newest = np.full(len(self._slots), NO_COMMIT)
        newest[slots] = np.arange(len(slots))  # of a slot that comes twice the last counts
        changed = (newest >= 0).nonzero()[0]
        numbers = newest[changed]
        size = records.value_length[numbers]
        self._offset[changed], self._timestamp[changed] = records.offset[numbers], records.timestamp[numbers]
        self._size[changed] = size
        for slot, number in zip(changed[size > SHORT_VALUE], numbers[size > SHORT_VALUE], strict=True):
            self._long[int(slot)] = records.value(number) or b""
        data = records.data + bytes(SHORT_VALUE)
        windows = np.ndarray((len(records.data) + 1,), f"V{SHORT_VALUE}", data, strides=(1,))
        self._value.view(f"V{SHORT_VALUE}")[changed, 0] = windows[records.value_start[numbers]]
        return True

    def _slots_of(self, records: "CoordinatorRecords", hashes: Hashes) -> "Ints":
        """Return the slots of keys; those that are new get one."""
        index = self._direct[hashes >> self._shift]
        is_known = self._hashes[index] == hashes if len(self._hashes) else np.zeros(len(hashes), np.bool_)
        if not is_known.all():
            misses = ~is_known
            index[misses] = np.minimum(np.searchsorted(self._hashes, hashes[misses]), len(self._hashes) - 1)
            is_known[misses] = self._hashes[index[misses]] == hashes[misses] if len(self._hashes) else False
        if not is_known.all():
            new, first = np.unique(hashes[~is_known], return_index=True)
            numbers = (~is_known).nonzero()[0][first]
            slots = [self._slot((records.key(number) or b"")[TYPE_SIZE:]) for number in numbers]
            every = np.concatenate((self._hashes, new))
            order = np.argsort(every, kind="stable")
            self._hashes = every[order]
            self._slot_of_hash = np.concatenate((self._slot_of_hash, np.array(slots, np.int64)))[order]
            bits = (DIRECT * len(every)).bit_length()
            self._direct, self._shift = np.zeros(1 << bits, np.int64), np.uint64(64 - bits)
            self._direct[self._hashes >> self._shift] = np.arange(len(every))
            index = np.searchsorted(self._hashes, hashes)
        result: Ints = self._slot_of_hash[index]
        return result

    def _slot(self, key: CommitKey) -> int:
        slot = self._slots.setdefault(key, len(self._slots))
        if slot == len(self._size):
            columns = self._offset, self._timestamp
            self._offset, self._timestamp = (np.resize(column, 2 * slot) for column in columns)
            self._size = np.concatenate((self._size, np.full(slot, NO_COMMIT)))
            self._value = np.concatenate((self._value, np.zeros_like(self._value)))
        return slot


def hashes(records: "CoordinatorRecords") -> Hashes:
    """Return a hash of each key after its type."""
    return hash_bytes(records.data, records.key_start + TYPE_SIZE, records.key_length - TYPE_SIZE)


def hash_bytes(data: bytes, start: "Ints", length: "Ints") -> Hashes:
    """Return a hash of each of some pieces of data, of which eight bytes or more follow the last."""
    words = np.ndarray((max(len(data) - WORD + 1, 0),), "<u8", data, strides=(1,))
    hashes = SEED ^ length.astype(np.uint64)
    for begin in range(0, int(length.max(initial=0)), WORD):
        remaining = length - begin
        word = words[np.minimum(start + np.minimum(begin, length), len(words) - 1)]
        shift = (np.clip(WORD - remaining, 0, WORD - 1) * 8).astype(np.uint64)
        word &= np.where(remaining > 0, ALL_BITS >> shift, np.uint64(0))
        hashes = (hashes ^ word) * MULTIPLIER
        hashes ^= hashes >> np.uint64(29)
    return hashes
