"""The one fold of the records of __consumer_offsets: commits, and the groups of every protocol.

The truth is `GroupCoordinatorShard.replay`, with `OffsetMetadataManager` for commits and
`GroupMetadataManager` for groups. The newest commit of a key counts; a transaction's are pending until its
marker, and dropped if that aborts. A group of commits alone is a classic one without a record of its own.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formats.batch import NO_PRODUCER_ID
from formats.errors import FormatError
from formats.messages.decode import decode_key, decode_value
from formats.messages.reader import Message, Unknown
from formats.names import CONSUMER_OFFSETS
from formats.primitives import int32, string_bytes
from kcli.kafka.coordinator.commit_table import TYPE_SIZE, Commit, CommitKey, CommitTable
from kcli.kafka.coordinator.coordinator_log import CoordinatorRecords, Ints, Marker
from kcli.kafka.coordinator.transactions import FLEXIBLE_FROM, PASSES_OVER_TYPES
from kcli.kafka.kraft.meta_properties import NEWEST, Version

CLASSIC, CONSUMER, SHARE, STREAMS = "classic", "consumer", "share", "streams"
OFFSET_COMMIT, GROUP_METADATA = 1, 2
GROUP_TYPES = {
    GROUP_METADATA: CLASSIC,
    **dict.fromkeys((3, 4, 5, 6, 7, 8, 16), CONSUMER),
    **dict.fromkeys((10, 11, 12, 13, 14, 15), SHARE),
    **dict.fromkeys((17, 19, 20, 21, 22, 23), STREAMS),
}
"""The type of group that a type of record is about."""


class RecordTypes(NamedTuple):
    """The types of records that say the same of the groups of a protocol, and a member's state `stable`.

    Tombstones have this order: of a member, its assignment and target, all targets, the group with its epoch.
    """

    member: int
    current: int
    member_target: int
    target: int
    group: int
    stable: int


RECORDS_OF = {
    CONSUMER: RecordTypes(5, 8, 7, 6, 3, stable=0),
    SHARE: RecordTypes(10, 14, 13, 12, 11, stable=0),
    STREAMS: RecordTypes(19, 22, 21, 20, 17, stable=1),
}
OF_GROUPS = frozenset(types.group for types in RECORDS_OF.values())
"""Records that hold the epoch of a group: a tombstone of one removes it."""
NEW_COORDINATOR_FROM = (4, 0)
"""The first release whose coordinator knows other groups than classic ones."""
GROUP_FIELDS = ("group", "groupId")
LENGTH_SIZE, PARTITION_SIZE = 2, 4

Fields: TypeAlias = dict[str, Any]
Flags: TypeAlias = NDArray[np.bool_]


class RemovedCommit(NamedTuple):
    """A tombstone, and the commit that it removed."""

    record_offset: int
    timestamp: int
    commit: Commit


Watch: TypeAlias = Callable[[CommitKey, Commit | None, RemovedCommit | None], None]
"""Sees each commit that comes to count with the one before, and each tombstone."""


@dataclass
class FoldedGroup:
    """The records of a group that count: their fields by type and by the rest of the key, None for none."""

    type: str
    records: dict[tuple[int, str | None], Fields] = field(default_factory=dict)
    unassigned_members: set[str | None] = field(default_factory=set)
    """Members whose current assignment was removed: only then may they be."""

    def remove(self, number: int, name: str | None) -> str | None:
        """Take a tombstone of a record of a type; return why its replay fails."""
        member, current, target, targets, group, _ = RECORDS_OF[self.type]
        why = None
        if number == member:
            is_member = (member, name) in self.records or (current, name) in self.records
            if is_member and name not in self.unassigned_members:
                why = f"the tombstone of member {name} comes before that of its assignment"
            elif is_member and (target, name) in self.records:
                why = f"the tombstone of member {name} comes before that of its target assignment"
            self.records.pop((current, name), None)
        elif number == current:
            self.unassigned_members.add(name)
        elif number == targets and self.of_type(target):
            why = "the tombstone of the target assignment comes before those of its members"
        elif number == group and (self.of_type(member) or self.of_type(current)):
            why = "the tombstone of the group comes before those of its members"
        elif number == group and (targets, None) in self.records:
            why = "the tombstone of the group comes before that of its target assignment"
        self.records.pop((number, name), None)
        return why

    def of_type(self, number: int) -> dict[str, Fields]:
        """Return the records of a type by what their key names beside the group."""
        return {name or "": fields for (kind, name), fields in self.records.items() if kind == number}

    def fields(self, number: int) -> Fields:
        """Return the fields of the only record of a type; none without it."""
        return self.records.get((number, None), {})


class Trouble(NamedTuple):
    """A record that the coordinator cannot read: its offset, file and batch, and why."""

    offset: int
    path: str
    position: int
    reason: str


class GroupFold:
    """Takes records and markers in order; `keeps_removed` keeps what tombstones remove.

    `pending`: the commits of transactions that are open, by producer. `watch` sees each change of a commit
    that counts. `version`: the release of the coordinator; `troubles` are the records at which its load ends,
    `unknown` counts those that it passes over. Here what follows them is folded, too.
    """

    def __init__(
        self, *, keeps_removed: bool = False, watch: Watch | None = None, version: Version = NEWEST
    ) -> None:
        self.version = version
        self._commits = CommitTable()
        self.pending: dict[int, dict[CommitKey, Commit]] = {}
        self.groups: dict[str, FoldedGroup] = {}
        self.removed: dict[CommitKey, RemovedCommit] = {}
        self.troubles: list[Trouble] = []
        self.unknown = 0
        self._simple: dict[bytes, None] = {}
        self._highest = 4 if version >= FLEXIBLE_FROM else 3
        self._highest_legacy = 0 if version >= NEW_COORDINATOR_FROM else self._highest
        self._one_by_one = keeps_removed or watch is not None
        self._keeps_removed, self._watch = keeps_removed, watch

    def fold(self, items: Iterable[CoordinatorRecords | Marker]) -> None:
        """Take all records and markers."""
        for item in items:
            if isinstance(item, Marker):
                self._end(item)
            else:
                self._take(item)

    # Runs of commits, and other records between them

    def _take(self, records: CoordinatorRecords) -> None:
        is_commit = is_whole_commit(records, self._highest, self._highest_legacy)
        if is_commit.all():
            self._commit(records)
            return
        parted = (is_commit[1:] != is_commit[:-1]).nonzero()[0] + 1
        for begin, end in pairwise([0, *parted.tolist(), len(is_commit)]):
            run = records.subset(slice(begin, end))
            if len(run.offset) and is_commit[begin]:
                self._commit(run)
            else:
                for number in range(len(run.offset)):
                    self._replay(run, number)

    def _commit(self, records: CoordinatorRecords) -> None:
        tombstones = records.value_length < 0
        is_plain = records.producer_id == NO_PRODUCER_ID and not self._one_by_one and not tombstones.any()
        if is_plain and self._commits.put_all(records):
            return
        for number, (offset, timestamp) in enumerate(
            zip(records.offset.tolist(), records.timestamp.tolist(), strict=True)
        ):
            key, value = (records.key(number) or b"")[TYPE_SIZE:], records.value(number)
            commit = Commit(offset, timestamp, value or b"")
            if value is None:
                self._remove(key, commit)
            elif records.producer_id == NO_PRODUCER_ID:
                self._put(key, commit)
            else:
                self.pending.setdefault(records.producer_id, {})[key] = commit
                self._simple[group_of(key)] = None

    def _put(self, key: CommitKey, commit: Commit) -> None:
        if self._watch is not None:
            self._watch(key, commit, None)
        self.removed.pop(key, None)
        self._commits.put(key, commit)

    def _remove(self, key: CommitKey, tombstone: Commit) -> None:
        for commits in self.pending.values():
            commits.pop(key, None)
        commit = self._commits.pop(key)
        if commit is not None:
            self._simple[group_of(key)] = None
            removal = RemovedCommit(tombstone.record_offset, tombstone.timestamp, commit)
            if self._keeps_removed:
                self.removed[key] = removal
            if self._watch is not None:
                self._watch(key, None, removal)

    def _end(self, marker: Marker) -> None:
        """End the transaction of a producer: its commits count where none that is newer does."""
        for key, commit in self.pending.pop(marker.producer_id, {}).items():
            counting = self._commits.get(key)
            if marker.is_commit and (counting is None or commit.record_offset > counting.record_offset):
                self._put(key, commit)

    # Records of groups

    def _replay(self, records: CoordinatorRecords, number: int) -> None:
        key, value = records.key(number), records.value(number)
        try:
            name = decode_key(CONSUMER_OFFSETS, key, replace_invalid_utf8=True)
            if not self._is_known(records, number, name):
                return
            fields = None if value is None else self._value(records, number, name.api_key, value)
        except FormatError as error:
            self._trouble(records, number, str(error))
            return
        if isinstance(name, Unknown) or isinstance(fields, Unknown):
            return
        if name.api_key in GROUP_TYPES:
            why = self._change(name.api_key, name.fields, fields)
            if why is not None and self.version >= NEW_COORDINATOR_FROM:
                self._trouble(records, number, f"IllegalStateException: {why}")
        else:
            self._commit(records.subset(slice(number, number + 1)))

    def _is_known(self, records: CoordinatorRecords, number: int, name: Message | Unknown) -> bool:
        """Whether a type of record is one to fold; the release may know fewer."""
        is_new = name.api_key > GROUP_METADATA and self.version < NEW_COORDINATOR_FROM
        if isinstance(name, Unknown) or is_new:
            self.unknown += 1
            if self.version < PASSES_OVER_TYPES:
                self._trouble(records, number, f"a record of unknown type {name.api_key}")
        return not isinstance(name, Unknown)

    def _value(self, records: CoordinatorRecords, number: int, kind: int, value: bytes) -> Fields | Unknown:
        message = decode_value(CONSUMER_OFFSETS, kind, value, replace_invalid_utf8=True)
        if isinstance(message, Unknown) or (
            kind <= GROUP_METADATA and (message.version or 0) > self._highest
        ):
            reason = f"a value of unknown version {message.version} of a record of type {kind}"
            self._trouble(records, number, reason)
        return message if isinstance(message, Unknown) else message.fields

    def _trouble(self, records: CoordinatorRecords, number: int, reason: str) -> None:
        source = int(records.offset[number]), records.path, int(records.position[number])
        self.troubles.append(Trouble(*source, reason))

    def _change(self, number: int, key: Fields, value: Fields | None) -> str | None:
        """Take a record of a group; return why its replay fails."""
        group_id = next(str(key[name]) for name in GROUP_FIELDS if name in key)
        subkey = next((str(value) for name, value in key.items() if name not in GROUP_FIELDS), None)
        group, own = self.groups.get(group_id), GROUP_TYPES[number]
        if value is None and (number == GROUP_METADATA or number in OF_GROUPS):
            self._simple.pop(group_id.encode(), None)
        if number == GROUP_METADATA and value is None:
            self.groups.pop(group_id, None)
            return None
        why = None
        if group is not None and group.type != own and number != GROUP_METADATA:
            of_group = group.fields(GROUP_METADATA)
            is_used = of_group.get("protocolType") or of_group.get("members")
            is_simple = group.type == CLASSIC and not is_used
            why = None if is_simple and own != SHARE else f"group {group_id} is not a {own} group"
            group = None
        if value is not None:
            if group is None or group.type != own:
                group = self.groups[group_id] = FoldedGroup(own)
            group.records[number, subkey] = value
            if own in RECORDS_OF and number == RECORDS_OF[own].current:
                group.unassigned_members.discard(subkey)
        elif group is not None:
            why = why or group.remove(number, subkey)
            if number in OF_GROUPS:
                del self.groups[group_id]
        return why

    # What it comes to

    @property
    def commits(self) -> dict[CommitKey, Commit]:
        """The commits that count."""
        return {key: commit for key in self._commits if (commit := self._commits.get(key)) is not None}

    def all_groups(self) -> dict[str, FoldedGroup]:
        """Return every group by its id, sorted: those with records, and those that commits make."""
        simple = {group_of(key) for key in self._commits} | self._simple.keys()
        ids = {group_id.decode(errors="replace") for group_id in simple} | self.groups.keys()
        return {group_id: self.groups.get(group_id) or FoldedGroup(CLASSIC) for group_id in sorted(ids)}


def shorts(data: NDArray[np.uint8], positions: Ints) -> Ints:
    """Return the numbers of two bytes at some places."""
    high, low = (data.take(positions + byte, mode="clip").astype(np.int64) for byte in (0, 1))
    values: Ints = ((high << 8 | low) ^ 0x8000) - 0x8000
    return values


def is_whole_commit(records: CoordinatorRecords, highest: int = 4, highest_legacy: int = 0) -> Flags:
    """Return which records are commits, or their tombstones, whose key and value can be read to the end.

    `highest_legacy`: the highest version of a value whose key is of type 0. The reader of single records says
    what is wrong with others, and reads values of version 4 unless they are short.
    """
    data = np.frombuffer(records.data, np.uint8)
    short = partial(shorts, data)
    start, length = records.key_start, records.key_length
    group = short(start + TYPE_SIZE)
    topic = short(start + TYPE_SIZE + LENGTH_SIZE + group)
    is_read = (short(start) | 1 == OFFSET_COMMIT) & (group >= 0) & (topic >= 0)
    is_read &= TYPE_SIZE + 2 * LENGTH_SIZE + PARTITION_SIZE + group + topic <= length
    version = short(records.value_start)
    metadata_at = records.value_start + np.where(version >= 3, 14, 10)
    metadata = short(metadata_at)
    sizes = metadata_at - records.value_start + LENGTH_SIZE + metadata + np.where(version == 1, 16, 8)
    is_old = (version >= 0) & (version <= 3) & (metadata >= 0) & (sizes <= records.value_length)
    compact = data.take(metadata_at, mode="clip").astype(np.int64)  # its length and one
    tags_at = metadata_at + compact + 8
    tags = data.take(tags_at, mode="clip")
    end = tags_at + np.where(tags == 0, 1, 19) - records.value_start
    has_topic_id = (tags == 1) & (short(tags_at + 1) == 16)
    is_new = (version == 4) & (version <= highest) & (compact > 0) & (compact < 0x80)
    is_new &= (tags == 0) | has_topic_id
    has_version = (short(start) == OFFSET_COMMIT) | (version <= highest_legacy)
    is_value = has_version & (is_old | (is_new & (end <= records.value_length)))
    is_commit: Flags = is_read & (is_value | (records.value_length < 0))
    return is_commit


def group_of(key: CommitKey) -> bytes:
    """Return the group of a commit's key."""
    return string_bytes(key, 0)[0] or b""


def topic_partition(key: CommitKey) -> tuple[str, int]:
    """Return the topic and the partition of a commit's key."""
    topic, position = string_bytes(key, string_bytes(key, 0)[1])
    return (topic or b"").decode(errors="replace"), int32(key, position)[0]


def commit_fields(commit: Commit) -> Fields:
    """Return the fields of a commit's value; those that its version lacks are -1."""
    message = decode_value(CONSUMER_OFFSETS, OFFSET_COMMIT, commit.value, replace_invalid_utf8=True)
    assert not isinstance(message, Unknown), "the fold takes none of another version"
    return {"leaderEpoch": -1, "expireTimestamp": -1, "topicId": None, **message.fields}


def by_group(commits: Iterable[CommitKey]) -> Iterator[tuple[str, list[tuple[str, int, CommitKey]]]]:
    """Yield the keys of each group, sorted: topic, partition, and the key."""
    groups: dict[bytes, list[CommitKey]] = {}
    for key in commits:
        groups.setdefault(group_of(key), []).append(key)
    for group, keys in sorted(groups.items()):
        yield group.decode(errors="replace"), sorted((*topic_partition(key), key) for key in keys)
