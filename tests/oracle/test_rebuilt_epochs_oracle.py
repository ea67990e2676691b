"""The leader-epoch-checkpoint of `epoch show --from batches -o text`, opened by UnifiedLog of Kafka."""

from __future__ import annotations

import pytest

from kcli.jobs import epoch as epoch_jobs
from tests.partitions import unit
from tests.seeds import cases

from .logs import random_log
from .oracle import Oracle

pytestmark = pytest.mark.oracle

LOGS = 25


def test_a_broker_starts_with_the_epochs_that_have_records(oracle: Oracle, oracle_seed: int) -> None:
    for number in range(cases(LOGS)):
        log = random_log(oracle, oracle_seed + number, clean=True, damaged=False)
        file = log.directory / "leader-epoch-checkpoint"
        lines = list(
            epoch_jobs.checkpoint_lines(
                epoch_jobs.show(unit(log.directory), source=epoch_jobs.FROM_BATCHES).rows
            )
        )
        begins, end = log.facts["log_start_offset"], log.facts["log_end_offset"]
        first = log.facts["segments"][0]["base_offset"]
        written: dict[int, int] = {}
        for batch in log.facts["batches"]:
            if batch["base_offset"] >= first and batch["leader_epoch"] >= 0:
                written.setdefault(batch["leader_epoch"], batch["base_offset"])
        below = [[epoch, begins] for epoch, start in written.items() if start <= begins]
        kept = below[-1:] + [[epoch, start] for epoch, start in written.items() if start > begins]
        kept = [[epoch, start] for epoch, start in kept if start < end]
        file.write_text("".join(f"{line}\n" for line in lines))
        kafka = oracle.ask("truncate", directory=log.directory, restart="none", **log.opening)["loaded"]

        place = f"KCLI_SEED={oracle_seed} log {number}"
        assert kafka["log_end_offset"] == end, place
        assert kafka["epochs"] == kept, place
        log.remove()
