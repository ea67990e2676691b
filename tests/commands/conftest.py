"""What tests of commands share."""

import tempfile

import pytest

from tests.builders import put_record, put_records
from tests.kcli.views.fleet import fleet

LOG = "00000000000000000000.log"


@pytest.fixture
def long_log(log_dir):
    """A partition of 200 batches of two records each, with an index entry for every tenth batch."""
    folder = log_dir.path / "orders-0"
    folder.mkdir()
    data, index = b"", b""
    for number in range(200):
        if number % 10 == 9:
            index += (2 * number + 1).to_bytes(4, "big") + len(data).to_bytes(4, "big")
        data += put_records(
            [put_record(value=b"a"), put_record(offset_delta=1, value=b"b")], base_offset=2 * number
        )
    (folder / LOG).write_bytes(data)
    (folder / "00000000000000000000.index").write_bytes(index)
    return folder


@pytest.fixture
def short_directory():
    """A directory whose name leaves room for that of a socket."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        yield directory


@pytest.fixture(scope="module")
def dirs(tmp_path_factory):
    """Five log dirs, of which the last has a flipped byte."""
    return fleet(tmp_path_factory.mktemp("fleet"), 5)
