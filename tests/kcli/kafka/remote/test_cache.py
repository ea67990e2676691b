"""What a broker's cache makes of events: rules easy to get wrong; random events are in tests.oracle."""

from formats.remote_metadata import (
    RemotePartitionDeleteMetadata,
)
from kcli.kafka.remote.cache import (
    INVALID_TRANSITION,
    NOT_STARTED,
    UNKNOWN_SEGMENT,
    UPDATE_TO_STARTED,
    RemoteCache,
    RemoteStore,
)
from tests.remote_events import COPIED, DELETED, DELETING, PLACE, STARTED, segment, update


def folded(*events):
    cache = RemoteCache()
    return cache, [cache.apply(event, number) for number, event in enumerate(events)]


def test_a_segment_can_be_read_from_the_end_of_its_copy_to_the_beginning_of_its_deletion():
    cache, _ = folded(segment("a", 0, 9, time=5))
    assert cache.find(0, 3) is None and [one.metadata.segment_id for one in cache.listed(0)] == ["a"]

    cache.apply(update("a", COPIED, time=8, custom=b""), 1)
    found = cache.find(0, 9)
    assert found is not None and found.metadata.custom_metadata == b"" and found.metadata.broker_id == 2
    assert found.times == [5, 8, None, None] and cache.find(0, 10) is None

    cache.apply(update("a", DELETING, time=9), 2)
    assert cache.find(0, 3) is None and cache.highest_offset(0) == 9 and len(cache.listed(0)) == 1

    cache.apply(update("a", DELETED, time=9), 3)
    assert cache.segments == {} and cache.listed(0) == [] and cache.highest_offset(0) == 9


def test_a_longer_copy_supersedes_and_its_deletion_brings_nothing_back():
    cache, _ = folded(segment("a", 0, 9), update("a", COPIED), segment("b", 0, 19), update("b", COPIED))
    assert cache.referenced() == {"b"} and len(cache.listed(0)) == 2

    cache.apply(update("b", DELETING), 4)
    assert cache.find(0, 3) is None
    cache.apply(update("a", COPIED), 5)
    assert cache.referenced() == {"a"}


def test_a_shorter_copy_of_the_same_start_hides_the_longer_one_from_the_list_of_its_epoch():
    cache, _ = folded(segment("a", 0, 19), update("a", COPIED), segment("b", 0, 9), update("b", COPIED))

    assert [one.metadata.segment_id for one in cache.listed(0)] == ["b"]
    assert set(cache.segments) == {"a", "b"} and cache.find(0, 15) is None


def test_an_epoch_ends_where_the_next_one_of_the_segment_begins():
    cache, _ = folded(segment("a", 0, 19, epochs=((0, 0), (2, 8))), update("a", COPIED))

    assert cache.find(0, 7) is not None and cache.find(0, 8) is None and cache.find(2, 19) is not None
    assert (cache.highest_offset(0), cache.highest_offset(1), cache.highest_offset(2)) == (7, None, 19)


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
