"""`rlmm check` of a recorded partition whose events, or objects, are damaged: each by its own code."""

import base64
import json
import shutil

import pytest

from formats.primitives import uuid_bytes
from formats.remote_metadata import (
    RemoteLogSegmentMetadata,
    RemotePartitionDeleteMetadata,
    SegmentLeaderEpoch,
)
from kcli.jobs.rlmm.check import RESULT_OF_SEVERITY
from kcli.kafka.findings.catalogue import CATALOGUE
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.remote.coverage import EventCoverage
from kcli.kafka.remote.events import file_events
from kcli.kafka.remote.partitioning import partition_of_events
from kcli.logdir.buffers import DataFile
from kcli.logdir.find import find
from kcli.logdir.targets import Selection
from tests.builders import put_unsigned_varint
from tests.kcli.jobs.rlmm.dumps import LOG, batch

COPIED, DELETING, DELETED = 1, 2, 3
OTHER = base64.urlsafe_b64encode(bytes(range(16))).decode().rstrip("=")
DAY_AFTER = "2026-11-23"


def number(value, size):
    return value.to_bytes(size, "big", signed=True)


def sized(data):
    return put_unsigned_varint(0) if data is None else put_unsigned_varint(len(data) + 1) + data


def encoded(record):
    """Return the value of an event as 4.0 writes it."""
    place = sized(record.topic.encode()) + uuid_bytes(record.topic_id) + number(record.partition, 4) + b"\0"
    tail = number(record.state, 1) + b"\0"
    by = number(record.broker_id, 4)
    time = number(record.event_timestamp_ms, 8)
    if isinstance(record, RemotePartitionDeleteMetadata):
        return b"\1\2\0" + place + by + time + tail
    place += uuid_bytes(record.segment_id) + b"\0"
    if not isinstance(record, RemoteLogSegmentMetadata):
        return b"\1\1\0" + place + by + time + sized(record.custom_metadata) + tail
    entries = record.segment_leader_epochs
    epochs = b"".join(number(epoch, 4) + number(offset, 8) + b"\0" for epoch, offset in entries)
    offsets = number(record.start_offset, 8) + number(record.end_offset, 8)
    times = number(record.max_timestamp_ms, 8) + time
    size = put_unsigned_varint(len(entries) + 1) + epochs + number(record.segment_size_in_bytes, 4)
    return b"\1\0\0" + place + offsets + by + times + size + sized(record.custom_metadata) + tail


@pytest.fixture(scope="module")
def recorded(demo):
    """The events of the demo's tiered partition: eight segments of the leader epochs 0, 2, 4 and 6."""
    (target,) = find([str(demo / "__remote_log_metadata-1" / LOG)], Selection()).targets
    with DataFile(target.path) as file:
        return [record for _, record in file_events(file, FindingCollector(target), EventCoverage())]


def written(folder, records):
    """Write events as a metadata partition; return its directory."""
    folder = folder / "__remote_log_metadata-1"
    folder.mkdir()
    values = [
        record if record is None or isinstance(record, bytes) else encoded(record) for record in records
    ]
    (folder / LOG).write_bytes(batch(0, values, last_offset_delta=len(values) - 1))
    return folder


def ids(records):
    return list(dict.fromkeys(record.segment_id for record in records))


def without(records, segment, *states):
    """Return the events but those of a segment, or those alone of it that bring these states."""
    gone = ids(records)[segment]
    return [
        record for record in records if record.segment_id != gone or (states and record.state not in states)
    ]


def later(records, segment, *states):
    """Return the events, and updates of a segment to some states after them."""
    own = ids(records)[segment]
    (last,) = [record for record in records if record.segment_id == own and record.state == COPIED]
    return [*records, *(last._replace(state=state) for state in states)]


def changed(records, segment, **fields):
    """Return the events with other fields in the first one of a segment."""
    own = ids(records)[segment]
    return [
        record._replace(**fields)
        if record.segment_id == own and isinstance(record, RemoteLogSegmentMetadata)
        else record
        for record in records
    ]


def copied_again(records, segment, **fields):
    """Return the events, and those of another segment like one of them, with other fields."""
    own = ids(records)[segment]
    mine = [record._replace(segment_id=OTHER) for record in records if record.segment_id == own]
    return [*records, mine[0]._replace(**fields), *mine[1:]]


def marked(records, state):
    first = records[0]
    place = {name: getattr(first, name) for name in ("layout", "version", "topic", "topic_id", "partition")}
    deletion = RemotePartitionDeleteMetadata(
        **place, broker_id=1, event_timestamp_ms=first.event_timestamp_ms, state=state, unknown_tags=()
    )
    return [*records, deletion]


def epochs(*entries):
    return tuple(SegmentLeaderEpoch(*entry) for entry in entries)


DAMAGES = {
    "a copy is never finished": ("RLMM-009", lambda all_: without(all_, 7, COPIED)),
    "a deletion is never finished": ("RLMM-009", lambda all_: later(all_, 0, DELETING)),
    "a deletion that was not begun": ("RLMM-011", lambda all_: later(all_, 0, DELETED)),
    "the first event of a segment is gone": ("RLMM-012", lambda all_: without(all_, 7, 0)),
    "a segment begins as copied": (
        "RLMM-013",
        lambda all_: [*all_, all_[0]._replace(segment_id=OTHER, state=COPIED)],
    ),
    "all events of a segment are gone": ("RLMM-014", lambda all_: without(all_, 3)),
    "an epoch begins after the end": (
        "RLMM-015",
        lambda all_: changed(all_, 7, segment_leader_epochs=epochs((6, 165), (7, 999))),
    ),
    "the partition was marked for deletion": ("RLMM-020", lambda all_: marked(all_, 0)),
    "the partition was deleted, its segments not": ("RLMM-020", lambda all_: marked(all_, 2)),
    "a longer copy": ("RLMM-017", lambda all_: copied_again(all_, 7, end_offset=199)),
    "an epoch with two beginnings, so with offsets of a later one": (
        "RLMM-028 RLMM-017",
        lambda all_: changed(
            changed(all_, 3, segment_leader_epochs=epochs((2, 75), (4, 80))),
            4,
            segment_leader_epochs=epochs((2, 90), (4, 100)),
        ),
    ),
    "offsets of a later epoch": ("RLMM-017", lambda all_: changed(all_, 3, end_offset=95)),
    "a copy that begins inside of another": (
        "RLMM-017",
        lambda all_: copied_again(
            all_, 7, start_offset=170, segment_leader_epochs=epochs((6, 170)), end_offset=175
        ),
    ),
    "a value that is cut": ("RLMM-001", lambda all_: [*all_, encoded(all_[0])[:40]]),
    "a record without a value": ("RLMM-002", lambda all_: [*all_, None]),
    "an unknown state": ("RLMM-001", lambda all_: [*all_, all_[0]._replace(state=9)]),
}


def check(kcli, path, *words):
    document = json.loads(kcli("rlmm", "check", path, "--at", DAY_AFTER, "-o", "json", *words).stdout)
    return document["rows"], [finding["code"] for finding in document["findings"]]


def test_as_recorded_there_is_nothing(kcli, demo, recorded, tmp_path):
    rows, codes = check(kcli, written(tmp_path, recorded))

    assert (codes, [row["result"] for row in rows], rows[0]["events"]) == ([], ["clean"], 16)
    assert [{**row, "dir": None} for row in check(kcli, demo / "__remote_log_metadata-1")[0]] == [
        {**row, "dir": None} for row in rows
    ]


@pytest.mark.parametrize("what", DAMAGES)
def test_each_damage_has_its_code(kcli, recorded, tmp_path, what):
    codes, damage = DAMAGES[what]

    rows, found = check(kcli, written(tmp_path, damage(recorded)))
    assert set(found) == set(codes.split())
    severities = {CATALOGUE[code].severity for code in found}
    worst = next((severity for severity in ("error", "warning") if severity in severities), "info")
    assert [row["result"] for row in rows] == [RESULT_OF_SEVERITY[worst]]


def test_the_verdict_says_what_was_not_read_and_not_compared(kcli, recorded, tmp_path):
    def verdict(*words):
        drawn = kcli("rlmm", "check", path, "--at", DAY_AFTER, "-o", "table", *words).stdout
        return " ".join(drawn.partition("\n\n")[0].split())

    path = written(tmp_path, [*recorded, None])
    assert "remote storage (--storage), the leader's log of 1 partition (--leader)" in verdict()
    assert verdict().startswith("Incomplete: __remote_log_metadata-1/")
    metrics = kcli("rlmm", "check", path, "-o", "prometheus").stdout
    assert "\nkcli_rlmm_check_errors 1\n" in metrics
    listing = tmp_path / "objects"
    listing.write_text(
        "".join(f"9 {offset:020}-{segment_id}.log\n" for offset, segment_id in enumerate(ids(recorded)))
    )
    assert "Not read: the contents of 8 objects" in verdict("--storage", listing)


def test_events_are_where_a_broker_looks_for_them(kcli, recorded, tmp_path):
    own = written(tmp_path, recorded)
    for number in (0, 2, 3):
        copy = own.with_name(f"__remote_log_metadata-{number}")
        copy.mkdir()
        (copy / LOG).write_bytes(b"")
    place = partition_of_events(recorded[0].topic_id, 0, 4).partition
    assert place != 1
    rows, codes = check(kcli, tmp_path)
    assert ([row["result"] for row in rows], codes) == (["damaged"], ["RLMM-037"])

    own.rename(own.with_name("moved"))
    shutil.rmtree(own.with_name(f"__remote_log_metadata-{place}"))
    own.with_name("moved").rename(own.with_name(f"__remote_log_metadata-{place}"))
    (own.with_name("__remote_log_metadata-1")).mkdir()
    (own.with_name("__remote_log_metadata-1") / LOG).write_bytes(b"")
    assert check(kcli, tmp_path)[1] == []


def test_an_input_that_holds_no_events_is_an_error_alone_and_beside_others(kcli, demo, tmp_path):
    log = next((demo / "orders-0").glob("*.log"))
    notes, tier = tmp_path / "notes.txt", tmp_path / f"t-0-{OTHER}"
    notes.write_text("events\n")
    tier.mkdir()
    (tier / f"{0:020}-{OTHER}.log").write_bytes(b"")
    messages = {
        notes: "this is a file of kind unknown; name one of log, remote-log-snapshot",
        tier: "this is a directory of remote segments; name one of log, remote-log-snapshot",
        log: "this is a log of another topic than __remote_log_metadata",
    }
    for command in ("check", "state"):
        for path, message in messages.items():
            for others, status in ((), 3), ((demo,), 4):
                done = kcli("rlmm", command, *others, path, "-o", "json")
                (error,) = json.loads(done.stdout)["errors"]
                assert (error["path"], error["message"]) == (str(path), message)
                assert (done.exit_code, bool(json.loads(done.stdout)["rows"])) == (status, bool(others))
    assert "\nkcli_rlmm_check_errors 3\n" in kcli("rlmm", "check", demo, *messages, "-o", "prometheus").stdout
