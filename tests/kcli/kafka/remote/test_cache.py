"""What a broker's cache makes of events: rules easy to get wrong; random events are in tests.oracle."""

from formats.remote_metadata import RemotePartitionDeleteMetadata
from kcli.kafka.remote.cache import (
    INVALID_TRANSITION,
    NOT_STARTED,
    UNKNOWN_SEGMENT,
    UPDATE_TO_STARTED,
    RemoteCache,
    RemoteStore,
)
from tests.remote_events import COPIED, DELETED, PLACE, STARTED, segment, update


def folded(*events):
    cache = RemoteCache()
    return cache, [cache.apply(event, number) for number, event in enumerate(events)]


def test_events_that_the_cache_does_not_take():
    _, refused = folded(
        segment("a", 0, 9, state=COPIED),
        update("a", COPIED),
        segment("a", 0, 9),
        update("a", STARTED),
        update("a", DELETED),
        update("a", COPIED),
        segment("a", 0, 9),
    )

    assert refused == [
        NOT_STARTED,
        UNKNOWN_SEGMENT,
        None,
        UPDATE_TO_STARTED,
        INVALID_TRANSITION,
        None,
        INVALID_TRANSITION,
    ]


def test_a_finished_deletion_forgets_the_partition():
    store = RemoteStore()
    store.apply(segment("a", 0, 9), 0)
    for state in range(3):
        assert len(list(store)) == 1
        store.apply(
            RemotePartitionDeleteMetadata(**PLACE, broker_id=1, event_timestamp_ms=0, state=state), 1 + state
        )
    assert list(store) == [] and store.deletions == {}
