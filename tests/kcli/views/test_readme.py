"""The session in the README is a real one: it is run again, line by line."""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.spark
def test_the_session_in_the_readme_gives_what_it_shows(tmp_path):
    (block,) = re.findall(r"```python\n(>>> .*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (tmp_path / "session.txt").write_text(block)
    with tarfile.open(next((ROOT / "kcli" / "demo").glob("*.tar.gz"))) as tar:
        tar.extractall(tmp_path, filter="data")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }

    done = subprocess.run(
        [sys.executable, "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", "session.txt"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )

    assert (done.stdout, done.returncode) == ("", 0)
