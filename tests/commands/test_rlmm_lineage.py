"""`rlmm check --leader`: segments of other histories, past the last stable offset, offsets in no tier."""

import json

import pytest

from kcli.jobs.metadata_partitions import read_events
from kcli.jobs.rlmm.check import leader_defects
from kcli.jobs.tiered_leader import cache_of, load_leader, metadata_targets
from kcli.kafka.findings.collector import collect_findings
from kcli.kafka.remote.lineage import NO_TIER
from kcli.logdir.find import find
from kcli.logdir.partition import Partition
from kcli.logdir.targets import Selection
from tests.builders import put_record, put_records
from tests.partitions import locked, put_range, segment
from tests.stories import DELETE_STARTED, EVENTS, Story, finished
from tests.tiered import cluster

STUCK = "RLMM-009"


@pytest.fixture
def story(tmp_path):
    return Story(tmp_path)


@pytest.fixture
def check(kcli, story):
    def ask(leader, *, named=True):
        records = [put_record(n, n, None, value) for n, value in enumerate(story.values)]
        segment(story.root / "events" / EVENTS, 0, put_records(records))
        words = ("--leader", leader) if named else (leader,)
        done = kcli("rlmm", "check", story.root / "events", *words, "-o", "json")
        document = json.loads(done.stdout)
        found = [(finding["code"], finding["message"]) for finding in document["findings"]]
        return found, document

    return ask


def test_a_segment_that_an_unclean_election_cut(story, check):
    story.remote(1, [(0, 0), (1, 0), (2, 0)], [(0, 0)], [(0, 0)])
    story.remote(2, [(0, 0), (1, 1)], [(0, 0), (1, 1)], [(0, 0), (1, 1)])
    leader = story.replica("b", [(2, 1)], [(0, 0), (1, 1)])
    found, document = check(leader)
    assert (found, document) == check(leader, named=False)  # the only replica here
    assert document["rows"][0]["leader_dir"] == str(leader / "t-0")

    (message,) = [message for code, message in found if code == "RLMM-028"]
    assert "offsets 0..2: it ends at 2, and epoch 0 of the leader before 1" in message
    assert [row["result"] for row in document["rows"]] == ["warning"]


def test_offsets_that_are_in_no_tier(story, check):
    story.remote(1, [(0, 0), (1, 0), (2, 0)], [(0, 0)], [(0, 0)])
    found, _ = check(story.replica("a", [(5, 2), (6, 2)], [(0, 0), (1, 3), (2, 5)]))

    assert found == [("RLMM-030", "t-0: offsets 3..4 are in no remote segment and not on the leader's disk")]


def test_segments_that_retention_deletes_are_below_the_log_start(story, check):
    story.remote(1, [(0, 0), (1, 0), (2, 0)], [(0, 0)], [(0, 0)])
    story.remote(2, [(3, 1), (4, 1)], [(1, 3)], [(0, 0), (1, 3)])
    leader = story.replica("a", [(5, 2), (6, 2)], [(0, 0), (1, 3), (2, 5)])
    assert check(leader)[0] == []
    story.values.append(finished(1, DELETE_STARTED))
    assert [code for code, _ in check(leader)[0]] == [STUCK]
    story.values.append(finished(2, DELETE_STARTED))
    assert [code for code, _ in check(leader)[0]] == [STUCK] * 2


def test_a_segment_that_is_deleted_before_an_older_one(story, check):
    story.remote(1, [(0, 0), (1, 0), (2, 0)], [(0, 0)], [(0, 0)])
    story.remote(2, [(3, 1), (4, 1)], [(1, 3)], [(0, 0), (1, 3)])
    leader = story.replica("a", [(5, 2), (6, 2)], [(0, 0), (1, 3), (2, 5)])
    story.values.append(finished(2, DELETE_STARTED))

    assert [code for code, _ in check(leader)[0]] == [STUCK, "RLMM-030"]


def test_a_segment_that_went_to_remote_storage_while_its_leader_was_read(story):
    events = story.root / "events" / EVENTS

    def put_events():
        records = [put_record(n, n, None, value) for n, value in enumerate(story.values)]
        segment(events, 0, put_records(records))
        return tuple(metadata_targets([str(events.parent)]).targets)

    story.remote(1, [(0, 0), (1, 0), (2, 0)], [(0, 0)], [(0, 0)])
    metadata = put_events()
    log_dir = story.replica("a", [(5, 2), (6, 2)], [(0, 0), (1, 3), (2, 5)])
    (target,) = find([str(log_dir / "t-0")], Selection()).targets
    before = cache_of(Partition(target), read_events(metadata))
    story.remote(2, [(3, 1), (4, 1)], [(1, 3)], [(0, 0), (1, 3)])
    put_events()

    for given, tiers in (((), {NO_TIER}), (metadata, set())):
        leader = collect_findings(load_leader(Partition(target), before, given))
        assert {each.tiers for each in leader.tiered_ranges()} & {NO_TIER} == tiers
        assert len(list(leader_defects(leader))) == len(tiers)


def test_a_running_leader_is_read_with_its_events_until_no_offset_lacks(story, monkeypatch):
    """Events come late once and the log moves on between: at the third look they are of one moment."""
    events = story.root / "events" / EVENTS

    def put_events():
        records = [put_record(n, n, None, value) for n, value in enumerate(story.values)]
        segment(events, 0, put_records(records))

    def broker_goes_on(_):
        pauses.append(len(story.values))
        if len(pauses) == 2:
            for path in (log_dir / "t-0").glob("*5.*"):
                path.unlink()
            segment(
                log_dir / "t-0", 6, put_range(6, 1, 2, timestamp=1006) + put_range(7, 1, 2, timestamp=1007)
            )
        if len(pauses) == 3:
            story.remote(2, [(3, 1), (4, 1), (5, 2)], [(1, 3), (2, 5)], [(0, 0), (1, 3), (2, 5)])
            put_events()

    pauses: list[int] = []
    monkeypatch.setattr("kcli.jobs.tiered_leader.time.sleep", broker_goes_on)
    story.remote(1, [(0, 0), (1, 0), (2, 0)], [(0, 0)], [(0, 0)])
    put_events()
    metadata = tuple(metadata_targets([str(events.parent)]).targets)
    log_dir = story.replica("a", [(5, 2), (6, 2)], [(0, 0), (1, 3), (2, 5)])
    (target,) = find([str(log_dir / "t-0")], Selection()).targets
    cache = cache_of(Partition(target), read_events(metadata))

    stopped = collect_findings(load_leader(Partition(target), cache, metadata))
    assert (list(stopped.lacking()), len(pauses)) == ([(3, 5)], 1)
    pauses.clear()
    with locked(log_dir):
        leader = collect_findings(load_leader(Partition(target), cache, metadata))
    assert (list(leader.lacking()), leader.local_start, len(pauses)) == ([], 6, 3)


def test_records_of_an_open_transaction_in_remote_storage(story, check):
    story.remote(1, [(0, 0), (1, 0), (2, 0)], [(0, 0)], [(0, 0)])
    leader = story.replica("a", [(0, 0)], [(0, 0)])
    transaction = put_records(
        [put_record(value=b"x")],
        base_offset=1,
        attributes=0x10,
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
    )
    after = b"".join(put_range(offset, 1, 0, timestamp=1000) for offset in (2, 3))
    segment(leader / "t-0", 0, put_range(0, 1, 0, timestamp=1000) + transaction + after)
    (leader / ".kafka_cleanshutdown").unlink()  # else a broker without a snapshot takes it for no transaction
    found, _ = check(leader)

    ((code, message),) = found
    assert code == "RLMM-029" and message.endswith("the leader's last stable offset is 1")


def test_a_leader_that_does_not_load_is_an_error(story, check):
    story.remote(1, [(0, 0)], [(0, 0)], [(0, 0)])
    leader = story.replica("a", [(1, 0)], [(0, 0)])
    (leader / "t-0" / "partition.metadata").write_text("version: 9\ntopic_id: x\n")
    found, document = check(leader)

    assert document["rows"] and found == []
    (error,) = document["errors"]
    assert error["path"].endswith("partition.metadata")


def test_a_recorded_leader_has_none_of_it(kcli):
    node1 = cluster().node1
    document = json.loads(
        kcli("rlmm", "check", node1, "--leader", node1, "--at", "2026-11-22", "-o", "json").stdout
    )

    codes = [finding["code"] for finding in document["findings"] if finding["code"].startswith("RLMM")]
    assert set(codes) == {"RLMM-009"} and len(codes) == 2
    assert kcli("rlmm", "check", node1, "--leader", node1 / "nowhere").exit_code == 2
