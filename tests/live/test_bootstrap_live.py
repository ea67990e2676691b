"""`rlmm bootstrap` beside a live tiered broker: what it reads there, and what kcli reads of its files."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest
from confluent_kafka import Consumer, KafkaError
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from typer.testing import CliRunner

from commands.app import app
from kcli.jobs.rlmm.bootstrap import SPECIAL
from tests.commands.answers import document
from tests.processes import free_base_port
from tests.recordings.brokers import QUIET, Cluster, answered, remote_storage, wait
from tests.recordings.client import create, producer, records, write

pytestmark = [pytest.mark.oracle, pytest.mark.slow]

SEGMENTS = {
    "internal.segment.bytes": 8192,
    "index.interval.bytes": 512,
    "file.delete.delay.ms": 300,
    "remote.storage.enable": "true",
}
TOPICS = {
    "orders": {**SEGMENTS, "local.retention.ms": 1000},
    "kept": {**SEGMENTS, "local.retention.ms": 604800000},
}
PASSWORD = 'p"w,=\\ 1'
STORE_PASSWORD = "of the key store"
SCHEMA = json.loads(CliRunner().invoke(app, ["schema", "rlmm", "bootstrap"]).stdout)
ASKED = (-1, -2, -3)
"""Special timestamps that librdkafka has a request for."""
OF_FILES = ("dir", "file")
"""Columns that say where a row is read."""


def login(module: str, **options: str) -> str:
    """Return a JAAS configuration as a properties file holds it."""
    quoted = (value.replace("\\", "\\\\").replace('"', '\\"') for value in options.values())
    words = " ".join(f'{name}="{value}"' for name, value in zip(options, quoted, strict=True))
    line = f"org.apache.kafka.common.security.{module.lower()}.{module}LoginModule required {words};"
    return line.replace("\\", "\\\\")


def key_store(folder: Path) -> Path:
    """Make a key and its certificate for 127.0.0.1; the certificate is beside the store as cert.pem."""
    folder.mkdir(parents=True, exist_ok=True)
    store, keytool = folder / "keys.p12", [shutil.which("keytool") or "keytool"]
    common = ["-keystore", str(store), "-storetype", "PKCS12", "-storepass", STORE_PASSWORD, "-alias", "kcli"]
    names = ["-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1"]
    subprocess.run(
        [*keytool, "-genkeypair", "-keyalg", "EC", *names, *common], check=True, capture_output=True
    )
    export = [*keytool, "-exportcert", "-rfc", "-file", str(folder / "cert.pem"), *common]
    subprocess.run(export, check=True, capture_output=True)
    return store


@contextmanager
def tiered_broker(folder: Path) -> Iterator[Cluster]:
    """Start a broker with remote storage; a second listener asks for a password, a third speaks TLS."""
    base = free_base_port()
    store = key_store(folder)
    of_listener = "listener.name.sasl_plaintext"
    listeners = f"PLAINTEXT://127.0.0.1:{base + 1},SASL_PLAINTEXT://127.0.0.1:{base + 2}"
    listeners += f",SSL://127.0.0.1:{base + 3}"
    settings = {
        **remote_storage(folder / "remote"),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:ANONYMOUS",
        "listeners": f"{listeners},CONTROLLER://127.0.0.1:{base + 501}",
        "advertised.listeners": f"{listeners},CONTROLLER://127.0.0.1:{base + 501}",
        "listener.security.protocol.map": (
            "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL"
        ),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": STORE_PASSWORD,
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        f"{of_listener}.plain.sasl.jaas.config": login("Plain", user_kcli=PASSWORD),
        f"{of_listener}.scram-sha-256.sasl.jaas.config": login("Scram"),
    }
    with Cluster(folder, {1: "broker,controller"}, base, Random("tiered"), settings) as cluster:
        create(cluster, TOPICS, [[1]] * 2)
        sender = producer(cluster)
        for number, topic in enumerate(TOPICS):
            for partition in range(2):
                made = records(Random(partition), 300 + 150 * number)
                write(sender, topic, made, batch=20, partition=partition)
        yield cluster


def run(*words: object, status: int = 0) -> dict[str, Any]:
    found = document("rlmm", *words, status=status)
    if words[0] == "bootstrap":
        jsonschema.validate(found, SCHEMA)
    return found


def without_place(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in OF_FILES} for row in rows]


def of_type(found: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [row for row in found["rows"] if row["type"] == name]


def active_segment(directory: Path) -> int:
    return max(int(path.stem) for path in directory.glob("*.log"))


def is_settled(log_dir: Path, live: tuple[object, ...]) -> bool:
    """Whether every segment that is closed is copied, the local log cut, and the checkpoints written."""
    rows = of_type(run("bootstrap", *live, log_dir), "rlmm_cluster_offset")
    offsets = {(row["topic"], row["partition"], row["query"]): row["disk_offset"] for row in rows}
    return len(rows) == 6 * 4 and all(
        offsets["orders", number, "earliest-local"] == offsets["orders", number, "latest"]
        and offsets["kept", number, "latest-tiered"] + 1 == active_segment(log_dir / f"kept-{number}") > 300
        and all(row["agrees"] for row in rows if row["timestamp"] in ASKED)
        for number in range(2)
    )


def test_a_live_cluster_and_the_files_of_its_broker_give_the_same(tmp_path):
    with tiered_broker(tmp_path / "node") as cluster:
        log_dir, live = cluster.nodes[1].logs, ("--bootstrap-server", cluster.bootstrap)
        wait(lambda: is_settled(log_dir, live), "segments to be copied")

        compared = of_type(run("bootstrap", *live, log_dir), "rlmm_cluster_offset")
        assert [row["query"] for row in compared[:6]] == [name.replace("_", "-") for name in SPECIAL.values()]
        assert len(compared) == 6 * 4
        on_disk = {(row["topic"], row["partition"]): row for row in run("offsets", log_dir)["rows"]}
        for row in compared:
            disk, name = on_disk[row["topic"], row["partition"]], SPECIAL[row["timestamp"]]
            assert (row["disk_offset"], row["disk_epoch"]) == (disk[f"{name}_offset"], disk[f"{name}_epoch"])
            if row["timestamp"] in ASKED:
                assert row["cluster_offset"] == row["disk_offset"]
                assert row["cluster_epoch"] == row["disk_epoch"]
            else:
                assert row["cluster_offset"] is None
        kept = {row["query"]: row["disk_offset"] for row in compared if row["topic"] == "kept"}
        assert kept["earliest-pending-upload"] == kept["latest-tiered"] + 1
        assert kept["max-timestamp"] >= 0

        events = run("bootstrap", *live, "--events")
        assert len(events["rows"]) > 8
        assert without_place(events["rows"]) == without_place(run("dump", log_dir)["rows"])
        assert events["rows"][0]["dir"] == cluster.bootstrap
        state = of_type(run("bootstrap", *live), "remote_segment")
        assert without_place(state) == without_place(run("state", log_dir)["rows"])
        only = of_type(run("bootstrap", *live, "--topic", "kept", "--partition", "1"), "remote_segment")
        assert {(row["topic"], row["partition"]) for row in only} == {("kept", 1)}
        missing = run("bootstrap", *live, "--topic", "nope", status=3)
        assert missing["errors"][0]["error"] == "nothing-matched"
        printed = CliRunner().invoke(app, ["rlmm", "bootstrap", *live, "--events", "-o", "text"]).stdout
        assert len(printed.splitlines()) == len(events["rows"])
        first = events["rows"][0]["metadata_partition"]  # topic ids differ from run to run
        assert printed.startswith(f"partition: {first}, offset: 0, value: RemoteLogSegmentMetadata{{")

        reads_with_a_password(tmp_path, cluster, without_place(events["rows"]))
        reads_over_tls(tmp_path, cluster, without_place(events["rows"]))
        reads_with_a_consumer(cluster, events["rows"])
        deletes_a_topic(cluster, log_dir)
        events = run("bootstrap", *live, "--events")
        cluster.nodes[1].stop()
        assert without_place(run("dump", log_dir)["rows"]) == without_place(events["rows"])
        gone = run("bootstrap", *live, status=4)
        assert "Connection refused" in gone["errors"][0]["message"]


def reads_with_a_consumer(cluster: Cluster, expected: list[dict[str, Any]]) -> None:
    """Beside a group of someone else's kcli reads the same, and makes no group."""
    other = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "other",
            "auto.offset.reset": "earliest",
            **QUIET,
        }
    )
    other.subscribe(["kept"])
    wait(lambda: "__consumer_offsets" in cluster.metadata().topics and bool(other.poll(1)), "a consumer")
    other.close()

    assert run("bootstrap", "--bootstrap-server", cluster.bootstrap, "--events")["rows"] == expected
    groups = answered(lambda: cluster.admin.list_consumer_groups().result(20))
    assert {group.group_id for group in groups.valid} <= {"other"}
    assert groups.errors == []


def reads_over_tls(folder: Path, cluster: Cluster, expected: list[dict[str, Any]]) -> None:
    config, secured = folder / "tls.properties", f"127.0.0.1:{cluster.base_port + 3}"
    words = ("bootstrap", "--bootstrap-server", secured, "--command-config", config)
    trusted = f"ssl.truststore.type=PEM\nssl.truststore.location={folder / 'node' / 'cert.pem'}\n"
    config.write_text(f"security.protocol=SSL\n{trusted}")
    assert without_place(run(*words, "--events")["rows"]) == expected
    offsets = of_type(run(*words), "rlmm_cluster_offset")
    assert len(offsets) == len(ASKED) * 4
    assert all(row["cluster_offset"] is not None for row in offsets)
    config.write_text("security.protocol=SSL\n")
    assert "certificate" in run(*words, status=4)["errors"][0]["message"].lower()


def reads_with_a_password(folder: Path, cluster: Cluster, expected: list[dict[str, Any]]) -> None:
    secured, config = f"127.0.0.1:{cluster.base_port + 2}", folder / "client.properties"
    words = ("bootstrap", "--bootstrap-server", secured, "--command-config", config)
    credentials = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    upsertion = UserScramCredentialUpsertion("kcli", credentials, PASSWORD.encode())
    answered(lambda: cluster.admin.alter_user_scram_credentials([upsertion])["kcli"].result(20))
    for mechanism, module in (("PLAIN", "Plain"), ("SCRAM-SHA-256", "Scram")):
        head = f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nenable.auto.commit=true\n"
        config.write_text(
            f"{head}group.id=mine\nsasl.jaas.config={login(module, username='kcli', password=PASSWORD)}\n"
        )
        assert without_place(run(*words, "--events")["rows"]) == expected
        assert len(of_type(run(*words), "rlmm_cluster_offset")) == len(ASKED) * 4
        config.write_text(f"{head}sasl.jaas.config={login(module, username='kcli', password='wrong')}\n")
        failed = run(*words, status=4)
        assert "uthentication" in failed["errors"][0]["message"]
    config.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f"sasl.jaas.config={login('Plain', username='kcli', password=PASSWORD)}\n"
    )
    is_refused_what_it_may_not(cluster, secured, words, expected)


def is_refused_what_it_may_not(
    cluster: Cluster, secured: str, words: tuple[object, ...], expected: list[dict[str, Any]]
) -> None:
    def allow(topic: str, user: str, operation: AclOperation) -> None:
        allowed = (f"User:{user}", "*", operation, AclPermissionType.ALLOW)
        acl = AclBinding(ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, *allowed)
        answered(lambda: cluster.admin.create_acls([acl])[acl].result(20))

    def errors(*more: str, status: int) -> list[tuple[str, str]]:
        return [(error["path"], error["message"]) for error in run(*words, *more, status=status)["errors"]]

    allow("orders", "other", AclOperation.READ)
    assert errors(status=4) == [(f"{secured}/orders", "TOPIC_AUTHORIZATION_FAILED")]
    assert errors("--topic", "kept", status=0) == []
    assert without_place(run(*words, "--events")["rows"]) == expected
    allow("__remote_log_metadata", "kcli", AclOperation.DESCRIBE)
    refused = [(f"{secured}/__remote_log_metadata", "TOPIC_AUTHORIZATION_FAILED")]
    assert errors(status=3) == errors("--events", status=3) == refused


def deletes_a_topic(cluster: Cluster, log_dir: Path) -> None:
    answered(
        lambda: cluster.admin.delete_topics(["orders"])["orders"].result(20),
        done=KafkaError.UNKNOWN_TOPIC_OR_PART,
    )
    wait(lambda: "orders" not in cluster.metadata().topics, "a topic to be gone")

    def segments() -> list[dict[str, Any]]:
        rows = run("state", log_dir)["rows"]
        return [row for row in rows if row["topic"] == "orders" and row["state"] != "DELETE_SEGMENT_FINISHED"]

    wait(lambda: not segments(), "its remote segments to be deleted")
    found = run("bootstrap", "--bootstrap-server", cluster.bootstrap)
    assert found["errors"] == []
    findings = [(finding["code"], finding["message"].split(":")[0]) for finding in found["findings"]]
    assert findings == [("RLMM-034", "topic orders")]
