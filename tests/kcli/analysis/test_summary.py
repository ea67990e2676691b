"""Summaries: equal to counting batch by batch, and the same however a log is cut."""

import itertools
import random
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats.batch import BatchHeader
from formats.bulk import rows
from kcli.analysis import pieces
from kcli.analysis import summary as summaries
from kcli.analysis.pieces import Wanted, join, read_piece
from kcli.analysis.salvage import Checked, Gap, checked_batches
from kcli.analysis.summary import EMPTY, Codec, Summary, Tally, merge
from kcli.logdir import bulk
from kcli.logdir.buffers import DataFile
from tests.builders import put_batch, put_record, put_records
from tests.formats.recorded import LEGACY, LOGS, batches, stored
from tests.partitions import put_range

ABORTED, COMMITTED = 0, 1
TRANSACTIONAL, CONTROL = 0x10, 0x20


def marker(base, producer, kind=COMMITTED, key_version=0, codec=0, **record):
    key = key_version.to_bytes(2, "big") + kind.to_bytes(2, "big")
    fields = {"key": key, "value": bytes(6), **record}
    return put_records([put_record(**fields)], codec, base_offset=base, producer_id=producer, attributes=TRANSACTIONAL | CONTROL)


def in_transaction(base, producer, count=2):
    return put_range(base, count, producer_id=producer, producer_epoch=0, base_sequence=0, attributes=TRANSACTIONAL)


def plain(data, path, verify=True):
    """The numbers of a log, batch by batch, from the plain readers; and its damage."""
    path.write_bytes(data)
    found = Summary()._asdict()
    counts = dict.fromkeys(
        ("batches", "bytes", "valid", "invalid", "unchecked", "unknown", "records", "uncounted", "transactional", "control"), 0
    )
    opened, ended, epochs, producers, codecs, previous, gaps, stop = {}, set(), set(), set(), {}, None, [], None
    with DataFile(str(path)) as file:
        items = list(checked_batches(file, 0))
    for item in items:
        if isinstance(item, Gap):
            gaps.append(item)
            continue
        if not isinstance(item, Checked):
            stop = item
            continue
        header, raw = item.batch.header, item.raw
        counts["batches"] += 1
        counts[("valid" if item.valid else "invalid") if verify else "unchecked"] += 1
        counts["unknown"] += header.magic > 2
        if header.magic > 2 or (verify and not item.valid):
            continue
        counts["bytes"] += header.size
        found["largest"] = max(found["largest"], header.size)
        count = header.records_count
        counts["records"] += max(count or 0, 0)
        counts["uncounted"] += count is None
        if previous is None:
            found["base_offset"], found["begins_before"] = header.base_offset, count is None
        elif header.base_offset <= previous:
            found["backwards"] = Tally(found["backwards"].times + 1, first_of(found["backwards"], header.base_offset))
        elif header.base_offset > previous + 1 and count is not None:
            found["gaps"] = Tally(found["gaps"].times + 1, first_of(found["gaps"], previous + 1))
        previous = found["last_offset"] = header.last_offset
        late = isinstance(header, BatchHeader) and not (header.delete_horizon_ms is not None or header.timestamp_type == "LogAppendTime")
        begins = header.base_timestamp if late else header.max_timestamp
        found["min_timestamp"] = min((t for t in (found["min_timestamp"], begins) if t not in {None, -1}), default=None)
        found["max_timestamp"] = max((t for t in (found["max_timestamp"], header.max_timestamp) if t not in {None, -1}), default=None)
        if header.partition_leader_epoch != -1:
            epochs.add(header.partition_leader_epoch)
            found["last_epoch"] = header.partition_leader_epoch
            if found["first_epoch"] is None:
                found["first_epoch"] = header.partition_leader_epoch
        if header.producer_id != -1:
            producers.add(header.producer_id)
        counts["transactional"] += header.is_transactional
        counts["control"] += header.is_control
        known = codecs.get(header.codec, Codec())
        codecs[header.codec] = Codec(known.batches + 1, known.bytes + header.size)
        if header.is_control and header.producer_id != -1 and ends(raw):
            opened.pop(header.producer_id, None)
            ended.add(header.producer_id)
        elif header.is_transactional and not header.is_control:
            opened.setdefault(header.producer_id, header.base_offset)
    found.update(counts)
    found["epochs"], found["producers"] = frozenset(epochs), frozenset(producers)
    found["transactions"] = summaries.Transactions(opened, frozenset(ended))
    found["codecs"] = tuple(codecs.get(number, Codec()) for number in range(8))
    return Summary(**found), gaps, stop


def first_of(tally, value):
    return tally.first if tally.times else value


def ends(raw):
    from formats.control import control_record
    from formats.errors import FormatError
    from formats.record import batch_records

    try:
        record = next(batch_records(raw, 1 << 20), None)
        return record is not None and control_record(record.key, record.value).type in {ABORTED, COMMITTED}
    except FormatError:
        return False


def read(path, start=0, end=None, **wanted):
    with DataFile(str(path)) as file:
        return read_piece(file, start, end, Wanted(**wanted))


def compare(path, data):
    expected, gaps, stop = plain(data, path)
    piece = read(path)
    assert piece.summary == expected
    assert (list(piece.gaps), piece.stop) == (gaps, stop)
    assert (piece.gap_count, piece.size) == (len(gaps), len(data))
    assert piece.invalid.times == expected.invalid
    return piece


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
    odd = [
        marker(2, 7, key_version=3),
        marker(2, 7, codec=1),
        marker(2, 7, value=bytes(7)),
        marker(2, 7, headers=[(b"k", b"v")]),
        marker(2, 7, timestamp_delta=300),
        put_records([], base_offset=2, producer_id=7, attributes=TRANSACTIONAL | CONTROL),
        marker(2, 7, kind=2),
        marker(2, 7, kind=9),
    ]
    closed = [compare(tmp_path / "log", in_transaction(0, 7) + batch).summary.transactions.open == {} for batch in odd]

    assert closed == [True, True, True, True, True, False, False, False]


@pytest.mark.parametrize("broken", [{"value": b"\0"}, {"value": b"\xff" * 6}, {"key": b"\0"}, {"key": b"\xff\xff\0\0"}])
def test_markers_that_cannot_be_read(tmp_path, broken):
    piece = compare(tmp_path / "log", in_transaction(0, 7) + (bad := marker(2, 7, **broken)) + bad)

    assert piece.summary.transactions.open == {7: 0}
    assert (piece.unreadable.times, piece.unreadable.position) == (2, len(in_transaction(0, 7)))


def test_every_flipped_byte(tmp_path):
    data = put_range(0, 2) + in_transaction(2, 7, 1) + marker(3, 7) + put_range(4, 1)
    for position in range(len(data)):
        compare(tmp_path / "log", data[:position] + bytes([data[position] ^ 0x81]) + data[position + 1 :])


def test_every_prefix(tmp_path):
    for length in range(0, len(VARIED), 3):
        compare(tmp_path / "log", VARIED[:length])


@pytest.mark.parametrize("tail", [bytes(50), b"\xff" * 50, put_range(9, 1)[:-1], b"\1" * 17])
def test_damage_and_tails(tmp_path, tail):
    wrong = bytearray(put_range(3, 2))
    wrong[-1] ^= 1
    for middle in (b"\xff" * 99, bytes(99), bytes(wrong), bytes(wrong) + b"\xff" * 70, bytes(wrong) * 3):
        compare(tmp_path / "log", put_range(0, 3) + middle + put_range(5, 2) + tail)
        compare(tmp_path / "log", put_range(0, 3) + middle + tail)


def test_without_checksums_all_is_believed(tmp_path):
    wrong = bytearray(put_range(3, 2))
    wrong[-1] ^= 1
    data = put_range(0, 3) + wrong + put_range(5, 2) + put_batch(bytes(6000), 1, base_offset=7) * 3 + marker(8, 9)
    expected, _, stop = plain(data, tmp_path / "log", verify=False)
    piece = read(tmp_path / "log", verify=False)

    assert (piece.summary, piece.stop, piece.invalid.times) == (expected, stop, 0)
    assert piece.summary.unchecked == 7


def test_unknown_magic_is_counted_and_not_believed(tmp_path):
    strange = bytearray(put_range(90, 2))
    strange[16] = 3
    piece = compare(tmp_path / "log", put_range(0, 2) + strange + put_range(2, 1))

    assert (piece.summary.unknown, piece.summary.last_offset, piece.unknown) == (1, 2, (1, len(put_range(0, 2)), 90))


def test_what_each_codec_saves(tmp_path):
    batch_of = {codec: put_records([put_record(value=b"abc" * 1000)] * 3, codec) for codec in range(5)}
    (tmp_path / "log").write_bytes(b"".join(batch_of.values()) + stored("v1-gzip.log"))
    codecs = read(tmp_path / "log", unpack=True).summary.codecs
    whole = len(batch_of[0]) - 61

    for codec in (0, 2, 3, 4):
        assert codecs[codec] == Codec(1, len(batch_of[codec]), len(batch_of[codec]) - 61, whole, 1)
    assert codecs[1].unpacked > whole
    assert read(tmp_path / "log").summary.codecs[0] == Codec(1, len(batch_of[0]), 0, 0)


def test_what_cannot_be_decompressed_is_told(tmp_path):
    (tmp_path / "log").write_bytes(
        put_range(0, 1) + put_batch(b"no zstd", 1, attributes=4, base_offset=1) + put_batch(b"?", 1, attributes=7)
    )
    piece = read(tmp_path / "log", unpack=True)

    assert (piece.unreadable.times, piece.unreadable.position) == (2, len(put_range(0, 1)))
    assert [codec.opened for codec in piece.summary.codecs] == [1, 0, 0, 0, 0, 0, 0, 0]


def test_a_batch_that_cannot_be_read_twice_over_is_told_once(tmp_path):
    (tmp_path / "log").write_bytes(put_batch(b"no gzip", 1, attributes=1 | TRANSACTIONAL | CONTROL, producer_id=7))

    assert read(tmp_path / "log", unpack=True).unreadable.times == 1


def test_of_a_huge_marker_no_more_than_needed_is_read(tmp_path, monkeypatch):
    (tmp_path / "log").write_bytes(put_batch(bytes(9 << 20), 1, attributes=TRANSACTIONAL | CONTROL, producer_id=7))
    read_sizes, reads = [], DataFile.read
    monkeypatch.setattr(DataFile, "read", lambda file, at, size: read_sizes.append(size) or reads(file, at, size))

    assert (read(tmp_path / "log").unreadable.times, max(read_sizes)) == (1, pieces.LARGEST_MARKER)


# Parts


def summary_of(raws):
    """The summary of whole batches, as one block: end markers are those that are usual."""
    import numpy as np

    if not raws:
        return EMPTY
    fields = rows(b"".join(raw[:61] for raw in raws), len(raws))
    return summaries.summary(summaries.Block(fields, np.ones(len(raws), np.bool_), np.array([ends(raw) for raw in raws])))


def random_batches(seed, count=12):
    rng = random.Random(seed)
    found, offset = [], 0
    for _ in range(count):
        offset += rng.choice([0, 0, 0, 1, 5, -3])
        base, producer = max(offset, 0), rng.randrange(4)
        made = rng.choice([in_transaction, in_transaction, marker, put_range])
        if made is put_range:
            found.append(
                put_range(base, 2, epoch=rng.choice([-1, 3, 4]), timestamp=rng.choice([-1, 10, 99]), producer_id=rng.choice([-1, 9]))
            )
        else:
            found.append(made(base, producer))
        offset = base + (1 if made is marker else 2)
    return found


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9), st.lists(st.integers(0, 12), max_size=4), st.sampled_from([1, 3, 10_000]))
def test_any_cut_gives_the_same(seed, cuts, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summaries, "MOST_IDS", most)
        raws = random_batches(seed)
        bounds = [0, *sorted(cuts), len(raws)]
        parts = [summary_of(raws[low:high]) for low, high in itertools.pairwise(bounds)]

        assert reduce(merge, parts, EMPTY) == summary_of(raws)
        assert reduce(lambda whole, part: merge(part, whole), reversed(parts), EMPTY) == summary_of(raws)


LONGS = st.sampled_from([-(2**63), 1 - 2**63, -(2**31), -5, -2, -1, 0, 1, 5, 2**31, 2**63 - 2, 2**63 - 1]) | st.integers(
    -(2**63), 2**63 - 1
)
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


@settings(max_examples=300, deadline=None)
@given(st.lists(EXTREMES, min_size=1, max_size=5), st.integers(0, 5), st.integers(0, 5))
def test_any_cut_of_extreme_numbers_gives_what_is_counted_one_by_one(tmp_path_factory, raws, one, two):
    low, high = sorted((one, two))
    a, b, c = summary_of(raws[:low]), summary_of(raws[low:high]), summary_of(raws[high:])
    expected, _, _ = plain(b"".join(raws), tmp_path_factory.getbasetemp() / "log")

    assert merge(merge(a, b), c) == merge(a, merge(b, c)) == summary_of(raws) == expected


@pytest.mark.parametrize(("times", "least", "most"), [((-5, -1), -5, -5), ((-1, -5), -5, -5), ((-1, -1), None, None), ((7, -1, -5), -5, 7)])
def test_no_timestamp_is_left_out_of_both_ends(times, least, most):
    raws = [put_batch(b"", 0, base_timestamp=time, max_timestamp=time) for time in times]

    for whole in (summary_of(raws), reduce(merge, (summary_of([raw]) for raw in raws))):
        assert (whole.min_timestamp, whole.max_timestamp) == (least, most)


def test_nothing_is_missing_behind_the_highest_offset():
    raws = [put_batch(b"", 0, base_offset=offset) for offset in (2**63 - 1, 5)]
    whole = summary_of(raws)

    assert whole == merge(*map(summary_of, ([raw] for raw in raws)))
    assert (whole.gaps, whole.backwards) == (Tally(), Tally(1, 5))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9))
def test_merging_is_associative_with_an_identity(one, two, three):
    a, b, c = (summary_of(random_batches(seed, 4)) for seed in (one, two, three))

    assert merge(merge(a, b), c) == merge(a, merge(b, c))
    assert merge(a, EMPTY) == a == merge(EMPTY, a)


def joined(path, cuts):
    bounds = [0, *cuts, None]
    parts = [read(path, start, end) for start, end in itertools.pairwise(bounds)]
    return reduce(lambda a, b: a and join(a, b), parts)


@pytest.mark.parametrize("name", ["codec-none", "txn", "shapes", "v1-gzip", "v0-none", "metadata"])
def test_pieces_join_at_any_batch(tmp_path, name):
    path = tmp_path / "log"
    path.write_bytes(stored(f"{name}.log"))
    starts = [position for position, _ in batches(f"{name}.log")][1:]
    for cut in starts:
        assert joined(path, [cut]) == read(path)
    assert joined(path, starts) == read(path)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9), st.lists(st.integers(1, 11), min_size=1, max_size=3, unique=True), st.integers(0, 3))
def test_damaged_pieces_join_rightly_or_not_at_all(tmp_path_factory, seed, cuts, damage):
    rng = random.Random(seed)
    raws = random_batches(seed)
    path = tmp_path_factory.mktemp("log") / "log"
    starts = [sum(map(len, raws[:number])) for number in sorted(cuts)]
    data = bytearray(b"".join(raws))
    for _ in range(damage):
        data[rng.randrange(len(data))] ^= rng.choice([1, 0x80, 0xFF])
    path.write_bytes(data)
    found = joined(path, starts)

    assert found in (None, read(path))
    if not damage:
        assert found is not None


def test_pieces_that_are_not_neighbours_do_not_join(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(put_range(0, 3) * 3)
    size = len(put_range(0, 3))

    assert join(read(path, 0, size), read(path, size, 2 * size)) is not None
    assert join(read(path, 0, size), read(path, 2 * size)) is None
    assert join(read(path, 0, size + 5), read(path, size + 5)) is None
    assert join(read(path, 0, size + 5), read(path, size)) is None


def test_many_windows_and_blocks_add_up(tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "WINDOW", 700)
    monkeypatch.setattr(pieces, "BATCHES_A_BLOCK", 7)
    compare(tmp_path / "log", b"".join(random_batches(1, 300)))


def test_damaged_ranges_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "MOST_GAPS", 3)
    (tmp_path / "log").write_bytes((put_range(0, 1) + b"\xff" * 40) * 6)
    piece = read(tmp_path / "log")

    assert piece.gap_count == 6
    assert [(gap.end - gap.start, gap.next_offset) for gap in piece.gaps] == [(40, 0)] * 3 + [(40, None)]
