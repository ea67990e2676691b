"""The inputs of the measuring are what they say."""

import json
import random

import numpy as np
import pytest

from formats.batch import BATCH, CRC_FROM, LOG_OVERHEAD
from formats.crc import crc32c
from tests.bench.inputs import ALIVE, STAMP, Spec, alive, load
from tests.bench.make import CODECS, index_entries, make, repeat, tiny_batches

pytestmark = pytest.mark.slow


def batches(data):
    """Return (position, header) of every batch; all checksums must be right."""
    at = 0
    while at < len(data):
        header = BATCH.read(data, at)
        size = LOG_OVERHEAD + header.batch_length
        assert crc32c(data[at + CRC_FROM : at + size]) == header.crc
        yield at, header
        at += size
    assert at == len(data)


def test_repeated_batches_follow_on_fill_segments_and_are_what_the_facts_say(tmp_path):
    prototypes = tiny_batches(random.Random(5))
    group = sum(len(prototype.data) for prototype in prototypes)
    facts = repeat(tmp_path, prototypes, size=group * 5 + 50, segment_bytes=group * 2 - 70, chunk_bytes=group)
    logs = sorted(tmp_path.glob("*.log"))
    assert len(logs) == 3
    assert facts.bytes == sum(log.stat().st_size for log in logs) <= group * 5 + 50 < facts.bytes + 400
    following = 0
    for log in logs:
        assert int(log.stem) == following
        found = dict(batches(log.read_bytes()))
        for header in found.values():
            assert header.base_offset == following
            following += header.last_offset_delta + 1
        entries = list(index_pairs(log.with_suffix(".index").read_bytes()))
        assert len(entries) == pytest.approx(log.stat().st_size / 4096, abs=2)
        assert all(found[position].base_offset - int(log.stem) == relative for relative, position in entries)
    assert following == facts.records == facts.last_offset + 1 == facts.batches


def index_pairs(data):
    return (
        (int.from_bytes(data[at : at + 4], "big"), int.from_bytes(data[at + 4 : at + 8], "big"))
        for at in range(0, len(data), 8)
    )


def test_index_has_an_entry_where_four_kilobytes_are_full():
    assert list(index_pairs(index_entries(np.array([0, 4000, 4100, 9000]), np.array([1, 3, 5, 7])))) == [
        (5, 4100),
        (7, 9000),
    ]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_of_words_are_read_back(tmp_path, kcli, codec):
    made = make(tmp_path, Spec(f"records.{codec}", 300))
    rows = [
        json.loads(text)
        for text in kcli("dump", "--records", "--bytes", "text", "-o", "ndjson", made.log).stdout.splitlines()
    ]
    assert [row["offset"] for row in rows] == list(range(300))
    assert {header.attributes for _, header in batches(made.log.read_bytes())} == {CODECS[codec]}
    assert all(row["value"].endswith(f" {row['offset']}") and len(row["key"]) == 9 for row in rows)


def test_number_of_batches_is_kept(tmp_path):
    assert repeat(tmp_path, tiny_batches(random.Random(5)), batches=150)[1:] == (150, 150, 149)


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        (Spec("big", 100_000), {f"{0:020}.log", f"{0:020}.index"}),
        (Spec("records.lz4", 1000), {f"{0:020}.log", f"{0:020}.index"}),
        (
            Spec("small", 200),
            {f"{0:020}.log", f"{0:020}.index", f"{0:020}.timeindex", "leader-epoch-checkpoint"},
        ),
        (Spec("events", 40), {f"{0:020}.log", f"{0:020}.index"}),
    ],
)
def test_inputs_hold_what_their_facts_say(tmp_path, spec, names):
    made = make(tmp_path, spec)
    assert {path.name for path in made.folder.iterdir()} == names
    headers = [header for _, header in batches(made.log.read_bytes())]
    assert made.facts == (
        made.log.stat().st_size,
        len(headers),
        sum(header.records_count for header in headers),
        headers[-1].base_offset + headers[-1].last_offset_delta,
    )


def test_partitions_are_partitions_with_epochs(tmp_path):
    made = make(tmp_path, Spec("partitions", 3))
    assert sorted(path.name for path in made.folder.iterdir()) == [
        ".kafka_cleanshutdown",
        "meta.properties",
        "topic-0",
        "topic-1",
        "topic-2",
    ]
    assert (made.folder / "topic-2" / "leader-epoch-checkpoint").read_text().splitlines()[2:] == [
        f"{n} {n * 20}" for n in range(1, 6)
    ]


def test_events_are_lives_of_segments_no_two_alike(tmp_path, kcli):
    made = make(tmp_path, Spec("events", 40))
    events = [
        json.loads(text) for text in kcli("rlmm", "dump", made.folder, "-o", "ndjson").stdout.splitlines()
    ]
    assert [event["state"] for event in events[:4]] == [
        "COPY_SEGMENT_STARTED",
        "COPY_SEGMENT_FINISHED",
        "DELETE_SEGMENT_STARTED",
        "DELETE_SEGMENT_FINISHED",
    ]
    assert len({event["segment_id"] for event in events}) == 10
    assert [event["start_offset"] for event in events[::4]] == list(range(0, 10_000, 1000))
    assert [event["timestamp"] for event in events] == [event["event_timestamp_ms"] for event in events]
    assert len({event["timestamp"] for event in events}) == 40


def test_an_input_is_made_once_and_anew_if_it_would_be_another(tmp_path):
    spec = Spec("small", 100)
    assert load(tmp_path, spec) is None
    made = make(tmp_path, spec)
    before = made.log.stat().st_mtime_ns
    assert make(tmp_path, spec) == load(tmp_path, spec) == made
    assert made.log.stat().st_mtime_ns == before
    stamp = tmp_path / spec.name / STAMP
    stamp.write_text(stamp.read_text().replace(json.loads(stamp.read_text())["by"], "other"))
    assert load(tmp_path, spec) is None
    assert make(tmp_path, spec) == made
    assert load(tmp_path, spec) == made


def test_segments_that_are_left_of_lives(kcli, tmp_path):
    made = make(tmp_path, Spec("lives.zstd", 2 * ALIVE + 6))
    rows = kcli("rlmm", "state", made.folder, "-o", "ndjson").stdout.splitlines()

    assert [alive(events) for events in (1, 2, 3, 2 * ALIVE + 1, 2 * ALIVE + 4)] == [
        1,
        1,
        2,
        ALIVE + 1,
        ALIVE,
    ]
    assert len(rows) == alive(made.facts.records) == ALIVE + 1
    assert {batch.records_count for _, batch in batches(made.log.read_bytes())} == {50, 6}
