"""A recorded tiered cluster: a stopped broker's log dir, its remote storage, and what it had answered."""

import json
import tarfile
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

PACKED = Path(__file__).parent / "data" / "rlmm" / "cluster.tar.gz"
SPECS = ("earliest", "latest", "max-timestamp", "earliest-local", "latest-tiered", "earliest-pending-upload")
METADATA = "__remote_log_metadata-0"
LOG = f"{0:020}.log"


class Cluster(NamedTuple):
    """`node1`: the log dir; `storage`: what LocalTieredStorage held; `answers`: of the running cluster."""

    node1: Path
    storage: Path
    answers: dict[str, Any]


@cache
def cluster() -> Cluster:
    """Return the recording, unpacked once; tests read it and never write to it."""
    root = Path(mkdtemp(prefix="kcli-tiered-"))
    with tarfile.open(PACKED) as packed:
        packed.extractall(root, filter="data")
    answers = json.loads((root / "cluster" / "answers.json").read_text())
    return Cluster(root / "cluster" / "node1", root / "cluster" / "storage", answers)


def batch_position(data, offset):
    """Return the position of the batch that begins at an offset."""
    position = 0
    while int.from_bytes(data[position : position + 8], "big") < offset:
        position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    assert int.from_bytes(data[position : position + 8], "big") == offset
    return position
