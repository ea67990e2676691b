"""The maker still makes: one recording anew, by real brokers, against the committed one."""

import socket
import subprocess
import sys

import pytest

from tests.recordings import pack


@pytest.mark.oracle
def test_a_new_recording_is_like_the_committed_one(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["single", "--data", str(tmp_path), "--base-port", str(port - 1)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.recordings.record", *words],
        cwd=pack.DATA.parents[2],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr

    new, old = pack.manifest("single", tmp_path), pack.manifest("single")
    pack.unpack("single", tmp_path, tmp_path)
    assert (tmp_path / "single.golden.gz").stat().st_size > 1000
    for same in ("name", "kafka_version", "steps", "captures"):
        assert new[same] == old[same]
    ends = [
        {
            (row["topic"], row["spec"]): row["offset"]
            for row in manifest["facts"]["offsets"]
            if row["spec"] in {"earliest", "latest"}
        }
        for manifest in (new, old)
    ]
    assert ends[0] == ends[1]
