"""The judge as a fixture; how much it was asked goes below the test run's summary."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from tests.seeds import SEED

from .oracle import Oracle, missing_tools

LINES = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def oracle(pytestconfig: pytest.Config) -> Iterator[Oracle]:
    """Return Kafka's own classes, ready to be asked."""
    missing = missing_tools()
    if missing:
        reason = f"the oracle needs {' and '.join(missing)} on the PATH (Java 17 and Maven)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    started = time.monotonic()
    with Oracle() as judge:
        yield judge
        asked = ", ".join(f"{count} {op}" for op, count in sorted(judge.asked.items()))
        lines = pytestconfig.stash.setdefault(LINES, [])
        lines.append(f"asked: {asked}")
        lines.append(f"build {judge.build_seconds:.1f} s, all {time.monotonic() - started:.1f} s")


@pytest.fixture(scope="session")
def oracle_seed(pytestconfig: pytest.Config) -> int:
    """Return the seed of this run's random cases: always the same, or KCLI_SEED."""
    pytestconfig.stash.setdefault(LINES, []).append(f"KCLI_SEED={SEED}")
    return SEED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash.get(LINES, []):
        terminalreporter.write_line(f"oracle: {line}")
