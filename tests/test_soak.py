"""`make soak`: what fails is printed with its seed."""

import os
import re
import subprocess
import sys
import time

import pytest

from tests import soak
from tests.starts.predicted import RECORDED

pytestmark = pytest.mark.slow

CODE = """
import pytest
from tests.seeds import SEED

pytestmark = pytest.mark.random


def test_fails():
    assert SEED == 20260


def test_passes():
    assert True
"""


def test_what_fails_is_printed_with_its_seed(tmp_path):
    (tmp_path / "test_some.py").write_text(CODE)
    words = ["-c", "pyproject.toml", "-n", "0", str(tmp_path)]
    again, status = soak.run(7, time.time() + 600, words)

    assert status == 1
    assert soak.run(7, 0, words) == ([], 0)
    (line,) = again
    assert line.startswith("KCLI_SEED=7 ") and line.endswith("test_some.py::test_fails")


def test_a_soak_starts_every_release_over_the_log_dirs_of_every_other():
    line = [sys.executable, "-m", "pytest", "-q", "--collect-only", "tests/starts/test_real_brokers.py"]
    environment = {**os.environ, "KCLI_STARTS": "all"}
    collected = subprocess.run(line, env=environment, capture_output=True, text=True, check=True).stdout
    assert {f"[{'-'.join(start)}]" for start in RECORDED} <= set(
        re.findall(r"\[.*\]$", collected, re.MULTILINE)
    )
    matrix = [start for start in RECORDED if start[2] == "healthy" and "-" not in start[0]]
    bases, releases, _ = map(set, zip(*matrix, strict=True))
    assert (len(bases), len(releases), len(matrix)) == (4, 9, 36)
