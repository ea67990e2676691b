"""What one cleaning leaves of a log: keys, tombstones, transactions, groups of segments, memory."""

import random

import pytest

from kcli.jobs.compact import compact
from kcli.jobs.held_log import RetentionQuery
from kcli.kafka.storage import cleaner_pass
from kcli.kafka.storage.cleaner_pass import Cleaning, clean
from kcli.kafka.storage.log_segment import LoadedSegment
from tests.builders import put_record, put_records
from tests.commands.answers import ask
from tests.partitions import log_dir, rows, segment, unit
from tests.transactions import DAY, NOW, ended, sent

NEWEST = (4, 4)
STAMPED = 0x40


def batch(base, *pairs, **fields):
    records = [put_record(offset_delta=at, key=key, value=value) for at, (key, value) in enumerate(pairs)]
    times = {"base_timestamp": NOW, "max_timestamp": NOW}
    return put_records(records, base_offset=base, **{**times, **fields})


@pytest.fixture
def make(tmp_path):
    """Make a compacted log of segments, each from its base offset on; the last one is active."""

    def make_log(segments, checkpoint=None, clean=True):
        root = log_dir(tmp_path / "d", clean)
        for base, *batches in segments:
            segment(root / "orders-0", base, b"".join(batches))
        (root / "replication-offset-checkpoint").write_text("0\n1\norders 0 100\n")
        if checkpoint is not None:
            (root / "cleaner-offset-checkpoint").write_text(f"0\n1\norders 0 {checkpoint}\n")
        return root / "orders-0"

    return make_log


def answer(directory, *, now=NOW, release=NEWEST, server=None, **config):
    settings = {name.replace("_", "."): str(value) for name, value in config.items()}
    query = RetentionQuery(now, server or {}, {"cleanup.policy": "compact"} | settings)
    items = rows(compact(unit(directory), query=query, release=release, records=True))
    removals = [(row["offset"], row["reason"]) for row in items if "reason" in row]
    return items[-1], [row for row in items if "sources" in row], removals


def test_each_record_that_goes_says_why(make):
    """Which go, and what is left, the oracle says of random logs."""
    keys = (0, batch(0, (b"a", b"1"), (b"b", b"1"), (None, b"1")))
    stamped = (3, batch(3, (b"c", None), base_timestamp=NOW + DAY, attributes=STAMPED))
    aborted = (4, sent(4, 7), ended(5, 7, commits=False))
    newer = (6, batch(6, (b"a", b"2"))), (7, batch(7, (b"b", b"2")))
    directory = make([keys, stamped, aborted, *newer], clean=False)
    gone = [(0, "newer-key"), (2, "no-key"), (4, "aborted")]
    assert answer(directory, now=NOW + DAY - 1)[2] == gone
    assert answer(directory, now=NOW + DAY)[2] == [*gone[:2], (3, "tombstone"), gone[2]]


@pytest.mark.parametrize("chunk", [1, 400])
@pytest.mark.parametrize("is_damaged", [False, True])
def test_batches_that_are_decoded_together_and_one_by_one_give_the_same(make, monkeypatch, chunk, is_damaged):
    choose = random.Random(5)
    batches = []
    for base in range(0, 90, 3):
        keys = [choose.choice([b"a", b"key of sixteen b", b"a key of more bytes", None]) for _ in range(3)]
        records = [
            put_record(
                offset_delta=at, key=key, value=choose.choice([None, b"", b"v"]), headers=[(b"h", b"")]
            )
            for at, key in enumerate(keys)
        ]
        times = {"base_timestamp": NOW, "max_timestamp": NOW, "last_offset_delta": 2}
        batches.append(bytearray(put_records(records, choose.choice([0, 1, 3]), base_offset=base, **times)))
    if is_damaged:
        batches[20][61:] = bytes(len(batches[20]) - 61)
    directory = make([(0, *batches), (90, batch(90, (b"a", b"")))])
    query = RetentionQuery(NOW, {}, {"cleanup.policy": "compact"})
    together, chunked = (
        compact(unit(directory), query=query, release=NEWEST, records=True)
        for size in (cleaner_pass.CHUNK_BYTES, chunk)
        if not monkeypatch.setattr(cleaner_pass, "CHUNK_BYTES", size)
    )
    assert (together.rows, together.error) == (chunked.rows, chunked.error)
    assert (together.error is not None) == is_damaged != bool(together.rows)


def test_before_4_4_the_last_batch_of_a_cleaning_stays_though_empty(make):
    directory = make([(0, batch(0, (b"a", b""))), (1, batch(1, (None, b""))), (2, batch(2, (b"a", b"")))])
    assert [each["batches_after"] for each in answer(directory)[1]] == [1, 1]
    assert [each["batches_after"] for each in answer(directory, release=(4, 3))[1]] == [2, 1]


def test_what_a_tiered_log_has_no_more_is_not_cleaned(make):
    segments = [LoadedSegment(5)]
    nothing = Cleaning(segments, {5: 0}, 0, 0, 5, 5, {}, NOW, DAY, 1000, 1000, 10)
    with pytest.raises(StopIteration) as ended_at:
        next(clean(nothing, None))
    assert (ended_at.value.value.checkpoint, ended_at.value.value.passes) == (None, 0)


def test_what_keeps_the_cleaner_away_is_said(make):
    directory = make([(0, batch(0, (b"a", b""))), (1, batch(1, (b"a", b"")))])
    query = RetentionQuery(NOW, {"log.cleaner.enable": "false"}, {"cleanup.policy": "compact"})
    outcome = compact(unit(directory), query=query, release=NEWEST)
    assert [each["picked"] for each in rows(outcome) if "picked" in each] == [False]
    causes = [finding.found for finding in outcome.findings if finding.code == "LOG-029"]
    assert causes == ["log.cleaner.enable"]


def test_the_view_has_the_row_of_the_log(make):
    root = make([(0, batch(0, (b"a", b""))), (1, batch(1, (b"a", b"")))]).parent
    (root / "orders-0").rename(root / "__consumer_offsets-0")
    (root / "replication-offset-checkpoint").write_text("0\n1\n__consumer_offsets 0 2\n")
    columns = ("first_dirty_offset", "end_offset", "messages_read", "picked")
    (viewed,) = ask("sql", f"SELECT {', '.join(columns)} FROM compact", root)[0]["rows"]
    row = ask("compact", root)[0]["rows"][-1]
    assert {name: viewed[name] for name in columns} == {name: row[name] for name in columns}
    assert row["messages_read"] == 1
