"""Fields as they lie in bytes: no gap between them, values and errors of the readers beside them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.batch import BATCH
from formats.control import CONTROL_KEY
from formats.errors import FormatError
from formats.legacy import MESSAGE_V0, MESSAGE_V1
from formats.message_set import message_parts, message_set, messages, set_records
from formats.record import record_parts, records, unpacked
from tests.builders import attempt, put_batch, put_record, put_records
from tests.formats.recorded import LEGACY, LOGS, batches
from tests.messages import put_message

LIMIT = 1 << 20


def collected(iterator):
    """Return what an iterator yields, and the FormatError that ended it."""
    found = []
    try:
        found.extend(iterator)
    except FormatError as error:
        return found, error
    return found, None


def same(one, other):
    return (type(one), getattr(one, "args", None)) == (type(other), getattr(other, "args", None))


def without_gaps(parts, start=0):
    """Check that fields follow each other; return where the last one ends."""
    for part in parts:
        assert part.start == start <= part.end
        start = part.end
    return start


def by_structure(parts):
    found = {}
    for part in parts:
        found.setdefault(part.structure, {})[part.field] = part.value
    return found


def rebuilt(header, parts):
    """Return deltas of offset and timestamp, key, value, headers, attributes of every whole record."""
    fields = by_structure(parts)
    found = []
    for number in range(header.records_count):
        record = fields.get(f"record {number}", {})
        if "headers_count" not in record:
            break
        owners = [
            fields.get(f"header {at} of record {number}", {})
            for at in range(min(record["headers_count"], len(fields)))
        ]
        headers = tuple((owner.get("key"), owner.get("value")) for owner in owners)
        names = ("offset_delta", "timestamp_delta", "key", "value")
        found.append((*(record.get(name) for name in names), headers, record["attributes"]))
    return found


def check_records(header, body):
    parts, error = collected(record_parts(header, body))
    expected, expected_error = collected(records(header, body, 0, LIMIT))
    assert same(error, expected_error)
    end = without_gaps(parts)
    assert end == len(body) or error is not None or not header.records_count
    found = rebuilt(header, parts)[: len(expected)]
    base = header._replace(attributes=0)
    again, _ = collected(records(base, body, 0, LIMIT))
    assert found == [
        (
            read.offset - header.base_offset,
            read.timestamp - header.base_timestamp,
            read.key,
            read.value,
            read.headers,
            read.attributes,
        )
        for read in again[: len(expected)]
    ]
    return parts


@pytest.mark.parametrize("name", LOGS)
def test_records_of_real_batches(name):
    for _, batch in batches(f"{name}.log"):
        header, body = unpacked(batch, LIMIT)
        parts = check_records(header, bytes(body))
        assert b"".join(bytes(body)[part.start : part.end] for part in parts) == bytes(body)


SMALL = put_record(key=b"key", value=None, headers=((b"h", b"x"), (b"", None))) + put_record(
    1, -70, None, b"value" * 30
)
HEADER = BATCH.read(put_batch(SMALL, 2))


def test_records_of_every_prefix():
    for size in range(len(SMALL)):
        check_records(HEADER, SMALL[:size])


@pytest.mark.parametrize("mask", [0x01, 0x02, 0x80, 0xFF])
def test_records_of_every_flipped_byte(mask):
    for at in range(len(SMALL)):
        check_records(HEADER, SMALL[:at] + bytes([SMALL[at] ^ mask]) + SMALL[at + 1 :])


@given(st.binary(max_size=80), st.integers(-1, 4))
def test_records_of_any_bytes(body, count):
    check_records(HEADER._replace(records_count=count), body)


def test_fields_of_a_record():
    (part, *_), _ = collected(record_parts(HEADER, SMALL))
    assert (part.structure, part.field, part.start, part.end, part.value) == ("record 0", "length", 0, 1, 15)
    fields = by_structure(collected(record_parts(HEADER, SMALL))[0])
    assert fields["record 0"] == {
        "length": 15,
        "attributes": 0,
        "timestamp_delta": 0,
        "offset_delta": 0,
        "key_length": 3,
        "key": b"key",
        "value_length": -1,
        "headers_count": 2,
    }
    assert fields["header 1 of record 0"] == {"key_length": 0, "key": b"", "value_length": -1}
    assert fields["record 1"]["timestamp_delta"] == -70


# Messages of magic 0 and 1


def check_messages(data):
    """Check the fields of the messages that some bytes hold against the records that are read from them."""
    opened = attempt(message_set, data, LIMIT)
    if isinstance(opened, FormatError):
        return
    expected, expected_error = collected(set_records(opened))
    for number, found in enumerate(collected(messages(opened))[0]):
        parts, error = collected(message_parts(found.data))
        end = without_gaps(parts)
        values = {part.field: part.value for part in parts}
        record = expected[number] if number < len(expected) else None
        if record is not None and record.error is None:
            assert error is None
            assert end == len(found.data)
            assert (values.get("key"), values.get("value")) == (record.key, record.value)
            assert (values["crc"], values["magic"], values["attributes"]) == (
                found.crc,
                found.magic,
                found.attributes,
            )
        elif number <= len(expected):
            known = expected_error if record is None else record.error
            assert error is not None
            assert error.field in known.field
            assert (error.expected, error.found) == (known.expected, known.found)


@pytest.mark.parametrize("name", LEGACY)
def test_real_messages(name):
    for _, data in batches(f"{name}.log"):
        assert without_gaps(message_parts(data)) == len(data)
        check_messages(data)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_messages_with_every_flipped_byte(magic, mask):
    whole = put_message(3, magic, key=b"k", value=b"value", tail=b"zz")
    for at in range(12, len(whole)):
        if at != 16:
            check_messages(whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :])


def test_bytes_after_a_value():
    *_, last = message_parts(put_message(0, value=None, tail=b"zz"))
    assert (last.field, last.value) == ("trailing", b"zz")


# Fixed structures, and those of control records


@pytest.mark.parametrize("declared", [BATCH, MESSAGE_V0, MESSAGE_V1, CONTROL_KEY])
def test_fixed_structures(declared):
    data = bytes(range(declared.size + 5))
    parts = declared.parts(data, 5)
    assert without_gaps(parts, 5) == len(data)
    assert tuple(part.value for part in parts) == tuple(declared.read(data, 5))
    assert [(part.structure, part.field, part.doc) for part in parts] == [
        (declared.name, f.name, f.doc) for f in declared.fields
    ]


def test_compressed_records_are_unpacked_once():
    batch = put_records([put_record(value=b"x" * 50)], 1)
    header, body = unpacked(batch, LIMIT)
    assert bytes(body) == put_record(value=b"x" * 50)
    assert header == BATCH.read(batch)
