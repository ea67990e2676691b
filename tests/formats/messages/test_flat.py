"""Values printed straight from bytes have the text and the errors of those taken apart first."""

import random
import struct

import pytest

from formats.messages import printed as module
from formats.messages.decode import KEYS, VALUES
from formats.messages.flat import flat_printer
from formats.messages.printed import printed

FORMS = {"int8": ">b", "int16": ">h", "uint16": ">H", "int32": ">i", "int64": ">q"}
WORDS = [
    "",
    "a",
    "orders",
    "x" * 126,
    "y" * 127,
    "z" * 300,
    'a"b',
    "a\\b",
    "tab\t",
    "ü",
    "\x7f",
    "\ud7ff",
    "😀",
]
FLAT = sorted(module._FLAT)


def commit_key(api_key):
    schema = KEYS["__consumer_offsets"][api_key]
    fields = [b"\0\4\0\0\0\0" if field.type == "int32" else b"\0\1g" for field in schema.fields]
    return struct.pack(">h", api_key) + b"".join(fields)


def number(chance, form):
    bits = 8 * struct.calcsize(form)
    values = [0, 1, -1, 7, 1 << (bits - 2), -(1 << (bits - 1)), (1 << (bits - 1)) - 1]
    value = chance.choice(values) if chance.random() < 0.5 else chance.getrandbits(bits) - (1 << (bits - 1))
    return struct.pack(form, value + (1 << (bits - 1)) if form.isupper() else value)


def string(chance, flexible):
    data = chance.choice(WORDS[:4] if chance.random() < 0.6 else WORDS).encode()
    if chance.random() < 0.02:
        return b"\0" if flexible else b"\xff\xff"
    if not flexible:
        return struct.pack(">h", len(data)) + data
    more = len(data) + 1
    return (bytes([more]) if more < 128 else bytes([more & 0x7F | 0x80, more >> 7])) + data


def value(chance, schema, version):
    """Return the bytes of a value, most of them good."""
    flexible = schema.is_flexible(version)
    here = [field for field in schema.fields if version in field.versions]
    plain = [
        string(chance, flexible) if field.type == "string" else number(chance, FORMS[field.type])
        for field in here
        if field.tag is None
    ]
    tags = b""
    if flexible:
        known = [
            bytes([field.tag, 16]) + chance.choice([bytes(16), chance.randbytes(16)])
            for field in here
            if field.tag is not None
        ]
        others = [*known, b"\x09\x02hi", b"\x0a\x00"]
        some = chance.choice([[], known, known, known, chance.sample(others, 2)])
        tags = bytes([len(some)]) + b"".join(some)
    data = bytearray(struct.pack(">h", version) + b"".join(plain) + tags)
    if chance.random() < 0.3:
        what = chance.randrange(3)
        if what == 0:
            data = data[: chance.randrange(len(data))]
        elif what == 1:
            data += chance.randbytes(3)
        else:
            data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def test_commits_of_offsets_are_flat():
    assert {key for key in FLAT if key[:2] == ("__consumer_offsets", 1)} == {
        ("__consumer_offsets", 1, version) for version in range(5)
    }


def test_arrays_are_not():
    schema = VALUES["__consumer_offsets"][2]
    assert [
        flat_printer(schema, version)
        for version in range(schema.versions.lowest, schema.versions.highest + 1)
    ] == [None] * 5


@pytest.mark.parametrize(("topic", "api_key", "version"), FLAT)
def test_twins(topic, api_key, version, monkeypatch):
    chance = random.Random(f"{api_key} {version}")
    key = commit_key(api_key)
    values = [value(chance, VALUES[topic][api_key], version) for _ in range(1500)]

    def answer(data):
        found = printed(topic, 7, key, data)
        return found.key, found.payload, repr(found.error)

    straight, views = [answer(data) for data in values], [answer(memoryview(data)) for data in values[:100]]
    flat = sum(
        printer(data, 2) is not None for data in values if (printer := module._FLAT[topic, api_key, version])
    )
    with monkeypatch.context() as patch:
        patch.setattr(module, "_FLAT", {})
        assert straight == [answer(data) for data in values]
    assert views == straight[:100]
    assert 300 < flat < 1500
    assert any(payload is None for _, payload, _ in straight)
