"""The Python session in the manual: it is run again, line by line."""

import os
import sys
import tarfile

import pytest

from tests.documents import ROOT, session
from tests.processes import run_program


@pytest.mark.spark
def test_session_in_the_manual_prints_what_it_shows(tmp_path):
    (tmp_path / "session.txt").write_text(session("spark"))
    with tarfile.open(next((ROOT / "kcli" / "demo").glob("*.tar.gz"))) as tar:
        tar.extractall(tmp_path, filter="data")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }

    done = run_program(
        [sys.executable, "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", "session.txt"],
        cwd=tmp_path,
        env=environment,
    )

    assert (done.stdout, done.returncode) == ("", 0)
