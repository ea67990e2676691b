"""The events of a segment: those that `rlmm dump` shows and a broker can use, and the same findings."""

import gzip

import pytest

from formats.compression import ZSTD
from kcli.jobs.rlmm.dump import valid_record
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.remote.coverage import EventCoverage
from kcli.kafka.remote.events import file_events
from kcli.logdir.buffers import DataFile
from kcli.logdir.find import find
from kcli.logdir.targets import Selection
from tests.kcli.jobs.rlmm.dumps import DATA, DELETE, LOG, Result, batch
from tests.messages import put_message


def read(path):
    (target,) = find([str(path)], Selection()).targets
    collector = FindingCollector(target)
    with DataFile(str(path)) as file:
        found = [
            (offset, record._replace(unknown_tags=()))
            for offset, record in file_events(file, collector, EventCoverage())
        ]
    return found, collector.take()


@pytest.mark.parametrize("partition", range(4))
def test_what_a_broker_wrote(tmp_path, partition):
    path = tmp_path / LOG
    path.write_bytes(
        gzip.decompress((DATA / f"tiered/__remote_log_metadata-{partition}/{LOG}.gz").read_bytes())
    )

    found, findings = read(path)
    assert findings == [] and (found or partition != 3)
    assert found == [(row.metadata_offset, valid_record(row)) for row in Result(path).rows]


def test_batches_that_are_not_ordinary_among_those_that_are(tmp_path):
    path = tmp_path / LOG
    path.write_bytes(
        b"".join([
            batch(0, [DELETE, None, b"text"]),
            batch(3, [DELETE], attributes=0x20, producer_id=5),
            put_message(4, 1, value=DELETE),
            batch(5, [DELETE], crc=7),
            batch(6, [DELETE] * 3, codec=ZSTD, last_offset_delta=2),
        ])
    )  # fmt: skip

    found, findings = read(path)
    assert [offset for offset, _ in found] == [0, 6, 7, 8]
    assert [finding.code for finding in findings] == ["RLMM-002", "RLMM-001", "RLMM-008", "LOG-003"]
    assert (findings[-1].message, findings[-1].more) == ("offset 4: magic 1, which no release writes here", 1)
