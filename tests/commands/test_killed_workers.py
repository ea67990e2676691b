"""Workers killed at random moments: no run hangs, and every answer of status 0 has the right bytes."""

import os
import random
import signal
import subprocess
import time
from contextlib import suppress

import pytest

from tests.partitions import log_dir, put_log
from tests.processes import ENVIRONMENT, KCLI, workers_of

pytestmark = pytest.mark.slow

COMMANDS = {
    "text": ("dump", "--records", "-o", "text"),
    "json": ("dump", "--records", "-o", "json"),
    "scan": ("scan", "-o", "ndjson"),
}
MESSAGES = (b"the process that read it died", b"--jobs cannot work here, use --jobs 1")
"""Of a unit whose worker died twice; of a worker that died before it began."""
RUNS = 5
"""Of each command; on a busy machine its workers may have ended before the moment comes."""
MOST_SECONDS = 300
"""A run takes one or two; on a busy machine more."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """One log that is read in ranges, and some small ones."""
    home = log_dir(tmp_path_factory.mktemp("killed") / "data")
    put_log(home / "orders-0", 1000)
    for number in range(1, 20):
        put_log(home / f"orders-{number}", 20)
    return home


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_workers_killed_at_random_moments_cost_no_byte(logs, words, tmp_path):
    chance = random.Random(str(words))
    begun = time.monotonic()
    whole = subprocess.run([*KCLI, *words, logs], capture_output=True, check=True, env=ENVIRONMENT)
    seconds = time.monotonic() - begun
    for _ in range(RUNS):
        moments = [chance.uniform(0, 0.6) * seconds for _ in range(chance.choice([1, 2]))]
        status, out, error = run_and_kill([*KCLI, *words, "--jobs", "2", logs], moments, tmp_path, chance)
        if status == 0:
            assert (out, error) == (whole.stdout, whole.stderr)
        else:
            assert status == 4, error
            assert any(message in error for message in MESSAGES), error


def run_and_kill(words, moments, directory, chance):
    """Kill a worker of a command some seconds after there are any; return status and both outputs."""
    with open(directory / "out", "wb") as out, open(directory / "error", "wb") as error:
        process = subprocess.Popen(words, stdout=out, stderr=error, env=ENVIRONMENT)
        for moment in moments:
            while not (workers := workers_of(process.pid)) and process.poll() is None:
                time.sleep(0.005)
            time.sleep(moment)
            if workers and process.poll() is None:
                with suppress(ProcessLookupError):
                    os.kill(chance.choice(workers), signal.SIGKILL)
        process.wait(MOST_SECONDS)
    return process.returncode, (directory / "out").read_bytes(), (directory / "error").read_bytes()
