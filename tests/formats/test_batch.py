"""How sequences of record batches wrap."""

import pytest

from formats.record import batch_records
from tests.builders import put_record, put_records

LIMIT = 1 << 20


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
