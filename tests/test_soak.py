"""`make soak`: what fails is printed with its seed."""

import time

from tests import soak

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
