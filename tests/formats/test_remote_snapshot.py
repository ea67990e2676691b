"""`remote_log_snapshot` files of 3.1 to 3.7, whole and damaged, as Kafka's own class reads them."""

import base64

import pytest

from formats.errors import CorruptError, FormatError, LimitError, TruncatedError, UnsupportedError
from formats.remote_metadata import SEGMENT_STATES
from formats.remote_snapshot import (
    LONGEST_ENTRY,
    SNAPSHOT_HEADER,
    RemoteLogSnapshotHeader,
    decode_entry,
    read_entries,
    read_header,
)
from tests.formats.remote_values import DELETE, as_recorded, recorded

FILES = recorded("snapshots.json.gz")


def reader(data):
    return lambda position, length: data[position : position + length]


def read(data):
    """The whole file, as the real reader reads it: None, or header and records; the first error is raised."""
    header = read_header(data[: SNAPSHOT_HEADER.size])
    if header is None:
        return None
    entries = list(read_entries(reader(data), len(data), header))
    return header, [decode_entry(entry) for entry in entries]


@pytest.mark.parametrize("name", [name for name, item in FILES.items() if "read" in item])
def test_what_the_real_reader_reads(name):
    item = FILES[name]
    data = base64.b64decode(item["bytes"])
    if 0 < len(data) < SNAPSHOT_HEADER.size:
        # the real reader takes the missing bytes for zeros and sees an empty snapshot
        assert item["read"]["entries"] == []
        with pytest.raises(TruncatedError):
            read(data)
        return

    found = read(data)

    if item["read"] is None:
        assert found is None
        return
    header, records = found
    assert header == RemoteLogSnapshotHeader(
        item["read"]["version"],
        item["read"]["metadataPartition"],
        item["read"]["metadataPartitionOffset"],
        len(item["read"]["entries"]),
    )
    since_3_6 = item["version"] >= "3.6"
    expected = [
        {key: value for key, value in entry.items() if key != "toString"} for entry in item["read"]["entries"]
    ]
    others = {"txnIdxEmpty"} if since_3_6 else {"txnIdxEmpty", "customMetadata"}
    found = [
        {key: value for key, value in as_recorded(record).items() if key not in others} for record in records
    ]
    assert found == expected
    assert {record.layout for record in records} <= {"3.6" if since_3_6 else "3.0"}


@pytest.mark.parametrize("name", [name for name, item in FILES.items() if "read_error" in item])
def test_what_the_real_reader_refuses(name):
    """Each is refused here, too, but for an unknown state: it is kept, and refused by the caller."""
    item = FILES[name]
    data = base64.b64decode(item["bytes"])

    if item["case"] in {"damaged/entry-state-9", "damaged/entry-state-negative"}:
        assert {record.state for record in read(data)[1]} - set(SEGMENT_STATES) in ({9}, {-2})
    else:
        with pytest.raises(FormatError) as caught:
            read(data)
        assert 0 <= caught.value.position <= len(data)


WHOLE = max(
    (item for item in FILES.values() if item["case"] == "history-0"), key=lambda item: item["version"]
)
BYTES = base64.b64decode(WHOLE["bytes"])


def test_every_prefix():
    assert read(b"") is None
    for length in range(1, len(BYTES)):
        with pytest.raises(FormatError) as caught:
            read(BYTES[:length])
        assert caught.value.position <= length


@pytest.mark.slow
def test_every_flipped_byte():
    """Only a FormatError, or a change of the flipped field alone: there is no checksum to find more."""
    header, records = read(BYTES)
    for at in range(len(BYTES)):
        flipped = bytearray(BYTES)
        flipped[at] ^= 0xFF
        try:
            found = read(bytes(flipped))
        except FormatError:
            continue
        assert found != (header, records)
        assert len(found[1]) == len(records)


def test_entries_can_be_read_from_the_middle():
    header = read_header(BYTES)
    entries = list(read_entries(reader(BYTES), len(BYTES), header))

    rest = list(read_entries(reader(BYTES), len(BYTES), header, position=entries[7].next_position, number=8))

    assert rest == entries[8:]
    assert entries[-1].next_position == len(BYTES)


def head(entries=1, version=0):
    return SNAPSHOT_HEADER.pack(RemoteLogSnapshotHeader(version, 3, 77, entries))


@pytest.mark.parametrize(
    ("data", "kind", "position", "field"),
    [
        (b"\0", TruncatedError, 0, "remote log snapshot header"),
        (head(version=1), UnsupportedError, 0, "version"),
        (head(entries=-1), CorruptError, 14, "entries"),
        (head(entries=1), CorruptError, 14, "entries"),
        (head(entries=0) + b"\0\0\0\1\1", CorruptError, 14, "entries"),
        (head() + b"\0\0\0", TruncatedError, 18, "entry length"),
        (head() + b"\xff\xff\xff\xff", CorruptError, 18, "entry length"),
        (head() + b"\x7f\xff\xff\xff" + b"\1", TruncatedError, 18, "entry"),
        (head() + b"\0\0\0\1\1", TruncatedError, 23, "api key"),
        (head() + b"\0\0\0\2\1\x09", UnsupportedError, 23, "api key"),
    ],
)
def test_what_is_wrong_and_where(data, kind, position, field):
    with pytest.raises(kind) as caught:
        read(data)

    assert (caught.value.position, caught.value.field) == (position, field)


def test_a_record_of_another_type_is_no_entry():
    with pytest.raises(CorruptError) as caught:
        read(head() + len(DELETE).to_bytes(4, "big") + DELETE)

    assert (caught.value.position, caught.value.found) == (22, "RemotePartitionDeleteMetadata")


def test_an_entry_beyond_the_bound_is_not_read():
    size = SNAPSHOT_HEADER.size + 4 + LONGEST_ENTRY + 1
    asked = []

    def read_some(position, length):
        asked.append(length)
        return (LONGEST_ENTRY + 1).to_bytes(4, "big")[:length]

    with pytest.raises(LimitError):
        list(read_entries(read_some, size, RemoteLogSnapshotHeader(0, 0, 0, 1)))

    assert asked == [4]
