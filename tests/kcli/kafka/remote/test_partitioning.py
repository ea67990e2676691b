"""Where the events of user partitions are; keys and texts, too, are judged in tests.oracle."""

import pytest

from formats.errors import CorruptError
from kcli.kafka.remote.partitioning import partition_of_events
from tests.kcli.jobs.rlmm.dumps import VALUES


def test_metadata_partition_of_recorded_values_is_where_their_partitioner_put_them():
    """Written with the partitioner of 3.1 to 4.3 and five partitions; entries of snapshot files have none."""
    checked = 0
    for version, items in VALUES.items():
        for item in items:
            reported = item["decoded"]
            if version != "3.0.2" and "topicId" in reported:
                placed = partition_of_events(reported["topicId"], reported["partition"], 5)
                assert placed.partition == item["partition"]
                checked += 1
    assert checked > 700


@pytest.mark.parametrize(
    "text",
    [
        "",
        "foo",
        "u4NdSfWRQjaZ_ENyxMXLJ",
        "u4NdSfWRQjaZ_ENyxMXLJAA",
        "u4NdSfWRQjaZ+ENyxMXLJA",
        "u4NdSfWRQjaZ_ENyxMXLJ\xe4",
    ],
)
def test_not_a_topic_id(text):
    with pytest.raises(CorruptError):
        partition_of_events(text, 0)
