"""Runs the random judges with new seeds for as long as it is asked to: `python -m tests.soak 30m`.

Prints, for each test that fails, the command that runs it again with the same seed. Exit status 1 then. Words
after the time go to pytest: `python -m tests.soak 1h tests/oracle`.
"""

import os
import random
import re
import shlex
import subprocess
import sys
import time

import pytest

END = "KCLI_SOAK_END"
UNITS = {"s": 1, "m": 60, "h": 3600}
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$")


def seconds_of(text: str) -> int:
    """Return the seconds of a time as `90s`, `30m` or `2h`."""
    number, unit = re.fullmatch(r"(\d+)([smh])", text).groups()
    return int(number) * UNITS[unit]


def pytest_runtest_setup() -> None:
    """Leave out what is left when time is up: this module is also a plugin of the runs that it starts."""
    if time.time() > float(os.environ[END]):
        pytest.skip("time is up")


def run(seed: int, end: float, words: list[str]) -> tuple[list[str], int]:
    """Run the random judges with a seed until a time; return a command for each failure, and the status."""
    line = [sys.executable, "-m", "pytest", "-q", "-p", "tests.soak", "-m", "random", "-n", "2", "-rfE"]
    seeds = {"KCLI_SEED": str(seed), "PYTHONHASHSEED": str(seed), "KCLI_STARTS": "all"}
    environment = {**os.environ, **seeds, END: str(end)}
    done = subprocess.run(
        [*line, "--tb=short", *words], env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    failed = [found[1] for found in map(FAILED.match, done.stdout.splitlines()) if found]
    if failed:
        print(done.stdout, flush=True)
    words_before = " ".join(f"{name}={value}" for name, value in seeds.items())
    again = [f"{words_before} {sys.executable} -m pytest {shlex.quote(test)}" for test in failed]
    return again, done.returncode


def main() -> int:
    """Return 1 if a test failed with any of the seeds."""
    end = time.time() + seconds_of(sys.argv[1])
    again, rounds = [], 0
    while time.time() < end:
        seed = random.SystemRandom().randrange(1 << 31)
        print(f"KCLI_SEED={seed}", flush=True)
        failed, status = run(seed, end, sys.argv[2:])
        again += failed
        rounds += time.time() < end
        if status > 1:  # pytest itself failed
            again.append(f"KCLI_SEED={seed}: pytest ended with status {status}")
            break
    print(f"{rounds} whole rounds, {len(again)} failures", *again, sep="\n")
    return bool(again)


if __name__ == "__main__":
    sys.exit(main())
