"""What a control batch says of a transaction: the one reader of end markers.

The truth is `ControlRecordType` and `EndTransactionMarker`: for a marker whose value is broken Kafka throws
InvalidRecordException, so it ends nothing. Nor does a batch that cleaning has emptied.
"""

from typing import NamedTuple

from formats.bounds import LARGEST_CONTROL_BATCH


class ControlMarker(NamedTuple):
    """The first record of a control batch: its type, and of an end marker whether it aborts.

    `is_abort` is None and `coordinator_epoch` -1 for other control records.
    """

    timestamp: int
    type: int
    is_abort: bool | None = None
    coordinator_epoch: int = -1


def read_marker(raw: bytes) -> ControlMarker | None:
    """Return what a control batch says, None where cleaning has emptied it; FormatError where it is broken.

    The value of a record of another type than ABORT and COMMIT is not read: it may be long.
    """
    from formats.control import ABORT, COMMIT, control_key, control_record
    from formats.record import batch_records

    record = next(batch_records(raw, LARGEST_CONTROL_BATCH), None)
    if record is None:
        return None
    kind = control_key(record.key).type
    if kind not in {ABORT, COMMIT}:
        return ControlMarker(record.timestamp, kind)
    value = control_record(record.key, record.value).value
    epoch = int(str(value.fields["coordinatorEpoch"])) if value else -1
    return ControlMarker(record.timestamp, kind, kind == ABORT, epoch)
