"""Which replicas are compared with which: by the names of their directories."""

from dataclasses import replace

from kcli.engine.contract import Unit
from kcli.jobs.replica_pairs import pairs, with_leaders
from tests.partitions import log_dir, put_range, segment, unit


def units(tmp_path, *names):
    """Return the units of directories below log dirs, such as `a/orders-0`."""
    found = []
    for number, name in enumerate(names):
        root, _, partition = name.partition("/")
        directory = log_dir(tmp_path / root) / partition
        segment(directory, 0, put_range(0, 2))
        found.append(Unit(number=number, targets=unit(directory).targets))
    return found


def named(tmp_path, found):
    return [tuple(target.path.removeprefix(f"{tmp_path}/") for target in each.targets) for each in found]


def test_each_replica_of_a_partition_is_paired_with_the_first_one(tmp_path):
    found = pairs(units(tmp_path, "a/t-0", "b/u-1", "b/t-0", "c/t-0", "c/t-1"))

    assert named(tmp_path, found) == [("a/t-0", "b/t-0"), ("a/t-0", "c/t-0"), ("b/u-1",), ("c/t-1",)]
    assert [each.number for each in found] == [0, 1, 2, 3]


def test_two_directories_of_other_names_are_a_pair(tmp_path):
    (tmp_path / "a").mkdir()
    found = units(tmp_path, "a/t-0", "b/t-0")
    bare = [Unit(number=unit.number, targets=(replace(unit.target, name=None),)) for unit in found]

    assert named(tmp_path, pairs(bare)) == [("a/t-0", "b/t-0")]
    assert named(tmp_path, pairs([*bare, *units(tmp_path, "c/t-0")])) == [("a/t-0",), ("b/t-0",), ("c/t-0",)]


def test_the_leader_comes_second_and_remote_log_metadata_after_it(tmp_path):
    followers = units(tmp_path, "a/t-0", "a/t-1", "a/u-0")
    leaders = [unit.target for unit in units(tmp_path, "b/t-0", "c/t-0", "b/u-0")]
    (metadata,) = [unit.target for unit in units(tmp_path, "b/__remote_log_metadata-0")]

    assert named(tmp_path, with_leaders(followers, leaders)) == [
        ("a/t-0", "b/t-0"),
        ("a/t-1",),
        ("a/u-0", "b/u-0"),
    ]
    assert named(tmp_path, with_leaders(followers, leaders[:2], [metadata])) == [
        ("a/t-0", "b/t-0", "b/__remote_log_metadata-0"),
        ("a/t-1",),
        ("a/u-0",),
    ]


def test_a_replica_whose_name_is_no_partition_has_no_leader(tmp_path):
    (follower,) = units(tmp_path, "a/t-0")
    bare = Unit(number=0, targets=(replace(follower.target, name=None),))
    leaders = [units(tmp_path, "b/t-0")[0].target]

    assert with_leaders([bare], leaders) == [bare]
    assert with_leaders([follower], [replace(leaders[0], kind="log")]) == [follower]
