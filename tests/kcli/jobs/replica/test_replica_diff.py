"""Replicas compared: what brokers do to one of them is no difference, all else is, at the right offset."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.jobs.replica.replica_diff import diff
from kcli.jobs.replica_pairs import pairs
from kcli.kafka.replication import replica_diff
from kcli.rows.bad_news import is_bad_news
from tests.builders import put_record, put_records
from tests.partitions import codes, epoch_lines, log_dir, orders, put_range, rows, segment, snapshot, unit

pytestmark = pytest.mark.slow

BATCHES = (put_range(0, 10), put_range(10, 10, epoch=2), put_range(20, 5, epoch=4))
GZIP, ZSTD = 1, 4


def pair(one, other):
    return replace(unit(one), targets=(unit(one).target, unit(other).target))


def compared(tmp_path, here, there, **options):
    """Return the outcome and (first, last, verdict, reason) of each range of two logs given as batches."""
    one, other = (orders(tmp_path / name, *found) for name, found in (("a", here), ("b", there)))
    before = snapshot(one), snapshot(other)
    outcome = diff(pair(one, other), **options)
    assert (snapshot(one), snapshot(other)) == before
    keys = ("first_offset", "last_offset", "verdict", "reason")
    return outcome, [tuple(row[key] for key in keys) for row in rows(outcome)]


def test_equal_replicas_are_one_range(tmp_path):
    outcome, found = compared(tmp_path, BATCHES, BATCHES)
    size = sum(map(len, BATCHES))
    (row,) = rows(outcome)
    assert found == [(0, 24, "equal", None)]
    assert [row[key] for key in ("batches", "other_batches", "bytes", "other_bytes")] == [3, 3, size, size]
    assert "REPL-001" not in codes(outcome)


def test_segments_may_roll_elsewhere(tmp_path):
    one = orders(tmp_path / "a", *BATCHES)
    other = log_dir(tmp_path / "b") / "orders-0"
    for base, batch in zip((0, 10, 20), BATCHES, strict=True):
        segment(other, base, batch)
    (other / "leader-epoch-checkpoint").write_text(epoch_lines((0, 0)))
    assert [row["verdict"] for row in rows(diff(pair(one, other)))] == ["equal"]


def test_the_first_batch_that_differs_is_named_with_its_epochs(tmp_path):
    there = (BATCHES[0], put_range(10, 10, epoch=3, timestamp=2000), put_range(20, 9, epoch=3))
    outcome, found = compared(tmp_path, BATCHES, there)
    assert found == [(0, 9, "equal", None), (10, 19, "differs", "records"), (20, 28, "differs", "boundaries")]
    assert [(row["leader_epoch"], row["other_leader_epoch"]) for row in rows(outcome)][1] == (2, 3)
    (finding,) = [finding for finding in outcome.findings if finding.code == "REPL-001"]
    assert (finding.severity, finding.found) == ("error", 10)


@pytest.mark.parametrize("is_here", [True, False])
def test_what_lies_past_the_other_end_is_alone(tmp_path, is_here):
    sides = (BATCHES, BATCHES[:2]) if is_here else (BATCHES[:2], BATCHES)
    outcome, found = compared(tmp_path, *sides)
    assert found == [(0, 19, "equal", None), (20, 24, "only-here" if is_here else "only-there", None)]
    assert "REPL-001" not in codes(outcome)


def test_what_retention_deleted_is_alone(tmp_path):
    one = orders(tmp_path / "a", *BATCHES)
    other = log_dir(tmp_path / "b") / "orders-0"
    segment(other, 10, b"".join(BATCHES[1:]))
    found = [(row["last_offset"], row["verdict"]) for row in rows(diff(pair(one, other)))]
    assert found == [(9, "only-here"), (24, "equal")]


def compact(batch_base, count, kept, **fields):
    """Return a batch as the cleaner leaves it: some records, at the offsets of the whole."""
    kept_records = [put_record(offset_delta=n, timestamp_delta=n, value=b"v%d" % n) for n in kept]
    times = {"base_timestamp": 1000, "max_timestamp": 1000 + max(kept, default=0)}
    return put_records(kept_records, base_offset=batch_base, last_offset_delta=count - 1, **times, **fields)


def broken(batch):
    return batch[:-6] + bytes([batch[-6] ^ 0xFF]) + batch[-5:]


OTHER_RECORD = put_record(offset_delta=3, timestamp_delta=3, value=b"other")
LARGE = bytes(3 << 20)


def test_the_same_records_in_other_leader_epochs_are_ranges_of_their_own(tmp_path):
    here = [put_range(5 * n, 5, epoch=n // 2) for n in range(6)]
    there = [put_range(5 * n, 5, epoch=(0, 0, 0, 1, 1, 2)[n]) for n in range(6)]
    found = rows(compared(tmp_path, here, there)[0])
    epochs = [(row["first_offset"], row["leader_epoch"], row["other_leader_epoch"]) for row in found]

    assert {row["verdict"] for row in found} == {"equal"}
    assert [is_bad_news(row) for row in compared(tmp_path / "again", here, there)[0].rows] == [
        epoch != other for _, epoch, other in epochs
    ]
    assert epochs == [(0, 0, 0), (10, 1, 0), (15, 1, 1), (20, 2, 1), (25, 2, 2)]


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        ((), (), [(0, -1, "equal", None)]),
        (
            BATCHES,
            (BATCHES[0], put_range(10, 5, epoch=1), put_range(15, 5, epoch=1), BATCHES[2]),
            [(0, 9, "equal", None), (10, 19, "differs", "boundaries"), (20, 24, "equal", None)],
        ),
        (
            BATCHES,
            (put_range(0, 5), put_range(5, 10), put_range(15, 5), BATCHES[2]),
            [(0, 19, "differs", "boundaries"), (20, 24, "equal", None)],
        ),
        (
            [put_range(10 * n, 10) for n in range(6)],
            [put_range(0, 10), compact(10, 10, [1, 7]), *(put_range(n, 10) for n in (20, 40, 50))],
            [(0, 9, "equal", None), (10, 39, "compacted", None), (40, 59, "equal", None)],
        ),
        (
            [put_range(0, 10)],
            [put_records([OTHER_RECORD], last_offset_delta=9, base_timestamp=1000, max_timestamp=1003)],
            [(0, 9, "differs", "records")],
        ),
        ([put_range(0, 10, codec=GZIP)], [put_range(0, 10, codec=ZSTD)], [(0, 9, "differs", "compression")]),
        (
            [broken(put_range(0, 10, codec=GZIP))],
            [put_range(0, 10, codec=ZSTD)],
            [(0, 9, "differs", "unreadable")],
        ),
        (*[[put_records([put_record(value=LARGE)])]] * 2, [(0, 0, "equal", None)]),
        (
            [put_records([put_record(value=LARGE)])],
            [put_records([put_record(value=LARGE[:-1] + b"x")])],
            [(0, 0, "differs", "records")],
        ),
    ],
    ids=["empty", "epoch", "bounds", "compacted", "record", "codec", "unreadable", "large", "large-record"],
)
def test_what_is_a_difference(tmp_path, here, there, expected):
    assert compared(tmp_path, here, there)[1] == expected


def test_another_codec_is_none_where_that_is_asked(tmp_path):
    here, there = [put_range(0, 10, codec=GZIP)], [put_range(0, 10, codec=ZSTD)]
    assert compared(tmp_path, here, there, ignore_compression=True)[1] == [(0, 9, "equal", None)]


def test_ranges_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(replica_diff, "MOST_DIFF_RANGES", 3)
    here = [put_range(n, 1) for n in range(20)]
    there = [put_range(n, 1, timestamp=1000 + n % 2) for n in range(20)]
    assert [row[:3] for row in compared(tmp_path, here, there)[1]] == [
        (0, 0, "equal"),
        (1, 1, "differs"),
        (2, 19, "differs"),
    ]


@given(data=st.data())
def test_a_changed_byte_is_found_whatever_the_chunk(data, tmp_path_factory):
    """Chunks of any size give what batch by batch gives: the changed batch differs, and no other."""
    tmp_path = tmp_path_factory.mktemp("replicas")
    here = [put_range(5 * n, 5, epoch=n // 4) for n in range(12)]
    number = data.draw(st.integers(0, 11))
    there = [*here[:number], put_range(5 * number, 5, timestamp=77), *here[number + 1 :]]
    chunk = data.draw(st.integers(20, 2000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replica_diff, "COMPARED_BYTES", chunk)
        found = [row[:3] for row in compared(tmp_path, here, there)[1]]
    first = 5 * number
    expected = [(0, first - 1, "equal"), (first, first + 4, "differs"), (first + 5, 59, "equal")]
    assert found == [row for row in expected if row[0] <= row[1]]


@pytest.mark.parametrize("magic", [b"\xff", b"\x80"])
def test_what_no_reader_takes_for_a_batch_ends_a_segment_on_both_sides(tmp_path, magic):
    damaged = bytearray(BATCHES[1])
    damaged[16:17] = magic
    outcome, found = compared(tmp_path, [BATCHES[0], bytes(damaged)], [BATCHES[0], bytes(damaged)])
    assert found == [(0, 9, "equal", None)]
    assert codes(outcome).count("LOG-002") == 2


def test_trouble_with_the_other_replica_names_it(tmp_path):
    one, other = orders(tmp_path / "a", *BATCHES), orders(tmp_path / "b", *BATCHES)
    (other / "leader-epoch-checkpoint").write_text("no checkpoint")
    (other / f"{0:020}.log").unlink()
    (other / f"{0:020}.log").symlink_to(tmp_path / "nowhere")
    outcome = diff(pair(one, other))
    assert outcome.error is not None
    assert Path(outcome.error.path).parent == other


def test_partitions_are_paired_by_name_and_one_alone_is_said(tmp_path):
    names = ("a/orders-0", "b/orders-0", "c/orders-0", "b/orders-1")
    found = []
    for name in names:
        path = tmp_path / name
        segment(path, 0, BATCHES[0])
        found.append(unit(path))
    paired = pairs(found)
    shown = [[str(Path(target.path).relative_to(tmp_path)) for target in two.targets] for two in paired]
    assert shown == [["a/orders-0", "b/orders-0"], ["a/orders-0", "c/orders-0"], ["b/orders-1"]]
    assert "REPL-002" in codes(diff(paired[-1]))


def test_a_batch_that_one_log_holds_twice_is_not_missing_from_the_other(tmp_path):
    """The finding is about the log with the batch, whichever is named first."""
    twice = (*BATCHES[:2], BATCHES[1], BATCHES[2])
    ranges = [(0, 19, "equal", None), (10, 19, "differs", "repeated"), (20, 24, "equal", None)]
    for number, logs in enumerate(((BATCHES, twice), (twice, BATCHES))):
        outcome, found = compared(tmp_path / str(number), *logs)
        assert found == ranges
        (finding,) = (finding for finding in outcome.findings if finding.code.startswith("REPL"))
        assert (finding.code, finding.found) == ("REPL-001", 10)
        assert finding.dir.split("/")[-2] == "ba"[number]


def test_what_lies_behind_damage_is_said_to_be_found_by_salvage(tmp_path):
    one = orders(tmp_path / "a", *BATCHES)
    other = orders(tmp_path / "b", BATCHES[0], BATCHES[1][:30], BATCHES[2])
    segment(one, 25, put_range(25, 5))
    segment(other, 25, put_range(25, 5))
    found = {finding.code: finding for finding in diff(pair(one, other)).findings}
    assert found["REPL-005"].dir == str(other)
    assert found["REPL-005"].message.endswith("behind damage in a segment, where kcli salvage finds them")
