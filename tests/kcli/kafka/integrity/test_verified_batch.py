"""One batch and its checksum: read whole or in parts, and where an offset index says that it begins."""

import pytest

from kcli.kafka.integrity.verified_batch import leads_to_a_batch, verified
from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import Walk
from tests.builders import put_record, put_records

VALUE = bytes(3 << 20)
"""More than is read at once of a large batch."""


@pytest.fixture
def log(tmp_path):
    def write(data):
        path = tmp_path / f"{0:020d}.log"
        path.write_bytes(data)
        return DataFile(str(path))

    return write


@pytest.mark.parametrize("position", [None, 40, 1 << 20, -1])
def test_a_batch_that_is_read_in_parts_is_judged_as_one_that_is_read_whole(log, position):
    data = bytearray(put_records([put_record(value=VALUE)]))
    if position is not None:
        data[position] ^= 1
    with log(data) as file:
        (batch,) = Walk(file, 0)
        whole, parts = (verified(file, batch, largest) for largest in (1 << 30, 1 << 10))

    assert (whole.valid, whole.raw) == (position is None, bytes(data))
    assert (parts.valid, parts.raw) == (position is None, None)


def test_a_place_leads_to_a_batch_where_one_of_right_checksum_begins(log):
    batches = [put_records([put_record()], base_offset=offset) for offset in range(3)]
    damaged = bytearray(batches[1])
    damaged[-1] ^= 1
    places = [0, 1, len(batches[0]), 2 * len(batches[0]), 3 * len(batches[0]), 4 * len(batches[0])]
    with log(b"".join([batches[0], damaged, batches[2]])) as file:
        assert [leads_to_a_batch(file, place) for place in places] == [True, False, False, True, False, False]
