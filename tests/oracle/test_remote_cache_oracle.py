"""The fold of remote log metadata against Kafka's RemoteLogMetadataCache: random events, legal or not."""

import base64
import random
import re

import pytest

from formats.remote_metadata import (
    SEGMENT_STATES,
    RemoteLogSegmentMetadata,
    RemoteLogSegmentMetadataUpdate,
    SegmentLeaderEpoch,
)
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.remote.cache import NOT_STARTED, UNKNOWN_SEGMENT, UPDATE_TO_STARTED, RemoteCache, RemoteStore
from kcli.kafka.remote.coverage import EventCoverage
from kcli.kafka.remote.events import file_events
from kcli.logdir.buffers import DataFile
from kcli.logdir.find import find
from kcli.logdir.targets import Selection
from tests.kcli.jobs.rlmm.dumps import LOG, VALUES, batch
from tests.seeds import cases

from .oracle import Oracle

pytestmark = pytest.mark.oracle

TOPIC, TOPIC_ID, PARTITION, NOW = "foo", "u4NdSfWRQjaZ_ENyxMXLJA", 0, 1_700_000_000_000
REFUSED_WITH = {
    UNKNOWN_SEGMENT: "RemoteResourceNotFoundException",
    NOT_STARTED: "IllegalArgumentException",
    UPDATE_TO_STARTED: "IllegalArgumentException",
}
"""Why an event changes nothing, and the exception of Kafka's cache."""
EPOCHS, OFFSETS = range(7), range(0, 130, 3)
CASES = 2000


def events(choose):
    """Return events of a few segments, most of them in an order that a broker may write them in."""
    ids = [
        base64.urlsafe_b64encode(choose.randbytes(16)).decode().rstrip("=")
        for _ in range(choose.randint(1, 9))
    ]
    states = dict.fromkeys(ids, -1)
    made, offset = [], 0
    for number in range(choose.randint(1, 40)):
        segment_id = choose.choice(ids)
        usual = states[segment_id] + 1
        state = usual if usual < 4 and choose.random() < 0.8 else choose.randrange(4)
        states[segment_id] = state
        common = {"topic": TOPIC, "topic_id": TOPIC_ID, "partition": PARTITION, "segment_id": segment_id}
        common |= {"broker_id": choose.randrange(3), "event_timestamp_ms": NOW + number, "state": state}
        common |= {"layout": "4.0", "version": 0, "unknown_tags": ()}
        common["custom_metadata"] = choose.choice([None, None, b"", b"abc"])
        if (state == 0) != (choose.random() < 0.03):
            start = offset if choose.random() < 0.7 else choose.randrange(100)
            end = start + choose.randrange(30)
            offset = end + 1 if choose.random() < 0.8 else offset
            first = choose.randrange(5)
            epochs, at = [SegmentLeaderEpoch(first, start)], start
            while epochs[-1].leader_epoch < 6 and choose.random() < 0.4 and at < end:
                at = choose.randint(at + 1, end)
                epochs.append(SegmentLeaderEpoch(epochs[-1].leader_epoch + choose.randint(1, 2), at))
            made.append(
                RemoteLogSegmentMetadata(
                    **common,
                    start_offset=start,
                    end_offset=end,
                    max_timestamp_ms=NOW,
                    segment_leader_epochs=tuple(epochs),
                    segment_size_in_bytes=choose.randrange(5000),
                    txn_index_empty=choose.random() < 0.5,
                )
            )
        else:
            made.append(RemoteLogSegmentMetadataUpdate(**common))
    return made


def as_json(event):
    """Return an event as the oracle takes it."""
    fields = event._asdict() | {"type": type(event).__name__, "state": SEGMENT_STATES[event.state]}
    if event.custom_metadata is not None:
        fields["custom_metadata"] = base64.b64encode(event.custom_metadata).decode()
    if "segment_size_in_bytes" in fields:
        fields["segment_size_bytes"] = fields.pop("segment_size_in_bytes")
        fields["segment_leader_epochs"] = [list(entry) for entry in event.segment_leader_epochs]
    return {
        name: value for name, value in fields.items() if name not in {"layout", "version", "unknown_tags"}
    }


def shown(segment):
    """Return what says which segment it is, and in which state."""
    fields = as_json(segment) if isinstance(segment, RemoteLogSegmentMetadata) else segment
    names = ("start_offset", "segment_id", "end_offset", "state", "broker_id", "event_timestamp_ms")
    return str((*(fields[name] for name in names), fields.get("custom_metadata")))


def test_every_answer_of_the_cache(oracle: Oracle, oracle_seed):
    for seed in range(oracle_seed, oracle_seed + cases(CASES)):
        choose = random.Random(seed)
        made = events(choose)
        lookups = [[choose.choice(EPOCHS), choose.choice(OFFSETS)] for _ in range(30)]
        kafka = oracle.ask(
            "rlmm_cache",
            events=list(map(as_json, made)),
            epochs=list(EPOCHS),
            lookups=lookups,
            next_txn=lookups,
        )
        cache = RemoteCache()
        refused = [REFUSED_WITH.get(cache.apply(event, number) or "") for number, event in enumerate(made)]

        assert refused == [answer and answer["error"] for answer in kafka["applied"]], seed
        everything = sorted(shown(segment.metadata) for segment in cache.segments.values())
        assert everything == sorted(map(shown, kafka["list_all"])), seed
        for epoch, listed, starts, highest in zip(
            EPOCHS, kafka["list"], kafka["list_starts"], kafka["highest_offset_for_epoch"], strict=True
        ):
            if not isinstance(listed, dict):  # an event gave a segment other epochs: Kafka's list may fail
                found = [shown(segment.metadata) for segment in cache.listed(epoch)]
                assert sorted(found) == sorted(map(shown, listed)), (seed, epoch)
                assert [segment.metadata.start_offset for segment in cache.listed(epoch)] == starts, (
                    seed,
                    epoch,
                )
            assert cache.highest_offset(epoch) == highest, (seed, epoch)
        found = [cache.find(*lookup) for lookup in lookups]
        assert [segment and segment.metadata.segment_id for segment in found] == kafka["lookups"], seed
        following = [cache.next_with_txn_index(*lookup) for lookup in lookups]
        assert [segment and segment.metadata.segment_id for segment in following] == kafka["next_txn"], seed


def recorded_fields(facts):
    """Return an event as the oracle takes it, by what the release that wrote it said of it."""
    names = {"class": "type", "segmentSizeInBytes": "segment_size_bytes", "isTxnIdxEmpty": "txn_index_empty"}
    names |= {"txnIdxEmpty": "txn_index_empty"}
    snake = {name: re.sub("([A-Z])", r"_\1", name).lower() for name in facts}
    return {names.get(name, snake[name]): value for name, value in facts.items()}


def test_events_of_every_release_in_one_metadata_partition(oracle: Oracle, oracle_seed, tmp_path):
    choose = random.Random(oracle_seed)
    waiting = [list(values) for values in VALUES.values()]
    written = []
    while waiting := [values for values in waiting if values]:
        written.append(choose.choice(waiting).pop(0))
    folder = tmp_path / "__remote_log_metadata-7"
    folder.mkdir()
    batches, at = [], 0
    while at < len(written):
        values = [base64.b64decode(record["value"]) for record in written[at : at + choose.randint(1, 40)]]
        fields = {"last_offset_delta": len(values) - 1, "codec": choose.choice([0, 4])}
        batches.append(batch(at, values, **fields))
        at += len(values)
    (folder / LOG).write_bytes(b"".join(batches))
    (target,) = find([str(folder / LOG)], Selection()).targets
    with DataFile(target.path) as file:
        read = list(file_events(file, FindingCollector(target), EventCoverage()))
    store = RemoteStore()
    refused = {offset: store.apply(event, offset) for offset, event in read}

    by_partition = {}
    for offset, record in enumerate(written):
        facts = record["decoded"]
        if facts is not None and offset in refused and facts["class"].startswith("RemoteLogSegment"):
            key = (facts["topicId"], facts["topic"], facts["partition"])
            by_partition.setdefault(key, []).append((offset, recorded_fields(facts)))
    caches = dict(store)
    assert len(caches) > 30
    segments = 0
    for key, given in by_partition.items():
        if key not in caches:  # its deletion was finished
            continue
        kafka = oracle.ask("rlmm_cache", events=[fields for _, fields in given], epochs=[])
        assert [REFUSED_WITH.get(refused[offset] or "") for offset, _ in given] == [
            answer and answer["error"] for answer in kafka["applied"]
        ], key
        found = sorted(shown(segment.metadata) for segment in caches[key].segments.values())
        assert found == sorted(map(shown, kafka["list_all"])), key
        segments += len(found)
    assert segments > 100
