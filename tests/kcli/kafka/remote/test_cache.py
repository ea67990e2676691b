"""What a store of caches makes of deleted partitions; what a cache makes of events is in tests.oracle."""

from formats.remote_metadata import RemotePartitionDeleteMetadata
from kcli.kafka.remote.cache import RemoteStore
from tests.remote_events import PLACE, segment


def test_a_finished_deletion_forgets_the_partition():
    store = RemoteStore()
    store.apply(segment("a", 0, 9), 0)
    for state in range(3):
        assert len(list(store)) == 1
        store.apply(
            RemotePartitionDeleteMetadata(**PLACE, broker_id=1, event_timestamp_ms=0, state=state), 1 + state
        )
    assert list(store) == [] and store.deletions == {}
