"""What tests of commands share."""

import json
import os
import shutil
import tempfile

import pytest

from tests.builders import put_record, put_records
from tests.conftest import LogDir
from tests.kcli.views.fleet import fleet
from tests.partitions import orders as put_orders
from tests.partitions import put_range, put_topic_id
from tests.tiered import cluster

MANY_PARTITIONS = 2000
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
def orders(log_dir):
    """A log dir with three partitions of a topic, one with two leader epochs, and one of Kafka's own."""
    log_dir.partition("orders-0")
    log_dir.partition("orders-1", epochs=((0, 0), (1, 3)), end=7)
    log_dir.partition("orders-10")
    log_dir.partition("__internal-0")
    return log_dir.path


@pytest.fixture
def dump(kcli):
    """Run `kcli dump -o json`: rows by type, and the whole document with its exit status."""

    def run(*words):
        done = kcli("dump", "-o", "json", *words)
        document = json.loads(done.stdout)
        rows = {}
        for row in document["rows"]:
            rows.setdefault(row.pop("type"), []).append(row)
        return rows, document | {"status": done.exit_code}

    return run


@pytest.fixture
def short_directory():
    """A directory whose name leaves room for that of a socket."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        yield directory


@pytest.fixture(scope="module")
def dirs(tmp_path_factory):
    """Five log dirs, of which the last has a flipped byte."""
    return fleet(tmp_path_factory.mktemp("fleet"), 5)


@pytest.fixture(scope="module")
def many_partitions(tmp_path_factory):
    """A log dir of so many partitions that a command about it can be interrupted."""
    log_dir = LogDir(tmp_path_factory.mktemp("many") / "data")
    first = log_dir.partition("many-0")
    for number in range(1, MANY_PARTITIONS):
        shutil.copytree(first, log_dir.path / f"many-{number}", copy_function=os.link)
    return log_dir.path


@pytest.fixture
def damaged(tmp_path):
    """A partition with a wrong checksum, garbage, and batches after both."""
    wrong = bytearray(put_range(5, 5))
    wrong[-1] ^= 1
    good = [put_range(base, 5) for base in (0, 10, 20)]
    batches = good[0], bytes(wrong), good[1], b"\xff" * 70, good[2], b"\0" * 40
    return put_topic_id(put_orders(tmp_path / "data", *batches))


@pytest.fixture
def node(tmp_path):
    """A copy of the log dir of the recorded cluster with remote storage, for damage."""
    return shutil.copytree(cluster().node1, tmp_path / "node")
