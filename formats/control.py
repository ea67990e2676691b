"""Control records: what the broker and the KRaft quorum write into a log beside the data.

Lives in control batches (attribute bit 5) of `*.log` and KRaft `*.checkpoint`
files; written by transaction coordinators' markers and by the raft leader. The
truth is `org.apache.kafka.common.record.ControlRecordType` for the key,
`EndTransactionMarker` for the value of types 0 and 1, and `ControlRecordUtils`
with the schemas of `org.apache.kafka.common.message` for the others.

    key     i16 version, i16 type
    0, 1    ABORT, COMMIT     i16 version, i32 coordinator epoch
    2       LEADER_CHANGE     i16 version, i32 leader id, compact array of voters, of granting voters, tags
                              a voter: i32 id, from version 1 on uuid of its directory, tags
    3       SNAPSHOT_HEADER   i16 version, i64 last contained log timestamp, tags
    4       SNAPSHOT_FOOTER   i16 version, tags
    5       KRAFT_VERSION     i16 version, i16 kraft version, tags
    6       KRAFT_VOTERS      i16 version, compact array of voters, tags
                              a voter: i32 id, uuid of its directory, compact array of endpoints,
                              i16 least and i16 largest kraft version, tags; tags
                              an endpoint: compact strings name and host, u16 port, tags

Whatever version they tell, Kafka reads types 3 to 6 as version 0, and LEADER_CHANGE
too: here a LEADER_CHANGE of version 1 keeps its directories, and a later one is refused.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias, TypeVar

from construct import Int16sb, Int16ub, Int32sb, Int64sb, Struct

from formats.errors import CorruptError, FormatError, LimitError, UnsupportedError
from formats.layout import Layout, Part
from formats.primitives import TaggedField, compact_array_length, compact_java_string, tagged_fields, uuid
from formats.reading import Reading
from formats.types import Buffer

T = TypeVar("T")

ABORT, COMMIT, LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS = range(7)
UNKNOWN_NAME = "UNKNOWN"
LONGEST_CONTROL = 1 << 16
"""Bytes that a value with arrays or tags may have, whatever a caller allows: read, it takes up to a hundred times its bytes."""
CONTROL_NAMES = {
    ABORT: "ABORT",
    COMMIT: "COMMIT",
    LEADER_CHANGE: "LEADER_CHANGE",
    SNAPSHOT_HEADER: "SNAPSHOT_HEADER",
    SNAPSHOT_FOOTER: "SNAPSHOT_FOOTER",
    KRAFT_VERSION: "KRAFT_VERSION",
    KRAFT_VOTERS: "KRAFT_VOTERS",
}
LEADER_CHANGE_WITH_DIRECTORIES = 1

CONTROL_KEY_DECLARATION = Struct(
    "version" / Int16sb * "0; a later one is read as 0",
    "type" / Int16sb * "ControlRecordType",
)
END_TXN_MARKER_DECLARATION = Struct(
    "version" / Int16sb * "0; a later one is read as 0",
    "coordinator_epoch" / Int32sb * "epoch of the transaction coordinator that ended the transaction",
)
LEADER_DECLARATION = Struct(
    "version" / Int16sb * "1 with directory ids; 0 or less without",
    "leader_id" / Int32sb * "node id of the new leader",
)
SNAPSHOT_HEADER_DECLARATION = Struct(
    "version" / Int16sb * "0; any other is read as 0",
    "last_contained_log_timestamp" / Int64sb * "ms; append time of the last record in the snapshot",
)
SNAPSHOT_FOOTER_DECLARATION = Struct("version" / Int16sb * "0; any other is read as 0")
KRAFT_VERSION_DECLARATION = Struct(
    "version" / Int16sb * "0; any other is read as 0",
    "kraft_version" / Int16sb * "the finalized kraft.version",
)
VERSION_DECLARATION = Struct("version" / Int16sb * "0; any other is read as 0")
NODE_DECLARATION = Struct("node_id" / Int32sb * "node id of a voter")
PORT_DECLARATION = Struct("port" / Int16ub * "TCP port")
VERSION_RANGE_DECLARATION = Struct(
    "min_supported_version" / Int16sb * "least kraft.version that the voter can use",
    "max_supported_version" / Int16sb * "largest kraft.version that the voter can use",
)


class ControlKey(NamedTuple):
    """The key of a control record, as stored."""

    version: int
    type: int

    @property
    def name(self) -> str:
        """Kafka's name of the type; UNKNOWN for a number that it does not know."""
        return CONTROL_NAMES.get(self.type, UNKNOWN_NAME)


class EndTxnMarker(NamedTuple):
    """The value of an ABORT or COMMIT record."""

    version: int
    coordinator_epoch: int


class _Leader(NamedTuple):
    version: int
    leader_id: int


class _Version(NamedTuple):
    version: int


class _Node(NamedTuple):
    node_id: int


class _Port(NamedTuple):
    port: int


class SnapshotHeader(NamedTuple):
    """The value of the first record of a KRaft snapshot; the timestamp is in ms."""

    version: int
    last_contained_log_timestamp: int


class SnapshotFooter(NamedTuple):
    """The value of the last record of a KRaft snapshot."""

    version: int


class KRaftVersion(NamedTuple):
    """The value of a KRAFT_VERSION record."""

    version: int
    kraft_version: int


class LeaderVoter(NamedTuple):
    """A voter of a LeaderChange; its directory is None before version 1."""

    voter_id: int
    voter_directory_id: str | None


class LeaderChange(NamedTuple):
    """The value of the record that opens a leader's epoch in the metadata log."""

    version: int
    leader_id: int
    voters: tuple[LeaderVoter, ...]
    granting_voters: tuple[LeaderVoter, ...]


class Endpoint(NamedTuple):
    """Where a voter listens."""

    name: str
    host: str
    port: int


class VersionRange(NamedTuple):
    """The kraft.version numbers that a voter can use, both inclusive."""

    min_supported_version: int
    max_supported_version: int


class Voter(NamedTuple):
    """A voter of the quorum."""

    voter_id: int
    voter_directory_id: str
    endpoints: tuple[Endpoint, ...]
    kraft_version_feature: VersionRange


class Voters(NamedTuple):
    """The value of a KRAFT_VOTERS record: the whole set of voters."""

    version: int
    voters: tuple[Voter, ...]


ControlValue: TypeAlias = (
    EndTxnMarker | LeaderChange | SnapshotHeader | SnapshotFooter | KRaftVersion | Voters
)


class UnknownTag(NamedTuple):
    """A tagged field that no known version has, with the struct that held it."""

    struct: str
    tag: int
    data: bytes


class ControlRecord(NamedTuple):
    """A control record: its type's number and name, and its value; None for an unknown type."""

    type: int
    name: str
    value: ControlValue | None
    unknown_tags: tuple[UnknownTag, ...]


F = TypeVar("F", SnapshotHeader, SnapshotFooter, KRaftVersion)

CONTROL_KEY = Layout(CONTROL_KEY_DECLARATION, ControlKey, "control record key")
END_TXN_MARKER = Layout(END_TXN_MARKER_DECLARATION, EndTxnMarker, "end transaction marker")
LEADER_VERSION = Layout(VERSION_DECLARATION, _Version, "LeaderChangeMessage")
LEADER = Layout(LEADER_DECLARATION, _Leader, "LeaderChangeMessage")
SNAPSHOT_HEADER_VALUE = Layout(SNAPSHOT_HEADER_DECLARATION, SnapshotHeader, "SnapshotHeaderRecord")
SNAPSHOT_FOOTER_VALUE = Layout(SNAPSHOT_FOOTER_DECLARATION, SnapshotFooter, "SnapshotFooterRecord")
KRAFT_VERSION_VALUE = Layout(KRAFT_VERSION_DECLARATION, KRaftVersion, "KRaftVersionRecord")
VOTERS_VERSION = Layout(VERSION_DECLARATION, _Version, "VotersRecord")
NODE = Layout(NODE_DECLARATION, _Node, "voter id")
PORT = Layout(PORT_DECLARATION, _Port, "endpoint port")
VERSION_RANGE = Layout(VERSION_RANGE_DECLARATION, VersionRange, "KRaftVersionFeature")


def control_key(key: Buffer | None) -> ControlKey:
    """Return the version and type of a control record's key.

    A null key or a negative version is a CorruptError; a later version than 0 and
    an unknown type are kept, as `ControlRecordType.parseTypeId` does.
    """
    if key is None:
        raise CorruptError(0, CONTROL_KEY.name, "a key", "null")
    found = CONTROL_KEY.read(key)
    _not_negative(found.version, CONTROL_KEY.name)
    return found


def control_type(key: bytes | None) -> str:
    """Return Kafka's name of a control record's type, by its key; its number, or `invalid`, for what has none."""
    try:
        number = control_key(key).type
    except FormatError:
        return "invalid"
    return CONTROL_NAMES.get(number, str(number))


def control_record(key: Buffer | None, value: Buffer | None, longest: int = LONGEST_CONTROL) -> ControlRecord:
    """Return what a control record says; positions of errors count from the start of key or value.

    A value with arrays or tags of more than `longest` bytes, and of more than LONGEST_CONTROL, is a LimitError.
    END_TXN markers of a later version are read as version 0, as the broker does, and KRaft values of any version but
    a LEADER_CHANGE's above 1, which is an UnsupportedError. Bytes behind a value are not looked at, and what is not
    UTF-8 in a text is U+FFFD, as in Kafka's own readers.
    """
    found = control_key(key)
    reader = _READERS.get(found.type)
    if reader is None:
        return ControlRecord(found.type, found.name, None, ())
    if value is None:
        raise CorruptError(0, f"{found.name} value", "a value", "null")
    _bounded(found.type, value, longest)
    tags: list[UnknownTag] = []
    return ControlRecord(found.type, found.name, reader(Reading(value), tags), tuple(tags))


def _bounded(number: int, value: Buffer, longest: int) -> None:
    most = max(longest, LONGEST_CONTROL)
    if number in _READERS and number not in {ABORT, COMMIT} and len(value) > most:
        raise LimitError(0, f"{CONTROL_NAMES[number]} value", f"at most {most} bytes", len(value))


def control_parts(
    number: int, value: Buffer, longest: int = LONGEST_CONTROL
) -> tuple[list[Part], FormatError | None]:
    """Return every field of the value of a control record of this type, and the error that ended the reading.

    A value is bounded as by `control_record`.
    None of an unknown type; the bytes behind the last part are those that could not be read, or that Kafka passes over.
    """
    reading = Reading(value)
    try:
        _bounded(number, value, longest)
        if number in _READERS:
            _READERS[number](reading, [])
    except FormatError as error:
        return reading.parts, error
    return reading.parts, None


def _not_negative(version: int, name: str) -> None:
    if version < 0:
        raise CorruptError(0, f"{name} version", "0 or more", version)


def _end_txn_marker(value: Reading, _tags: list[UnknownTag]) -> EndTxnMarker:
    marker = value.fixed(END_TXN_MARKER)
    _not_negative(marker.version, END_TXN_MARKER.name)
    return marker


def _fixed(layout: Layout[F]) -> Callable[[Reading, list[UnknownTag]], F]:
    def read(value: Reading, tags: list[UnknownTag]) -> F:
        row = value.fixed(layout)
        _tags(value, layout.name, tags)
        return row

    return read


def _leader_change(value: Reading, tags: list[UnknownTag]) -> LeaderChange:
    version = LEADER_VERSION.read(value.buffer).version
    if version > LEADER_CHANGE_WITH_DIRECTORIES:
        raise UnsupportedError(
            0, f"{LEADER.name} version", f"at most {LEADER_CHANGE_WITH_DIRECTORIES}", version
        )
    leader = value.fixed(LEADER)

    def voter() -> LeaderVoter:
        node, directory = value.fixed(NODE).node_id, None
        if version == LEADER_CHANGE_WITH_DIRECTORIES:
            directory = value.take("Voter", "voter directory id", uuid)
        _tags(value, "Voter", tags)
        return LeaderVoter(node, directory)

    voters = _array(value, LEADER.name, "voters", voter)
    granting_voters = _array(value, LEADER.name, "granting voters", voter)
    _tags(value, LEADER.name, tags)
    return LeaderChange(leader.version, leader.leader_id, voters, granting_voters)


def _voters(value: Reading, tags: list[UnknownTag]) -> Voters:
    def endpoint() -> Endpoint:
        name = value.take("Endpoint", "endpoint name", compact_java_string)
        host = value.take("Endpoint", "endpoint host", compact_java_string)
        port = value.fixed(PORT).port
        _tags(value, "Endpoint", tags)
        return Endpoint(name, host, port)

    def voter() -> Voter:
        node = value.fixed(NODE).node_id
        directory = value.take("Voter", "voter directory id", uuid)
        endpoints = _array(value, "Voter", "endpoints", endpoint)
        versions = value.fixed(VERSION_RANGE)
        _tags(value, VERSION_RANGE.name, tags)
        _tags(value, "Voter", tags)
        return Voter(node, directory, endpoints, versions)

    version = value.fixed(VOTERS_VERSION).version
    voters = _array(value, VOTERS_VERSION.name, "voters", voter)
    _tags(value, VOTERS_VERSION.name, tags)
    return Voters(version, voters)


def _array(value: Reading, structure: str, field: str, element: Callable[[], T]) -> tuple[T, ...]:
    return tuple(element() for _ in range(value.take(structure, field, compact_array_length)))


def _tags(value: Reading, structure: str, tags: list[UnknownTag]) -> None:
    fields: list[TaggedField] = value.take(structure, f"{structure} tagged fields", tagged_fields)
    tags.extend(UnknownTag(structure, tag, data) for tag, data in fields)


_READERS: dict[int, Callable[[Reading, list[UnknownTag]], ControlValue]] = {
    ABORT: _end_txn_marker,
    COMMIT: _end_txn_marker,
    LEADER_CHANGE: _leader_change,
    SNAPSHOT_HEADER: _fixed(SNAPSHOT_HEADER_VALUE),
    SNAPSHOT_FOOTER: _fixed(SNAPSHOT_FOOTER_VALUE),
    KRAFT_VERSION: _fixed(KRAFT_VERSION_VALUE),
    KRAFT_VOTERS: _voters,
}
