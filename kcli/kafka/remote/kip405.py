"""Remote log metadata as the text that KIP-405 specifies for a formatter; no release prints it.

Where the KIP has the leader epoch of an event, the text has `broker-id`: records have no such epoch.
The KIP prints `<vs>` once and says nowhere what it is: the separator is taken. It closes no brace of
DeletePartitionState: one is closed here. It does not lay out all fields: they follow one another as in the
record, named as the short form names them.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from formats.remote_metadata import (
    RemoteLogMetadata,
    RemoteLogSegmentMetadata,
    RemoteLogSegmentMetadataSnapshot,
    RemoteLogSegmentMetadataUpdate,
    RemotePartitionDeleteMetadata,
)
from kcli.kafka.remote.events import state_name

TYPES: dict[type[RemoteLogMetadata], str] = {
    RemoteLogSegmentMetadata: "RemoteLogSegmentMetadata",
    RemoteLogSegmentMetadataUpdate: "RemoteLogSegmentMetadataUpdate",
    RemotePartitionDeleteMetadata: "DeletePartitionState",
    RemoteLogSegmentMetadataSnapshot: "RemoteLogSegmentMetadataStored",
}
SEPARATOR = ","


class LineParts(NamedTuple):
    """Which parts of a line are printed, by the names of the formatter's properties, and between what."""

    print_partition: bool = False
    print_message_offset: bool = False
    print_version: bool = False
    print_all_event_value_fields: bool = False
    sep: str = SEPARATOR


EVERY_PART = LineParts(print_partition=True, print_message_offset=True, print_version=True)
PROPERTIES = {name.replace("_", "."): name for name in LineParts._fields}


def parts(properties: Iterable[tuple[str, str]]) -> LineParts:
    """Return the parts that properties of the formatter ask for; ValueError for other names and values."""
    found = LineParts()
    for name, value in properties:
        if name not in PROPERTIES:
            raise ValueError(f"{name}: expected one of {', '.join(PROPERTIES)}")
        if name == "sep":
            found = found._replace(sep=value)
        elif value.lower() in {"true", "false"}:
            found = found._replace(**{PROPERTIES[name]: value.lower() == "true"})  # type: ignore[arg-type]
        else:
            raise ValueError(f"{name}: expected true or false, found {value!r}")
    return found


def line(partition: int | None, offset: int | None, record: RemoteLogMetadata, shown: LineParts) -> str:
    """Return the line of a record; a number that is not known is `null`."""
    head = [
        *([f"partition:{_text(partition)}"] if shown.print_partition else []),
        *([f"message-offset:{_text(offset)}"] if shown.print_message_offset else []),
        f"type:{TYPES[type(record)]}",
        *([f"version:{record.version}"] if shown.print_version else []),
    ]
    value = shown.sep.join(f"{name}:{text}" for name, text in _fields(record, shown))
    return shown.sep.join([*head, f"event-value:{{{value}}}"])


def _fields(record: RemoteLogMetadata, shown: LineParts) -> Iterator[tuple[str, str]]:
    is_all, state = shown.print_all_event_value_fields, state_name(record)
    if isinstance(record, RemotePartitionDeleteMetadata):
        yield "topic-id-partition", _place(record, shown.sep)
        yield "broker-id", str(record.broker_id)
        if is_all:
            yield "event-timestamp", str(record.event_timestamp_ms)
        yield "remote-partition-delete-state", state
        return
    if isinstance(record, RemoteLogSegmentMetadataSnapshot):
        yield "remote-log-segment-id", f"{{id:{record.segment_id}}}"
    else:
        inner = _place(record, shown.sep)[1:]
        yield "remote-log-segment-id", f"{{id:{record.segment_id}{shown.sep}{inner}"
    if not isinstance(record, RemoteLogSegmentMetadataUpdate):
        yield "start-offset", str(record.start_offset)
        yield "end-offset", str(record.end_offset)
    yield "broker-id", str(record.broker_id)
    if is_all:
        yield "event-timestamp", str(record.event_timestamp_ms)
        if not isinstance(record, RemoteLogSegmentMetadataUpdate):
            epochs = shown.sep.join(f"{epoch}:{start}" for epoch, start in record.segment_leader_epochs)
            yield "max-timestamp", str(record.max_timestamp_ms)
            yield "segment-leader-epochs", f"{{{epochs}}}"
            yield "segment-size-in-bytes", str(record.segment_size_in_bytes)
        custom = record.custom_metadata
        yield "custom-metadata", "null" if custom is None else b64encode(custom).decode()
    yield "remote-log-segment-state", state


def _place(
    record: RemoteLogSegmentMetadata | RemoteLogSegmentMetadataUpdate | RemotePartitionDeleteMetadata,
    sep: str,
) -> str:
    return f"{{topicId:{record.topic_id}{sep}topicName:{record.topic}{sep}partition:{record.partition}}}"


def _text(value: int | None) -> str:
    return "null" if value is None else str(value)
