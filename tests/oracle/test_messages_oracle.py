"""Random records of the internal topics, written by Kafka's own classes: every type, every version."""

from __future__ import annotations

import base64
import itertools
import json
import random
import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

from formats.errors import FormatError
from formats.layout import struct_of
from formats.messages import control, group, remote
from formats.messages.converter import json_text, to_json
from formats.messages.declare import Field, Schema
from formats.messages.decode import (
    KEYS,
    SCHEMAS,
    VALUES,
    decode_key,
    decode_remote,
    decode_value,
    message_json,
)
from formats.messages.metadata import decode_metadata
from formats.messages.printed import printed
from formats.messages.reader import FIXED, Collector, Message, Unknown, reader
from formats.names import (
    CLUSTER_METADATA,
    CONSUMER_OFFSETS,
    REMOTE_LOG_METADATA,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
)
from tests.builders import put_record, put_records, put_unsigned_varint
from tests.oracle.damages import BAD_TEXT, LENGTHS
from tests.seeds import cases

from .oracle import Oracle, encoded

pytestmark = pytest.mark.oracle

OF_EARLIER_RELEASES = {"AccessControlRecord"}
WRITTEN = {
    name: 0 if name in remote.REMOTE_SCHEMAS else schema.versions.highest
    for name, schema in SCHEMAS.items()
    if name not in OF_EARLIER_RELEASES and name not in control.CONTROL_SCHEMAS
}
"""The highest version that Kafka 4.4 writes of each message; 0 of remote log metadata."""
EACH = 25


@pytest.fixture(scope="module")
def types(oracle: Oracle) -> dict[str, dict]:
    return {kind["name"]: kind for kind in oracle.ask("message_types")["types"]}


def test_every_type_and_version_of_kafka_is_declared(types: dict[str, dict]):
    """And nothing else is, but for what earlier releases had."""
    ours = {name: (SCHEMAS[name].api_key, 0, highest) for name, highest in WRITTEN.items()}
    theirs = {
        name: (kind["api_key"], kind["lowest"], kind["highest"])
        for name, kind in types.items()
        if kind["framing"] != "protocol"
    }
    assert ours == theirs
    topics = {
        schema.name: topic
        for table in (KEYS, VALUES)
        for topic, schemas in table.items()
        for schema in schemas.values()
    }
    topics |= dict.fromkeys(remote.REMOTE_SCHEMAS, REMOTE_LOG_METADATA)
    assert {name: topics[name] for name in theirs} == {name: types[name]["topic"] for name in theirs}
    protocol = {
        name: (kind["lowest"], kind["highest"])
        for name, kind in types.items()
        if kind["framing"] == "protocol"
    }
    assert {name: tuple(schema.versions) for name, schema in group.CONSUMER_PROTOCOL.items()} == protocol


ALL = [(name, version) for name, highest in WRITTEN.items() for version in range(highest + 1)]


def decoded(name: str, data: bytes) -> Message:
    schema = SCHEMAS[name]
    if name in remote.REMOTE_SCHEMAS:
        return decode_remote(data, replace_invalid_utf8=True)
    if name in {record.name for record in VALUES[CLUSTER_METADATA].values()}:
        return decode_metadata(data, replace_invalid_utf8=True)
    topic = next(topic for topic in KEYS if schema in (*KEYS[topic].values(), *VALUES[topic].values()))
    return (
        decode_key(topic, data, replace_invalid_utf8=True)
        if name.endswith("Key")
        else decode_value(topic, schema.api_key, data, replace_invalid_utf8=True)
    )


@pytest.mark.parametrize(("name", "version"), ALL)
def test_decoded_as_kafka_prints_it(oracle: Oracle, oracle_seed: int, name: str, version: int):
    asked = oracle.ask("messages", name=name, version=version, seed=oracle_seed, count=cases(EACH))
    assert len(asked["messages"]) == cases(EACH)
    for made in asked["messages"]:
        found = decoded(name, base64.b64decode(made["bytes"]))
        assert (found.name, found.api_key, found.tail) == (name, SCHEMAS[name].api_key, b"")
        assert found.version == version or name in remote.REMOTE_SCHEMAS
        assert json_text(message_json(found)) == made["json"]
        tags = [(tag.struct, tag.tag, base64.b64encode(tag.data).decode()) for tag in found.unknown_tags]
        assert sorted(tags) == sorted((struct, tag, data) for struct, tag, data in made["unknown_tags"])


@pytest.mark.parametrize(
    ("name", "version"), [(name, version) for name in group.CONSUMER_PROTOCOL for version in range(4)]
)
def test_consumer_protocol(oracle: Oracle, oracle_seed: int, name: str, version: int):
    schema = group.CONSUMER_PROTOCOL[name]
    for made in oracle.ask("messages", name=name, version=version, seed=oracle_seed, count=cases(EACH))[
        "messages"
    ]:
        data = base64.b64decode(made["bytes"])
        fields, end = reader(schema, version)(data, 2, Collector())
        assert (int.from_bytes(data[:2]), end) == (version, len(data))
        assert json_text(to_json(schema, version, fields)) == made["json"]


@pytest.mark.parametrize("way", ["bytes", "lengths", "text", "tags"])
def test_damaged_bytes_are_read_as_kafka_reads_them_or_not_at_all(oracle: Oracle, oracle_seed: int, way: str):
    rng = random.Random(oracle_seed)
    for name, version in ALL:
        (data,) = made(oracle, name, version, oracle_seed)
        values = [DAMAGES[way](rng, data, SCHEMAS[name], version) for _ in range(cases(EACH))]
        answers = oracle.ask("messages_decode", name=name, values=[encoded(value) for value in values])[
            "values"
        ]
        for value, theirs in zip(values, answers, strict=True):
            try:
                ours = decoded(name, value)
            except FormatError as error:
                assert theirs is None or "error" in theirs, (name, value.hex(), error, theirs)
                continue
            # a key of another type is not asked for
            if isinstance(ours, Unknown) or (ours.name != name and theirs is None):
                assert theirs is None or "error" in theirs, (name, value.hex(), ours, theirs)
                continue
            if ours.name in remote.REMOTE_SCHEMAS and ours.version < min(1, SCHEMAS[name].versions.highest):
                # what is left of the value is one of the oldest layout, which 4.3.1 does not read
                assert "error" in theirs
                continue
            # parsed: Java before 19 prints a digit too many of some doubles
            assert json.loads(json_text(message_json(ours))) == json.loads(theirs["json"]), value.hex()
            version = 0 if ours.name in remote.REMOTE_SCHEMAS else ours.version
            assert (ours.name, version, len(ours.tail)) == (
                theirs["name"],
                theirs["version"],
                theirs["rest"],
            ), value.hex()


DECODERS = {
    CONSUMER_OFFSETS: "--offsets-decoder",
    TRANSACTION_STATE: "--transaction-log-decoder",
    SHARE_GROUP_STATE: "--share-group-state-decoder",
    CLUSTER_METADATA: "--cluster-metadata-decoder",
}


def made(oracle: Oracle, name: str, version: int, seed: int, count: int = 1) -> list[bytes]:
    """Return messages of a type and version that Kafka writes."""
    asked = oracle.ask("messages", name=name, version=version, seed=seed, count=count)
    return [base64.b64decode(message["bytes"]) for message in asked["messages"]]


Records: TypeAlias = Callable[[Oracle, random.Random, str], list[tuple[bytes | None, bytes | None]]]


def random_records(oracle: Oracle, rng: random.Random, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    """A key of every type with values of every version, tombstones, unknown types and versions, damage."""
    found: list[tuple[bytes | None, bytes | None]] = []
    for api_key, schema in VALUES[topic].items():
        if schema.name in OF_EARLIER_RELEASES:
            continue
        for version in range(schema.versions.highest + 1):
            seed = rng.randrange(1 << 30)
            values = made(oracle, schema.name, version, seed, 3)
            if topic == CLUSTER_METADATA:
                found += [(None, value) for value in values]
                if version == schema.versions.highest:  # later ones, which Kafka reads all the same
                    found += [
                        (None, values[0][:2] + bytes([version + more]) + values[0][3:]) for more in (1, 3)
                    ]
                continue
            name = KEYS[topic][api_key].name
            (key,) = made(oracle, name, 0, seed)
            found += [
                (key, value)
                for value in (*values, None, b"\0\x63" + values[0][2:], values[0] + b"more", values[0][:-1])
            ]
    if topic == CONSUMER_OFFSETS:
        found += [(b"\0\2\0\1g", value) for value in members_of_any_version(oracle, rng)]
    unknown = (b"\0\x63key", b"value") if topic != CLUSTER_METADATA else (None, b"\1\x63\0\0")
    return [*found, unknown]


def members_of_any_version(oracle: Oracle, rng: random.Random) -> Iterator[bytes]:
    """Values of groups whose subscription and assignment have a version that 4.3 has, or has not."""
    for name, version in itertools.product(group.CONSUMER_PROTOCOL, range(4)):
        for message in made(oracle, name, version, rng.randrange(1 << 30), cases(10)):
            for other in (version, 3, 4, 32767, -1):
                blob = other.to_bytes(2, "big", signed=True) + message[2:]
                both = (blob, b"\0\0") if name.endswith("Subscription") else (b"\0\0", blob)
                yield group_value(*both)
    for version in (3, 4):
        yield group_value(b"", version.to_bytes(2, "big") + bytes(8))  # no partitions


def damaged_records(
    oracle: Oracle, rng: random.Random, topic: str
) -> list[tuple[bytes | None, bytes | None]]:
    """A damaged value of every type and version in every way, a damaged key with it; envelopes whole."""
    found: list[tuple[bytes | None, bytes | None]] = []
    frame = 3 if topic == CLUSTER_METADATA else 2
    for api_key, schema in VALUES[topic].items():
        if schema.name in OF_EARLIER_RELEASES:
            continue
        for version in range(schema.versions.highest + 1):
            seed = rng.randrange(1 << 30)
            values = made(oracle, schema.name, version, seed, cases(len(DAMAGES) * 3))
            key = None
            if topic != CLUSTER_METADATA:
                (key,) = made(oracle, KEYS[topic][api_key].name, 0, seed)
            for value, damage in zip(values, itertools.cycle(DAMAGES.values()), strict=False):
                if len(value) > frame:
                    found.append((key, value[:frame] + damage(rng, value[frame:], schema, version)))
                if key is not None:
                    found.append((key[:2] + damage(rng, key[2:], KEYS[topic][api_key], 0), value))
    if topic == CONSUMER_OFFSETS:
        name = "ConsumerProtocolSubscription"
        schema = group.CONSUMER_PROTOCOL[name]
        for version in range(4):
            blobs = made(oracle, name, version, rng.randrange(1 << 30), cases(12))
            for blob, damage in zip(blobs, itertools.cycle(DAMAGES.values()), strict=False):
                subscription = blob[:2] + damage(rng, blob[2:], schema, version)
                found.append((b"\0\2\0\1g", group_value(subscription, b"\0\0")))
    return found


@pytest.mark.parametrize("records_of", [random_records, damaged_records])
@pytest.mark.parametrize("topic", DECODERS)
def test_printed_as_kafka_dump_log_prints_it(
    oracle: Oracle, oracle_seed: int, topic: str, records_of: Records
):
    """But for the reason after "skipping.", which is ours where bytes are bad."""
    records = records_of(oracle, random.Random(oracle_seed), topic)
    log = put_records([put_record(at, key=key, value=value) for at, (key, value) in enumerate(records)])
    text = oracle.dump(log, DECODERS[topic], directory=f"{topic}-0")["stdout"]
    lines = re.findall(r"^\| offset: (\d+) .*? headerKeys: \[\](.*)$", text, re.MULTILINE)
    assert [int(offset) for offset, _ in lines] == list(range(len(records)))
    for (key, value), (offset, rest) in zip(records, lines, strict=True):
        ours = printed(topic, int(offset), key, value)
        shown = "".join(
            f" {word}: {part}"
            for word, part in (("key", ours.key), ("payload", ours.payload))
            if part is not None
        )
        if ours.error is not None:
            shown, rest = shown.partition("skipping.")[0], rest.partition("skipping.")[0]
        assert parsed_doubles(shown) == parsed_doubles(rest), (key and key.hex(), value and value.hex())


def parsed_doubles(text: str) -> str:
    """Return a text with its doubles as Python writes them: Java before 19 has a digit too many."""
    return re.sub(r"\d+\.\d+E-?\d+", lambda found: repr(float(found[0])), text)


def damaged(rng: random.Random, data: bytes, _schema: Schema, _version: int) -> bytes:
    """One byte changed, or the end cut off or extended."""
    changed, at = bytearray(data), rng.randrange(len(data))
    way = rng.randrange(4)
    if way == 0:
        return data[:at]
    if way == 1:
        return data + rng.randbytes(rng.randrange(1, 4))
    changed[at] = rng.randrange(256) if way == 2 else changed[at] ^ (1 << rng.randrange(8))
    return bytes(changed)


def other_length(rng: random.Random, data: bytes, _schema: Schema, _version: int) -> bytes:
    """A length or count of another sign or size where one may be: in the place of one byte or of as many."""
    at, length = rng.randrange(len(data)), rng.choice(LENGTHS)
    return data[:at] + length + data[at + rng.choice([1, len(length)]) :]


def other_text(rng: random.Random, data: bytes, _schema: Schema, _version: int) -> bytes:
    """Bytes that are not UTF-8, most of the time where there are letters."""
    letters = [at for at, byte in enumerate(data) if chr(byte).isalpha() and byte < 0x80]
    at, bad = rng.choice(letters or [len(data) - 1]), rng.choice(BAD_TEXT)
    return data[:at] + bad + data[at + len(bad) :]


def other_tags(rng: random.Random, data: bytes, schema: Schema, version: int) -> bytes:
    """Tagged fields of any order, number and size, and wrong counts of them, ending a message without any."""
    if not schema.is_flexible(version) or data[-1]:
        return damaged(rng, data, schema, version)
    known = {
        field.tag: field for field in schema.fields if field.tag is not None and version in field.versions
    }
    chosen = rng.choices([*known, 5, 100, 0xFFFFFFFF], k=rng.randrange(5))
    count = rng.choice([len(chosen), len(chosen), len(chosen), len(chosen) + 1, 0xFFFFFFFF, 0x80000000])
    section = put_unsigned_varint(count)
    for tag in chosen:
        value = some_value(rng, known[tag]) if tag in known else rng.randbytes(rng.randrange(4))
        size = (
            len(value)
            if tag not in known or rng.random() < 0.5
            else rng.choice([0, 1, len(value) + 1, 0x7FFFFFFF, 0xFFFFFFFF])
        )
        section += put_unsigned_varint(tag) + put_unsigned_varint(size) + value
    return data[:-1] + section + rng.choice([b"", b"", b"", b"\0"])


DEFAULTS = {name: bytes(struct_of([kind]).size) for name, (kind, _) in FIXED.items()}


def some_value(rng: random.Random, field: Field) -> bytes:
    """Bytes of a value as a flexible message has it; now and then null, whether it may be or not."""
    if field.array:
        one = field._replace(array=False, tag=None)
        count = rng.choice([-1, 0, 1, 3])
        return put_unsigned_varint(count + 1) + b"".join(some_value(rng, one) for _ in range(count))
    if field.struct is not None:
        plain = [inner for inner in field.struct if inner.tag is None]
        zeros = rng.random() < 0.5
        inside = b"".join(
            DEFAULTS.get(inner.type, b"\1") if zeros else some_value(rng, inner) for inner in plain
        )
        inside += rng.choice([b"\0", b"\1\x05\1a", b"\1\x05\0"])
        return (
            rng.choice([b"\0", b"\1" + inside, b"\xff\xff\xff\xff\x0f"])
            if field.tag is not None and field.nullable
            else inside
        )
    if field.type in {"string", "bytes"}:
        text = rng.choice([None, b"", b"a", *BAD_TEXT])
        return b"\0" if text is None else put_unsigned_varint(len(text) + 1) + text
    return rng.randbytes(struct_of([FIXED[field.type][0]]).size)


DAMAGES = {"bytes": damaged, "lengths": other_length, "text": other_text, "tags": other_tags}


def group_value(subscription: bytes, assignment: bytes) -> bytes:
    """A GroupMetadataValue of version 0 with one member of the consumer protocol."""
    sized = [len(blob).to_bytes(4, "big") + blob for blob in (subscription, assignment)]
    return (
        b"\0\0\0\x08consumer"
        + bytes(4)
        + b"\xff\xff" * 2
        + b"\0\0\0\1\0\1m\0\1c\0\1h"
        + bytes(4)
        + b"".join(sized)
    )
