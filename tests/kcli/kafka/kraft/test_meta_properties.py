"""Which log dirs are of one broker: by the ids in their meta.properties."""

import os

from kcli.kafka.kraft.meta_properties import brokers_of, by_broker
from tests.partitions import put_range, segment

ID = "u4NdSfWRQjaZ_ENyxMXLJA"
LOST = None
"""A log dir without meta.properties."""


def made(tmp_path, **dirs):
    """Make log dirs by their meta.properties; return their paths."""
    for name, text in dirs.items():
        (tmp_path / name).mkdir(parents=True)
        if text is not LOST:
            (tmp_path / name / "meta.properties").write_text(text)
    return [str(tmp_path / name) for name in dirs]


def meta(node, cluster="abc", directory=None):
    lines = ["version=1", f"cluster.id={cluster}", f"node.id={node}"]
    return "\n".join([*lines, *([f"directory.id={directory}"] if directory else []), ""])


def groups(found):
    return sorted([os.path.basename(log_dir.path) for log_dir in dirs] for dirs in found)


def test_log_dirs_of_one_node_of_one_cluster_are_together(tmp_path):
    paths = made(tmp_path, a=meta(1), b=meta(2), c=meta(1), d=meta(1, "other"))

    assert groups(by_broker(paths)) == [["a", "c"], ["b"], ["d"]]


def test_a_log_dir_that_is_reached_twice_is_one(tmp_path):
    (path,) = made(tmp_path, a=meta(1))
    (tmp_path / "link").symlink_to(path)

    assert [len(dirs) for dirs in by_broker([path, f"{path}/", str(tmp_path / "link")])] == [1]


def test_one_without_ids_belongs_to_the_only_broker(tmp_path):
    paths = made(tmp_path, a=meta(1), b=LOST, c="version=0\nbroker.id=1\n")

    assert groups(by_broker(paths)) == [["a", "c", "b"]]


def test_one_of_another_node_does_not(tmp_path):
    paths = made(tmp_path, a=meta(1), b="version=0\nbroker.id=2\n")

    assert groups(by_broker(paths)) == [["a"], ["b"]]


def test_beside_two_brokers_one_without_ids_is_alone(tmp_path):
    paths = made(tmp_path, a=meta(1), b=meta(2), c=LOST, d=LOST)

    assert groups(by_broker(paths)) == [["a"], ["b"], ["c"], ["d"]]


def test_copies_of_a_log_dir_in_different_places_are_no_two_of_a_broker(tmp_path):
    (first,) = made(tmp_path / "one", a=meta(1, directory=ID))
    (second,) = made(tmp_path / "two", a=meta(1, directory=ID))
    both = made(tmp_path / "three", a=meta(1, directory=ID), b=meta(1, directory=ID))

    assert groups(by_broker([first, second])) == [["a"], ["a"]]
    assert groups(by_broker(both)) == [["a", "b"]]


def test_a_folder_of_copied_partitions_is_no_log_dir(tmp_path):
    (path,) = made(tmp_path / "data", a=meta(1))
    for root in ("data/lost", "elsewhere/copies", "other/a"):
        segment(tmp_path / root / "t-0", 0, put_range(0, 2))
    segment(tmp_path / "data" / "a" / "u-0", 0, put_range(0, 2))
    lost, copies, other = (str(tmp_path / root) for root in ("data/lost", "elsewhere/copies", "other/a"))

    assert groups(brokers_of([path, copies])) == [["a"]]
    assert groups(brokers_of([path, lost])) == [["a", "lost"]]
    assert groups(brokers_of([copies, other])) == []
    segment(tmp_path / "data" / "a" / "t-0", 0, put_range(0, 2))
    assert groups(brokers_of([path, copies])) == [["a", "copies"]]
