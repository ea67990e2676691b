"""Columns of batches, of every magic."""

import pytest

from kcli.dump.blocks import Block
from kcli.dump.options import DumpOptions
from kcli.dump.read_blocks import Log, read_blocks
from kcli.dump.render.batch_columns import batch_columns, is_control
from kcli.kafka.findings.collector import FindingCollector
from kcli.logdir.buffers import DataFile
from kcli.logdir.find import file_target
from tests.messages import put_message
from tests.partitions import put_range

LOG_APPEND, CONTROL = 8, 32


def blocks(path, data):
    path.write_bytes(data)
    target = file_target(str(path))
    with DataFile(str(path)) as file:
        log = Log(file, target, DumpOptions(), FindingCollector(target))
        return [item for item in read_blocks(log, 0, file.size) if isinstance(item, Block)]


@pytest.mark.parametrize(
    ("data", "types"),
    [
        (put_range(0, 2) + put_range(2, 2, attributes=LOG_APPEND), ["CreateTime", "LogAppendTime"]),
        (put_message(0, 1) + put_message(1, 1, attributes=LOG_APPEND), ["CreateTime", "LogAppendTime"]),
        (put_message(0, 0) + put_message(1, 0, attributes=LOG_APPEND), ["NoTimestampType"] * 2),
        (put_message(0, 0) + put_message(1, 1), ["NoTimestampType", "CreateTime"]),
    ],
    ids=["2", "1", "0", "0 and 1"],
)
def test_a_message_of_magic_0_has_no_timestamp_type(tmp_path, data, types):
    found = [
        text
        for block in blocks(tmp_path / f"{0:020}.log", data)
        for text in batch_columns(block, ["timestamp_type"])["timestamp_type"].to_pylist()
    ]

    assert found == types


def test_flags_of_magic_2_mean_nothing_below(tmp_path):
    new, old = (
        [bool(flag) for block in blocks(tmp_path / f"{0:020}.log", data) for flag in is_control(block)]
        for data in (
            put_range(0, 1, attributes=CONTROL, producer_id=1),
            put_message(0, 1, attributes=CONTROL),
        )
    )

    assert (new, old) == ([True], [False])


def test_columns_come_in_the_order_of_their_names(tmp_path):
    (block,) = blocks(tmp_path / f"{0:020}.log", put_range(5, 3, epoch=7))
    found = batch_columns(block, ("partition_leader_epoch", "magic", "base_offset"))

    assert list(found) == ["partition_leader_epoch", "magic", "base_offset"]
    assert [column.to_pylist() for column in found.values()] == [[7], [2], [5]]


def test_a_wrapper_does_not_say_how_many_records_it_holds(tmp_path):
    (block,) = blocks(tmp_path / f"{0:020}.log", put_message(0, 1, value=b"v", attributes=1))

    assert batch_columns(block, ("count",))["count"].to_pylist() == [None]
