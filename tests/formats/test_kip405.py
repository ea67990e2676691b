"""Bytes of KIP-405's layouts, put together by hand from its tables: no release writes them."""

import struct

import pytest

from formats.errors import CorruptError, FormatError, LimitError, TruncatedError, UnsupportedError
from formats.kip405 import flat_entries, read_flat_file, read_offsets, read_record

TOPIC_ID = bytes.fromhex("bb835d49f591423699fc4372c4c5cb24")
SEGMENT_ID = bytes(15) + b"\1"
PLACE = struct.pack(">h", 3) + b"foo" + TOPIC_ID + struct.pack(">i", 7)
SEGMENT = struct.pack(">qqiqqi iq iq ib".replace(" ", ""), 10, 19, 5, 1000, 2000, 2, 4, 10, 5, 15, 4096, 1)
METADATA = b"\0\0" + PLACE + SEGMENT_ID + SEGMENT
UPDATE = b"\1\0" + PLACE + SEGMENT_ID + struct.pack(">iqb", 5, 2001, 2)
DELETE = b"\2\0" + PLACE + struct.pack(">iqb", 6, 2002, 0)
STORED = SEGMENT_ID + SEGMENT
FIELDS = {
    "startOffset": 10,
    "endOffset": 19,
    "leaderEpoch": 5,
    "maxTimestamp": 1000,
    "eventTimestamp": 2000,
    "segmentLeaderEpochs": [{"leaderEpoch": 4, "offset": 10}, {"leaderEpoch": 5, "offset": 15}],
    "segmentSizeInBytes": 4096,
    "remoteLogSegmentState": 1,
}
TEXT_ID = "u4NdSfWRQjaZ_ENyxMXLJA"


def entry(kind, data, version=0):
    body = bytes((kind, version)) + data
    return bytes((len(body),)) + body


FLAT = b"\0" + struct.pack(">h", 3) + b"foo" + TOPIC_ID + b"\x54"  # the zigzag of 42 is 84
FILE = FLAT + entry(0, STORED) + entry(1, struct.pack(">iqb", 6, 2002, 1))


def test_a_segment_has_its_fields():
    found = read_record(METADATA)
    assert (found.name, found.version) == ("RemoteLogSegmentMetadataRecord", 0)
    place = {"name": "foo", "id": TEXT_ID, "partition": 7}
    segment = {"topicIdPartition": place, "id": "AAAAAAAAAAAAAAAAAAAAAQ"}
    assert found.fields == {"remoteLogSegmentId": segment, **FIELDS}


def test_an_update_and_a_deletion_have_theirs():
    update, delete = read_record(UPDATE), read_record(DELETE)
    assert update.name == "RemoteLogSegmentMetadataRecordUpdate"
    assert [update.fields[name] for name in ("leaderEpoch", "eventTimestamp", "remoteLogSegmentState")] == [
        5,
        2001,
        2,
    ]
    assert delete.name == "RemotePartitionDeleteMetadataRecord"
    assert (delete.fields["epoch"], delete.fields["remotePartitionDeleteState"]) == (6, 0)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (b"\0", TruncatedError),
        (b"\3\0" + METADATA[2:], UnsupportedError),
        (b"\0\1" + METADATA[2:], UnsupportedError),
        (METADATA + b"\0", CorruptError),
        (bytes((1 << 20) + 1), LimitError),
    ],
)
def test_another_record_is_refused(value, error):
    with pytest.raises(error):
        read_record(value)


@pytest.mark.parametrize("value", [METADATA, UPDATE, DELETE])
def test_a_record_that_is_cut_is_an_error_wherever(value):
    for end in range(len(value)):
        with pytest.raises(FormatError):
            read_record(value[:end])


def test_a_flat_file_covers_an_offset_and_numbers_its_entries_apart():
    head, start = read_flat_file(FILE)
    assert head == (0, "foo", TEXT_ID, 42)
    (first, stored), (second, deleted) = flat_entries(FILE, start)
    assert (first, second) == (len(FLAT), len(FLAT) + len(entry(0, STORED)))
    assert stored.name == "RemoteLogSegmentMetadataRecordStored"
    assert stored.fields == {"segmentId": "AAAAAAAAAAAAAAAAAAAAAQ", **FIELDS}
    assert (deleted.name, deleted.fields["epoch"]) == ("DeletePartitionStateRecord", 6)


def test_a_flat_file_that_is_cut_gives_the_entries_before():
    for end in range(len(FILE)):
        found = []
        try:
            _, start = read_flat_file(FILE[:end])
            found = list(flat_entries(FILE[:end], start))
        except FormatError:
            assert end not in {len(FLAT), len(FLAT) + len(entry(0, STORED))}
        else:
            assert len(found) == (end > len(FLAT))
    with pytest.raises(UnsupportedError):
        read_flat_file(b"\1" + FILE[1:])


def test_offsets_are_lines_without_a_head():
    assert read_offsets(b"0 2022\n4 104\n2 498\n") == {0: 2022, 4: 104, 2: 498}
    assert read_offsets(b"") == {}
    for bad in (b"0\n", b"0 1 2\n", b"a 1\n", b"0 1\n0 2\n", b"\xff 1\n"):
        with pytest.raises(CorruptError):
            read_offsets(bad)
