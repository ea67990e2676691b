"""`partition-for` and `uuid`: rows made of words alone, without a file."""

import base64
import binascii
import os
from collections.abc import Callable, Iterable, Iterator

from formats.errors import CorruptError
from formats.names import REMOTE_LOG_METADATA, SHARE_GROUP_STATE
from formats.primitives import UUID_SIZE, uuid_bytes, uuid_hex, uuid_text
from kcli.kafka.remote.partitioning import partition_of_events, partition_of_key, partition_of_text
from kcli.logdir.buffers import shown
from kcli.rows.lookups import PartitionForRow, UuidRow

DASHED = 36


def _number(size: int) -> Callable[[str], bytes]:
    return lambda text: int(text).to_bytes(size, "big", signed=True)


KEY_FORMS: dict[str, Callable[[str], bytes]] = {
    "string": os.fsencode,
    "short": _number(2),
    "int": _number(4),
    "long": _number(8),
    "hex": bytes.fromhex,
    "base64": lambda text: base64.b64decode(text, validate=True),
}
"""How a key is written on the command line: as its serializer makes bytes of it, or the bytes."""


def key_row(text: str, form: str, partitions: int) -> PartitionForRow:
    """Return the partition of records with a key; ValueError for a text that is no key of this form."""
    try:
        key = KEY_FORMS[form](text)
    except OverflowError as error:
        raise ValueError(str(error)) from error
    return PartitionForRow("key", shown(text), None, partitions, *partition_of_key(key, partitions))


def share_group_row(user: tuple[str, str, int], partitions: int) -> PartitionForRow:
    """Return the partition of __share_group_state for a group, topic id, partition; CorruptError."""
    group, topic_id, partition = user
    key = f"{group}:{uuid_text(uuid_bytes(topic_id, 'topic id'))}:{partition}"
    return text_row("share-group", key, SHARE_GROUP_STATE, partitions)


def topic_id_row(user: tuple[str, int], partitions: int) -> PartitionForRow:
    """Return the partition of __remote_log_metadata for a topic id and a partition; CorruptError."""
    placed = partition_of_events(*user, partitions)
    return PartitionForRow(
        "topic-id", f"{user[0]}:{user[1]}", REMOTE_LOG_METADATA, partitions, placed.hash, placed.partition
    )


def text_row(kind: str, text: str, topic: str, partitions: int) -> PartitionForRow:
    """Return the partition of an internal topic that holds the state of a group or a transactional id."""
    return PartitionForRow(kind, text, topic, partitions, *partition_of_text(text, partitions))


def uuid_rows(ids: Iterable[bytes]) -> Iterator[UuidRow]:
    """Yield both spellings of UUIDs."""
    for raw in ids:
        halves = (int.from_bytes(half, "big", signed=True) for half in (raw[:8], raw[8:]))
        yield UuidRow(uuid_text(raw), uuid_hex(raw), *halves)


def uuid_of(text: str) -> bytes:
    """Return the 16 bytes of a UUID in either spelling, dashes left out or not; CorruptError for others."""
    digits = text.replace("-", "") if len(text) == DASHED else text
    if len(digits) != 2 * UUID_SIZE:
        return uuid_bytes(text)
    try:
        return binascii.unhexlify(digits)
    except ValueError as error:
        raise CorruptError(0, "uuid", "32 hexadecimal digits", text) from error
