"""The name of a partition."""

from formats.types import TopicPartition


def test_a_partition_is_named_as_its_directory():
    assert str(TopicPartition("my-topic", 3)) == "my-topic-3"
