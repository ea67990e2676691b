"""Failed brokers of ZooKeeper clusters against the last release that has that controller, Kafka 3.9.1."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kcli.kafka.kraft.election import zookeeper_failure
from kcli.kafka.kraft.metadata_image import PartitionState
from tests.seeds import cases

from .oracle import JAVA_OPTIONS, TARGET

pytestmark = pytest.mark.oracle

HERE = Path(__file__).parent / "zookeeper"
CLASSPATH = TARGET / "zookeeper-classpath.txt"
CASES = 4000
BROKERS = range(1, 6)
LED_BY_1 = {
    "replicas": [1, 2],
    "isr": [1, 2],
    "leader": 1,
    "leader_epoch": 3,
    "recovering": False,
    "broker": 1,
}
MADE = (
    {**LED_BY_1, "live": [2], "unclean": False},
    {**LED_BY_1, "live": [], "unclean": False},
    {**LED_BY_1, "isr": [2], "leader": 2, "live": [2], "unclean": False},
)
"""The other replica leads; none is left; one fails that is not in the ISR, and nothing is written."""


def case(choose: random.Random) -> dict[str, Any]:
    """Return a partition, the broker that fails, and the brokers that are live then."""
    replicas = choose.sample(BROKERS, choose.randrange(1, 5))
    isr = choose.sample(replicas, choose.randrange(1, len(replicas) + 1))
    broker = choose.choice(replicas)
    live = [other for other in BROKERS if other != broker and choose.random() < 0.7]
    return {
        "replicas": replicas,
        "isr": isr,
        "leader": choose.choice([*isr, -1]),
        "leader_epoch": choose.randrange(9),
        "recovering": choose.random() < 0.2,
        "broker": broker,
        "live": live,
        "unclean": choose.random() < 0.5,
    }


def classpath() -> str:
    pom = HERE / "pom.xml"
    if not CLASSPATH.exists() or CLASSPATH.stat().st_mtime < pom.stat().st_mtime:
        goal = ["dependency:build-classpath", f"-Dmdep.outputFile={CLASSPATH}"]
        for more in (["-o"], []):  # without the network where the jars are there
            done = subprocess.run(
                ["mvn", "-q", "-B", *more, "-f", pom, *goal], check=False, capture_output=True
            )
            if not done.returncode:
                break
        assert not done.returncode, done.stdout
    return CLASSPATH.read_text().strip()


def ours(node: dict[str, Any]) -> dict[str, Any]:
    before = PartitionState(
        tuple(node["replicas"]),
        tuple(node["isr"]),
        node["leader"],
        node["leader_epoch"],
        0,
        is_recovering=node["recovering"],
    )
    after, _ = zookeeper_failure(
        before, node["broker"], is_live=node["live"].__contains__, may_be_unclean=node["unclean"]
    )
    return {
        "leader": after.leader,
        "leader_epoch": after.leader_epoch,
        "isr": list(after.isr),
        "recovering": after.is_recovering,
        "writes": after.partition_epoch,
    }


@pytest.mark.usefixtures("oracle")
def test_random_failures(oracle_seed: int) -> None:
    choose = random.Random(oracle_seed)
    asked = [*MADE, *(case(choose) for _ in range(cases(CASES)))]
    line = ["java", *JAVA_OPTIONS, "-cp", classpath(), str(HERE / "ZooKeeperElections.java")]
    done = subprocess.run(line, input=json.dumps(asked).encode(), capture_output=True, check=False)
    assert not done.returncode, done.stderr.decode()[-4000:]
    kafka = json.loads(done.stdout)
    for number, (node, theirs) in enumerate(zip(asked, kafka, strict=True)):
        assert ours(node) == theirs, f"KCLI_SEED={oracle_seed} case {number}: {node}"
    elections = [(theirs["leader"], theirs["writes"]) for theirs in kafka[: len(MADE)]]
    assert elections == [(2, 1), (-1, 1), (2, 0)]
