"""`kcli startup`: words, refusals, exit statuses, and the same rows by several processes."""

import json
import shutil

import pytest

from tests.partitions import BROKER
from tests.recordings import pack

pytestmark = pytest.mark.slow

STARTUP = ("startup", "-o", "json")


def broker(done):
    return json.loads(done.stdout)["rows"][0]


def test_the_broker_comes_first_and_a_flat_format_shows_the_partitions(kcli, demo):
    done = kcli(*STARTUP, demo)
    assert done.exit_code == 0
    types = [row["type"] for row in json.loads(done.stdout)["rows"]]
    assert types == ["startup_broker", *["startup"] * 9]
    lines = kcli("startup", "-o", "tsv", demo).stdout.splitlines()
    assert lines[0].startswith("dir\tbroker_id") and len(lines) == 10
    only = kcli("startup", "-o", "tsv", "--only", "startup_broker", demo).stdout.splitlines()
    assert only[0].startswith("broker_id\t") and len(only) == 2


def test_a_start_that_fails_is_status_1(kcli, demo, tmp_path):
    copy = tmp_path / "data"
    shutil.copytree(demo, copy)
    (copy / "orders-0" / "leader-epoch-checkpoint").write_text("0\n9\n")
    done = kcli(*STARTUP, copy)
    assert done.exit_code == 1
    assert broker(done)["error"] == "KafkaStorageException"
    assert kcli("startup", "-q", "--fail-on", "never", copy).exit_code == 0
    assert kcli("startup", "-q", copy / "orders-1").exit_code == 0
    selected = kcli(*STARTUP, "--topic", "orders", "--partition", "1", copy)
    assert selected.exit_code == 1 and broker(selected) == broker(done)
    rows = json.loads(selected.stdout)["rows"][1:]
    assert [(row["topic"], row["partition"]) for row in rows] == [("orders", 1)]


def test_the_configuration_names_the_node_and_the_metadata_log_dir(kcli, demo, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    text = (demo / "meta.properties").read_text()
    (other / "meta.properties").write_text(
        "".join(line + "\n" for line in text.splitlines() if not line.startswith("directory.id"))
    )
    config = tmp_path / "server.properties"
    config.write_text(f"{BROKER}node.id=1\nlog.dirs={other},{demo}\nmetadata.log.dir={demo}\n")
    done = kcli(*STARTUP, "--server-config", config)
    assert (done.exit_code, broker(done)["metadata_log_dir"]) == (0, str(demo))
    config.write_text(f"{BROKER}node.id=1\nlog.dirs={other}\nmetadata.log.dir={demo}/\n")
    log_dirs = [log_dir["dir"] for log_dir in broker(kcli(*STARTUP, "--server-config", config))["log_dirs"]]
    assert log_dirs == [str(demo), str(other)]


def test_how_the_broker_stopped_is_asked_of_every_log_dir(kcli, demo):
    for word, clean in (("clean", True), ("unclean", False)):
        rows = json.loads(kcli(*STARTUP, "--shutdown", word, demo).stdout)["rows"]
        assert rows[0]["log_dirs"][0]["clean"] is clean
        assert {row["clean"] for row in rows[1:] if row["topic"] != "__cluster_metadata"} == {clean}


def test_the_estimate_follows_the_rate(kcli, demo):
    slow = broker(kcli(*STARTUP, "--read-rate", "1K", demo))
    assert slow["seconds"] == round(slow["bytes_read"] / 1024 + slow["segments"] / 1000, 3)


def test_the_settings_of_topics_come_from_the_metadata_log(kcli, tmp_path):
    """The recorded topic has index.interval.bytes=256, the broker's indexes are of another length."""
    pack.unpack("single", tmp_path)
    root = tmp_path / "single" / "stopped"
    (root / "recovery-point-offset-checkpoint").unlink()
    config = tmp_path / "server.properties"
    config.write_text(f"{BROKER}node.id=1\nlog.dirs={root}\nlog.index.size.max.bytes=65536\n")
    words = ("startup", "--shutdown", "unclean", "--topic", "txn", "--at", "0", "-o", "json")

    def files(*more):
        rows = json.loads(kcli(*words, *more).stdout)["rows"]
        return [row["files"] for row in rows if row.get("topic") == "txn"]

    known = files("--server-config", config)
    given = ("--segment-index-bytes", "65536", "--index-interval-bytes")
    assert known == files(root, *given, "256") != files(root, *given, "4096")


@pytest.fixture
def stopped(tmp_path):
    """The log dir of a broker that is its own controller, stopped in order."""
    pack.unpack("single", tmp_path)
    return tmp_path / "single" / "stopped"


@pytest.fixture
def other(stopped, tmp_path):
    """A second log dir of that broker, with codecs-0, which the metadata assigns to the first."""
    other = tmp_path / "other"
    other.mkdir()
    (stopped / "codecs-0").rename(other / "codecs-0")
    meta = (stopped / "meta.properties").read_text()
    lines = [line for line in meta.splitlines() if not line.startswith("directory.id")]
    (other / "meta.properties").write_text("\n".join([*lines, "directory.id=hl8QH4ubQWKYLFPUAsYrVA", ""]))
    return other


@pytest.fixture
def future(stopped, other):
    """The -future log of codecs-0 in the first log dir."""
    return shutil.copytree(other / "codecs-0", stopped / f"codecs-0.{7:032x}-future")


def actions(document, directory):
    """Return what becomes of the files of a directory, None for those that stay as they are."""
    row = next(row for row in document["rows"] if row.get("dir") == str(directory))
    return {entry["action"] for entry in row["files"]}


def moves(document):
    """Return the directories of which it is said that a move was all but done."""
    return {finding["dir"] for finding in document["findings"] if finding["code"] == "START-016"}


def test_a_future_log_that_the_metadata_assigns_becomes_the_current_one(kcli, stopped, other, future):
    """As a 4.3.1 broker did: LogManager.recoverAbandonedFutureLogs."""
    document = json.loads(kcli(*STARTUP, stopped, other).stdout)
    assert moves(document) == {str(future), str(other / "codecs-0")}
    assert actions(document, other / "codecs-0") == {"delete"}
    assert "delete" not in actions(document, future)
    before = json.loads(kcli(*STARTUP, "--kafka-version", "3.6", stopped, other).stdout)
    assert moves(before) == set()


def test_a_future_log_that_does_not_load_replaces_nothing(kcli, stopped, other, future):
    (future / "leader-epoch-checkpoint").write_text("0\n9\n0 0\n")
    document = json.loads(kcli(*STARTUP, stopped, other).stdout)
    assert "START-016" not in {finding["code"] for finding in document["findings"]}
    assert "delete" not in actions(document, other / "codecs-0")


def test_a_future_log_replaces_the_current_one_of_its_topic_id(kcli, stopped, other, future):
    (other / "codecs-0" / "partition.metadata").write_text("version: 0\ntopic_id: u4NdSfWRQjaZ_ENyxMXLJA")
    document = json.loads(kcli(*STARTUP, stopped, other).stdout)
    (finding,) = (finding for finding in document["findings"] if finding["code"] == "START-016")
    assert (finding["dir"], str(other) in finding["message"]) == (str(future), False)
    assert "delete" not in actions(document, other / "codecs-0")


def test_a_log_without_records_and_without_its_topic_id_becomes_a_stray(kcli, stopped):
    (stopped / "empty-0" / "partition.metadata").unlink()
    (stopped / "codecs-0" / "partition.metadata").unlink()
    for command in ("startup", "check"):
        findings = json.loads(kcli(command, "-o", "json", stopped).stdout)["findings"]
        strays = {(finding["code"], finding["dir"]) for finding in findings if "-stray" in finding["message"]}
        assert strays == {
            ("START-017", str(stopped / "empty-0")),
            ("START-012", str(stopped / "codecs-0")),
        }, command


def test_a_metadata_log_without_a_topic_makes_every_log_a_stray(kcli, stopped):
    for path in (stopped / "__cluster_metadata-0").glob("*"):
        if path.name.endswith((".log", ".checkpoint")):
            path.write_bytes(b"")
    document = json.loads(kcli(*STARTUP, stopped).stdout)
    strays = {finding["dir"] for finding in document["findings"] if finding["code"] == "START-013"}
    rows = [row["dir"] for row in document["rows"] if row.get("topic")]
    assert strays == {row for row in rows if "__cluster_metadata" not in row} != set()


@pytest.mark.parametrize("names", [(), ("d0",), ("d0/lost+found", "d1")])
def test_log_dirs_of_server_properties_without_anything_are_not_formatted(kcli, tmp_path, names):
    config = tmp_path / "server.properties"
    config.write_text(f"{BROKER}node.id=1\nlog.dirs={tmp_path}/d0,{tmp_path}/d1\n")
    for name in names:
        (tmp_path / name).mkdir(parents=True)
    for command in ("startup", "check"):
        done = kcli(command, "-o", "json", "--server-config", config)
        answer = json.loads(done.stdout)
        assert done.exit_code == 1, command
        assert {"START-009"} == {finding["code"] for finding in answer["findings"]}, command
        assert any(tmp_path.name in str(row) for row in answer["rows"]), command
    assert kcli("startup", "-q", tmp_path / "d0").exit_code == 3


def test_records_that_were_lost_before_are_not_lost_by_the_start(kcli, demo, tmp_path):
    copy = tmp_path / "data"
    shutil.copytree(demo, copy)
    (copy / "orders-0" / f"{29:020d}.log").unlink()
    done = kcli("startup", "-o", "table", copy)
    assert "; lost by this start: no record." in done.stdout
    assert "IDX-011" in done.stderr and "its records are lost" in done.stderr
