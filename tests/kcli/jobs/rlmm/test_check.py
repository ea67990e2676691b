"""`rlmm check`: each thing that can be wrong with remote segments is found by its own code."""

from formats.remote_metadata import RemotePartitionDeleteMetadata
from kcli.jobs.metadata_partitions import MetadataPartition
from kcli.jobs.rlmm.check import RemoteCheck, RemoteChecks
from kcli.kafka.findings.findings import Finding
from kcli.kafka.remote.cache import RemoteStore
from tests.remote_events import COPIED, DELETED, DELETING, PLACE, segment, update
from tests.rows import named

HOUR = 3_600_000
MARKED = RemotePartitionDeleteMetadata(**PLACE, broker_id=1, event_timestamp_ms=0, state=0)
COPY = [segment("a", 0, 9), update("a", COPIED)]


def items(events, before_ms):
    """Return rows and findings about events of one metadata partition."""
    checking = RemoteChecks(RemoteCheck(now_ms=before_ms, stuck_after_ms=0))
    partition = MetadataPartition("d", 3, RemoteStore())
    for offset, event in enumerate(events):
        checking.watch(partition, (offset, event), partition.store.apply(event, offset))
    found = list(checking.results(partition))
    findings = [item for item in found if isinstance(item, Finding)]
    return [item for item in found if not isinstance(item, Finding)], findings


def findings_of(*events):
    return [(finding.code, finding.message) for finding in items(events, -HOUR)[1]]


def copied(name, start, end, *epochs):
    return [segment(name, start, end, epochs=epochs), update(name, COPIED)]


def checked(*events, now=2 * HOUR):
    (row,), findings = items(events, now - HOUR)
    return named(row), [finding.code for finding in findings]


def test_what_was_begun_a_moment_ago_is_under_way():
    assert checked(segment("a", 0, 9), now=HOUR - 1)[1] == []
    assert checked(*COPY, update("a", DELETING), now=HOUR - 1)[1] == []


def test_segments_that_follow_each_other_are_clean():
    row, codes = checked(
        *COPY, segment("b", 10, 19), update("b", COPIED), update("a", DELETING), update("a", DELETED)
    )

    assert (codes, row["result"], row["copied"], row["remote_bytes"]) == ([], "clean", 1, 1)


def test_an_epoch_with_two_beginnings_is_of_two_histories():
    before, after = copied("a", 0, 9, (0, 0), (1, 5)), copied("b", 10, 19, (1, 10), (2, 15))
    assert findings_of(*before, *after) == []

    found = findings_of(*copied("a", 0, 9, (0, 0), (1, 5)), *copied("b", 3, 19, (0, 3), (1, 7)))
    assert [code for code, _ in found] == ["RLMM-017", "RLMM-017", "RLMM-028", "RLMM-017"]
    assert found[0][1].endswith(
        "segment a of offsets 0..9: offsets 3..4 of leader epoch 0 are in segment b too"
    )
    assert "leader epoch 1 begins at 5 in segment a, in b at 7" in found[2][1]


def test_a_segment_that_an_unclean_election_cut_has_offsets_of_a_later_epoch():
    found = findings_of(
        *copied("a", 0, 9, (0, 0)), *copied("b", 10, 19, (0, 10)), *copied("c", 10, 29, (3, 10))
    )

    assert [code for code, _ in found] == ["RLMM-017"]
    assert "segment b of offsets 10..19: it goes to 19 in leader epoch 0; epoch 3 has 10" in found[0][1]


def test_segments_left_of_a_deleted_partition_are_found_and_none_are_if_all_are_deleted():
    finished = MARKED._replace(state=2)
    deleted = [*COPY, MARKED, update("a", DELETING), update("a", DELETED)]

    assert [code for code, _ in findings_of(*COPY, MARKED, finished)] == ["RLMM-020"]
    assert findings_of(*deleted) == findings_of(*deleted, finished) == []
