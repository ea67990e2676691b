"""Records as the previews of consumer and share groups wrote them, by the classes of those releases."""

import pytest

from formats.errors import FormatError
from formats.messages.decode import (
    PREVIEW_KEYS,
    PREVIEWS,
    Message,
    Unknown,
    decode_key,
    decode_preview,
    decode_value,
    message_json,
)
from formats.messages.printed import printed
from formats.names import CONSUMER_OFFSETS, TRANSACTION_STATE
from tests.formats.messages.previews import Written, every

from .kafka import made

VALUES = [message for message in every() if message.name.endswith("Value")]
KEYS = [message for message in every() if message.name.endswith("Key")]


@pytest.mark.parametrize("message", VALUES, ids=lambda message: message.name)
def test_value(message: Written):
    found = decode_preview(message.topic, message.api_key, message.data)
    assert found.name == f"{message.name}_{message.release[:3].replace('.', '_')}"
    assert message_json(found) == message.json
    assert not used_up(message)


def used_up(message: Written) -> bool:
    """Whether the layout in use reads the value to its end."""
    try:
        found = decode_value(message.topic, message.api_key, message.data)
    except FormatError:
        return False
    return isinstance(found, Message) and not found.rest


@pytest.mark.parametrize("message", KEYS, ids=lambda message: message.name)
def test_key(message: Written):
    assert decode_key(message.topic, message.data) == Unknown(message.api_key, None, message.data)
    assert message_json(decode_key(message.topic, message.data, previews=True)) == message.json
    # as the tool of 4.3.1, which does not know the type
    assert (
        printed(message.topic, 7, message.data, b"").key
        == f"Unknown record type {message.api_key} at offset 7, skipping."
    )


def test_every_declared_one_is_in_the_data():
    declared = {(topic, number) for topic, schemas in PREVIEWS.items() for number in schemas}
    assert declared == {(message.topic, message.api_key) for message in VALUES}
    assert {(topic, number) for topic, schemas in PREVIEW_KEYS.items() for number in schemas} == {
        (m.topic, m.api_key) for m in KEYS
    }


def test_what_4_3_writes_is_no_preview():
    assert [
        m.name
        for m in made()
        if m.framing == "value" and decode_preview(m.topic, m.decode().api_key, m.data) is not None
    ] == []


@pytest.mark.parametrize("message", VALUES[1::6], ids=lambda message: message.name)
def test_every_prefix_and_more_is_none(message: Written):
    for size in range(len(message.data)):
        assert decode_preview(message.topic, message.api_key, message.data[:size]) is None
    assert decode_preview(message.topic, message.api_key, message.data + b"\0") is None
    assert decode_preview(message.topic, message.api_key, b"\0\1" + message.data[2:]) is None


def test_other_types_and_topics():
    assert decode_preview(CONSUMER_OFFSETS, 1, b"\0\0") is None
    assert decode_preview(TRANSACTION_STATE, 0, b"\0\0") is None
