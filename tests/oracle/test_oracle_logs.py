"""The random logs: the real log reads them as it wrote them, and one seed always makes the same."""

from __future__ import annotations

import pytest

from tests.seeds import cases

from .logs import random_log
from .oracle import Oracle, encoded

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("clean", [True, False])
def test_random_logs_are_read_as_written(oracle: Oracle, oracle_seed, clean):
    for seed in range(oracle_seed, oracle_seed + cases(20)):
        log = random_log(oracle, seed, clean=clean, damaged=False)
        found = [
            [batch["base_offset"], batch["last_offset"], batch["count"]]
            for path in sorted(log.directory.glob("*.log"))
            for batch in oracle.ask("records", bytes=encoded(path.read_bytes()), records=False)["batches"]
        ]
        written = [
            [batch["base_offset"], batch["last_offset"], batch["records"]] for batch in log.facts["batches"]
        ]
        assert found == [
            record for record in written if record[0] >= log.facts["segments"][0]["base_offset"]
        ], seed
        checkpoint = (log.directory.parent / "recovery-point-offset-checkpoint").read_bytes()
        [[topic, partition, recovery_point]] = oracle.ask("offset_checkpoint", bytes=encoded(checkpoint))[
            "entries"
        ]
        assert (f"{topic}-{partition}", recovery_point) == (log.directory.name, log.facts["recovery_point"])
        assert (log.directory.parent / ".kafka_cleanshutdown").exists() == clean
        loaded = oracle.ask("truncate", directory=log.directory, restart="none", **log.opening)["loaded"]
        same = ["log_end_offset", "log_start_offset", "producers_end_offset"]
        if not log.facts["deleted"]:  # a transaction that began in deleted records is forgotten
            same.append("open_transactions")
        assert {key: loaded[key] for key in same} == {key: log.facts[key] for key in same}, seed
        log.remove()


def test_one_seed_one_log(oracle: Oracle, oracle_seed):
    for seed in range(oracle_seed, oracle_seed + cases(20)):
        one, two = random_log(oracle, seed), random_log(oracle, seed)
        assert one._replace(directory=two.directory) == two
        for path in one.directory.parent.rglob("*"):
            assert (
                path.is_dir()
                or path.read_bytes()
                == (two.directory.parent / path.relative_to(one.directory.parent)).read_bytes()
            )
        one.remove()
        two.remove()
