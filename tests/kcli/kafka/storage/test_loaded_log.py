"""What the files of a log dir say about a partition, and what a start takes of it."""

import pytest

from kcli.kafka.storage.loaded_log import Checkpoints, Settings, check_fits, checkpoints
from kcli.kafka.storage.log_segment import BrokerError, LoadedSegment, memory_index
from kcli.logdir.partition import Partition
from tests.partitions import log_dir, orders, put_range, segment, unit


def partition(directory):
    return Partition(unit(directory).target)


@pytest.mark.parametrize("clean", [True, False])
def test_the_files_of_the_log_dir_say_how_it_stopped_and_what_it_had(tmp_path, clean):
    directory = orders(tmp_path / "d", put_range(0, 5), clean=clean, recovery=3, log_start=2, watermark=4)

    assert checkpoints(partition(directory)) == Checkpoints(clean, 3, 2, 4)


def test_a_partition_that_no_checkpoint_names_begins_at_0(tmp_path):
    directory = orders(tmp_path / "d", put_range(0, 5), recovery=3, log_start=2, watermark=4)
    segment(directory.parent / "payments-0", 0, put_range(0, 5))

    assert checkpoints(partition(directory.parent / "payments-0")) == Checkpoints(True, 0, 0, None)


def test_a_directory_without_a_log_dir_is_stopped_cleanly(tmp_path):
    segment(tmp_path / "orders-0", 0, put_range(0, 5))

    assert checkpoints(partition(tmp_path / "orders-0")) == Checkpoints(True, 0, 0, None)


@pytest.mark.parametrize("index", ["index", "timeindex"])
def test_zeros_at_the_end_of_its_last_indexes_show_that_a_lone_log_was_open(tmp_path, index):
    directory = tmp_path / "orders-0"
    for base in (0, 5):
        segment(directory, base, put_range(base, 5))
    tail = bytes(240)
    (directory / f"{0:020}.{index}").write_bytes(tail)
    assert checkpoints(partition(directory)).clean
    (directory / f"{5:020}.{index}").write_bytes(tail)
    assert checkpoints(partition(directory)) == Checkpoints(False, 5, 0, None)


def test_the_metadata_log_is_recovered_from_its_beginning_at_every_start(tmp_path):
    root = log_dir(tmp_path / "d")
    segment(root / "__cluster_metadata-0", 0, put_range(0, 5))
    (root / "recovery-point-offset-checkpoint").write_text("0\n1\n__cluster_metadata 0 5\n")
    (root / "replication-offset-checkpoint").write_text("0\n1\n__cluster_metadata 0 4\n")

    assert checkpoints(partition(root / "__cluster_metadata-0")) == Checkpoints(False, 0, 0, 4)


@pytest.mark.parametrize(("size", "fits"), [(None, True), (24, True), (23, False), (16, False)])
def test_an_active_segment_whose_index_is_longer_than_the_configuration_is_refused(size, fits):
    active = LoadedSegment(0)
    active = active._replace(
        offset_index=memory_index(active.offset_index.layout, bytes(16)),
        time_index=memory_index(active.time_index.layout, bytes(24)),
    )
    if fits:
        check_fits(active, Settings(max_index_size=size))
        return
    with pytest.raises(BrokerError, match=r"more than segment\.index\.bytes allows") as raised:
        check_fits(active, Settings(max_index_size=size))
    assert raised.value.exception == "IllegalArgumentException"
