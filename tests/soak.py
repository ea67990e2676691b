"""Runs the random judges with new seeds for as long as it is asked to: `python -m tests.soak 30m`.

Prints, for each test that fails, the command that runs it again with the same seed. Exit status 1 then. Words
after the time go to pytest: `python -m tests.soak 1h tests/oracle`.
"""

import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time

UNITS = {"s": 1, "m": 60, "h": 3600}
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$")


def seconds_of(text: str) -> int:
    """Return the seconds of a time as `90s`, `30m` or `2h`."""
    number, unit = re.fullmatch(r"(\d+)([smh])", text).groups()
    return int(number) * UNITS[unit]


def run(seed: int, seconds: float, words: list[str]) -> tuple[list[str], int | None]:
    """Run the random judges with a seed.

    Return a command for each that failed, and the status of pytest, None where time was up.
    """
    line = [sys.executable, "-m", "pytest", "-q", "-m", "random", "-n", "2", "-rfE", "--tb=short", *words]
    seeds = {"KCLI_SEED": str(seed), "PYTHONHASHSEED": str(seed)}
    process = subprocess.Popen(line, env={**os.environ, **seeds}, stdout=subprocess.PIPE, text=True)
    is_late = False
    try:
        printed, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        is_late = True
        process.send_signal(signal.SIGINT)  # pytest still says what failed until then
        printed, _ = process.communicate()
    failed = [found[1] for found in map(FAILED.match, printed.splitlines()) if found]
    if failed:
        print(printed, flush=True)
    words_before = " ".join(f"{name}={value}" for name, value in seeds.items())
    again = [f"{words_before} {sys.executable} -m pytest {shlex.quote(test)}" for test in failed]
    return again, None if is_late else process.returncode


def main() -> int:
    """Return 1 if a test failed with any of the seeds."""
    end = time.monotonic() + seconds_of(sys.argv[1])
    again, rounds = [], 0
    while (left := end - time.monotonic()) > 0:
        seed = random.SystemRandom().randrange(1 << 31)
        print(f"KCLI_SEED={seed}", flush=True)
        failed, status = run(seed, left, sys.argv[2:])
        again += failed
        rounds += status is not None
        if status is not None and status > 1:  # pytest itself failed
            again.append(f"KCLI_SEED={seed}: pytest ended with status {status}")
            break
    print(f"{rounds} whole rounds, {len(again)} failures", *again, sep="\n")
    return bool(again)


if __name__ == "__main__":
    sys.exit(main())
