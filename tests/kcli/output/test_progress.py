"""The progress bar: drawn for people who wait, not for scripts."""

import os
import pty
import re
import subprocess
import sys

import pytest

from tests.terminal import terminal

CODE = """
import time
from kcli.output import progress
progress.PATIENCE_SECONDS = {patience}
with progress.progress(3) as done:
    for count in (1, 2, 3):
        time.sleep({seconds})
        done(count, count * 1000)
print("data")
"""


@pytest.mark.parametrize(("patience", "drawn"), [(0, True), (60, False)])
def test_drawn_only_after_patience(patience, drawn):
    shown, reported, status = terminal(
        [sys.executable, "-c", CODE.format(patience=patience, seconds=0.05)], stream="stderr", COLUMNS="80"
    )

    assert (reported, status) == (b"data\n", 0)
    assert (b"3 of 3, 3.0 kB" in shown) == drawn
    assert drawn or shown == b""


def test_the_bar_is_drawn_before_the_first_input_is_done():
    master, slave = pty.openpty()
    code = CODE.format(patience=0, seconds=0).replace("time.sleep(0)", "input()")
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=slave,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    )
    os.close(slave)
    seen = b""
    while b"0 of 3" not in seen:
        seen += os.read(master, 65536)
    process.communicate(b"\n" * 3)
    os.close(master)
    assert process.returncode == 0


@pytest.mark.slow
def test_the_time_that_is_left_is_estimated():
    code = """
import time
from kcli.output import progress
progress.PATIENCE_SECONDS = 0.01
with progress.progress(4, 4_000_000) as done:
    for number in range(1, 4):
        time.sleep(1)
        done(number, number * 1_000_000)
    time.sleep(0.3)
"""
    shown, _, status = terminal([sys.executable, "-c", code], stream="stderr", COLUMNS="80")

    assert status == 0
    assert b"3 of 4, 3.0 MB" in shown
    assert re.search(rb"ETA [^\r]*0:00:0[1-9]", shown)
