"""remote_log_snapshot files as a broker loads them, and the events that are replayed after them."""

import base64
import json
import shutil

import pytest

from kcli.jobs.rlmm.state import load_snapshot
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.remote.coverage import OffsetRange
from kcli.logdir.find import find
from kcli.logdir.targets import Selection
from tests.kcli.jobs.rlmm.dumps import LOG, SNAPSHOTS, batch, recorded, snapshot_file

CACHES = recorded("snapshot-caches.json.gz")
TOPIC_ID = "u4NdSfWRQjaZ_ENyxMXLJA"
METADATA = f"version: 0\ntopic_id: {TOPIC_ID}"
HEADER = bytes.fromhex("0000 00000002 0000000000000003 00000001")


def described(segment):
    names = ("COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED")
    return [
        segment.begun.segment_id,
        segment.begun.start_offset,
        segment.begun.end_offset,
        names[segment.state],
    ]


def test_files_load_as_each_release_loads_them(tmp_path):
    several = 0
    for number, (name, cache) in enumerate(CACHES.items()):
        facts = SNAPSHOTS[name]
        path = snapshot_file(
            tmp_path, f"{number}/{facts['topic']}-{facts['partition']}", base64.b64decode(facts["bytes"])
        )
        (target,) = find([str(path)], Selection()).targets
        found = load_snapshot(target, OffsetRange(), FindingCollector(target))
        if found is None:  # an empty file, or one that is cut within its header
            assert cache["all"] == [], name
            continue
        own = found.partition.store.caches[found.key]
        assert sorted(map(described, own.segments.values())) == sorted(cache["all"]), name
        assert set(map(str, own.epochs)) >= set(cache["epochs"]), name
        for epoch, facts_of_epoch in cache["epochs"].items():
            listed = list(map(described, own.listed(int(epoch))))
            # of an entry that comes again these releases list the segment twice
            once = {segment_id: each for each in facts_of_epoch["segments"] for segment_id in each[:1]}
            assert sorted(listed) == sorted(once.values()), (name, epoch)
            assert own.highest_offset(int(epoch)) == facts_of_epoch["highestOffset"], (name, epoch)
        several += len(cache["all"]) > 2
    assert several > 20


def event(kind, segment, *more, state):
    """Return a value of 3.1: api key, segment number, numbers in the order of their fields."""
    place = b"\4foo" + base64.urlsafe_b64decode(TOPIC_ID + "==") + bytes(4) + b"\0"
    name = segment.to_bytes(16, "big") + b"\0"
    return bytes([1, kind, 0]) + place + name + b"".join(more) + bytes([state, 0])


def i64(number):
    return number.to_bytes(8, "big")


def i32(number):
    return number.to_bytes(4, "big")


def segment(number, start, end, time):
    body = (i64(start), i64(end), i32(1), i64(5), i64(time), b"\2", i32(0), i64(start), b"\0", i32(77))
    return event(0, number, *body, state=0)


def update(number, state, time):
    return event(1, number, i32(1), i64(time), state=state)


def entry(number, start, end, time, state):
    body = (i64(start), i64(end), i32(1), i64(5), i64(time), b"\2", i32(0), i64(start), b"\0", i32(77))
    value = b"\1\3\0" + number.to_bytes(16, "big") + b"".join(body) + bytes([state, 0])
    return i32(len(value)) + value


EVENTS = [
    segment(1, 0, 9, 100),
    update(1, 1, 101),
    segment(2, 10, 19, 102),
    update(2, 1, 103),
    update(1, 2, 104),
    update(1, 3, 105),
    segment(3, 20, 29, 106),
]
COVERED = [entry(1, 0, 9, 101, 1), entry(2, 10, 19, 103, 1)]


@pytest.fixture
def data(tmp_path):
    """Return a function that writes a log dir: a snapshot file of foo-0, and what else is given."""

    def write(entries, covered, *, events=EVENTS, committed=None):
        folder = tmp_path / "data" / "foo-0"
        if folder.parent.exists():
            shutil.rmtree(folder.parent)
        folder.mkdir(parents=True)
        (folder / "partition.metadata").write_text(METADATA)
        (folder / f"{0:020}.log").write_bytes(b"")
        header = bytes(2) + i32(2) + i64(covered) + i32(len(entries))
        (folder / "remote_log_snapshot").write_bytes(header + b"".join(entries))
        if events:
            log = folder.parent / "__remote_log_metadata-2"
            log.mkdir()
            (log / LOG).write_bytes(batch(0, events, last_offset_delta=len(events) - 1))
        if committed is not None:
            (folder.parent / "_rlmm_committed_offsets").write_text(f"0\n1\n2 {committed}\n")
        return folder.parent

    return write


def replayed(kcli, path, *words):
    document = json.loads(kcli("rlmm", "state", path, "--replay", "-o", "json", *words).stdout)
    (row,) = document["rows"]
    return row, [finding["code"] for finding in document["findings"] if finding["code"].startswith("RLMM-02")]


def test_what_a_file_covers_and_what_a_replay_adds(kcli, data):
    row, codes = replayed(kcli, data(COVERED, 3))

    assert (row["topic_id"], row["topic"], row["partition"], row["metadata_partition"]) == (
        TOPIC_ID,
        "foo",
        0,
        2,
    )
    assert (row["covered_offset"], row["committed_offset"], row["segments"]) == (3, None, 2)
    assert (row["is_as_events"], row["last_offset"], row["events_after"]) == (True, 6, 3)
    assert (row["segments_added"], row["segments_changed"], row["segments_removed"]) == (1, 0, 1)
    assert codes == []


def test_the_state_from_files_and_later_events_is_that_from_all_events(kcli, data):
    path = data(COVERED, 3)
    names = "topic_id,segment_id,start_offset,end_offset,state,referenced,event_timestamp_ms"
    words = ("rlmm", "state", path, "-o", "tsv", "--columns", names)

    assert (
        kcli(*words, "--from", "snapshots").stdout
        == kcli(*words).stdout
        == kcli(*words, "--from", "events").stdout
    )
    alone = kcli(*words[:2], path / "foo-0", *words[3:], "--no-headers").stdout.splitlines()
    assert [line.split("\t")[2:5] for line in alone] == [
        ["0", "9", "COPY_SEGMENT_FINISHED"],
        ["10", "19", "COPY_SEGMENT_FINISHED"],
    ]


def test_a_file_that_is_not_as_the_events_and_a_committed_offset_ahead_of_it(kcli, data):
    row, codes = replayed(kcli, data(COVERED[:1], 3, committed=5))
    assert (row["is_as_events"], row["committed_offset"], codes) == (False, 5, ["RLMM-026", "RLMM-026"])

    message = json.loads(
        kcli("rlmm", "check", data(COVERED, 3, committed=5), "--from", "snapshots", "-o", "json").stdout
    )["findings"]
    (ahead,) = [finding["message"] for finding in message if finding["code"] == "RLMM-026"]
    assert "covers offset 3, and 5 is committed" in ahead and "2 events about it among them" in ahead


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([COVERED[0]], "the file has no segment {2} of offsets 10..19"),
        ([*COVERED, entry(4, 20, 29, 103, 1)], "the events have no segment {4} of offsets 20..29"),
        (
            [COVERED[0], entry(2, 10, 19, 109, 0)],
            "segment {2} of offsets 10..19 has another event_timestamp_ms, state",
        ),
        (
            [entry(4, 0, 9, 101, 1)],
            (
                "the file has no segment {1} of {0}; the events have no segment {4} of {0}; "
                "the file has no segment {2} of offsets 10..19"
            ),
        ),
        (
            [entry(number, 0, 9, 101, 1) for number in (1, 4, 5, 6)],
            (
                "the events have no segment {4} of {0}; the events have no segment {5} of {0}; "
                "the events have no segment {6} of {0}; and 1 more"
            ),
        ),
    ],
)
def test_a_file_that_is_not_as_the_events_says_which_segment_differs(kcli, data, entries, said):
    ids = [base64.urlsafe_b64encode(number.to_bytes(16, "big")).decode()[:22] for number in range(1, 7)]
    done = kcli("rlmm", "state", data(entries, 3), "--replay", "-o", "json")
    findings = json.loads(done.stdout)["findings"]
    (message,) = [each["message"] for each in findings if each["code"] == "RLMM-026"]

    assert message == f"not as the events up to offset 3: {said.format('offsets 0..9', *ids)}"


def test_without_events_what_a_replay_adds_is_not_known(kcli, data):
    row, codes = replayed(kcli, data(COVERED, 3, events=()))

    assert (row["is_as_events"], row["last_offset"], row["events_after"], codes) == (None, None, 0, [])


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [(b"\0\1" + bytes(16), 3, "version"), (HEADER + i32(5), 3, "entry"), (b"", 0, ""), (HEADER[:9], 1, "")],
)
def test_a_damaged_file_is_an_error_and_the_others_are_answered(kcli, data, content, status, message):
    path = data(COVERED, 3, events=())
    (path / "foo-0" / "remote_log_snapshot").write_bytes(content)
    done = kcli("rlmm", "state", path, "-o", "json")
    document = json.loads(done.stdout)

    assert (done.exit_code, document["rows"]) == (status, [])
    assert all(
        message in error["message"] and "remote_log_snapshot" in error["path"] for error in document["errors"]
    )


def test_processes_and_selected_topics(kcli, data):
    path = data(COVERED, 3)
    words = ("rlmm", "state", path, "--from", "snapshots", "-o", "ndjson")

    assert kcli(*words, "--jobs", "2").stdout == kcli(*words).stdout
    assert kcli(*words, "--topic", "foo").stdout == kcli(*words).stdout
    assert kcli(*words, "--topic", "bar").exit_code == 3


@pytest.mark.parametrize(
    "words",
    [
        ("--from", "x"),
        ("--replay", "--from", "events"),
        ("--history", "x", "--from", "snapshots"),
        ("--replay", "--list", "1"),
    ],
)
def test_what_makes_no_sense_is_refused(kcli, data, words):
    done = kcli("rlmm", "state", data(COVERED, 3), *words)

    assert (done.exit_code, done.stdout) == (2, "")
