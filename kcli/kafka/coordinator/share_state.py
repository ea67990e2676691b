"""Where share groups read on, folded from the records of __share_group_state (KIP-932).

The truth is `ShareCoordinatorShard.replay`: a snapshot is the state of a partition, an update changes it.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from formats.errors import FormatError, UnsupportedError
from formats.messages.decode import decode_key, decode_value
from formats.messages.reader import Unknown
from formats.names import SHARE_GROUP_STATE
from kcli.kafka.coordinator.coordinator_log import CoordinatorRecords, Marker
from kcli.kafka.coordinator.group_fold import Trouble

UPDATE = 1
UNSET = -1
"""A start offset that an update leaves as it is, or that a group has not set yet."""


class SharePartition(NamedTuple):
    """A partition of a topic that a share group reads."""

    group_id: str
    topic_id: str
    partition: int


class ShareStart(NamedTuple):
    """Where a share group reads on, and since when (ms); `done`: records done behind it; -1: not known."""

    start_offset: int
    leader_epoch: int
    timestamp: int
    done: int


def fold_share_state(
    items: Iterable[CoordinatorRecords | Marker],
) -> tuple[dict[SharePartition, ShareStart], list[Trouble]]:
    """Return the state of each partition of a group, and the records at which a load ends."""
    states, troubles = dict[SharePartition, ShareStart](), list[Trouble]()
    for run in items:
        if isinstance(run, Marker):
            continue
        for number in range(len(run.offset)):
            try:
                _replay(states, run.key(number), run.value(number), int(run.timestamp[number]))
            except FormatError as error:
                source = int(run.offset[number]), run.path, int(run.position[number])
                troubles.append(Trouble(*source, str(error)))
    return states, troubles


def _replay(
    states: dict[SharePartition, ShareStart], key: bytes | None, value: bytes | None, timestamp: int
) -> None:
    name = decode_key(SHARE_GROUP_STATE, key, replace_invalid_utf8=True)
    if isinstance(name, Unknown):
        return  # passed over
    named: dict[str, Any] = name.fields
    partition = SharePartition(named["groupId"], named["topicId"], named["partition"])
    if value is None:
        states.pop(partition, None)
        return
    message = decode_value(SHARE_GROUP_STATE, name.api_key, value, replace_invalid_utf8=True)
    if isinstance(message, Unknown):
        raise UnsupportedError(0, "value version", 0, message.version)
    fields: dict[str, Any] = message.fields
    before = states.get(partition)
    start, epoch = fields["startOffset"], fields["leaderEpoch"]
    done = fields.get("deliveryCompleteCount", UNSET)
    if name.api_key == UPDATE and before is not None and start == UNSET:
        start = before.start_offset
    states[partition] = ShareStart(start, epoch, fields.get("writeTimestamp", timestamp), done)
