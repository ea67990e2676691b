"""What keeps segments, or the cleaner, too long: clocks ahead, transactions, a cleaner that stopped."""

import os
from contextlib import nullcontext
from functools import partial

import pytest

from formats.producer_snapshot import ProducerEntry
from kcli.jobs.held_log import LATE, RetentionQuery, findings
from kcli.jobs.retention import retention
from tests.commands.answers import ask
from tests.kcli.jobs.aged_logs import HOUR, WEEK, answer, column, put_aged_log, put_topic_metadata
from tests.partitions import locked, log_dir, put_range, rows, segment, time_entries, unit
from tests.transactions import DAY, NOW, ended, sent, snapshot_file


@pytest.fixture
def make(tmp_path):
    """Make orders-0 of one batch a segment, each as many ms older than NOW; return its directory."""
    return partial(put_aged_log, tmp_path / "d")


def late(directory, now=NOW, **settings):
    """Return code and `found` of what keeps segments or the cleaner too long, and the first message."""
    settings = {name.replace("_", "."): str(value) for name, value in settings.items()}
    found = retention(unit(directory), query=RetentionQuery(now, {}, settings)).findings
    found = [finding for finding in found if finding.code in LATE]
    return [(finding.code, finding.found) for finding in found], found[0].message if found else ""


def test_timestamps_ahead_of_the_clock_count_by_what_they_keep(make):
    directory = make(WEEK - 5, -2 * HOUR, 1)
    assert late(directory)[0] == [("LOG-027", None)]
    assert late(directory, now=NOW + HOUR)[0] == []
    kept, message = late(make(1, -3 * HOUR, WEEK + 5, WEEK + 6), now=NOW + 2)
    assert (kept, message.split(";")[0]) == (
        [("LOG-027", None)],
        "segment 10: the record at offset 10 is 2 h 59 min ahead of the clock",
    )
    kept, message = late(make(WEEK + 5, -3 * HOUR, WEEK + 5, WEEK + 6))
    assert kept == [("LOG-028", None)]
    assert "retention.ms 7 d (default) counts from it and keeps 2 later past it, " in message
    assert late(make(-400 * DAY))[0] == [("LOG-028", None)]
    assert late(make(-400 * DAY), retention_bytes=10**6)[0] == [("LOG-027", None)]
    assert "no limit of time" in late(make(-400 * DAY), retention_ms=-1)[1]


def compacted(make, *ages, alive=2 * DAY, cleaned=None, high_watermark=None, options=None, **settings):
    """Return what is late of a log whose segments were written a day after NOW, the last a day later."""
    directory = make(*ages, high_watermark=high_watermark)
    configs = {name.replace("_", "."): str(value) for name, value in settings.items()}
    put_topic_metadata(directory.parent, *({"cleanup.policy": "compact"} | configs).items(), replicas=(7, 8))
    for path in directory.glob("*.log"):
        os.utime(path, ((NOW + DAY) / 1000,) * 2)
    os.utime(directory.parent / "replication-offset-checkpoint", ((NOW + alive) / 1000,) * 2)
    if cleaned is not None:
        path = directory.parent / "cleaner-offset-checkpoint"
        path.write_text("0\n0\n")
        os.utime(path, ((NOW + cleaned) / 1000,) * 2)
    return late(directory, NOW + 2 * DAY, **options or {})[0]


def test_a_log_that_is_due_for_long_shows_what_became_of_the_cleaner(make):
    assert compacted(make, 1, 1) == [("LOG-029", "cleaner-stopped")]
    assert compacted(make, 1, 1, cleaned=DAY) == [("LOG-029", "cleaner-stopped")]
    assert compacted(make, 1, 1, cleaned=2 * DAY) == [("LOG-029", "cleaning-failed")]
    assert compacted(make, 1, 1, alive=DAY + HOUR - 1) == []  # it may come yet
    assert compacted(make, 1, 1, high_watermark=5) == []
    assert compacted(make, 1, 1, min_cleanable_dirty_ratio=1) == []
    assert compacted(make, 1, 1, cleanup_policy="delete", options={"cleanup_policy": "compact"}) == []


def test_a_timestamp_ahead_of_the_clock_stops_the_cleaner_within_its_lag(make):
    found = compacted(make, -3 * DAY, 1, 1, min_compaction_lag_ms=1, cleaned=2 * DAY)
    assert found == [("LOG-027", None), ("LOG-029", "min.compaction.lag.ms")]


@pytest.mark.parametrize(("age", "found"), [(HOUR, [("LOG-029", "open-transaction")]), (60_000, [])])
def test_a_transaction_that_is_open_for_long_stops_the_cleaner(tmp_path, age, found):
    root = log_dir(tmp_path / "d", watermark=30)
    for base in (0, 10, 20):
        first = sent(0, 7, count=10, timestamp=NOW - age) if not base else put_range(base, 10, timestamp=NOW)
        segment(root / "orders-0", base, first, timeindex=time_entries((NOW - age * (not base), 9)))
    (root / ".kafka_cleanshutdown").unlink()
    query = RetentionQuery(NOW, {}, {"cleanup.policy": "compact"})
    for holder in (nullcontext(), locked(root)):
        with holder:
            assert late(root / "orders-0", cleanup_policy="compact")[0] == found
            of_check = findings(unit(root / "orders-0"), query, of_compacted=True)
            assert [(each.code, each.found) for each in of_check] == found
            log, _ = answer(root / "orders-0", cleanup_policy="compact")
            assert (log["first_uncleanable_offset"], log["uncleanable_because"]) == (0, "open-transaction")


@pytest.mark.parametrize(
    ("watermark", "first", "because"), [(15, 0, "high-watermark"), (21, 20, "active-segment")]
)
def test_a_transaction_that_ended_above_the_high_watermark_is_not_stable(tmp_path, watermark, first, because):
    root = log_dir(tmp_path / "d", watermark=watermark)
    segment(root / "orders-0", 0, sent(0, 7, count=10))
    segment(root / "orders-0", 10, put_range(10, 9, timestamp=NOW) + ended(19, 7))
    segment(root / "orders-0", 20, put_range(20, 10, timestamp=NOW))
    snapshot_file(root / "orders-0" / f"{10:020}.snapshot", ProducerEntry(7, 0, 9, 9, 9, NOW, -1, 0))
    log, _ = answer(root / "orders-0", cleanup_policy="compact")
    assert (log["first_uncleanable_offset"], log["uncleanable_because"]) == (first, because)


@pytest.mark.parametrize(("age", "found"), [(HOUR, [("LOG-029", "high-watermark")]), (60_000, [])])
def test_a_high_watermark_that_stays_behind_for_long_stops_the_cleaner(make, age, found):
    directory = make(age, age, 1, 1, high_watermark=15)
    (directory.parent / "cleaner-offset-checkpoint").write_text("0\n1\norders 0 10\n")
    assert late(directory, cleanup_policy="compact")[0] == found
    (directory.parent / "replication-offset-checkpoint").write_text("0\n1\norders 0 25\n")
    assert late(directory, cleanup_policy="compact")[0] == []  # it cleans up to there


def test_check_says_it_too_and_that_the_cleaner_of_a_log_dir_stopped(make, tmp_path):
    directory = make(*([3 * 365 * DAY] * 2), topic="__consumer_offsets")
    for path in directory.glob("*.log"):
        os.utime(path, (1, 1))
    segment(directory.parent / "orders-0", 0, put_range(0, 10, timestamp=1 << 52, step=0))
    (directory.parent / "orders-0" / f"{0:020}.timeindex").write_bytes(time_entries((1 << 52, 9)))
    asked = [ask("check", *words, directory.parent) for words in ((), ("--since", tmp_path / "s")) * 2]
    for document, _ in asked:
        codes = {(finding["code"], os.path.basename(finding["dir"])) for finding in document["findings"]}
        expected = {("LOG-029", "__consumer_offsets-0"), ("DIR-012", "d"), ("LOG-028", "orders-0")}
        assert expected <= codes
        results = {os.path.basename(row["dir"]): row["result"] for row in document["rows"]}
        assert (results["d"], results["orders-0"]) == ("warning", "warning")


def test_what_a_cleaning_may_not_pass_is_said_whatever_it_cleans(kcli, make):
    begun = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "attributes": 0x10}
    directory = make(4, 3, 2, 1, fields=[{}, begun])
    (directory.parent / ".kafka_cleanshutdown").unlink()
    words = ("retention", directory, "--at", NOW, "--if", "cleanup.policy=compact", "-o", "table")
    (before,) = (row for row in ask(*words[:-2])[0]["rows"] if "end_offset" in row)
    assert (before["end_offset"], before["uncleanable_because"]) == (10, "open-transaction")
    shown = " ".join(kcli(*words).stdout.split())
    size = (directory / f"{10:020}.log").stat().st_size + (directory / f"{20:020}.log").stat().st_size
    assert before["uncleanable_bytes"] == size
    assert f"cleans 0..9, 100% dirty, may not pass 10 (open-transaction): {size} B wait" in shown
    (directory.parent / "cleaner-offset-checkpoint").write_text("0\n1\norders 0 10\n")
    shown = " ".join(kcli(*words).stdout.split())
    assert f"may not pass 10 (open-transaction): {size} B wait, 0% dirty" in shown


def test_without_a_cleaner_nothing_of_a_compacted_log_goes(make):
    directory = make(2 * WEEK, 2 * WEEK, 1)
    (directory.parent / "log-start-offset-checkpoint").write_text("0\n1\norders 0 15\n")
    for policy, kept in (("compact,delete", 3), ("delete", 1)):
        query = RetentionQuery(NOW, {"log.cleaner.enable": "false"}, {"cleanup.policy": policy})
        outcome = retention(unit(directory), query=query)
        log, *segments = rows(outcome)
        assert column(segments, "action").count("keep") == kept
    query = query._replace(given={"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0"})
    outcome = retention(unit(directory), query=query)
    log, *segments = rows(outcome)
    assert (log["will_clean"], log["uncleanable_because"]) == (False, "log.cleaner.enable")
    assert segments[0]["reason"] == "log.cleaner.enable is false: nothing deletes of a compacted log"
    causes = [finding.found for finding in outcome.findings if finding.code == "LOG-029"]
    assert causes == ["log.cleaner.enable"]


def test_a_cut_segment_in_the_middle_stops_the_cleaner(kcli, make):
    directory = make(4, 3, 2, 1)
    path = directory / f"{10:020}.log"
    path.write_bytes(path.read_bytes()[:50])
    log, _ = answer(directory, cleanup_policy="compact")
    assert (log["will_clean"], log["uncleanable_because"]) == (False, "cleaning-failed")
    (kept, message) = late(directory, cleanup_policy="compact")
    assert kept == [("LOG-029", "cleaning-failed")]
    assert message.endswith("segment 10: the 50 bytes from byte 0 on are no whole batch")
    done = kcli("compact", directory, "--at", NOW, "--if", "cleanup.policy=compact", "-o", "table")
    assert (done.exit_code, "LogCleaningException" in done.stdout + done.stderr) == (3, True)
    whole = make(4, 3, 2, 1, topic="whole")
    path = whole / f"{30:020}.log"  # the active segment: no cleaner reads it
    path.write_bytes(path.read_bytes() + b"\x01" * 30)
    (whole.parent / ".kafka_cleanshutdown").touch()
    assert answer(whole, cleanup_policy="compact")[0]["will_clean"]
    assert ask("compact", whole, "--if", "cleanup.policy=compact")[1] == 0
