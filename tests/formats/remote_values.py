"""Values of remote log metadata as releases wrote them."""

import base64
import gzip
import json
from pathlib import Path

from formats.remote_metadata import state_name

DATA = Path(__file__).parents[1] / "data" / "rlmm"


def recorded(name):
    return json.loads(gzip.decompress((DATA / name).read_bytes()))


VALUES = recorded("values.json.gz")


UPDATE = bytes.fromhex(
    "01010004666f6fbb835d49f591423699fc4372c4c5cb2400000000000000"
    "000000000000000000000000000100000000010000018bcfe56806000100"
)
SEGMENT = bytes.fromhex(
    "01000004666f6fbb835d49f591423699fc4372c4c5cb2400000000"
    "000000000000000000000000000000000100000000000000000000"
    "00000000000063000000010000018bcfe568000000018bcfe568"
    "050300000000000000000000000000000000020000000000000032"
    "0000000400"
)
DELETE = bytes.fromhex("01020004666f6fbb835d49f591423699fc4372c4c5cb240000000000000000010000018bcfe568070000")


def as_recorded(record):
    """A decoded record in the words of the recording."""
    names = {
        "topic": "topic",
        "partition": "partition",
        "topic_id": "topicId",
        "segment_id": "segmentId",
        "start_offset": "startOffset",
        "end_offset": "endOffset",
        "max_timestamp_ms": "maxTimestampMs",
        "segment_size_in_bytes": "segmentSizeInBytes",
        "broker_id": "brokerId",
        "event_timestamp_ms": "eventTimestampMs",
    }
    answer = {"class": type(record).__name__}
    answer |= {word: getattr(record, name) for name, word in names.items() if hasattr(record, name)}
    if hasattr(record, "segment_leader_epochs"):
        answer["segmentLeaderEpochs"] = [list(entry) for entry in record.segment_leader_epochs]
    if hasattr(record, "custom_metadata"):
        answer["customMetadata"] = (
            None if record.custom_metadata is None else base64.b64encode(record.custom_metadata).decode()
        )
    if hasattr(record, "txn_index_empty"):
        answer["txnIdxEmpty"] = bool(record.txn_index_empty)
    return answer | {"state": state_name(record)}
