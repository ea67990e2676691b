"""`metadata export` of a real broker's files: its lines make the same again on an empty cluster."""

import re
import shlex
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from commands.app import app
from tests.live.tools import Tools, tools
from tests.processes import free_base_port
from tests.recordings.brokers import Cluster
from tests.recordings.java_tools import NEWEST

pytestmark = pytest.mark.oracle

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
MADE = """
kafka-topics.sh --create --topic orders --partitions 3 --replication-factor 1 --config retention.ms=3600000
kafka-topics.sh --create --topic throttled --partitions 2 --replication-factor 1
kafka-configs.sh --alter --entity-type topics --entity-name throttled \
--add-config leader.replication.throttled.replicas=[0:1,1:1],cleanup.policy=[compact,delete]
kafka-configs.sh --alter --entity-type brokers --entity-name 1 --add-config log.cleaner.threads=2
kafka-configs.sh --alter --entity-type brokers --entity-default --add-config message.max.bytes=1500000
kafka-configs.sh --alter --entity-type groups --entity-name g --add-config consumer.session.timeout.ms=50000
kafka-configs.sh --alter --entity-type client-metrics --entity-name cm --add-config metrics=[a.b,c.d]
kafka-configs.sh --alter --entity-type users --entity-name 'bob smith' --entity-type clients \
--entity-default --add-config request_percentage=12.25
kafka-configs.sh --alter --entity-type users --entity-default --add-config controller_mutation_rate=10
kafka-configs.sh --alter --entity-type ips --entity-name 127.0.0.9 --add-config connection_creation_rate=9
kafka-acls.sh --add --allow-principal User:alice --allow-host * --operation Read --topic orders
kafka-acls.sh --add --deny-principal 'User:CN=bob, O=x' --deny-host 10.0.0.1 --operation Write \
--topic ord --resource-pattern-type prefixed
kafka-acls.sh --add --allow-principal User:alice --operation All --group * --cluster
kafka-acls.sh --add --allow-principal User:alice --operation CreateTokens --user-principal User:bob
"""
DESCRIBED = (
    ("kafka-topics.sh", "--describe"),
    *(
        ("kafka-configs.sh", "--describe", "--entity-type", kind)
        for kind in ("topics", "brokers", "groups", "client-metrics", "ips")
    ),
    ("kafka-configs.sh", "--describe", "--entity-type", "users", "--entity-type", "clients"),
    ("kafka-configs.sh", "--describe", "--entity-type", "users"),
    ("kafka-acls.sh", "--list"),
)


def run(tool: Tools, cluster: Cluster, *words: str) -> list[str]:
    """Return the lines that a tool prints, sorted, without what no cluster has twice."""
    script, *more = words
    printed = tool.run(script, "--bootstrap-server", cluster.bootstrap, *more)
    return sorted(re.sub(r"TopicId: \S+", "", line) for line in printed.splitlines())


def test_exported_lines_make_the_same_on_an_empty_cluster(tmp_path: Path) -> None:
    roles, said = {1: "broker,controller"}, []
    lines = MADE
    with tools() as tool:
        for name in ("full", "empty"):
            with Cluster(
                tmp_path / name, roles, free_base_port(), Random(name), SETTINGS, release=NEWEST
            ) as cluster:
                for line in lines.strip().splitlines():
                    words = shlex.split(line.replace('--bootstrap-server "$BOOTSTRAP" ', ""))
                    run(tool, cluster, *words)
                said.append([run(tool, cluster, *words) for words in DESCRIBED])
                done = CliRunner().invoke(
                    app, ["metadata", "export", "-o", "text", str(cluster.nodes[1].logs)]
                )
                assert done.exit_code == 0
                assert name == "full" or sorted(done.stdout.splitlines()) == sorted(lines.splitlines())
                lines = done.stdout
    assert said[0] == said[1]
    assert all(said[0])
