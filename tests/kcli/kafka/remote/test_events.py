"""The events of a segment: those that `rlmm dump` shows and a broker can use, and the same findings."""

import base64
import gzip
import random
from itertools import accumulate

import pytest

from formats.compression import GZIP, LZ4, NONE, SNAPPY, ZSTD
from formats.magic import is_above_latest, is_valid
from kcli.jobs.rlmm.dump import valid_record
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.remote.coverage import EventCoverage
from kcli.kafka.remote.events import file_events
from kcli.logdir.buffers import DataFile
from kcli.logdir.find import find
from kcli.logdir.segment import Walk
from kcli.logdir.targets import Selection
from tests.kcli.jobs.rlmm.dumps import DATA, DELETE, LOG, VALUES, Result, batch
from tests.messages import put_message

pytestmark = pytest.mark.slow

WRITTEN = [base64.b64decode(value["value"]) for values in VALUES.values() for value in values]


def dumped(path):
    """Return the usable events, and the findings, by `rlmm dump`."""
    result = Result(path)
    found = [
        (row.metadata_offset, record)
        for row in result.rows
        if (record := valid_record(row)) is not None and row.record_type != "RemoteLogSegmentMetadataSnapshot"
    ]
    return found, result.findings


def read(path):
    (target,) = find([str(path)], Selection()).targets
    collector = FindingCollector(target)
    with DataFile(str(path)) as file:
        found = [
            (offset, record._replace(unknown_tags=()))
            for offset, record in file_events(file, collector, EventCoverage())
        ]
    return found, collector.take()


def same(path):
    """Return what is read: the events of whole batches, and what a dump finds in the log."""
    found, findings = read(path)
    with DataFile(str(path)) as file:
        batches = [file.read(each.position, each.header.size) for each in Walk(file)]
    whole = path.parent / "whole" / LOG
    whole.parent.mkdir()
    whole.write_bytes(b"".join(one for one in batches if is_valid(one) and not is_above_latest(one[16])))

    assert found == rising(dumped(whole)[0])
    assert of_the_log(findings) == of_the_log(dumped(path)[1])
    return found, findings


def rising(events):
    """Return those that are above all before: a flipped base offset is covered by no checksum."""
    tops = accumulate((offset for offset, _ in events), max, initial=-1)
    return [event for event, top in zip(events, tops, strict=False) if event[0] > top]


def of_the_log(findings):
    """Return them without counts: a dump goes on in a batch of a wrong checksum."""
    return [finding._replace(more=0) for finding in findings if finding.code.startswith("LOG-")]


def mixed(seed, size=4):
    """Return what every release wrote, in one log, in batches of all codecs."""
    chance = random.Random(seed)
    values = [WRITTEN[number] for number in chance.sample(range(len(WRITTEN)), 400)]
    batches, base = [], 0
    while values:
        some, values = values[:size], values[size:]
        codec = chance.choice([NONE, GZIP, SNAPPY, LZ4, ZSTD])
        batches.append(batch(base, some, codec=codec, last_offset_delta=len(some) - 1))
        base, size = base + len(some), chance.randrange(1, 30)
    return b"".join(batches)


@pytest.mark.parametrize("partition", range(4))
def test_what_a_broker_wrote(tmp_path, partition):
    path = tmp_path / LOG
    path.write_bytes(
        gzip.decompress((DATA / f"tiered/__remote_log_metadata-{partition}/{LOG}.gz").read_bytes())
    )

    found, findings = same(path)
    assert findings == [] and (found or partition != 3)


def test_every_release_in_one_log(tmp_path):
    path = tmp_path / LOG
    path.write_bytes(mixed("releases"))

    found, findings = same(path)
    assert len(found) > 300 and {finding.code for finding in findings} <= {"RLMM-001", "RLMM-004"}


@pytest.mark.parametrize("seed", range(12))
def test_damage_of_any_kind(tmp_path, seed):
    chance, path = random.Random(seed), tmp_path / LOG
    data = bytearray(mixed(seed))
    for _ in range(chance.choice([1, 1, 2, 5])):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data[: chance.randrange(len(data))] if chance.random() < 0.3 else data)

    same(path)


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

    found, findings = same(path)
    assert [offset for offset, _ in found] == [0, 4, 6, 7, 8]
    assert [finding.code for finding in findings] == ["RLMM-002", "RLMM-001", "RLMM-008", "LOG-003"]
