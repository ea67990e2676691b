"""The records of a metadata log, many batches at once: as each batch by itself."""

from random import Random

import pytest

from formats.messages.metadata import METADATA_RECORDS
from kcli.kafka.kraft.metadata_loader import TORN_END, Metadata, Until
from kcli.logdir.buffers import DataFile, FileError
from tests.builders import put_record, put_records
from tests.metadata_records import CLUSTER, change
from tests.metadata_records import batch as put_batch

pytestmark = pytest.mark.slow

NO_OP = b"\x01\x14\x00\x00"
OTHERS = 3000
"""Batches without effect between two of effect: more than one window of a walk holds."""


def topic(name):
    """Return a TopicRecord, the id of which begins with the name's first byte."""
    assert METADATA_RECORDS[2].name == "TopicRecord"
    return b"\x01\x02\x00" + bytes([len(name) + 1]) + name + name[:1] * 16 + b"\x00"


def batch(offset, *values, epoch=1, **fields):
    records = [put_record(number, number, None, value) for number, value in enumerate(values)]
    return put_records(records, base_offset=offset, partition_leader_epoch=epoch, **fields)


@pytest.fixture
def log(tmp_path):
    """Return batches: a topic at 0 and one each after so many records without effect, each in a batch."""
    data = [batch(0, topic(b"a"))]
    for name in (b"b", b"c"):
        data += [batch(len(data) + n, NO_OP) for n in range(OTHERS)]
        data.append(batch(len(data), topic(name), epoch=2))
    return tmp_path / "00000000000000000000.log", data


def read(path, data, start=0):
    path.write_bytes(b"".join(data))
    found = Metadata("d")
    with DataFile(str(path)) as file:
        found.read(file, path.name, start)
    return found, [each.name for each in found.image.topics.values()]


def test_every_record_of_effect_counts_and_the_image_is_of_the_last_batch(log):
    found, topics = read(*log)
    assert topics == ["a", "b", "c"]
    assert (found.end_offset, found.image.offset, found.image.epoch) == (2 * OTHERS + 3, 2 * OTHERS + 2, 2)


@pytest.mark.parametrize(
    ("start", "topics"), [(1, ["b", "c"]), (OTHERS + 1, ["b", "c"]), (OTHERS + 2, ["c"])]
)
def test_records_below_the_start_do_not_count(log, start, topics):
    assert read(*log, start)[1] == topics


def test_a_batch_over_the_start_counts_from_there(log):
    path, _ = log
    assert read(path, [batch(0, topic(b"a"), topic(b"b"), topic(b"c"))], 1)[1] == ["b", "c"]


def test_a_wrong_checksum_names_the_batch_where_it_counts(log):
    path, data = log
    at = OTHERS // 2
    data[at] = data[at][:-1] + b"?"
    with pytest.raises(FileError) as caught:
        read(path, data)
    assert (caught.value.code, caught.value.position) == ("corrupt", len(b"".join(data[:at])))
    assert read(path, data, at + 1)[1] == ["b", "c"]


def test_what_is_after_the_last_whole_batch_is_a_finding(log):
    path, data = log
    found, topics = read(path, [*data, batch(9999, topic(b"z"))[:-1]])
    assert topics == ["a", "b", "c"]
    findings = [(finding.code, finding.position) for finding in found.findings]
    assert findings == [(TORN_END, len(b"".join(data)))]


def test_a_transaction_counts_with_records_without_effect_in_it(log):
    path, _ = log
    begin, end = b"\x01\x17\x00\x00", b"\x01\x18\x00\x00"
    names = [METADATA_RECORDS[api_key].name for api_key in (23, 24)]
    assert names == ["BeginTransactionRecord", "EndTransactionRecord"]
    data = [batch(0, begin, NO_OP, topic(b"a"), NO_OP), batch(4, NO_OP)]
    assert read(path, data)[1] == []
    assert read(path, [*data, batch(5, end)])[1] == ["a"]


def test_many_records_at_once_are_folded_as_each_by_itself(tmp_path):
    choose, data, offset = Random(20260), list[bytes](), 0
    while offset < OTHERS:
        values = choose.choices([*CLUSTER, NO_OP, change(leader=2), change(1, isr=(3,)), b"?"], k=5)
        data.append(put_batch(offset, *values[: choose.randrange(1, 5)]))
        offset += 5
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"".join(data))
    found = []
    for until in (Until(), Until(offset=10 * OTHERS)):
        metadata = Metadata("d")
        metadata.until = until
        with DataFile(str(path)) as file:
            metadata.read(file, path.name)
        found.append((metadata.image, metadata.findings, metadata.record_places, metadata.end_offset))
    assert found[0] == found[1]
    assert found[0][1][0].more > OTHERS // 50
