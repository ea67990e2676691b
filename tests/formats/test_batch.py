"""Headers of record batches: real ones against DumpLogSegments, and how sequences wrap."""

import re

import pytest

from formats.batch import BATCH
from formats.magic import is_valid
from formats.record import batch_records
from tests.builders import put_record, put_records
from tests.formats.recorded import LOGS, batches, golden_batches

LIMIT = 1 << 20


@pytest.mark.parametrize("name", LOGS)
def test_batch_headers_say_what_dump_log_segments_says(name):
    golden = golden_batches(f"{name}.print.txt")
    found = batches(f"{name}.log")
    assert len(found) == len(golden) > 0
    for (position, batch), words in zip(found, golden, strict=True):
        header = BATCH.read(batch)
        assert {
            "baseOffset": header.base_offset,
            "lastOffset": header.last_offset,
            "count": header.records_count,
            "baseSequence": header.base_sequence,
            "lastSequence": header.last_sequence,
            "producerId": header.producer_id,
            "producerEpoch": header.producer_epoch,
            "partitionLeaderEpoch": header.partition_leader_epoch,
            "position": position,
            header.timestamp_type: header.max_timestamp,
            "size": header.size,
            "magic": header.magic,
            "crc": header.crc,
        } == {word: int(text) for word, text in words.items() if re.fullmatch(r"-?\d+", text)}
        assert words["isvalid"] == str(is_valid(batch)).lower() == "true"
        assert words["isTransactional"] == str(header.is_transactional).lower()
        assert words["isControl"] == str(header.is_control).lower()
        assert words["compresscodec"] == ("none", "gzip", "snappy", "lz4", "zstd")[header.codec]


@pytest.mark.parametrize(
    ("base", "delta", "expected"),
    [
        (0, 3, 3),
        (2147483647, 0, 2147483647),
        (2147483647, 1, 0),
        (2147483640, 10, 2),
        (-1, 3, -1),
        (5, -1, -2147483644),
        (5, -64, 2147483589),
    ],
)
def test_sequences_are_what_kafka_makes_of_them(base, delta, expected):
    (record,) = batch_records(put_records([put_record(delta)], base_sequence=base), LIMIT)
    assert record.sequence == expected
