"""leader-epoch-checkpoint and partition.metadata: what a starting broker takes and refuses."""

import pytest

from kcli.kafka.storage.log_segment import BrokerError
from kcli.kafka.storage.partition_files import check_partition_metadata, epoch_file
from kcli.logdir.partition import Partition
from tests.partitions import orders, unit


@pytest.fixture
def directory(tmp_path):
    return orders(tmp_path / "d", epochs=None)


def test_without_the_files_there_are_no_epochs_and_no_topic_id(directory):
    partition = Partition(unit(directory).target)

    assert epoch_file(partition) == (None, ())
    assert check_partition_metadata(partition) is None


def test_lines_and_the_cache_that_they_give(directory):
    (directory / "leader-epoch-checkpoint").write_text("0\n2\n1 0\n3 10\n")
    lines, cache = epoch_file(Partition(unit(directory).target))

    assert list(lines) == [(1, 0), (3, 10)] == list(cache)


@pytest.mark.parametrize(
    ("text", "exception"),
    [
        ("0\n1\n-1 0\n", "IllegalArgumentException"),
        ("0\n2\n0 0\n", "KafkaStorageException"),
        ("0\n1\n0 x\n", "NumberFormatException"),
    ],
)
def test_lines_that_the_broker_refuses(directory, text, exception):
    (directory / "leader-epoch-checkpoint").write_text(text)
    with pytest.raises(BrokerError) as error:
        epoch_file(Partition(unit(directory).target))

    assert error.value.exception.endswith(exception)
