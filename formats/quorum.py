"""The election state of a KRaft voter or observer.

`quorum-state` lies in `__cluster_metadata-0`: one line of JSON, replaced by rename. The truth is
`org.apache.kafka.raft.FileQuorumStateStore` with the message `QuorumStateData`.

    0  clusterId, leaderId, leaderEpoch, votedId, appliedOffset, currentVoters: [{voterId}]
    1  leaderId, leaderEpoch, votedId, votedDirectoryId      (kraft.version 1)

Each version adds the key `data_version`. An id of -1 means none.
"""

from typing import Any, NamedTuple

from formats.batch import MAX_INT
from formats.errors import CorruptError, FormatError, TruncatedError, UnsupportedError
from formats.java_text import INT_BITS, LONG_BITS, byte_lines, excerpt, integer
from formats.json_text import read_object
from formats.primitives import uuid_bytes, uuid_text
from formats.types import Buffer

VERSIONS = (0, 1)


class QuorumState(NamedTuple):
    """Who led and who was voted for; None for what the version does not have, or has null for."""

    data_version: int
    leader_id: int
    leader_epoch: int
    voted_id: int
    voted_directory_id: str | None
    cluster_id: str | None
    applied_offset: int | None
    current_voters: tuple[int, ...] | None


def read_quorum_state(data: Buffer) -> QuorumState:
    """Return the election state in a quorum-state file; lines after the first are ignored, as by the broker.

    FormatErrors where `FileQuorumStateStore.readElectionState` throws, and for absurd size or nesting.
    """
    first = next(byte_lines(data), None)
    if first is None:
        raise TruncatedError(0, "line 1", "JSON", "nothing")
    content = read_object(first[1])
    version = _version(_required(content, "data_version"))
    if version not in VERSIONS:
        raise UnsupportedError(0, "data_version", "0 or 1", version)
    is_old = version == 0
    return QuorumState(
        version,
        _number(content, "leaderId", INT_BITS),
        _number(content, "leaderEpoch", INT_BITS),
        _number(content, "votedId", INT_BITS),
        None if is_old else _uuid(_text(content, "votedDirectoryId")),
        _text(content, "clusterId") if is_old else None,
        _number(content, "appliedOffset", LONG_BITS) if is_old else None,
        _voters(_required(content, "currentVoters")) if is_old else None,
    )


def _required(content: dict[str, Any], key: str) -> Any:
    if key not in content:
        raise CorruptError(0, key, "a value", "nothing")
    return content[key]


def _version(value: Any) -> int:
    """Return the version as Jackson's `shortValue` gives it: cut to 16 bits, 0 for what is no number."""
    if isinstance(value, float):
        value = int(min(max(value, -MAX_INT - 1), MAX_INT))
    elif isinstance(value, bool) or not isinstance(value, int):
        return 0
    return (int(value) + 0x8000) % 0x10000 - 0x8000


def _number(content: dict[str, Any], key: str, bits: int) -> int:
    value = _required(content, key)
    number = integer(str(value), bits) if type(value) is int else None
    if number is None:
        raise CorruptError(0, key, f"a {bits}-bit number", excerpt(str(value)))
    return number


def _text(content: dict[str, Any], key: str) -> str:
    value = _required(content, key)
    if not isinstance(value, str):
        raise CorruptError(0, key, "a text", excerpt(str(value)))
    return value


def _uuid(text: str) -> str:
    try:
        return uuid_text(uuid_bytes(text, "votedDirectoryId"))
    except FormatError as error:
        raise CorruptError(0, "votedDirectoryId", error.expected, error.found) from error


def _voters(value: Any) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise CorruptError(0, "currentVoters", "an array", excerpt(str(value)))
    return tuple(_number(voter if isinstance(voter, dict) else {}, "voterId", INT_BITS) for voter in value)
