"""`rlmm` about tiers: a recorded tiered cluster, and what it answered while it ran."""

import shutil

import pytest
from typer.testing import CliRunner

from commands.app import app
from tests.commands.answers import ask
from tests.partitions import time_entries
from tests.stories import Story, event
from tests.tiered import SPECS, cluster

pytestmark = pytest.mark.slow

DAY_MS = 86_400_000


def test_every_special_offset_is_what_the_live_cluster_answered():
    node1, _, answers = cluster()
    document, status = ask("rlmm", "offsets", node1)
    said = {
        (each["topic"], each["partition"], each["spec"]): (each["offset"], each["leader_epoch"])
        for each in answers["offsets"]
    }
    mine = {
        (row["topic"], row["partition"], spec): tuple(
            row[f"{spec.replace('-', '_')}_{field}"] for field in ("offset", "epoch")
        )
        for row in document["rows"]
        for spec in SPECS
    }

    assert (status, document["errors"], document["findings"]) == (0, [], [])
    assert len(said) == 66
    assert mine == said


def test_the_high_watermark_is_that_of_the_checkpoint(tmp_path):
    log_dir = tmp_path / "node1"
    shutil.copytree(cluster().node1, log_dir)
    checkpoint = log_dir / "replication-offset-checkpoint"
    checkpoint.write_text(checkpoint.read_text().replace("t-local 0 342", "t-local 0 300"))
    (row,) = ask("rlmm", "offsets", log_dir, "--topic", "t-local")[0]["rows"]
    assert (row["high_watermark"], row["latest_offset"], row["log_end_offset"]) == (300, 300, 342)
    assert (row["latest_tiered_offset"], row["max_timestamp_offset"]) == (-1, -1)

    words = ("rlmm", "retention", log_dir, "--topic", "t-local", "--local-retention-ms", "1")
    local = [row for row in ask(*words)[0]["rows"] if row["tier"] == "local"]
    assert [row["rule"] for row in local] == ["time"] * 5 + ["high-watermark", "not-reached"]


@pytest.mark.parametrize(
    "words",
    [
        ("offsets",),
        ("lookup", "offset", "5"),
        ("lookup", "timestamp", "5"),
        ("coverage",),
        ("retention",),
        ("follow", "--leader", cluster().node1),
        ("state",),
        ("check",),
        ("dump",),
    ],
)
def test_a_topic_or_partition_that_is_not_here_is_an_error_of_one_line(words):
    for about in (("--topic", "nosuch"), ("--topic", "t-plain", "--partition", "5")):
        document, status = ask("rlmm", *words, cluster().node1, *about)
        (error,) = document["errors"]
        assert (status, document["rows"], error["error"]) == (3, [], "nothing-matched")
    assert "no row here is about what was asked for" in error["message"]

    document, _ = ask("rlmm", *words, cluster().node1, "--topic", "t-plane")
    assert "did you mean t-plain" in document["errors"][0]["message"]


def test_a_partition_of_the_metadata_topic_is_no_tiered_one():
    document, status = ask("rlmm", "offsets", cluster().node1 / "__remote_log_metadata-0")
    assert (status, [error["error"] for error in document["errors"]]) == (3, ["nothing-matched"])


def test_remote_metadata_that_is_not_there():
    node1 = cluster().node1
    for path, error in ((node1 / "t-plain-0", "no partition of __remote"), (node1 / "nope", "no such file")):
        done = CliRunner().invoke(app, ["rlmm", "coverage", str(node1), "--remote-metadata", str(path)])
        assert (done.exit_code, error in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("words", [("--topic", "t-plain", "--partition", "1"), ("--topic-regex", "t-pl.*")])
def test_options_about_topics_are_about_those_of_the_user(words):
    document, status = ask("rlmm", "offsets", cluster().node1, *words)

    assert status == 0
    assert {row["topic"] for row in document["rows"]} == {"t-plain"}
    assert all(row["latest_tiered_offset"] in {326, 342} for row in document["rows"])
    assert len(document["rows"]) == (1 if "--partition" in words else 2)


def test_damage_of_the_metadata_is_reported_once(tmp_path):
    node1 = cluster().node1
    source = next(node1.glob("__remote_log_metadata-0/*.log")).read_bytes()
    (tmp_path / "__remote_log_metadata-9").mkdir()
    (tmp_path / "__remote_log_metadata-9" / f"{0:020}.log").write_bytes(source[:-3])
    document, status = ask("rlmm", "offsets", node1, "--remote-metadata", tmp_path)

    assert (status, len(document["rows"])) == (0, 11)
    assert [finding["file"] for finding in document["findings"]] == [f"{0:020}.log"]


def test_each_offset_that_a_consumer_read_has_a_segment_and_none_below():
    node1, storage, answers = cluster()
    for topic, read in answers["reads"].items():
        if not read["records"] or topic not in {
            "t-retention",
            "t-txn",
            "t-local",
            "t-delete-records",
            "t-idle",
        }:
            continue
        first, last = read["first_offset"], read["last_offset"]
        for offset, is_found in ((first, True), (last, True), (first - 1, False)):
            if offset < 0:
                continue
            words = ("lookup", "offset", offset, node1, "--topic", topic, "--storage", storage)
            document, status = ask("rlmm", *words)
            (row,) = document["rows"]
            assert (status, row["found"]) == (0, is_found), (topic, offset, row)
            if is_found:
                assert row["batch_base_offset"] <= offset <= row["batch_last_offset"]


def test_a_remote_offset_names_its_segment_and_its_byte_by_storage_or_by_cached_index():
    node1, storage, _ = cluster()
    words = ("rlmm", "lookup", "offset", "225", node1, "--topic", "t-retention")
    (by_index,), (by_log,) = ask(*words)[0]["rows"], ask(*words, "--storage", storage)[0]["rows"]

    assert (by_log["tier"], by_log["start_offset"], by_log["end_offset"]) == ("remote", 210, 244)
    assert by_log["file"] == f"{210:020}-{by_log['segment_id']}.log"
    assert by_log["batch_base_offset"] <= 225 <= by_log["batch_last_offset"]
    assert (by_index["segment_id"], by_index["position"]) == (by_log["segment_id"], None)
    assert by_index["index_entry_position"] in {None, by_log["index_entry_position"]}


def test_a_cached_index_that_a_broker_does_not_take_leads_nowhere(tmp_path):
    log_dir = tmp_path / "node1"
    shutil.copytree(cluster().node1, log_dir)
    (cached,) = (log_dir / "remote-log-index-cache").glob("0_P4fyVYyFQJ6ojdO0l_CGAQ.index")

    def tried():
        words = ("rlmm", "lookup", "offset", "40", log_dir, "--topic", "t-plain", "--partition", "0")
        (row,) = ask(*words)[0]["rows"]
        return row["index_entry_position"], row["tries"][-1]

    position, _ = tried()
    assert position > 0
    whole = cached.read_bytes()
    for damaged in (whole[:-3], whole[:-8] + b"\xff" * 8):
        cached.write_bytes(damaged)
        assert tried() == (None, "its cached offset index is damaged: the broker fetches it again")


def test_coverage_has_every_offset_once_and_sums_local_bytes_that_are_remote_too():
    rows = ask("rlmm", "coverage", cluster().node1)[0]["rows"]
    offsets = {
        (row["topic"], row["partition"]): row for row in ask("rlmm", "offsets", cluster().node1)[0]["rows"]
    }
    for (topic, partition), answer in offsets.items():
        own = [row for row in rows if (row["topic"], row["partition"]) == (topic, partition)]
        covered = [offset for row in own for offset in range(row["first_offset"], row["last_offset"] + 1)]
        assert covered == list(range(answer["earliest_offset"], answer["log_end_offset"]))
        assert "none" not in {row["tiers"] for row in own}
    local = [row for row in rows if row["topic"] == "t-local"]
    assert [(row["first_offset"], row["last_offset"], row["tiers"]) for row in local] == [
        (0, 326, "both"),
        (327, 341, "local"),
    ]
    assert local[0]["safe_to_lose_bytes"] == local[0]["local_bytes"] > local[1]["safe_to_lose_bytes"] == 0


@pytest.mark.parametrize("lost", [True, False], ids=["lost", "empty"])
def test_remote_segments_that_no_epoch_leads_to(tmp_path, lost):
    """All records of the partition are in remote storage: nothing on disk shows that the epochs are gone."""
    log_dir = tmp_path / "node1"
    shutil.copytree(cluster().node1, log_dir)
    checkpoint = log_dir / "t-plain-0" / "leader-epoch-checkpoint"
    checkpoint.write_bytes(b"")
    if lost:
        checkpoint.unlink()
    on_disk = "the log on disk begins at offset 343 and ends at 343"
    of_leader = f"no leader epoch leads to its remote segments (9): {on_disk}"
    of_log = "leader-epoch-checkpoint: none leads to the offsets below 343, which are not on disk"
    for words, message in (
        (("check", log_dir / "t-plain-0"), ("no " if lost else "no entry in ") + of_log),
        (("rlmm", "coverage", log_dir), of_leader),
        (("rlmm", "lookup", "offset", 20, log_dir), of_leader),
        (("rlmm", "retention", log_dir), of_leader),
    ):
        found = [finding for finding in ask(*words)[0]["findings"] if finding["code"] == "EPOCH-001"]
        assert [(finding["dir"], finding["message"]) for finding in found] == [
            (str(log_dir / "t-plain-0"), message)
        ]
    drawn = CliRunner().invoke(app, ["rlmm", "coverage", str(log_dir), "-o", "table"]).stdout
    assert "The remote segments of 1 partition are not reached (EPOCH-001)" in " ".join(drawn.split())


@pytest.mark.parametrize(("segment", "where"), [(343, "t-plain-0"), (342, "t-retention-0")])
def test_remote_segments_that_an_epoch_at_the_log_end_does_not_lead_to(tmp_path, segment, where):
    """Without the empty segment on disk the log ends where it begins in the checkpoint."""
    log_dir = tmp_path / "node1"
    shutil.copytree(cluster().node1, log_dir)
    for path in (log_dir / where).glob(f"{segment:020d}.*"):
        path.unlink()
    found = [
        finding
        for finding in ask("rlmm", "coverage", log_dir)[0]["findings"]
        if finding["code"] == "EPOCH-001"
    ]
    assert [finding["dir"] for finding in found] == [str(log_dir / where)]


def test_coverage_counts_a_segment_where_it_begins(tmp_path):
    """Remote segments of offsets 0 to 3 and 4 to 6, a local one of 2 to 9: it cannot be lost."""
    story = Story(tmp_path)
    story.remote(1, [(offset, 0) for offset in range(4)], [(0, 0)], [(0, 0)])
    story.remote(2, [(offset, 0) for offset in range(4, 7)], [(0, 4)], [(0, 0)])
    log_dir = story.replica("a", [(offset, 0) for offset in range(2, 10)], [(0, 0)])
    rows = ask(*story.command("coverage", log_dir))[0]["rows"]
    size = (log_dir / "t-0" / f"{2:020}.log").stat().st_size

    assert [
        (*(row[name] for name in ("first_offset", "last_offset", "tiers", "remote_segments")),)
        for row in rows
    ] == [(0, 1, "remote", 1), (2, 6, "both", 2), (7, 9, "local", 0)]
    assert [row["local_bytes"] for row in rows] == [0, size, 0]
    assert [row["remote_bytes"] for row in rows] == [100, 100, 0]
    assert [row["safe_to_lose_bytes"] for row in rows] == [0, 0, 0]


def test_retention_goes_as_far_as_the_limit_and_says_why_the_rest_stays():
    words = ("rlmm", "retention", cluster().node1, "--topic", "t-local", "--at", "1795263145000")
    rows = ask(*words, "--retention-ms", "60000", "--local-retention-ms", "1000")[0]["rows"]
    remote = [(row["start_offset"], row["order"], row["rule"]) for row in rows if row["tier"] == "remote"]
    local = [(row["start_offset"], row["order"], row["rule"]) for row in rows if row["tier"] == "local"]

    assert remote == [
        (0, 1, "time"),
        (60, 2, "time"),
        (114, 3, "time"),
        (163, 4, "time"),
        (217, None, "within-limits"),
        (272, None, "not-reached"),
    ]
    assert [each[1] for each in local] == [1, 2, 3, 4, 5, 6, None]
    assert local[-1] == (327, None, "not-copied")
    ends = [row["end_offset"] for row in rows if row["tier"] == "local"]
    assert ends == [*(each[0] - 1 for each in local[1:]), 341]
    assert {row["log_start_offset_after"] for row in rows} == {217}


def test_retention_takes_the_limits_of_the_topic_and_options_win():
    words = ("rlmm", "retention", cluster().node1, "--topic", "t-local", "--at", "1795263145000")

    def limits(*more):
        rows = ask(*words, *more)[0]["rows"]
        return {(row["tier"], row["retention_ms"], row["retention_bytes"]) for row in rows}

    assert limits() == {("remote", DAY_MS, -1), ("local", DAY_MS, -1)}
    assert limits("--retention-ms", "-1") == {("remote", -1, -1), ("local", -1, -1)}
    more = ("--local-retention-ms", "7", "--retention-bytes", "9")
    assert limits(*more) == {("remote", DAY_MS, 9), ("local", 7, 9)}


def test_retention_of_a_topic_without_remote_storage_moves_its_log_start(tmp_path):
    words = ("rlmm", "retention", cluster().node1, "--topic", "local-only", "--at", "1795263145000")
    rows = ask(*words, "--retention-ms", "1")[0]["rows"]
    gone = [row["end_offset"] for row in rows if row["action"] == "delete"]

    assert gone and {row["log_start_offset_after"] for row in rows} == {max(gone) + 1}


def test_what_is_to_be_copied_next_is_not_below_the_log_start(tmp_path):
    """`UnifiedLog.fetchEarliestPendingUploadOffset`, after records up to 5 were deleted."""
    story = Story(tmp_path)
    story.remote(1, [(offset, 0) for offset in range(4)], [(0, 0)], [(0, 0)])
    log_dir = story.replica("a", [(offset, 0) for offset in range(2, 10)], [(0, 0)], log_start=6)
    (row,) = ask(*story.command("offsets", log_dir))[0]["rows"]

    assert (row["latest_tiered_offset"], row["earliest_pending_upload_offset"]) == (3, 6)


def test_what_is_to_be_copied_next_is_not_known_where_nothing_is_copied_and_the_log_begins_later(tmp_path):
    story = Story(tmp_path)
    story.values.append(event(1, 0, 5, [(0, 0)]))
    log_dir = story.replica("a", [(offset, 0) for offset in range(6, 10)], [(0, 0)])
    (row,) = ask(*story.command("offsets", log_dir))[0]["rows"]

    assert (row["earliest_offset"], row["earliest_local_offset"]) == (0, 6)
    assert row["earliest_pending_upload_offset"] == -1


def test_the_record_of_the_largest_timestamp_is_below_the_high_watermark(tmp_path):
    story = Story(tmp_path)
    story.remote(1, [(offset, 0) for offset in range(4)], [(0, 0)], [(0, 0)])
    log_dir = story.replica("a", [(offset, 0) for offset in range(2, 10)], [(0, 0)])
    (log_dir / "t-0" / f"{2:020}.timeindex").write_bytes(time_entries((1009, 7)))
    words = story.command("offsets", log_dir)
    (row,) = ask(*words)[0]["rows"]
    assert (row["latest_offset"], row["max_timestamp_offset"]) == (10, 9)
    (log_dir / "replication-offset-checkpoint").write_text("0\n1\nt 0 9\n")
    (row,) = ask(*words)[0]["rows"]
    assert (row["latest_offset"], row["max_timestamp_offset"]) == (9, -1)


def test_lookup_offset_names_the_remote_segment_where_its_metadata_is_at_hand():
    node1 = cluster().node1
    words = ("lookup", "offset", 225, node1 / "t-retention-0")
    (without,), (named,) = ask(*words)[0]["rows"], ask(*words, "--remote-metadata", node1)[0]["rows"]
    (row,) = ask("rlmm", "lookup", "offset", 225, node1, "--topic", "t-retention")[0]["rows"]

    assert (without["remote_segment_id"], named["remote_segment_id"]) == (None, row["segment_id"])
    assert named["reason"].startswith(without["reason"])
    assert row["segment_id"] in named["reason"]


@pytest.mark.parametrize("has_epochs", [True, False])
def test_a_lookup_says_what_it_tried(tmp_path, has_epochs):
    node1, storage, _ = cluster()
    log_dir = tmp_path / "node1"
    shutil.copytree(node1, log_dir)
    if not has_epochs:
        (log_dir / "t-txn-0" / "leader-epoch-checkpoint").write_text("0\n1\n0 600\n")
    words = ("rlmm", "lookup", "offset", "5", log_dir, "--topic", "t-txn", "--storage", storage)
    (row,) = ask(*words)[0]["rows"]
    disk, second = row["tries"]

    assert disk == "the local log is empty and ends at 679: not this one"
    if has_epochs:
        assert second.startswith("remote metadata has segment ")
        assert second.endswith(" for leader epoch 0, offset 5")
        assert (row["tier"], row["found"]) == ("remote", True)
    else:
        assert second == "the leader epoch cache has no epoch for 5"
        assert (row["tier"], row["found"]) == (None, False)
