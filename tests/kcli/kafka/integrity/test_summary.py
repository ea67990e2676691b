"""Summaries: equal to counting batch by batch, and the same however a log is cut."""

import itertools
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.bounds import LARGEST_BATCH
from formats.bulk import rows
from kcli.kafka.integrity import summary as summaries
from kcli.kafka.integrity.summary import EMPTY, Codec, Tally, merge
from tests.builders import put_batch, put_record, put_records
from tests.formats.recorded import LEGACY, LOGS, stored
from tests.kcli.kafka.integrity.plain_summary import (
    ABORTED,
    CONTROL,
    TRANSACTIONAL,
    compare,
    ends,
    in_transaction,
    marker,
    plain,
    random_batches,
    read,
)
from tests.partitions import put_range
from tests.seeds import examples

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", [*LOGS, *LEGACY])
def test_recorded(tmp_path, name):
    compare(tmp_path / "log", stored(f"{name}.log"))


VARIED = (
    put_range(0, 3, epoch=1)
    + in_transaction(3, 7)
    + in_transaction(5, 8)
    + in_transaction(7, 7)
    + marker(9, 7)
    + in_transaction(10, 7)
    + put_range(15, 5, epoch=2, codec=3)
    + put_range(17, 1, epoch=2)
    + marker(30, 8, ABORTED)
    + put_range(31, 1, timestamp=-1, epoch=-1)
)


def test_in_numbers(tmp_path):
    summary = compare(tmp_path / "log", VARIED).summary

    assert (summary.batches, summary.records, summary.base_offset, summary.last_offset) == (10, 20, 0, 31)
    assert (summary.gaps, summary.backwards) == (Tally(2, 12), Tally(1, 17))
    assert summary.transactions == summaries.Transactions({7: 10}, frozenset({7, 8}))
    assert (summary.first_epoch, summary.last_epoch, summary.epochs) == (1, 0, {0, 1, 2})
    assert (summary.transactional, summary.control, summary.producers) == (6, 2, {7, 8})


def test_markers_that_do_not_look_as_usual(tmp_path):
    strange = [
        marker(2, 7, key_version=3),
        marker(2, 7, codec=1),
        marker(2, 7, value=bytes(7)),
        marker(2, 7, headers=[(b"k", b"v")]),
        marker(2, 7, timestamp_delta=300),
        put_records([], base_offset=2, producer_id=7, attributes=TRANSACTIONAL | CONTROL),
        marker(2, 7, kind=2),
        marker(2, 7, kind=9),
    ]
    closed = [
        compare(tmp_path / "log", in_transaction(0, 7) + batch).summary.transactions.open == {}
        for batch in strange
    ]

    assert closed == [True, True, True, True, True, False, False, False]


@pytest.mark.parametrize(
    "broken", [{"value": b"\0"}, {"value": b"\xff" * 6}, {"key": b"\0"}, {"key": b"\xff\xff\0\0"}]
)
def test_markers_that_cannot_be_read(tmp_path, broken):
    piece = compare(tmp_path / "log", in_transaction(0, 7) + (bad := marker(2, 7, **broken)) + bad)

    assert piece.summary.transactions.open == {7: 0}
    assert piece.defects["DUMP-002"][:2] == (2, len(in_transaction(0, 7)))


@pytest.mark.slow
def test_every_flipped_byte(tmp_path):
    data = put_range(0, 2) + in_transaction(2, 7, 1) + marker(3, 7) + put_range(4, 1)
    for position in range(len(data)):
        compare(tmp_path / "log", data[:position] + bytes([data[position] ^ 0x81]) + data[position + 1 :])


@pytest.mark.slow
def test_every_prefix(tmp_path):
    for length in range(0, len(VARIED), 3):
        compare(tmp_path / "log", VARIED[:length])


def test_without_checksums_all_is_believed(tmp_path):
    wrong = bytearray(put_range(3, 2))
    wrong[-1] ^= 1
    data = (
        put_range(0, 3)
        + wrong
        + put_range(5, 2)
        + put_batch(bytes(6000), 1, base_offset=7) * 3
        + marker(8, 9)
    )
    expected, _, stop = plain(data, tmp_path / "log", verify=False)
    piece = read(tmp_path / "log", verify=False)

    assert (piece.summary, piece.stop, "LOG-003" in piece.defects) == (expected, stop, False)
    assert piece.summary.unchecked == 7


def test_a_magic_above_2_is_read_as_2_and_counted(tmp_path):
    above = bytearray(put_range(2, 2))
    above[16] = 3
    piece = compare(tmp_path / "log", put_range(0, 2) + above + put_range(4, 1))

    assert (piece.summary.records, piece.summary.last_offset, piece.summary.gaps.times) == (5, 4, 0)
    assert piece.defects["LOG-017"] == (1, len(put_range(0, 2)), "offset 2: magic 3")


@pytest.mark.parametrize("verify", [True, False])
def test_a_codec_that_kafka_does_not_know_is_unreadable_and_believed(tmp_path, verify):
    first = put_range(0, 2)
    data = first + put_range(2, 2, attributes=7) + put_range(4, 1) + put_range(5, 1, attributes=5)
    (tmp_path / "log").write_bytes(data)
    piece = read(tmp_path / "log", verify=verify)

    assert piece.defects["DUMP-002"] == (
        2,
        len(first),
        f"offset 2: byte {len(first) + 22}: codec: expected 0 to 4, found 7",
    )
    assert (piece.summary.records, piece.summary.codecs[7].batches) == (6, 1)


def test_what_each_codec_saves(tmp_path):
    batch_of = {codec: put_records([put_record(value=b"abc" * 1000)] * 3, codec) for codec in range(5)}
    (tmp_path / "log").write_bytes(b"".join(batch_of.values()) + stored("v1-gzip.log"))
    codecs = read(tmp_path / "log", largest=LARGEST_BATCH).summary.codecs
    whole = len(batch_of[0]) - 61

    for codec in (0, 2, 3, 4):
        assert codecs[codec] == Codec(1, len(batch_of[codec]), len(batch_of[codec]) - 61, whole, 1)
    assert codecs[1].unpacked > whole
    assert read(tmp_path / "log").summary.codecs[0] == Codec(1, len(batch_of[0]), 0, 0)


def test_what_cannot_be_decompressed_is_reported(tmp_path):
    (tmp_path / "log").write_bytes(
        put_range(0, 1)
        + put_batch(b"no zstd", 1, attributes=4, base_offset=1)
        + put_batch(b"?", 1, attributes=7)
    )
    piece = read(tmp_path / "log", largest=LARGEST_BATCH)

    assert piece.defects["DUMP-002"][:2] == (2, len(put_range(0, 1)))
    assert [codec.opened for codec in piece.summary.codecs] == [1, 0, 0, 0, 0, 0, 0, 0]


# Parts


def summary_of(raws):
    """The summary of whole batches, as one block: end markers are those that are usual."""
    import numpy as np

    if not raws:
        return EMPTY
    fields = rows(b"".join(raw[:61] for raw in raws), len(raws))
    return summaries.summary(fields, np.ones(len(raws), np.bool_), np.array([ends(raw) for raw in raws]))


@examples(150)
@given(st.integers(0, 10**9), st.lists(st.integers(0, 12), max_size=4), st.sampled_from([1, 3, 10_000]))
def test_any_cut_gives_the_same(seed, cuts, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summaries, "MOST_IDS", most)
        raws = random_batches(seed)
        bounds = [0, *sorted(cuts), len(raws)]
        parts = [summary_of(raws[low:high]) for low, high in itertools.pairwise(bounds)]

        assert reduce(merge, parts, EMPTY) == summary_of(raws)
        assert reduce(lambda whole, part: merge(part, whole), reversed(parts), EMPTY) == summary_of(raws)


LONGS = st.sampled_from(
    [-(2**63), 1 - 2**63, -(2**31), -5, -2, -1, 0, 1, 5, 2**31, 2**63 - 2, 2**63 - 1]
) | st.integers(-(2**63), 2**63 - 1)
INTS = st.sampled_from([-(2**31), -1, 0, 1, 2**31 - 1])
EXTREMES = st.builds(
    lambda **fields: put_batch(b"", 0, **fields),
    base_offset=LONGS,
    last_offset_delta=INTS,
    base_timestamp=LONGS,
    max_timestamp=LONGS,
    partition_leader_epoch=INTS,
    producer_id=LONGS,
    records_count=INTS,
    attributes=st.sampled_from([0, 0x08, 0x10, 0x30, 0x40]),
)


@examples(300)
@given(st.lists(EXTREMES, min_size=1, max_size=5), st.integers(0, 5), st.integers(0, 5))
def test_any_cut_of_extreme_numbers_gives_what_is_counted_one_by_one(tmp_path_factory, raws, one, two):
    low, high = sorted((one, two))
    a, b, c = summary_of(raws[:low]), summary_of(raws[low:high]), summary_of(raws[high:])
    expected, _, _ = plain(b"".join(raws), tmp_path_factory.getbasetemp() / "log")

    assert merge(merge(a, b), c) == merge(a, merge(b, c)) == summary_of(raws) == expected
