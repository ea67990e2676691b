"""How a starting broker knows whether a log is tiered: the metadata log, its configuration, its log dir."""

import json
import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from commands.app import app
from tests.partitions import BROKER
from tests.tiered import cluster

pytestmark = pytest.mark.slow

CHECKPOINT = "log-start-offset-checkpoint"


@pytest.fixture
def broker(tmp_path):
    """Return the log dir of a broker that was stopped cleanly: t-retention begins at 48, on disk at 342."""
    log_dir = tmp_path / "d0"
    shutil.copytree(cluster().node1, log_dir)
    shutil.rmtree(log_dir / "remote-log-index-cache")
    return log_dir


def moved(broker, partition):
    """Return a second log dir of the broker, to which a partition is moved."""
    other = broker.with_name("d1")
    other.mkdir()
    for name in (CHECKPOINT, "replication-offset-checkpoint", ".kafka_cleanshutdown"):
        shutil.copy(broker / name, other)
    meta = (broker / "meta.properties").read_text()
    (other / "meta.properties").write_text(meta.replace("directory.id=cD8n", "directory.id=dD8n"))
    (broker / partition).rename(other / partition)
    return other


FATES = {"START-012", "START-013", "START-021"}
"""What the metadata, which is of other log dirs, makes of the logs."""


def rows(*words):
    done = CliRunner().invoke(app, [*map(str, words), "-o", "json"])
    document = json.loads(done.stdout)
    assert document["errors"] == [], done.stdout
    return document["rows"], {finding["code"] for finding in document["findings"]} - FATES


def log_starts(topic, *log_dirs):
    """Return the log start by each command that says one, and the findings of `ls`."""
    (listed,), codes = rows("ls", *log_dirs, "--topic", topic)
    started = next(row for row in rows("startup", *log_dirs, "--topic", topic)[0] if row["type"] == "startup")
    (cut,), _ = rows("truncate", "--dry-run", "--to-offset", "999999", *log_dirs, "--topic", topic)
    (found,), _ = rows("lookup", "offset", "50", *log_dirs, "--topic", topic)
    starts = {listed["log_start_offset"], started["log_start_offset"], cut["log_start_offset_before"]}
    return starts, found["reason"].partition(":")[0], codes


def test_the_metadata_log_says_that_a_log_is_tiered_without_an_index_cache(broker):
    assert log_starts("t-retention", broker) == ({48}, "remote", set())


def test_the_metadata_log_of_a_broker_is_in_another_of_its_log_dirs(broker):
    other = moved(broker, "t-retention-0")
    assert log_starts("t-retention", broker, other) == ({48}, "remote", set())
    assert log_starts("t-retention", other, broker) == ({48}, "remote", set())


def test_the_metadata_of_another_cluster_says_nothing(broker):
    other = moved(broker, "t-retention-0")
    meta = other / "meta.properties"
    meta.write_text(meta.read_text().replace("cluster.id=Y", "cluster.id=Z"))
    expected = ({342}, "below log start", {"START-006", "START-009"})
    assert log_starts("t-retention", broker, other) == expected


def test_without_metadata_a_log_is_taken_as_not_tiered_and_a_finding_says_so(broker):
    other = moved(broker, "t-retention-0")
    assert log_starts("t-retention", other) == ({48}, "remote", set())  # it is found beside
    shutil.rmtree(broker / "__cluster_metadata-0")
    assert log_starts("t-retention", other) == ({342}, "below log start", {"START-006"})


def test_without_metadata_a_log_dir_with_an_index_cache_has_tiered_logs(broker):
    other = moved(broker, "t-retention-0")
    shutil.rmtree(broker / "__cluster_metadata-0")
    (other / "remote-log-index-cache").mkdir()
    assert log_starts("t-retention", other) == ({48}, "remote", set())


def test_a_retention_after_the_last_checkpoint_makes_no_log_tiered(broker):
    checkpoint = broker / CHECKPOINT
    checkpoint.write_text(checkpoint.read_text().replace("0\n9\n", "0\n10\n") + "local-only 0 3\n")
    (broker / "remote-log-index-cache").mkdir()
    for file in (broker / "local-only-0").glob("00000000000000000000.*"):
        file.unlink()
    assert log_starts("local-only", broker) == ({54}, "below log start", set())


@pytest.mark.parametrize("size", [0, 2000])
@pytest.mark.parametrize("has_index_cache", [False, True])
def test_a_metadata_log_that_lost_the_topic_says_nothing_about_it(broker, size, has_index_cache):
    (log,) = (broker / "__cluster_metadata-0").glob("*.log")
    os.truncate(log, size)
    if has_index_cache:
        (broker / "remote-log-index-cache").mkdir()

    starts, outcome, codes = ({48}, "remote", set[str]())
    if not has_index_cache:
        starts, outcome, codes = {342}, "below log start", {"START-006"}
    expected = (starts, outcome, codes | {"START-014"})
    assert log_starts("t-retention", broker) == expected


@pytest.mark.parametrize(
    ("enabled", "answer"), [("true", ({48}, "remote", set())), ("false", ({342}, "below log start", set()))]
)
def test_a_server_config_names_the_metadata_log_and_may_switch_remote_storage_off(broker, enabled, answer):
    other = moved(broker, "t-retention-0")
    config = broker.with_name("server.properties")
    config.write_text(
        f"{BROKER}node.id=1\nlog.dirs={other}\nmetadata.log.dir={broker}\n"
        f"remote.log.storage.system.enable={enabled}\n"
    )
    assert log_starts("t-retention", "--server-config", config) == answer


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_text("?")])
def test_a_tiered_log_begins_at_0_without_its_checkpoint(broker, damage):
    damage(broker / CHECKPOINT)
    starts, outcome, _ = log_starts("t-retention", broker)
    assert (starts, outcome) == ({0}, "remote")


def test_the_metadata_is_read_again_when_it_changed(broker):
    assert log_starts("t-retention", broker)[0] == {48}
    shutil.rmtree(broker / "__cluster_metadata-0")
    assert log_starts("t-retention", broker) == ({342}, "below log start", {"START-006"})
