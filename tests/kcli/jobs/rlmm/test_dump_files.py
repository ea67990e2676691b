"""`rlmm dump` of the flat files of 3.1 to 3.8: snapshots of a cache, committed offsets."""

import base64

import pytest

from kcli.jobs.rlmm.dump import kafka_lines
from kcli.kafka.findings.catalogue import CATALOGUE
from kcli.rows import type_name
from tests.kcli.jobs.rlmm.dumps import OFFSETS, SNAPSHOTS, Result, snapshot_file

REFUSED_SINCE_3_6 = {"damaged/start-offset-negative": ["RLMM-001"], "damaged/end-before-start": ["RLMM-001"]}
"""Offsets that the caches of 3.1 to 3.5 load all the same."""


@pytest.mark.slow
@pytest.mark.parametrize("name", SNAPSHOTS)
def test_every_recorded_snapshot_file(name, tmp_path):
    item = SNAPSHOTS[name]
    data = base64.b64decode(item["bytes"])
    path = snapshot_file(tmp_path, f"{item['topic']}-{item['partition']}" if "topic" in item else "t-0", data)
    result = Result(path)
    header, entries = result.events[:1], result.events[1:]

    if not data:
        assert (result.rows, result.codes) == ([], ["RLMM-006"])
    elif len(data) < 18:
        assert (result.rows, result.codes) == ([], ["RLMM-005"])
    elif "read" in item and "cache_error" not in item:
        assert (result.codes, result.failures) == (REFUSED_SINCE_3_6.get(item["case"], []), [])
        assert header[0]["metadata_partition"] == item["read"]["metadataPartition"]
        assert header[0]["metadata_partition_offset"] == item["read"]["metadataPartitionOffset"]
        assert [entry["segment_id"] for entry in entries] == [
            entry["segmentId"] for entry in item["read"]["entries"]
        ]
        assert {(entry["topic"], entry["partition"], entry["metadata_offset"]) for entry in entries} <= {
            (item["topic"], item["partition"], None)
        }
        if item["version"] >= "3.6":
            expected = [entry["toString"][:-1] + ", txnIdxEmpty=false}" for entry in item["read"]["entries"]]
            assert list(kafka_lines(result.rows))[1:] == [f"value: {text}" for text in expected]
    else:
        reported = any(CATALOGUE[code].severity == "error" for code in result.codes)
        assert reported or [failure.error for failure in result.failures] in (
            ["truncated"],
            ["corrupt"],
            ["unsupported"],
        )


def test_a_partition_directory_with_nothing_but_a_snapshot(tmp_path):
    item = next(item for name, item in SNAPSHOTS.items() if name.startswith("3.7.2/one/"))
    path = snapshot_file(tmp_path, "t-0", base64.b64decode(item["bytes"]))

    assert Result(path.parent).rows == Result(path).rows
    assert len(Result(path).rows) == 2


def test_a_snapshot_with_one_bad_entry_shows_the_others(tmp_path):
    item = next(item for name, item in SNAPSHOTS.items() if name.startswith("3.7.2/damaged/entry-state-9"))
    result = Result(snapshot_file(tmp_path, "t-0", base64.b64decode(item["bytes"])))

    assert len(result.rows) == 21
    assert "9" in {event["state"] for event in result.events[1:]}
    assert result.codes == ["RLMM-001"]


@pytest.mark.parametrize("item", OFFSETS, ids=lambda item: item["case"])
def test_every_recorded_committed_offsets_file(item, tmp_path):
    path = tmp_path / "_rlmm_committed_offsets"
    path.write_bytes(item["text"].encode())
    result = Result(path)

    if "read" in item:
        assert result.failures == []
        assert {
            str(event["metadata_partition"]): event["committed_offset"] for event in result.events
        } == item["read"]
        assert {type_name(row) for row in result.rows} <= {"rlmm_committed_offset"}
    else:
        assert result.rows == []
        assert [failure.path for failure in result.failures] == [str(path)]
