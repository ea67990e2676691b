"""What goes of a log and why the rest stays, by timestamps, sizes, settings."""

import os
import shutil
from contextlib import nullcontext
from functools import partial

import pytest

from kcli.jobs.held_log import NO_LOOK, RetentionQuery
from kcli.jobs.retention import retention
from tests.commands.answers import ask
from tests.kcli.jobs.aged_logs import HOUR, WEEK, answer, column, put_aged_log, put_topic_metadata
from tests.metadata_records import TOPIC_ID
from tests.partitions import (
    locked,
    log_dir,
    offset_entries,
    put_range,
    put_topic_id,
    rows,
    segment,
    time_entries,
    unit,
)
from tests.stories import TOPIC_ID as STORY_TOPIC_ID
from tests.stories import Story
from tests.tiered import cluster
from tests.transactions import DAY, NOW


@pytest.fixture
def make(tmp_path):
    """Make orders-0 of one batch a segment, each as many ms older than NOW; return its directory."""
    return partial(put_aged_log, tmp_path / "d")


def test_a_record_ahead_of_the_clock_keeps_all_after_it(make):
    log, segments = answer(make(WEEK + 5, -DAY, WEEK + 5, WEEK + 5))

    assert column(segments, "action") == ["delete", "keep", "keep", "keep"]
    assert column(segments, "rule") == ["retention.ms", "none", "none", "none"]
    assert column(segments, "blocked_by") == [None, None, 10, 10]
    assert "1 d ahead of the clock" in segments[1]["reason"]
    goes = NOW + DAY + WEEK + 1
    assert column(segments, "deletable_at") == [NOW - 4, goes, goes, goes]
    assert log["future_timestamps"] == [
        {"offset": 10 + n, "timestamp": NOW + DAY, "producer_id": None} for n in range(10)
    ]
    assert log["deletable_bytes"] == segments[0]["size"]


def test_nothing_goes_above_the_high_watermark(make):
    _, segments = answer(make(2 * WEEK, 2 * WEEK, high_watermark=9))
    assert column(segments, "action") == ["keep", "keep"]
    assert segments[0]["reason"].startswith("the high watermark is 9, though")
    assert column(segments, "deletable_at") == [None, None]


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"retention_ms": -1}, "no limit"),
        ({"retention_ms": -1, "retention_bytes": 200}, "less than retention.bytes without it"),
        ({"retention_bytes": 200}, "by time in 7 d; less than retention.bytes without it"),
    ],
)
def test_the_oldest_that_stays_says_which_limits_keep_it(make, limits, reason):
    log, segments = answer(make(0, 0), **limits)
    assert segments[0]["size"] < 200 < log["size"]
    assert column(segments, "action") == ["keep", "keep"]
    assert column(segments, "reason") == [reason, "an older segment is kept"]


def test_a_policy_without_delete_has_no_limits(make):
    log, segments = answer(make(2 * WEEK, 1), cleanup_policy="compact")
    assert column(segments, "action") == ["keep", "keep"]
    assert segments[0]["reason"] == "cleanup.policy is compact"
    assert log["uncleanable_because"] == "active-segment"


def test_a_segment_without_timestamps_is_as_old_as_its_file(make):
    directory = make(1, 1, fields=[{"base_timestamp": -1, "max_timestamp": -1}])
    first = directory / f"{0:020}.log"
    (directory / f"{0:020}.timeindex").write_bytes(b"")
    os.utime(first, ((NOW - 2 * WEEK) / 1000, (NOW - 2 * WEEK) / 1000))
    _, segments = answer(directory)
    assert column(segments, "action") == ["delete", "keep"]
    assert column(segments, "max_timestamp") == [None, NOW - 1]


def test_a_segment_whose_end_cannot_be_read_goes_by_its_index(make):
    directory = make(2 * WEEK, 1)
    with (directory / f"{0:020}.log").open("ab") as log:
        log.write(bytes(300))
    _, segments = answer(directory)
    assert column(segments, "action") == ["delete", "keep"]
    assert [(each["first_offset"], each["last_offset"]) for each in segments] == [(0, None), (10, 19)]


def test_a_segment_without_a_time_index_is_as_old_as_its_file_and_says_so(make):
    directory = make(2 * WEEK, 1)
    (directory / f"{0:020}.timeindex").unlink()
    os.utime(directory / f"{0:020}.log", ((NOW - DAY) / 1000,) * 2)
    _, segments = answer(directory)
    assert (column(segments, "action"), segments[0]["max_timestamp"]) == (["keep"] * 2, NOW - 2 * WEEK)
    assert segments[0]["reason"] == "by time in 6 d: its time index is empty, the file's time counts"
    _, segments = answer(directory, retention_ms=DAY - 1)
    assert segments[0]["reason"] == "file 1 d old: its time index is empty, the file's time counts"


def test_settings_say_where_they_are_from(make):
    directory = make(2 * DAY, 1)
    server = {"log.retention.hours": "24", "log.segment.bytes": "1048576"}
    outcome = retention(unit(directory), query=RetentionQuery(NOW, server, {"segment.ms": "5"}))
    log, *segments = rows(outcome)
    assert (log["retention_ms"], log["segment_bytes"], log["segment_ms"]) == (DAY, 1048576, 5)
    names = ("retention.ms", "segment.bytes", "segment.ms", "cleanup.policy")
    assert [log["settings_from"][name] for name in names] == ["broker", "broker", "option", "default"]
    assert column(segments, "action") == ["delete", "keep"]
    assert log["rolls_at"] == NOW - 1 + 5 + 1


def test_a_coordinators_topic_is_compacted(make):
    log, _ = answer(make(1, 1, topic="__consumer_offsets"))
    assert (log["cleanup_policy"], log["segment_bytes"]) == ("compact", 100 << 20)
    assert log["settings_from"]["cleanup.policy"] == "default"


def test_without_the_events_of_a_tiered_log_what_goes_if_it_is_copied_is_not_known(kcli, make):
    directory = make(2 * WEEK, 2 * WEEK, -DAY, 2 * WEEK)
    words = ("retention", directory, "--at", NOW, "--if", "remote.storage.enable=true")
    for more, actions, codes in (
        ((), [None, None, "keep", "keep"], ["RLMM-025"]),
        (("--if", "remote.log.copy.disable=true"), ["delete", "delete", "keep", "keep"], []),
    ):
        document, status = ask(*words, *more)
        log, *segments = document["rows"]
        assert (status, column(segments, "action"), document["errors"]) == (0, actions, [])
        findings = [finding["code"] for finding in document["findings"] if finding["code"].startswith("RLMM")]
        assert findings == codes
        assert (log["deletable_bytes"] is None) == (None in actions)
        assert (segments[0]["deletable_at"] is None) == (None in actions)
    shown = " ".join(kcli(*words, "-o", "table").stdout.split())
    assert "Events of remote storage are not here" in shown
    assert "1 more. If they are copied: 2 more." in shown
    directory.parent.joinpath("log-start-offset-checkpoint").write_text("0\n1\norders 0 10\n")
    assert column(ask(*words)[0]["rows"][1:], "action") == ["delete", None, "keep", "keep"]


def test_a_setting_that_is_tried_says_what_it_frees_more_than_now(kcli, make):
    directory = make(2 * WEEK, DAY, 1)
    root, clicks = directory.parent, make(1, topic="clicks")
    (root / "replication-offset-checkpoint").write_text("0\n2\norders 0 30\nclicks 0 10\n")
    words = ("retention", root, "--at", NOW, "--if", f"retention.ms={HOUR}")
    size = (directory / f"{0:020}.log").stat().st_size
    whole = [row for row in ask(*words)[0]["rows"] if "deletable_bytes" in row]
    assert [(row["topic"], row["deletable_bytes"], row["deletable_bytes_now"]) for row in whole] == [
        ("clicks", 0, 0),
        ("orders", 2 * size, size),
    ]
    shown = kcli(*words, "-o", "table").stdout
    lines = " ".join(shown.split())
    assert f"With retention.ms={HOUR} the next look deletes 2 segments, {2 * size} B of " in lines
    assert f", instead of {size} B now." in lines
    assert shown.index("orders-0") < shown.index("clicks-0")  # it gains most
    assert "retention.ms 1 h (option). retention.bytes none (default)." in lines
    assert "instead" not in kcli("retention", clicks, "-o", "table").stdout


def test_the_legend_is_there_with_the_bar_alone(kcli, make, monkeypatch):
    make(1, topic="clicks")
    root = make(2 * WEEK, 1).parent
    for columns, is_there in ((100, True), (40, False)):
        monkeypatch.setenv("COLUMNS", str(columns))
        shown = kcli("retention", root, "--at", NOW, "-o", "table", "--color", "never").stdout
        assert ("active segment." in shown) is is_there


@pytest.mark.parametrize(
    ("name", "value", "ms"),
    [("hours", "-1", -1), ("minutes", "-3", -1), ("ms", "-7", -1), ("hours", "2", 2 * HOUR), ("ms", "5", 5)],
)
def test_any_negative_limit_of_the_broker_is_none(make, name, value, ms):
    query = RetentionQuery(NOW, {f"log.retention.{name}": value})
    assert rows(retention(unit(make(1)), query=query))[0]["retention_ms"] == ms


@pytest.mark.parametrize(
    "word",
    [
        *("retention.ms", "retention=1", "retention.ms=soon", "retention.ms=-2", "segment.ms=0"),
        *("cleanup.policy=foo", "min.cleanable.dirty.ratio=abc", "min.cleanable.dirty.ratio=1.5"),
        "remote.storage.enable=yes",
    ],
)
def test_a_setting_that_is_none(kcli, make, word):
    done = kcli("retention", make(1), "--if", word)
    assert (done.exit_code, f"setting {word.partition('=')[0]}" in done.stderr) == (2, True)


@pytest.mark.parametrize("command", ["retention", "compact"])
@pytest.mark.parametrize(("setting", "status"), [("log.retention.ms=abc", 2), ("log.retention.hours=-2", 0)])
def test_a_setting_with_which_no_broker_starts(kcli, make, tmp_path, command, setting, status):
    path = tmp_path / "s.properties"
    path.write_text(f"{setting}\nlog.cleanup.policy=compact,delete\n")
    done = kcli(command, make(1), "--server-config", path)
    assert done.exit_code == status, done.stderr
    assert (f"{setting}: expected a whole number" in done.stderr) == (status == 2)


def test_a_setting_that_is_given_twice(kcli, make):
    done = kcli("retention", make(1), "--if", "retention.ms=1", "--config", "retention.ms=2")
    assert (done.exit_code, done.stderr) == (2, "kcli: setting retention.ms: given twice\n")


def test_where_nothing_is_retained_or_compacted_the_answer_says_why(kcli, make, demo):
    done = kcli("retention", demo / "__cluster_metadata-0")
    assert (done.exit_code, "cut by its snapshots" in done.stderr) == (3, True)
    done = kcli("compact", make(1))
    assert (done.exit_code, "nothing here is compacted" in done.stderr) == (3, True)
    assert kcli("compact", make(1), "--if", "cleanup.policy=compact").exit_code == 0


@pytest.mark.parametrize("is_alone", [True, False])
def test_zeros_that_a_running_broker_keeps_after_the_entries_of_an_index_are_none(make, tmp_path, is_alone):
    directory = make(4 * HOUR, 2 * HOUR)
    for name, entry in (("timeindex", time_entries((NOW - 2 * HOUR, 9))), ("index", offset_entries((9, 0)))):
        (directory / f"{10:020}.{name}").write_bytes(entry.ljust(12 * len(entry), b"\0"))
    if is_alone:
        directory = shutil.copytree(directory, tmp_path / "copied" / "orders-0")
    with nullcontext() if is_alone else locked(directory.parent):
        log, segments = answer(directory, segment_index_bytes=12 * 8)
    assert column(segments, "max_timestamp") == [NOW - 4 * HOUR, NOW - 2 * HOUR]
    assert column(segments, "action") == ["keep", "keep"]
    assert log["rolls_at"] == NOW - 2 * HOUR + WEEK + 1


@pytest.mark.parametrize("words", [("--topic", "t-local"), ("--exclude-internal",), ()])
def test_a_selection_leaves_the_events_of_remote_storage(words):
    document, status = ask("retention", cluster().node1, "--at", NOW, *words)
    segments = [row for row in document["rows"] if row["topic"] == "t-local" and "action" in row]
    assert (status, {row["action"] for row in segments}) == (0, {"delete", "keep"})
    assert ask("retention", cluster().node1 / "t-local-0", "--at", NOW)[0]["rows"][1:] == segments


def test_the_metadata_of_the_broker_is_found_in_a_log_dir_beside(make):
    directory = make(2 * WEEK, 2 * WEEK)
    words = ("retention", directory.parent, "--at", NOW)
    assert [finding["code"] for finding in ask(*words)[0]["findings"]] == ["META-009"]
    other = log_dir(directory.parent.parent / "e")
    put_topic_metadata(other, ("cleanup.policy", "compact"))
    put_topic_id(directory, TOPIC_ID)
    (other / "meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=8\n")
    assert ask(*words)[0]["rows"][0]["cleanup_policy"] == "delete"  # of another broker
    (other / "meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=7\n")
    document, _ = ask(*words)
    assert (document["rows"][0]["cleanup_policy"], document["findings"]) == ("compact", [])


def test_an_empty_active_segment_never_goes(make):
    directory = make(2 * WEEK)
    segment(directory, 10, b"")
    (directory / f"{0:020}.log").unlink()
    for later in (0, 30 * DAY):
        _, (active,) = answer(directory, NOW + later)
        assert (active["deletable_at"], active["action"]) == (None, "keep")
        assert active["reason"] == "it is the active segment, and empty"


def test_logs_with_a_record_ahead_of_the_clock_are_named_up_to_three(kcli, make):
    for number in range(5):
        make(-HOUR * (number + 1), topic=f"t{number}")
    shown = kcli("retention", make(1).parent, "--at", NOW, "-o", "table").stdout
    lines = [line for line in shown.splitlines() if "ahead of the clock" in line and line[0] != " "]
    assert [line[:4] for line in lines] == ["t4-0", "t3-0", "t2-0", "And "]
    assert lines[3].startswith("And 2 logs more")


def test_when_the_active_segment_rolls_is_on_the_screen(kcli, make):
    shown = " ".join(kcli("retention", make(2 * DAY, DAY), "--at", NOW, "-o", "table").stdout.split())
    assert (
        "Segment 10 rolls with the first append from 2027-01-21 08:00:00 UTC on, by segment.ms 7 d." in shown
    )


def test_the_bar_of_a_log_shows_what_goes_waits_and_stays(kcli, make, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    root = make(WEEK + 5, -DAY, WEEK + 5, 1).parent
    segment(root / "orders-1", 0, put_range(0, 10, timestamp=NOW, step=0))
    drawn = kcli("retention", "--at", NOW, "-o", "table", root).stdout
    line = next(line for line in drawn.splitlines() if line.startswith("orders-0"))
    assert "░░░███▒▒▒▄▄▄" in line


def test_settings_that_are_not_here_are_said_first_and_may_be_named(kcli, make, tmp_path):
    directory = make(2 * WEEK, 2 * WEEK)
    words = ("retention", directory.parent, "--at", NOW)
    lines = " ".join(kcli(*words, "-o", "table").stdout.split())
    assert lines.startswith("Topic settings are not here: Kafka's defaults count. Name them: --metadata PATH")
    assert [each["code"] for each in ask(*words)[0]["findings"]] == ["META-009"]
    assert ask(*words, "--if", "cleanup.policy=delete")[0]["findings"] == []
    metadata = put_topic_metadata(tmp_path / "m", ("cleanup.policy", "compact"))
    for path in (metadata, metadata / "__cluster_metadata-0"):
        document, _ = ask(*words, "--metadata", path)
        assert (document["findings"], document["rows"][0]["cleanup_policy"]) == ([], "compact")
    assert len(ask("compact", directory, "--metadata", metadata)[0]["rows"]) == 3
    assert "--metadata" in kcli(*words, "--metadata", directory).stderr
    put_topic_metadata(directory.parent, ("cleanup.policy", "compact"), topic="others")
    assert [each["code"] for each in ask(*words)[0]["findings"]] == ["META-009"]
    with locked(directory.parent):  # a running broker may be creating the topic, or deleting it
        assert ask(*words)[0]["findings"] == []


def test_the_cleaners_checkpoint_says_that_an_unknown_log_is_compacted(make, tmp_path):
    directory = make(2 * WEEK, 2 * WEEK)
    (directory.parent / "cleaner-offset-checkpoint").write_text("0\n1\norders 0 10\n")
    log, segments = answer(directory)
    assert column(segments, "action") == ["keep", "keep"]
    assert segments[0]["reason"] == "cleanup.policy is compact, by cleaner-offset-checkpoint"
    assert log["settings_from"]["cleanup.policy"] == "cleaner-offset-checkpoint"
    assert ask("compact", directory)[0]["rows"] != []
    assert column(answer(directory, cleanup_policy="delete")[1], "action") == ["delete", "delete"]
    document, _ = ask("retention", directory, "--at", NOW, "--metadata", put_topic_metadata(tmp_path / "m"))
    assert [row["action"] for row in document["rows"][1:]] == ["delete", "delete"]


@pytest.mark.parametrize(
    ("fields", "policy"),
    [
        ({"attributes": 0x40}, "compact"),
        ({"attributes": 0x20, "producer_id": 7}, "delete"),
        ({"last_offset_delta": 12}, "compact"),
    ],
)
def test_a_batch_that_a_cleaner_wrote_says_that_an_unknown_log_is_compacted(make, tmp_path, fields, policy):
    directory = make(2 * WEEK, 2 * WEEK, fields=[fields])
    log, segments = answer(directory)
    assert (log["cleanup_policy"], segments[0]["action"] == "keep") == (policy, policy == "compact")
    assert ("by cleaned-batches" in segments[0]["reason"]) == (policy == "compact")
    assert bool(ask("compact", directory)[0]["rows"]) == (policy == "compact")
    assert answer(directory, cleanup_policy="delete")[0]["cleanup_policy"] == "delete"
    story = Story(tmp_path)  # in remote storage nothing is compacted
    log_dir_ = story.replica("1", [(0, 0)], [(0, 0)])
    segment(log_dir_ / "t-0", 0, put_range(0, 1, 0, **{"last_offset_delta": 3, **fields}))
    story.remote(1, [(0, 0)], [(0, 0)], [(0, 0)])
    story.command("retention")
    row = ask("retention", log_dir_ / "t-0", "--remote-metadata", tmp_path / "events")[0]["rows"][0]
    assert row["cleanup_policy"] == "delete"


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("__consumer_offsets", ("compact", 7 * DAY, 100 << 20)),
        ("__transaction_state", ("compact", 7 * DAY, 5)),
        ("__share_group_state", ("delete", -1, 100 << 20)),
        ("__remote_log_metadata", ("delete", -1, 1 << 30)),
    ],
)
def test_a_topic_of_the_broker_has_the_settings_it_is_made_with(make, topic, expected):
    server = {"log.cleanup.policy": "compact,delete", "transaction.state.log.segment.bytes": "5"}
    outcome = retention(unit(make(1, topic=topic)), query=RetentionQuery(NOW, server))
    log = rows(outcome)[0]
    assert (log["cleanup_policy"], log["retention_ms"], log["segment_bytes"]) == expected


@pytest.mark.parametrize(("replicas", "found"), [((7,), 20), ((7, 8), None)])
def test_without_other_replicas_the_high_watermark_is_the_log_end(kcli, make, replicas, found):
    directory = make(2 * WEEK, 2 * WEEK)
    (directory.parent / "replication-offset-checkpoint").write_text("0\n0\n")
    put_topic_metadata(directory.parent, replicas=replicas)
    document, _ = ask("retention", directory, "--at", NOW)
    assert document["rows"][0]["high_watermark"] == found
    assert [row["action"] for row in document["rows"][1:]] == ["delete", "delete"]
    is_said = "High watermarks are not here" in kcli("retention", directory, "-o", "table").stdout
    assert is_said == (found is None) == (document["findings"] != [])


def test_a_high_watermark_that_is_behind_rises_without_other_replicas(make):
    directory = make(2 * WEEK, 2 * WEEK, high_watermark=5)
    assert column(answer(directory)[1], "action") == ["keep", "keep"]
    put_topic_metadata(directory.parent)
    assert column(answer(directory)[1], "action") == ["delete", "delete"]


@pytest.mark.parametrize("at", [0, 10])
def test_a_damaged_batch_hides_what_is_in_it_alone(make, at):
    directory = make(2 * WEEK, 2 * WEEK, 2 * WEEK)
    path = directory / f"{at:020}.log"
    path.write_bytes(path.read_bytes()[:8] + b"\xff" * 4 + path.read_bytes()[12:])
    _, segments = answer(directory)
    assert column(segments, "action") == ["delete"] * 3
    assert [each["first_offset"] is None for each in segments] == [at == 0, at == 10, False]


TIERED = ("remote.storage.enable", "true")


@pytest.mark.parametrize("settings", [(), (TIERED,), (TIERED, ("remote.log.copy.disable", "true")), None])
@pytest.mark.parametrize("has_watermark", [True, False])
@pytest.mark.parametrize("server", [{}, {"remote.log.storage.system.enable": "true"}, {"node.id": "1"}])
def test_retention_and_rlmm_retention_have_one_answer(tmp_path, settings, has_watermark, server):
    story = Story(tmp_path)
    log_dir_ = story.replica("1", [(offset, 0) for offset in range(8)], [(0, 0)])
    segment(log_dir_ / "t-0", 8, put_range(8, 1, 0, timestamp=1008))
    story.remote(1, [(offset, 0) for offset in range(4)], [(0, 0)], [(0, 0)])
    if not has_watermark:
        (log_dir_ / "replication-offset-checkpoint").unlink()
    if settings is not None:
        more = [("retention.ms", "5000"), ("local.retention.ms", "4000"), *settings]
        put_topic_metadata(log_dir_, *more, topic="t", replicas=(1, 2), topic_id=STORY_TOPIC_ID)
    path = tmp_path / "s.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in server.items()))
    words = ["--at", 7000, *(("--server-config", path, log_dir_) if server else (log_dir_,))]
    path.write_text(path.read_text() + f"log.dirs={log_dir_}\n")
    story.command("retention")
    remote = ("--remote-metadata", tmp_path / "events", "--topic", "t")
    plain = [row for row in ask("retention", *words, *remote)[0]["rows"] if "segment_base_offset" in row]
    tiers = ask("rlmm", "retention", *words, *remote)[0]["rows"]
    local = [(row["start_offset"], row["action"], row["reason"]) for row in tiers if row["tier"] == "local"]
    assert [(row["segment_base_offset"], row["action"], row["reason"]) for row in plain] == local != []
    has_storage = "remote.log.storage.system.enable" in server or not server
    is_tiered = has_storage and (settings is None or TIERED in settings)
    remote_rules = {row["rule"] for row in tiers if row["tier"] == "remote"}
    assert (remote_rules == {"not-tiered"}) == (not is_tiered)


def test_a_log_that_a_start_takes_for_stray_is_said_to_be_one(kcli, demo):
    shutil.copytree(demo / "orders-0", demo / "gone-0")
    metadata = demo / "gone-0" / "partition.metadata"
    metadata.write_text(metadata.read_text().rstrip()[:-22] + "A" * 21 + "Q")
    document, status = ask("retention", demo, "--topic", "gone", "--at", NOW)
    codes = [finding["code"] for finding in document["findings"] if finding["severity"] != "info"]
    assert (status, codes) == (0, ["START-013"])
    shown = " ".join(kcli("retention", demo, "--topic", "gone", "-o", "table").stdout.split())
    assert "A start takes 1 log for stray (START-013): no look comes to such." in shown
    assert {row["reason"] for row in document["rows"] if "reason" in row} == {NO_LOOK}
    assert {row["action"] for row in document["rows"] if "action" in row} == {"keep"}


@pytest.mark.parametrize(("replicas", "is_stray"), [((1, 2), True), ((7, 2), False)])
def test_a_log_of_a_partition_that_the_broker_does_not_hold_is_stray(make, replicas, is_stray):
    directory = put_topic_id(make(8 * DAY, 8 * DAY))
    put_topic_metadata(directory.parent, replicas=replicas)
    document, _ = ask("retention", directory.parent, "--topic", "orders", "--at", NOW)
    segments = [row for row in document["rows"] if "action" in row]
    assert {row["action"] for row in segments} == {"keep" if is_stray else "delete"}
    assert ({row["reason"] for row in segments} == {NO_LOOK}) == is_stray
    assert ("START-013" in {finding["code"] for finding in document["findings"]}) == is_stray


def test_a_limit_of_the_local_log_is_from_where_that_is_set(kcli):
    words = ("retention", cluster().node1, "--topic", "t-local,local-only", "--at", NOW)
    before, after = (
        {row["topic"]: row for row in ask(*words, *tried)[0]["rows"] if "settings_from" in row}
        for tried in ((), ("--if", "local.retention.ms=7"))
    )
    assert after["t-local"]["retention_ms"] == 7
    assert after["t-local"]["settings_from"]["retention.ms"] == "option"
    assert after["local-only"]["retention_ms"] == before["local-only"]["retention_ms"]
    assert after["local-only"]["settings_from"]["retention.ms"] != "option"
    assert after["t-local"]["settings_from"]["local.retention.ms"] == "option"
    assert "local.retention.ms" not in after["local-only"]["settings_from"]
    shown = kcli(*words, "--if", "local.retention.ms=7", "-o", "table").stdout
    assert " ".join(shown.split()).startswith("With local.retention.ms=7 the next look deletes")
    assert "(option, local.retention.ms)" in " ".join(shown.split())


def test_a_log_that_is_copied_from_a_running_broker_has_no_record_of_1970(make, tmp_path):
    directory = shutil.copytree(make(HOUR, HOUR), tmp_path / "copied" / "orders-0")
    with (directory / f"{10:020}.timeindex").open("ab") as index:
        index.write(bytes(1200))
    for path in (directory, directory.parent):
        segments = [row for row in ask("retention", path, "--at", NOW)[0]["rows"] if "action" in row]
        assert column(segments, "action") == ["keep", "keep"]
        assert column(segments, "max_timestamp") == [NOW - HOUR, NOW - HOUR]
        (sums,) = ask("ls", "--by", "topic", path)[0]["rows"]
        assert sums["newest_timestamp"] == NOW - HOUR
        (found,) = ask("lookup", "timestamp", NOW - HOUR, path)[0]["rows"]
        assert (found["found"], found["offset"]) == (True, 0)
        codes = {
            finding["code"] for finding in ask("check", path)[0]["findings"] if finding["severity"] != "info"
        }
        assert codes <= {"META-009", "EPOCH-001", "SNAP-003"}


def test_a_directory_that_goes_takes_all_its_segments_with_it(kcli, demo, tmp_path):
    root = shutil.copytree(demo, tmp_path / "d")
    (root / "orders-1").rename(root / f"leaving-1.{'a' * 32}-delete")
    words = ("retention", root, "--include-leftovers", "--topic", "leaving", "--at", NOW)
    document, status = ask(*words)
    log, *segments = document["rows"]
    assert (status, {row["action"] for row in segments}) == (0, {"delete"})
    assert log["deletable_bytes"] == log["size"] > 0
    assert "META-009" not in {finding["code"] for finding in document["findings"]}
    shown = " ".join(kcli(*words, "-o", "table").stdout.split())
    assert "The next look deletes nothing of" in shown
    assert "With -delete directories go" in shown
