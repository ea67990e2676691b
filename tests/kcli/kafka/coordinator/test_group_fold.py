"""What the records of __consumer_offsets come to: commits, tombstones, transactions, groups."""

import random
import struct

import pytest

from formats.errors import FormatError
from formats.messages.decode import decode_key, decode_value
from formats.messages.reader import Unknown
from kcli.kafka.coordinator.coordinator_log import CoordinatorLog
from kcli.kafka.coordinator.group_fold import (
    GroupFold,
    commit_fields,
    group_of,
    is_whole_commit,
    topic_partition,
)
from kcli.kafka.coordinator.group_state import expiry_of, state_of
from kcli.kafka.findings.collector import collect_findings
from kcli.kafka.kraft.partition_start import start
from kcli.logdir.partition import Partition
from tests.groups import (
    NOW,
    batch,
    commit,
    commit_key,
    commit_value,
    coordinator,
    group_key,
    group_value,
    put_columns,
    record_value,
    text,
)
from tests.partitions import unit
from tests.transactions import ended

TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAw"


def folded(tmp_path, *batches, **options):
    """Return what batches come to."""
    partition = Partition(unit(coordinator(tmp_path / "d", *batches)).target)
    found = GroupFold(**options)
    found.fold(CoordinatorLog(partition, collect_findings(start(partition))))
    return found


def counting(found):
    """Return the offset that counts by group, topic and partition."""
    return {
        (group_of(key).decode(), *topic_partition(key)): commit_fields(commit)["offset"]
        for key, commit in found.commits.items()
    }


def tombstone(base, group="g", topic="orders", partition=0):
    return batch(base, (commit_key(group, topic, partition), None))


def test_the_newest_commit_of_a_partition_counts_in_whatever_version(tmp_path):
    found = folded(
        tmp_path,
        commit(0, offset=9, version=0),
        commit(1, offset=3, version=4, topic_id=TOPIC_ID),
        commit(2, partition=1, offset=7, version=1, expires=NOW + 1),
        batch(3, (commit_key("g", "orders", 2, kind=0), commit_value(4, version=0))),
        commit(4, partition=3, offset=8, version=4, metadata="m" * 100),
    )
    assert counting(found) == {("g", "orders", 0): 3, ("g", "orders", 1): 7, ("g", "orders", 2): 4} | {
        ("g", "orders", 3): 8
    }
    assert not found.troubles


def test_a_tombstone_removes_a_commit_and_the_group_stays_until_its_own(tmp_path):
    assert counting(folded(tmp_path / "a", commit(0), tombstone(1))) == {}
    assert list(folded(tmp_path / "b", commit(0), tombstone(1)).all_groups()) == ["g"]
    gone = folded(tmp_path / "c", commit(0), tombstone(1), batch(2, (group_key("g"), None)))
    assert gone.all_groups() == {}
    (removal,) = folded(tmp_path / "d", commit(0), tombstone(1), keeps_removed=True).removed.values()
    assert (removal.record_offset, removal.commit.record_offset) == (1, 0)


def test_commits_of_a_transaction_count_from_its_marker(tmp_path):
    begun = commit(0, offset=2), commit(1, offset=5, producer=9)
    pending = folded(tmp_path / "a", *begun)
    assert counting(pending) == {("g", "orders", 0): 2}
    assert list(pending.pending) == [9]
    assert counting(folded(tmp_path / "b", *begun, ended(2, 9))) == {("g", "orders", 0): 5}
    assert counting(folded(tmp_path / "c", *begun, ended(2, 9, commits=False))) == {("g", "orders", 0): 2}
    assert counting(folded(tmp_path / "d", *begun, ended(2, 8))) == {("g", "orders", 0): 2}
    newer = folded(tmp_path / "e", *begun, commit(2, offset=7), ended(3, 9))
    assert counting(newer) == {("g", "orders", 0): 7}
    cleared = folded(tmp_path / "f", *begun, tombstone(2), ended(3, 9))
    assert counting(cleared) == {}
    assert list(folded(tmp_path / "g", commit(0, producer=9)).all_groups()) == ["g"]


def test_a_classic_group_is_as_its_newest_record_says(tmp_path):
    stable = batch(0, (group_key("g"), group_value(("m", "orders"))))
    empty = batch(1, (group_key("g"), group_value(generation=2, since=NOW - 5)))
    group = folded(tmp_path / "a", stable).all_groups()["g"]
    assert (state_of(group), expiry_of(group).subscribed) == ("Stable", {"orders"})
    group = folded(tmp_path / "b", stable, empty).all_groups()["g"]
    assert (state_of(group), expiry_of(group).base) == ("Empty", NOW - 5)
    assert folded(tmp_path / "c", stable, batch(1, (group_key("g"), None))).all_groups() == {}


def test_a_group_that_has_written_no_epoch_of_its_assignment_has_the_first(tmp_path):
    names = dict.fromkeys(("instanceId", "rackId", "subscribedTopicRegex", "serverAssignor"))
    member = (struct.pack(">h", 5) + text("c") + text("m"), record_value(5, **names))
    current = (struct.pack(">h", 8) + text("c") + text("m"), record_value(8, memberEpoch=1))
    states = []
    for number, epoch in enumerate((1, 2)):
        whole = (group_key("c", 3), record_value(3, epoch=epoch))
        states.append(state_of(folded(tmp_path / str(number), batch(0, member, whole, current)).groups["c"]))
    assert states == ["Stable", "Assigning"]


def test_a_key_of_type_0_has_a_value_of_version_0(tmp_path):
    pair = commit_key("g", "orders", 0, kind=0), commit_value(5, version=1)
    assert [trouble.offset for trouble in folded(tmp_path / "a", batch(0, pair)).troubles] == [0]
    before = folded(tmp_path / "b", batch(0, pair), version=(3, 9))
    assert (before.troubles, counting(before)) == ([], {("g", "orders", 0): 5})


@pytest.mark.parametrize(
    ("pair", "troubles", "unknown"),
    [
        ((group_key("g", 99), b"\0\0"), 0, 1),
        ((group_key("g"), struct.pack(">h", 77)), 1, 0),
        ((commit_key("g", "orders", 0), struct.pack(">h", 5) + bytes(40)), 1, 0),
        ((commit_key("g", "orders", 0)[:-3], commit_value(1)), 1, 0),
        ((commit_key("g", "orders", 0), commit_value(1)[:-1]), 1, 0),
        ((None, b"\0\0"), 1, 0),
    ],
)
def test_what_a_coordinator_cannot_read_is_named_and_the_rest_is_folded(tmp_path, pair, troubles, unknown):
    found = folded(tmp_path, commit(0, offset=1), batch(1, pair), commit(2, partition=1, offset=2))
    assert [trouble.offset for trouble in found.troubles] == [1] * troubles
    assert found.unknown == unknown
    assert counting(found) == {("g", "orders", 0): 1, ("g", "orders", 1): 2}


def is_read(key, value):
    """Whether the reader of single records takes a pair for a commit."""
    try:
        name = decode_key("__consumer_offsets", key, replace_invalid_utf8=True)
        if isinstance(name, Unknown) or name.api_key > 1:
            return False
        return not isinstance(
            decode_value("__consumer_offsets", 1, value, replace_invalid_utf8=True), Unknown
        )
    except FormatError:
        return False


def test_the_quick_look_at_commits_takes_none_that_the_reader_refuses():
    choose, taken = random.Random("commits"), 0
    pairs = []
    for _ in range(3000):
        version = choose.randrange(5)
        topic_id = choose.choice([None, TOPIC_ID])
        value = commit_value(choose.randrange(99), version=version, metadata="m" * choose.choice((0, 3)))
        if version == 4:
            value = commit_value(1, version=4, metadata="ab", topic_id=topic_id)
        key, value = (
            bytearray(commit_key("grp", "topic", 3, choose.choice((0, 1, 1, 1, 2)))),
            bytearray(value),
        )
        for part in (key, value):
            if choose.random() < 0.5:
                part[choose.randrange(len(part))] = choose.choice((0, 1, 5, 127, 128, 255))
            if choose.random() < 0.2:
                del part[choose.randrange(len(part)) :]
        pairs.append((bytes(key), bytes(value)))
    for pair, is_commit in zip(pairs, is_whole_commit(put_columns(pairs)).tolist(), strict=True):
        assert not is_commit or is_read(*pair), pair
        taken += is_commit
    assert taken > 1000


def short_value(kind):
    """Return a value of version 0 that is short: an epoch, nothing in its lists."""
    return {
        3: struct.pack(">hib", 0, 4, 0),
        6: struct.pack(">hib", 0, 4, 0),
        7: b"\0\0\1\0",
        8: struct.pack(">hiib", 0, 4, 4, 0) + b"\1\1\0",
        11: struct.pack(">hiqb", 0, 4, 0, 0),
    }[kind]


def member_key(kind):
    return group_key("c", kind) + b"\0\1m"


MEMBER = struct.pack(">h", 0) + b"\0\0\1\1\1\0\0\0\0\1\0\0"
CONSUMER_GROUP = (
    (group_key("c", 3), short_value(3)),
    (member_key(5), MEMBER),
    (group_key("c", 6), short_value(6)),
    (member_key(7), short_value(7)),
    (member_key(8), short_value(8)),
)


def stops(tmp_path, *pairs, **options):
    """Return at which of some records the load ends, behind those of a consumer group with a member."""
    found = folded(tmp_path, batch(0, *CONSUMER_GROUP, *pairs), **options)
    return [trouble.offset - len(CONSUMER_GROUP) for trouble in found.troubles]


def test_a_consumer_group_is_removed_by_tombstones_in_the_order_of_the_coordinator(tmp_path):
    whole = [(member_key(8), None), (member_key(7), None), (member_key(5), None)]
    whole += [(group_key("c", 6), None), (group_key("c", 3), None)]
    found = folded(tmp_path / "a", batch(0, *CONSUMER_GROUP))
    assert (found.troubles, state_of(found.all_groups()["c"])) == ([], "Stable")
    found = folded(tmp_path / "b", batch(0, *CONSUMER_GROUP, *whole))
    assert (found.troubles, found.all_groups()) == ([], {})
    left = [batch(0, *CONSUMER_GROUP, *whole[:3]), commit(20, "c"), tombstone(21, "c"), batch(22, *whole[3:])]
    assert folded(tmp_path / "i", *left).all_groups() == {}
    assert stops(tmp_path / "c", whole[2]) == [0]
    assert stops(tmp_path / "d", whole[0], whole[2]) == [1]
    assert stops(tmp_path / "e", whole[3]) == [0]
    assert stops(tmp_path / "f", whole[4]) == [0]
    assert stops(tmp_path / "g", *whole[:3], whole[4]) == [3]
    assert stops(tmp_path / "h", (group_key("c", 11), short_value(11))) == [0]


def test_releases_before_know_fewer_types_and_versions(tmp_path):
    assert stops(tmp_path / "a", version=(3, 9)) == []
    assert stops(tmp_path / "b", version=(3, 4)) == [-5, -4, -3, -2, -1]
    new = (commit_key("g", "orders", 0), commit_value(1, version=4))
    offsets = [trouble.offset for trouble in folded(tmp_path / "c", batch(0, new), version=(3, 4)).troubles]
    assert offsets == [0]
    assert not folded(tmp_path / "d", batch(0, new), version=(3, 5)).troubles
