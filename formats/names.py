r"""The grammar of names in a log directory: what a file or directory is, by its name alone.

The truth is `org.apache.kafka.storage.internals.log.{LogFileUtils, LocalLog, RemoteIndexCache}`,
`org.apache.kafka.snapshot.Snapshots` and, for remote storage, `LocalTieredStorage` of Kafka's tests and
`ObjectKeyFactory` of Aiven's plugin.

    00000000000000000042.log                   segment; also .index .timeindex .txnindex
    00000000000000000042.snapshot              producer snapshot: the number is its exclusive end offset
      + .deleted .cleaned .swap                waiting for removal, being compacted, replacing others
    00000000000000000042-0000000003.checkpoint   KRaft snapshot: exclusive end offset, epoch
      + -<random> before, .part or .deleted after; Kafka reads characters 1 to 20 and 22 to 31 alone
    42_<uuid>.index                            in remote-log-index-cache: split at the first underscore
    00000000000000000042-<uuid>.log            in LocalTieredStorage, and an object of Aiven's plugin
    00000000000000000042-<uuid>.indexes        objects of the plugin; also .rsm-manifest
    topic-0-<uuid>                             directory of a partition in LocalTieredStorage: by topic id
    topic-<uuid>/0                             the same of the plugin
    topic-0                                    partition; topics may hold dots and dashes
    topic-0.<32 hex digits>-delete             also -stray, -future

Kafka reads a base offset as `Long.parseLong` of what precedes the first
dot, and the kind from what follows the last, so fewer than 20 digits pass,
and words between (`42.old.log`); but it opens the name with 20 and none.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from formats.java_text import INT_BITS, LONG_BITS, integer

LOG = "log"
OFFSET_INDEX = "index"
TIME_INDEX = "timeindex"
TXN_INDEX = "txnindex"
PRODUCER_SNAPSHOT = "snapshot"
KRAFT_SNAPSHOT = "kraft-snapshot"
LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
OFFSET_CHECKPOINT = "offset-checkpoint"
PARTITION_METADATA = "partition-metadata"
META_PROPERTIES = "meta-properties"
QUORUM_STATE = "quorum-state"
CLEAN_SHUTDOWN = "clean-shutdown"
LOCK = "lock"
REMOTE_LOG_SNAPSHOT = "remote-log-snapshot"
COMMITTED_OFFSETS = "committed-offsets"
REMOTE_INDEXES = "remote-indexes"
SEGMENT_MANIFEST = "segment-manifest"
UNKNOWN = "unknown"

EXTENSION_KINDS = {
    "log": LOG,
    "index": OFFSET_INDEX,
    "timeindex": TIME_INDEX,
    "txnindex": TXN_INDEX,
    "snapshot": PRODUCER_SNAPSHOT,
}
"""Extension of a segment's file -> kind."""

MANIFEST_EXTENSION, INDEXES_EXTENSION = "rsm-manifest", "indexes"
TIERED_EXTENSION_KINDS = {
    **EXTENSION_KINDS,
    "leader_epoch_checkpoint": LEADER_EPOCH_CHECKPOINT,
    INDEXES_EXTENSION: REMOTE_INDEXES,
    MANIFEST_EXTENSION: SEGMENT_MANIFEST,
}
"""The same in remote storage."""

WELL_KNOWN_KINDS = {
    "leader-epoch-checkpoint": LEADER_EPOCH_CHECKPOINT,
    "recovery-point-offset-checkpoint": OFFSET_CHECKPOINT,
    "log-start-offset-checkpoint": OFFSET_CHECKPOINT,
    "replication-offset-checkpoint": OFFSET_CHECKPOINT,
    "cleaner-offset-checkpoint": OFFSET_CHECKPOINT,
    "partition.metadata": PARTITION_METADATA,
    "meta.properties": META_PROPERTIES,
    "quorum-state": QUORUM_STATE,
    "bootstrap.checkpoint": KRAFT_SNAPSHOT,
    ".kafka_cleanshutdown": CLEAN_SHUTDOWN,
    ".lock": LOCK,
    "remote_log_snapshot": REMOTE_LOG_SNAPSHOT,
    "_rlmm_committed_offsets": COMMITTED_OFFSETS,
}
"""Name of a file that exists once in its directory -> kind."""

LOG_DIR_KINDS = frozenset({META_PROPERTIES, LOCK, CLEAN_SHUTDOWN, OFFSET_CHECKPOINT, COMMITTED_OFFSETS})
LOG_DIR_FILES = (
    *(name for name, kind in WELL_KNOWN_KINDS.items() if kind in LOG_DIR_KINDS),
    "bootstrap.checkpoint",
)
"""The files of a log dir itself, the commonest first."""

IN_PARTITION = "partition"
IN_INDEX_CACHE = "remote-log-index-cache"
IN_TIERED_STORAGE = "local-tiered-storage"
WELL_KNOWN = "well-known"

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
SHARE_GROUP_STATE = "__share_group_state"
CLUSTER_METADATA = "__cluster_metadata"
REMOTE_LOG_METADATA = "__remote_log_metadata"
MADE_BY_BROKERS = frozenset(
    {CLUSTER_METADATA, REMOTE_LOG_METADATA, CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE}
)
"""Kafka's own topics."""

REMOTE_LOG_INDEX_CACHE = "remote-log-index-cache"
"""The directory in a log directory where indexes of tiered segments are cached."""

NORMAL = "normal"
DELETE = "delete"
STRAY = "stray"
FUTURE = "future"
DIRECTORY_SUFFIXES = {"-delete": DELETE, "-future": FUTURE, "-stray": STRAY}

SAME_NAMES = 4096
"""Names that are kept parsed: most partitions have files of the same names."""

_SUFFIXES = r"((?:\.(?:deleted|cleaned|swap|tmp))*)"
_SEGMENT = re.compile(r"([^.]+)\.(?:(.+?)\.)??([a-z_-]+?)" + _SUFFIXES, re.DOTALL)
_TIERED_STEM = re.compile(r"([0-9]+)-([A-Za-z0-9_-]{22})")
_TIERED_DIRECTORY = re.compile(r"(.+)-([0-9]+)-([A-Za-z0-9_-]{22})", re.DOTALL)
_TOPIC_DIRECTORY = re.compile(r"(.+)-([A-Za-z0-9_-]{22})", re.DOTALL)
_WITH_OFFSET = frozenset({*EXTENSION_KINDS, "cleaned", "swap"})
"""Last words of the names from which a starting broker reads an offset (LogLoader, ProducerStateManager)."""
_UUID_PATTERN = re.compile(r"[A-Za-z0-9_-]{22}")
_KRAFT = re.compile(r"(.{20}).(.{10}).*\.checkpoint((?:\.part|\.deleted)?)", re.DOTALL)
_JAVA_BLANK = re.compile(r"[ \t\n\x0b\f\r]")


class FileName(NamedTuple):
    """What a file's name says.

    `kind` is what the bytes are, `scheme` whose naming it is; both are unknown or None together. `suffix` is
    "" or what was added (`.deleted`, `.cleaned`, `.swap`, `.tmp`, `.part`). `is_canonical` is false for a
    base offset that no broker writes like this (it would open another name: see `canonical_name`). A producer
    snapshot of any name is one to DumpLogSegments: without an offset it has no scheme.
    """

    name: str
    kind: str = UNKNOWN
    scheme: str | None = None
    base_offset: int | None = None
    suffix: str = ""
    epoch: int | None = None
    segment_id: str | None = None
    is_canonical: bool = True
    inserted: str = ""
    """What is between the first and the last word: of a copy, `.old` in `42.old.log`."""

    @property
    def is_inactive(self) -> bool:
        """Whether it waits for something, is a copy, or a broker opens another name for its offset."""
        is_opened = self.is_canonical or self.scheme != IN_PARTITION or self.kind == PRODUCER_SNAPSHOT
        return bool(self.suffix or self.inserted) or not is_opened


class PartitionDir(NamedTuple):
    """What the name of a partition's directory says; `uuid` only with delete, stray and future."""

    topic: str
    partition: int
    kind: str = NORMAL
    uuid: str | None = None


def has_no_offset(name: str) -> bool:
    """Return whether a file is named like one of a log, but for the offset: no broker loads that."""
    stem, dot, _ = name.partition(".")
    return bool(dot) and name.rpartition(".")[2] in _WITH_OFFSET and integer(stem, LONG_BITS) is None


def file_prefix(offset: int) -> str:
    """Return an offset as file names have it (LogFileUtils.filenamePrefixFromOffset)."""
    return f"{'-' * (offset < 0)}{abs(offset):020d}"


def snapshot_file(offset: int, epoch: int) -> str:
    """Return the name that a node opens for a snapshot (Snapshots.snapshotPath)."""
    return f"{file_prefix(offset)}-{'-' * (epoch < 0)}{abs(epoch):010d}.checkpoint"


@lru_cache(maxsize=SAME_NAMES)
def canonical_name(name: str) -> str | None:
    """Return the name that a broker opens for a file name's offset and kind; None where it is of no log."""
    offset, extension = integer(name.partition(".")[0], LONG_BITS), name.rpartition(".")[2]
    if offset is None or extension not in EXTENSION_KINDS:
        return None
    return f"{file_prefix(offset)}.{extension}"


@lru_cache(maxsize=SAME_NAMES)
def parse_file(name: str) -> FileName:
    """Return what the name of a file says, of kind `unknown` if no rule fits; never an error."""
    is_snapshot = name.endswith(f".{PRODUCER_SNAPSHOT}")
    fallback = FileName(name, PRODUCER_SNAPSHOT, is_canonical=False) if is_snapshot else FileName(name)
    return _well_known(name) or _kraft_snapshot(name) or _segment_file(name) or fallback


def parse_partition_dir(name: str) -> PartitionDir | None:
    """Return what LocalLog.parseTopicPartitionName makes of a directory's name; None where it throws.

    That stops a broker from starting, but for `remote-log-index-cache`. The topic is what the name holds,
    legal or not; in -delete and -stray names of 255 characters its end may be cut off.
    """
    kind = next((kind for suffix, kind in DIRECTORY_SUFFIXES.items() if name.endswith(suffix)), NORMAL)
    stem, uuid = name, None
    if kind != NORMAL:
        stem, uuid = _without_uuid(name, len(name) - len(kind) - 1)
    topic, _, digits = stem.rpartition("-")
    partition = integer(digits, INT_BITS)
    if not topic or partition is None:
        return None
    return PartitionDir(topic, partition, kind, uuid)


def parse_tiered_dir(name: str) -> tuple[PartitionDir, str] | None:
    """Return whose segments a directory of LocalTieredStorage holds, and the topic id; None for others."""
    match = _TIERED_DIRECTORY.fullmatch(name)
    partition = integer(match.group(2), INT_BITS) if match else None
    if match is None or partition is None:
        return None
    return PartitionDir(match.group(1), partition), match.group(3)


def parse_object_dirs(topic_dir: str, name: str) -> tuple[PartitionDir, str] | None:
    """Return the same of a directory of Aiven's plugin, `topic-<uuid>/0` (`ObjectKeyFactory.mainPath`)."""
    match = _TOPIC_DIRECTORY.fullmatch(topic_dir)
    partition = integer(name, INT_BITS) if name.isascii() and name.isdecimal() else None
    if match is None or partition is None:
        return None
    return PartitionDir(match.group(1), partition), match.group(2)


def _without_uuid(name: str, end: int) -> tuple[str, str | None]:
    r"""Return (topic-partition, uuid) of a name like `(\S+)-(\S+)\.(\S+)` up to `end`, else ("", None)."""
    dash = name.find("-", 1, end)
    dot = name.rfind(".", 0, end - 1)
    if _JAVA_BLANK.search(name) or dash < 0 or dot < dash + 2:
        return "", None
    last_dot = name.rindex(".", 0, end)
    return name[:last_dot], name[last_dot + 1 : end]


def _well_known(name: str) -> FileName | None:
    stem = name.removesuffix(".tmp")
    kind = WELL_KNOWN_KINDS.get(stem)
    return None if kind is None else FileName(name, kind, WELL_KNOWN, suffix=name[len(stem) :])


def _kraft_snapshot(name: str) -> FileName | None:
    match = _KRAFT.fullmatch(name)
    if match is None:
        return None
    base_offset, epoch = integer(match.group(1), LONG_BITS), integer(match.group(2), INT_BITS)
    if base_offset is None or epoch is None:
        return None
    suffix = match.group(3)
    is_canonical = bool(suffix) or name == snapshot_file(base_offset, epoch)
    return FileName(name, KRAFT_SNAPSHOT, IN_PARTITION, base_offset, suffix, epoch, is_canonical=is_canonical)


def _segment_file(name: str) -> FileName | None:
    match = _SEGMENT.fullmatch(name)
    if match is None:
        return None
    stem, insert, extension, suffix = match.groups()
    kind = EXTENSION_KINDS.get(extension)
    base_offset = integer(stem, LONG_BITS)
    if kind is not None and base_offset is not None:
        is_canonical = insert is None and stem == file_prefix(base_offset)
        inserted = "" if insert is None else f".{insert}"
        return FileName(
            name, kind, IN_PARTITION, base_offset, suffix, is_canonical=is_canonical, inserted=inserted
        )
    if insert is not None:
        return None
    start, _, segment_id = stem.partition("_")
    base_offset = integer(start, LONG_BITS)
    if kind is not None and base_offset is not None and _UUID_PATTERN.fullmatch(segment_id):
        is_canonical = start == str(base_offset)
        return FileName(name, kind, IN_INDEX_CACHE, base_offset, suffix, None, segment_id, is_canonical)
    tiered_match = _TIERED_STEM.fullmatch(stem)
    kind = TIERED_EXTENSION_KINDS.get(extension)
    base_offset = integer(tiered_match.group(1), LONG_BITS) if tiered_match else None
    if tiered_match and kind and base_offset is not None:
        is_canonical = tiered_match.group(1) == f"{base_offset:020d}"
        return FileName(
            name, kind, IN_TIERED_STORAGE, base_offset, suffix, None, tiered_match.group(2), is_canonical
        )
    return None
