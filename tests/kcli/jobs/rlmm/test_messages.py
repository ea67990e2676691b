"""`rlmm dump` over messages of magic 0 and 1: no release wrote them there, Kafka reads them all the same."""

import json

import pytest

from kcli.jobs.rlmm import dump as rlmm
from kcli.kafka.findings.findings import merged
from tests.builders import put_record, put_records
from tests.messages import put_message, put_wrapper
from tests.partitions import unit
from tests.rows import named

DELETE = bytes.fromhex("01020004666f6fbb835d49f591423699fc4372c4c5cb240000000000000000010000018bcfe568070000")


@pytest.fixture
def dump(tmp_path):
    """Write a segment of __remote_log_metadata-7; return (offset, timestamp, state, error), findings."""

    def run(*parts):
        path = tmp_path / "__remote_log_metadata-7" / f"{0:020d}.log"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"".join(parts))
        outcome = rlmm.dump(unit(path))
        assert outcome.error is None
        events = [named(row) for row in outcome.rows]
        shown = [
            (event["metadata_offset"], event["timestamp"], event["state"], event["error"]) for event in events
        ]
        return shown, [(found.code, found.position, found.message) for found in merged(outcome.findings)]

    return run


MARKED = "DELETE_PARTITION_MARKED"
PLAIN = put_message(0, timestamp=7, value=DELETE)


@pytest.mark.parametrize("codec", [1, 2, 3])
def test_messages_and_wrappers_are_read(dump, codec):
    inside = put_message(0, timestamp=8, value=DELETE) + put_message(2, timestamp=9, value=DELETE)
    old = put_message(5, 0, value=DELETE)
    shown, findings = dump(PLAIN, put_wrapper(4, inside, codec, timestamp=9), old)
    assert shown == [(0, 7, MARKED, None), (2, 8, MARKED, None), (4, 9, MARKED, None), (5, -1, MARKED, None)]
    assert findings == []


def test_damage_is_a_finding_and_the_rest_is_shown(dump):
    inside = put_message(0, timestamp=8, value=DELETE, crc=1) + put_message(1, value=b"", timestamp=9)
    shown, findings = dump(PLAIN, put_wrapper(2, inside + PLAIN[:-1]))
    assert [event[:3] for event in shown] == [(0, 7, MARKED), (1, 8, MARKED), (2, 9, None)]
    at = len(PLAIN)
    assert [finding[:2] for finding in findings] == [("LOG-003", at), ("RLMM-001", at), ("RLMM-035", at)]
    assert findings[0][2] == "offset 1: the checksum of this message does not match (and 1 more)"


def test_the_bytes_lost_in_a_cut_wrapper_are_a_finding(dump):
    shown, findings = dump(put_wrapper(2, PLAIN + PLAIN[:-1]))
    assert [event[0] for event in shown] == [2]
    assert findings == [("LOG-003", 0, f"offset 2: {len(PLAIN) - 1} bytes of a last message that is cut")]


def test_a_wrong_checksum_is_one_finding(dump):
    shown, findings = dump(put_message(0, value=DELETE, crc=1))
    assert len(shown) == 1
    assert findings == [("LOG-003", 0, "offset 0: the checksum does not match")]


def test_a_wrapper_that_cannot_be_opened_is_a_finding_and_is_skipped(dump):
    shown, findings = dump(put_message(0, attributes=1, value=b"not gzip"), PLAIN)
    assert len(shown) == 1
    assert [finding[:2] for finding in findings] == [("LOG-003", 0)]
    assert "byte 34: gzip" in findings[0][2]


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
