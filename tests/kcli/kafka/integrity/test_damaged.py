"""Past damage: each byte is in a batch, a gap or after the stop; good batches are found again."""

import random

import pytest

from kcli.kafka.integrity.damaged import (
    Budget,
    DamagedRange,
    VerifiedBatch,
    leads_to_a_batch,
    search_batch,
    verified,
    verified_batches,
)
from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import Stop, Walk
from tests.builders import put_record, put_records
from tests.formats import recorded


def batch(offset, value=b"value", **fields):
    return put_records([put_record(value=value)], base_offset=offset, **fields)


GOOD = [batch(offset, value=b"v%d" % offset * 3) for offset in range(6)]


def walked(tmp_path, data, **options):
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data)
    with DataFile(str(path)) as file:
        return list(verified_batches(file, 0, **options))


def offsets(items):
    return [item.batch.header.base_offset for item in items if isinstance(item, VerifiedBatch) and item.valid]


def gaps(items):
    return [
        (item.start, item.end, item.reason, item.next_offset)
        for item in items
        if isinstance(item, DamagedRange)
    ]


def test_garbage_between_batches(tmp_path):
    garbage = random.Random(1).randbytes(5000)
    items = walked(tmp_path, b"".join(GOOD[:2]) + b"\xff" * 12 + garbage + b"".join(GOOD[2:]))
    start = len(GOOD[0] + GOOD[1])

    assert offsets(items) == [0, 1, 2, 3, 4, 5]
    assert gaps(items) == [(start, start + 5012, "bad-length", 2)]


def test_a_length_that_runs_past_the_end_hides_nothing(tmp_path):
    bad = bytearray(GOOD[1])
    bad[8:12] = (1 << 20).to_bytes(4, "big")
    items = walked(tmp_path, GOOD[0] + bytes(bad) + b"".join(GOOD[2:]))

    assert offsets(items) == [0, 2, 3, 4, 5]
    assert gaps(items) == [(len(GOOD[0]), len(GOOD[0] + GOOD[1]), "incomplete", 2)]


def test_a_length_that_ends_inside_a_later_batch_is_searched_from_its_own_start(tmp_path):
    bad = bytearray(GOOD[1])
    bad[11] += 40
    items = walked(tmp_path, GOOD[0] + bytes(bad) + b"".join(GOOD[2:]))
    start = len(GOOD[0])

    assert offsets(items) == [0, 2, 3, 4, 5]
    assert [gap[:2] for gap in gaps(items)] == [(start, start + len(bad))]
    assert [(item.batch.position, item.valid) for item in items if isinstance(item, VerifiedBatch)][1] == (
        start,
        False,
    )


def test_an_incomplete_end_and_a_tail_of_zeros_are_no_gaps(tmp_path):
    whole = b"".join(GOOD)

    assert walked(tmp_path, whole + GOOD[0][:40])[-1].reason == "incomplete"
    assert gaps(walked(tmp_path, whole + GOOD[0][:40])) == []
    assert walked(tmp_path, whole + bytes(4096))[-1] == Stop("zeros", len(whole), 0)
    assert gaps(walked(tmp_path, whole + bytes(4096))) == []


@pytest.mark.parametrize("name", ["v0-none", "v1-none", "v1-gzip"])
def test_messages_of_old_formats_are_found(tmp_path, name):
    parts = [part for _, part in recorded.batches(f"{name}.log")]
    damaged = parts[0] + b"\xff" * 333 + b"".join(parts[1:])
    items = walked(tmp_path, damaged)

    assert len(offsets(items)) == len(parts)
    assert [gap[:2] for gap in gaps(items)] == [(len(parts[0]), len(parts[0]) + 333)]


def test_every_prefix_is_covered(tmp_path):
    whole = b"".join(GOOD)
    ends = [sum(map(len, GOOD[:count])) for count in range(7)]
    for length in range(len(whole)):
        items = walked(tmp_path, whole[:length])
        assert len(offsets(items)) == sum(end <= length for end in ends[1:])
        assert covered(items, length)
        assert items[-1].reason == ("end" if length in ends else items[-1].reason)


def test_every_flipped_byte_is_noticed(tmp_path):
    whole = b"".join(GOOD[:3])
    ends = [sum(map(len, GOOD[:count])) for count in range(4)]
    unseen = set()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        items = walked(tmp_path, bytes(damaged))
        assert covered(items, len(whole))
        number = sum(place >= end for end in ends[1:])
        others = [offset for offset in range(3) if offset != number]
        assert [offset for offset in offsets(items) if offset in others] == others, place
        if not gaps(items) and all(item.valid for item in items[:-1]) and items[-1].reason == "end":
            unseen.add(place - ends[number])
    assert unseen <= {*range(8), *range(12, 16)}  # base offset and leader epoch lie outside the checksum


def covered(items, size):
    """Whether batches, gaps and the stop follow each other without a hole."""
    position = 0
    for item in items[:-1]:
        if isinstance(item, DamagedRange):
            if item.start > position:
                return False
            position = item.end
        elif item.batch.position != position:
            return False
        else:
            position += item.batch.header.size
    return items[-1].position <= size and (
        items[-1].position == position or isinstance(items[-2], DamagedRange)
    )


def test_a_file_of_lying_headers_meets_the_bound(tmp_path, monkeypatch):
    lying = bytearray(GOOD[0][:61])
    lying[8:12] = (40000).to_bytes(4, "big")
    path = tmp_path / "x.log"
    path.write_bytes(bytes(lying) * 1000)
    monkeypatch.setattr("kcli.kafka.integrity.damaged.LEAST_BUDGET", 1 << 20)

    with DataFile(str(path)) as file:
        budget = Budget(file.size)
        assert search_batch(file, 1, file.size, budget) == (None, True)
        assert search_batch(file, 1, file.size, budget) == (None, True)
        assert budget.remaining_bytes < 0


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
