"""What jobs yield apart from rows: blocks travel between processes without copies of their bytes."""

import pickle

import pytest

from kcli.rows import ArrowBlock, TextBlock, type_name
from kcli.rows.remote_metadata import RlmmPartitionRow

TEXT = TextBlock((b"one\n", bytearray(b"two\n"), memoryview(b"three\n")))


def test_buffers_of_a_block_are_pickled_out_of_band():
    buffers = []
    data = pickle.dumps(TEXT, 5, buffer_callback=buffers.append)
    found = pickle.loads(data, buffers=[bytes(buffer) for buffer in buffers])

    assert [bytes(buffer) for buffer in buffers] == [bytes(buffer) for buffer in TEXT.buffers]
    assert all(bytes(buffer) not in data for buffer in TEXT.buffers)
    assert type(found) is TextBlock
    assert [bytes(buffer) for buffer in found.buffers] == [bytes(buffer) for buffer in TEXT.buffers]


def test_a_title_stays_one():
    assert pickle.loads(pickle.dumps(TextBlock((b"Dumping 0.log\n",), is_title=True), 5)).is_title
    assert not pickle.loads(pickle.dumps(TEXT, 5)).is_title


@pytest.mark.parametrize(
    ("item", "name"),
    [(RlmmPartitionRow("t", 0, 3), "rlmm_partition"), (ArrowBlock("dump_batch", None), "dump_batch")],
)
def test_every_item_has_the_name_of_its_type(item, name):
    assert type_name(item) == name
