"""Records in the words of kafka-dump-log: consumer protocol, unknown types, errors."""

import base64

import pytest

from formats.errors import CorruptError, TruncatedError
from formats.messages.decode import decode_value
from formats.messages.group import CONSUMER_PROTOCOL
from formats.messages.metadata import decode_metadata
from formats.messages.printed import Printed, printed, value_json, value_text
from formats.names import CLUSTER_METADATA, CONSUMER_OFFSETS

from .kafka import Made, every

OFFSET_KEY = bytes.fromhex("0001 0001 67 0001 74 00000005")
OFFSET_VALUE = bytes.fromhex("0003 000000000000002a 00000007 0000 0000000000000001")
OFFSET_KEY_TEXT = '{"type":"1","data":{"group":"g","topic":"t","partition":5}}'


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (
            OFFSET_KEY,
            OFFSET_VALUE,
            '{"version":"3","data":{"offset":42,"leaderEpoch":7,"metadata":"","commitTimestamp":1}}',
        ),
        (OFFSET_KEY, None, "<DELETE>"),
    ],
)
def test_a_coordinators_record(key: bytes, value: bytes | None, expected: str):
    assert printed(CONSUMER_OFFSETS, 7, key, value) == Printed(OFFSET_KEY_TEXT, expected, None)


def test_bad_bytes():
    cut = printed(CONSUMER_OFFSETS, 7, OFFSET_KEY, OFFSET_VALUE[:-1])
    assert cut.key.startswith("Error at offset 7, skipping. byte ")
    assert (cut.payload, type(cut.error)) == (None, TruncatedError)
    no_key = printed(CONSUMER_OFFSETS, 7, None, OFFSET_VALUE)
    assert (no_key.payload, type(no_key.error)) == (None, CorruptError)
    record = printed(CLUSTER_METADATA, 7, None, b"\1\x14\0")
    assert record.payload.startswith("Error at 7, skipping. byte ")
    assert (record.key, type(record.error)) == (None, TruncatedError)


def group_value(subscription: bytes, assignment: bytes, protocol_type: bytes = b"consumer") -> bytes:
    def sized(data: bytes, size: int) -> bytes:
        return len(data).to_bytes(size, "big") + data

    head = b"\0\0" + sized(protocol_type, 2) + bytes(4) + b"\xff\xff" * 2 + b"\0\0\0\1"
    return head + b"\0\1m" + b"\0\1c" + b"\0\1h" + bytes(4) + sized(subscription, 4) + sized(assignment, 4)


@pytest.mark.parametrize(
    "message",
    [message for message in every() if message.framing == "protocol"],
    ids=lambda message: message.name,
)
def test_consumer_protocol_is_shown_decoded(message: Made):
    field = "subscription" if message.name.endswith("Subscription") else "assignment"
    other = {"subscription": "assignment", "assignment": "subscription"}[field]
    text = value_text(decode_value(CONSUMER_OFFSETS, 2, group_value(**{field: message.data, other: b"\0"})))
    assert f'"{field}":{message.json}' in text
    assert f'"{other}":"AA=="' in text  # too short for a version: the bytes stay
    as_bytes = value_text(decode_value(CONSUMER_OFFSETS, 2, group_value(message.data, b"", b"connect")))
    assert message.json not in as_bytes


def test_consumer_protocol_with_text_that_is_not_utf_8():
    """Printed with marks; as facts it stays whole."""
    value = decode_value(
        CONSUMER_OFFSETS, 2, group_value(bytes.fromhex("0000 00000001 0001 ff ffffffff"), b"")
    )
    assert '"subscription":{"topics":["\ufffd"],"userData":null}' in value_text(value)
    assert value_json(value)["members"][0]["subscription"] == "AAAAAAABAAH//////w=="


@pytest.mark.parametrize("version", [4, 0x7FFF])
def test_a_newer_consumer_protocol_is_decoded_unless_it_holds_structs(version: int):
    """Kafka's readers of structs refuse unknown versions, those of whole messages do not look."""
    assert max(schema.versions.highest for schema in CONSUMER_PROTOCOL.values()) == 3
    of = version.to_bytes(2, "big")
    none, one = bytes.fromhex("00000000 ffffffff"), bytes.fromhex("00000001 0001 74 00000000 ffffffff")
    shown = value_json(decode_value(CONSUMER_OFFSETS, 2, group_value(b"", of + none)))["members"][0]
    assert shown["assignment"] == {"assignedPartitions": [], "userData": None}
    shown = value_json(decode_value(CONSUMER_OFFSETS, 2, group_value(b"", of + one)))["members"][0]
    assert shown["assignment"] == base64.b64encode(of + one).decode()
    known = value_json(decode_value(CONSUMER_OFFSETS, 2, group_value(b"", b"\0\3" + one)))["members"][0]
    assert known["assignment"]["assignedPartitions"] == [{"topic": "t", "partitions": []}]


def test_a_record_of_3_4_alone():
    """Bytes and JSON by the classes of Kafka 3.4.1; 4.3.1 does not know the type."""
    data = bytes.fromhex("0106000202740307557365723a61022afc7f00")
    expected = (
        '{"type":"ACCESS_CONTROL_RECORD","version":0,"data":{"resourceType":2,"resourceName":"t",'
        '"patternType":3,"principal":"User:a","host":"*","operation":-4,"permissionType":127}}'
    )
    assert value_text(decode_metadata(data)) == expected
    without = bytes.fromhex("01060002000307557365723a61022afc7f00")
    assert value_text(decode_metadata(without)) == expected.replace('"t"', "null")


@pytest.mark.parametrize(("status", "name"), [(0, "Empty"), (4, "CompleteCommit"), (127, "127"), (255, "-1")])
def test_the_state_of_a_transaction_has_its_name(status, name):
    key = bytes.fromhex("0000 0005") + b"tx-$1"
    value = bytes(2) + bytes(8) + bytes(2) + bytes(4) + bytes([status]) + b"\xff" * 4 + bytes(16)
    assert f'"transactionStatus":"{name}","transactionPartitions":null' in str(
        printed("__transaction_state", 0, key, value).payload
    )
