"""`rlmm dump` over log dirs: recordings of a tiered cluster, and what Kafka's serde and formatter printed."""

import base64
import gzip
import json

import pytest

from formats.remote_metadata import decode
from kcli.engine.contract import Unit
from kcli.jobs.rlmm import dump as rlmm
from kcli.jobs.rlmm import kip
from kcli.jobs.rlmm.dump import kafka_lines, record_of, with_record
from kcli.logdir.find import find
from kcli.logdir.targets import Selection
from kcli.rows import type_name
from kcli.rows.remote_metadata import RlmmEventRow
from tests.builders import put_batch, put_record, put_records
from tests.kcli.jobs.rlmm.dumps import (
    DATA,
    DELETE,
    EVENTS,
    LOG,
    SNAPSHOTS,
    VALUES,
    Result,
    batch,
    snapshot_file,
)
from tests.messages import put_message, put_wrapper

pytestmark = pytest.mark.slow


@pytest.fixture
def log_dir(tmp_path):
    """The four metadata partitions as a stopped broker left them, and a partition that is none of them."""
    root = tmp_path / "d0"
    for packed in sorted((DATA / "tiered").glob("*/*.log.gz")):
        directory = root / packed.parent.name
        directory.mkdir(parents=True)
        (directory / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
    (root / "t-plain-0").mkdir()
    (root / "t-plain-0" / LOG).write_bytes(b"")
    (root / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=x\n")
    return root


@pytest.fixture
def partition(tmp_path):
    """Write the bytes of one segment of __remote_log_metadata-7 and give its directory."""

    def write(*parts, name="__remote_log_metadata-7"):
        directory = tmp_path / name
        directory.mkdir(exist_ok=True)
        (directory / LOG).write_bytes(b"".join(parts))
        return directory

    return write


def test_every_event_of_a_log_dir_is_what_kafkas_serde_read(log_dir):
    result = Result(log_dir)

    assert (result.failures, result.findings) == ([], [])
    assert len(result.events) == len(EVENTS) == 196
    names = {"type": "record_type", "segment_size_bytes": "segment_size_bytes"}
    for event, expected in zip(result.events, EVENTS, strict=True):
        decoded = {
            names.get(key, key): value for key, value in expected.items() if key not in {"file", "to_string"}
        }
        assert {key: value for key, value in event.items() if key in decoded} == decoded
        assert event["dir"] == str(log_dir / f"__remote_log_metadata-{expected['metadata_partition']}")
        assert event["file"] == LOG
        assert {event[name] for name in set(event) - set(decoded)} <= {
            None,
            event["dir"],
            LOG,
            0,
            "3.6",
            "4.0",
        }
    assert list(kafka_lines(result.rows)) == [
        f"partition: {event['metadata_partition']}, offset: {event['metadata_offset']}, value: "
        f"{event['to_string']}"
        for event in EVENTS
    ]


@pytest.mark.slow
@pytest.mark.parametrize("version", VALUES)
@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_every_value_version_in_a_segment(partition, version, codec):
    items = VALUES[version]
    values = [base64.b64decode(item["value"]) for item in items]
    result = Result(partition(batch(0, values[:50], codec=codec), batch(50, values[50:], codec=codec)))

    assert [event["record_type"] for event in result.events] == [item["decoded"]["class"] for item in items]
    assert [event["state"] for event in result.events] == [item["decoded"]["state"] for item in items]
    assert {event["metadata_partition"] for event in result.events} == {7}
    assert [event["metadata_offset"] for event in result.events] == list(range(len(items)))
    old = version < "3.6"
    assert ("RLMM-004" in result.codes) == old
    assert result.codes.count("RLMM-004") <= 1
    lines = list(kafka_lines(result.rows))
    assert len(lines) == len(items)
    if not old:
        expected = [item["formatter"].split(", value: ")[1] for item in items]
        assert [line.split(", value: ")[1] for line in lines] == expected


def test_a_row_gives_back_its_record():
    for items in VALUES.values():
        for item in items[::7]:
            record = decode(base64.b64decode(item["value"]))
            assert record_of(with_record(RlmmEventRow("d", "f"), record)) == record


def test_a_value_that_cannot_be_decoded_is_a_row_with_its_bytes_and_the_error(partition):
    unknown_state = DELETE[:-2] + b"\x09\0"
    unknown_tag = DELETE[:-1] + b"\1\5\1x"
    result = Result(
        partition(batch(10, [DELETE, None, b"", b"\1\7", unknown_state, unknown_tag, b"text"], key=b"k"))
    )

    assert [
        (event["metadata_offset"], event["state"], event["raw"], event["error"]) for event in result.events
    ] == [
        (10, "DELETE_PARTITION_MARKED", None, None),
        (11, None, None, "null value"),
        (12, None, b"", "byte 0: frame version: expected a varint, found 0 bytes of it"),
        (13, None, b"\1\7", "byte 1: api key: expected 0, 1, 2 or 3, found 7"),
        (14, "9", None, None),
        (15, "DELETE_PARTITION_MARKED", unknown_tag, None),
        (16, None, b"text", "byte 0: frame version: expected 1, found 116"),
    ]
    assert [(finding.code, finding.position) for finding in result.findings] == [
        ("RLMM-002", 0),
        ("RLMM-001", 0),
    ]
    assert result.findings[1].more == 3
    assert [line.split(",")[1] for line in kafka_lines(result.rows)] == [" offset: 10", " offset: 15"]


ONE, TWO = batch(0, [DELETE] * 3), batch(3, [DELETE] * 2)
ABOVE_2 = batch(3, [DELETE], magic=3)


@pytest.mark.parametrize(
    ("parts", "rows", "codes", "position"),
    [
        ([ONE, TWO], 5, [], None),
        ([ONE, TWO[:-1]], 3, ["LOG-001"], len(ONE)),
        ([ONE, TWO[:17]], 3, ["LOG-001"], len(ONE)),
        ([ONE, bytes(100)], 3, ["LOG-004"], len(ONE)),
        ([ONE, b"\xff" * 100], 3, ["LOG-002"], len(ONE)),
        ([ONE, bytes(8) + b"\0\0\0\5" + bytes(40)], 3, ["LOG-002"], len(ONE)),
        ([ONE, TWO[:20] + b"\0" + TWO[21:], ONE], 8, ["LOG-003"], len(ONE)),
        ([ONE, TWO[:61] + b"\x7f" + TWO[62:], ONE], 6, ["LOG-003"], len(ONE)),
        ([ONE, put_batch(b"not gzip", 1, base_offset=3, attributes=1), ONE], 6, ["LOG-003"], len(ONE)),
        ([ONE, put_batch(b"x", 1, base_offset=3, attributes=7), ONE], 6, ["LOG-003"], len(ONE)),
        ([ONE, batch(3, [b"\0\0\0\0\0\0"], attributes=0x20), ONE], 6, ["RLMM-008"], len(ONE)),
        ([ONE, ABOVE_2, batch(4, [DELETE] * 2)], 6, ["LOG-017", "RLMM-035"], len(ONE)),
        ([b"short"], 0, ["LOG-001"], 0),
        ([], 0, [], None),
    ],
)
def test_damage_is_a_finding_and_the_rest_is_shown(partition, parts, rows, codes, position):
    result = Result(partition(*parts))

    assert len(result.rows) == rows
    assert sorted(set(result.codes)) == codes
    assert result.failures == []
    assert {finding.position for finding in result.findings} == ({position} if codes else set())
    assert {finding.path for finding in result.findings} <= {str(partition(*parts) / LOG)}


def test_a_long_segment_is_dumped_in_several_calls(partition):
    values = [DELETE] * 1500
    directory = partition(*(batch(n * 1500, values) for n in range(4)), batch(6000, [None]))

    result = Result(directory)

    assert [event["metadata_offset"] for event in result.events] == list(range(6001))
    assert result.calls == 3
    assert result.codes == ["RLMM-002"]


def test_large_values_are_dumped_in_several_calls(partition):
    """Values that are no remote log metadata: their bytes bound what a call holds, compressed or not."""
    directory = partition(*(batch(n * 3, [b"x" * 1_800_000] * 3, codec=1) for n in range(6)))

    result = Result(directory)

    assert [event["metadata_offset"] for event in result.events] == list(range(18))
    assert result.calls == 6


def test_what_was_read_before_a_file_shrank_is_shown(partition, monkeypatch):
    path = partition(ONE, bytes(5000), ONE) / LOG
    path.write_bytes(b"".join(batch(n, [b"x" * 5000]) for n in range(4)))
    reads = rlmm.DataFile.read

    def shrinking(file, position, length):
        data = reads(file, position, length)
        if position > 0:
            path.write_bytes(path.read_bytes()[:6000])
        return data

    monkeypatch.setattr(rlmm.DataFile, "read", shrinking)
    result = Result(path)

    assert len(result.rows) >= 1
    assert [failure.error for failure in result.failures] == ["changed"]


def test_metadata_partition_is_null_outside_directories_of_the_metadata_topic(partition, tmp_path):
    """A directory of no known name is read if named; a number of another topic is no metadata partition."""
    for name, number in [("copied", None), ("other-3", None), ("__remote_log_metadata-12", 12)]:
        directory = partition(ONE, name=name)

        assert [event["metadata_partition"] for event in Result(directory / LOG).events] == [number] * 3
    assert [event["metadata_partition"] for event in Result(tmp_path / "copied").events] == [None] * 3
    (line, *_) = kafka_lines(Result(tmp_path / "copied").rows)
    assert line.startswith("partition: null, offset: 0, value: RemotePartitionDeleteMetadata{")


def test_a_log_dir_of_3_5_shows_all_three(log_dir):
    item = next(item for name, item in SNAPSHOTS.items() if name.startswith("3.5.2/history-0/"))
    snapshot_file(log_dir, "t-plain-0", base64.b64decode(item["bytes"]))
    (log_dir / "_rlmm_committed_offsets").write_text("0\n1\n3 64\n")
    result = Result(log_dir)

    kinds = [type_name(row) for row in result.rows]
    assert (
        kinds == sorted(kinds, key=["rlmm_event", "rlmm_snapshot", "rlmm_committed_offset"].index)
        or kinds.count("rlmm_snapshot") == 1
    )
    assert kinds[-1] == "rlmm_committed_offset"
    assert result.events[-1] == {
        "dir": str(log_dir),
        "file": "_rlmm_committed_offsets",
        "metadata_partition": 3,
        "committed_offset": 64,
    }
    assert list(kafka_lines(result.rows))[-1] == "metadata_partition: 3, committed_offset: 64"
    assert next(kafka_lines(Result(log_dir / "t-plain-0").rows)).startswith(
        "version: 0, metadata_partition: "
    )


def test_lines_are_those_of_kip_405(partition):
    segment = next(item for item in VALUES["4.3.1"] if item["decoded"]["class"] == "RemoteLogSegmentMetadata")
    decoded = segment["decoded"]
    result = Result(partition(batch(5, [base64.b64decode(segment["value"]), DELETE])))

    names = f"topicId:{decoded['topicId']},topicName:{decoded['topic']},partition:{decoded['partition']}"
    offsets = f"start-offset:{decoded['startOffset']},end-offset:{decoded['endOffset']}"
    segment_value = (
        f"{{remote-log-segment-id:{{id:{decoded['segmentId']},{names}}},{offsets},"
        f"broker-id:{decoded['brokerId']},remote-log-segment-state:{decoded['state']}}}"
    )
    place = "{topicId:u4NdSfWRQjaZ_ENyxMXLJA,topicName:foo,partition:0}"
    delete_value = (
        f"{{topic-id-partition:{place},broker-id:1,remote-partition-delete-state:DELETE_PARTITION_MARKED}}"
    )
    assert list(kip.lines(result.rows)) == [
        f"partition:7,message-offset:5,type:RemoteLogSegmentMetadata,version:0,event-value:{segment_value}",
        f"partition:7,message-offset:6,type:DeletePartitionState,version:0,event-value:{delete_value}",
    ]


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path):
    target = find([str(snapshot_file(tmp_path, "t-0", b""))], Selection()).targets[0]
    (tmp_path / "t-0" / "remote_log_snapshot").unlink()
    (tmp_path / "t-0" / "remote_log_snapshot").mkdir()
    outcome = rlmm.dump(Unit(number=3, targets=(target,)))

    assert (outcome.number, outcome.rows) == (3, [])
    assert (outcome.error.error, outcome.error.path) == (
        "is-a-directory",
        str(tmp_path / "t-0" / "remote_log_snapshot"),
    )


@pytest.mark.parametrize(
    "message", [put_message(3, 1, value=DELETE), put_wrapper(4, put_message(0, value=DELETE), 1)]
)
def test_messages_of_old_formats_are_a_finding_and_are_not_read(partition, message):
    result = Result(partition(ONE, message, batch(5, [DELETE])))

    assert [event["metadata_offset"] for event in result.events] == [0, 1, 2, 5]
    assert [(finding.code, finding.position) for finding in result.findings] == [("LOG-003", len(ONE))]


def test_findings_of_a_code_are_one_however_a_log_is_split(kcli, tmp_path, monkeypatch):
    monkeypatch.setattr(rlmm, "EVENT_ROWS", 4)
    folder = tmp_path / "__remote_log_metadata-7"
    folder.mkdir()
    batches = [
        put_records([put_record(value=b"text")] * 3, base_offset=at, last_offset_delta=2)
        for at in range(0, 30, 3)
    ]
    (folder / f"{0:020}.log").write_bytes(b"".join(batches))
    document = json.loads(kcli("rlmm", "dump", "-o", "json", folder).stdout)

    assert [(finding["code"], finding["message"].partition(" (")[2]) for finding in document["findings"]] == [
        ("RLMM-001", "and 29 more)")
    ]
    assert len(document["rows"]) == 30
