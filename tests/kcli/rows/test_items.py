"""What jobs yield apart from rows: blocks travel between processes without copies of their bytes."""

import pickle

import pytest

from kcli.rows import ArrowBlock, EncodedRows, TextBlock, type_name
from kcli.rows.remote_metadata import RlmmPartitionRow

TEXT = TextBlock((b"one\n", bytearray(b"two\n"), memoryview(b"three\n")))
ENCODED = EncodedRows("rlmm_partition", 2, b"a\tb\nc\td\n")


@pytest.mark.parametrize("block", [TEXT, ENCODED])
def test_buffers_of_a_block_are_pickled_out_of_band(block):
    buffers = []
    data = pickle.dumps(block, 5, buffer_callback=buffers.append)
    found = pickle.loads(data, buffers=[bytes(one) for one in buffers])

    assert [bytes(one) for one in buffers] == [bytes(one) for one in block.buffers]
    assert all(bytes(one) not in data for one in block.buffers)
    assert type(found) is type(block)
    assert [bytes(one) for one in found.buffers] == [bytes(one) for one in block.buffers]


def test_encoded_rows_keep_their_type_and_count():
    found = pickle.loads(pickle.dumps(ENCODED, 5))

    assert (found.type_name, found.count) == ("rlmm_partition", 2)


def test_a_title_stays_one():
    assert pickle.loads(pickle.dumps(TextBlock((b"Dumping 0.log\n",), is_title=True), 5)).is_title
    assert not pickle.loads(pickle.dumps(TEXT, 5)).is_title


@pytest.mark.parametrize(
    ("item", "name"),
    [
        (RlmmPartitionRow("t", 0, 3), "rlmm_partition"),
        (ArrowBlock("dump_batch", None), "dump_batch"),
        (ENCODED, "rlmm_partition"),
    ],
)
def test_every_item_has_the_name_of_its_type(item, name):
    assert type_name(item) == name
