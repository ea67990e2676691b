"""The broker's row of a predicted start: what ends the process, what takes a log dir offline."""

import json
import os
import shutil
import tarfile
from pathlib import Path

import pytest

from kcli.engine.contract import Job, Unit, at_end
from kcli.engine.inline import inline
from kcli.jobs.broker_starts import expand, with_plans
from kcli.jobs.log_starts import StartRequest
from kcli.jobs.startup.broker_rows import BrokerRows
from kcli.jobs.startup.replica_start import STARTUP_KINDS, read
from kcli.kafka.kraft.meta_properties import BrokerConfig
from kcli.kafka.kraft.start_plan import start_plans
from kcli.kafka.storage.producer_state import EMPTY_SNAPSHOT
from kcli.logdir.find import each_once, find
from kcli.logdir.targets import ALL_PARTITIONS, Selection
from tests.builders import put_record, put_records
from tests.partitions import BROKER, locked, log_dir, orders, put_range, segment
from tests.rows import named

LOG = put_range(0, 10)
ID = "4pVLnGkv_ynMhng0gYWM0A"
METADATA = "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAg\n"
STARTUP = Path(__file__).parents[3] / "data" / "startup" / "damaged.tar.gz"


def started(*paths, version=(4, 3), **config):
    """Return the broker's row, the rows of partitions and the findings of a start."""
    found = each_once(find(list(map(str, paths)), Selection(include_leftovers=True)))
    plans = start_plans(found.given_log_dirs, BrokerConfig(version, **config)) if found.named_log_dirs else []
    targets = [
        target for target in expand(found, plans, ALL_PARTITIONS).targets if target.kind in STARTUP_KINDS
    ]
    units = [Unit(number=number, targets=(target,)) for number, target in enumerate(targets)]
    request = with_plans(StartRequest(now_ms=1, version=version), plans)
    job = Job(lambda unit: read(unit, request=request), at_end(BrokerRows(plans)))
    outcomes = list(inline(job, units))
    rows = [named(row) for outcome in outcomes for row in outcome.rows]
    findings = [finding for outcome in outcomes for finding in outcome.findings]
    return rows[0], rows[1:], findings


def codes(findings):
    return [finding.code for finding in findings]


def meta(directory, text):
    (directory / "meta.properties").write_text(text)


def identity(node=7, cluster="abc", directory=None):
    lines = ["version=1", f"cluster.id={cluster}", f"node.id={node}"]
    return "\n".join([*lines, *([f"directory.id={directory}"] if directory else [])]) + "\n"


@pytest.fixture
def dirs(tmp_path):
    """Return two log dirs of broker 7, each with a partition."""
    first, second = tmp_path / "a", tmp_path / "b"
    orders(first, LOG, recovery=10)
    log_dir(second)
    shutil.copytree(first / "orders-0", second / "orders-1")
    for directory in (first / "orders-0", second / "orders-1"):
        (directory / "partition.metadata").write_text(METADATA)
    return first, second


def test_a_broker_starts_and_the_estimate_is_of_its_slowest_log_dir(dirs):
    broker, rows, findings = started(*dirs)
    assert findings == []
    assert [row["dir"] for row in rows] == [f"{dirs[0]}/orders-0", f"{dirs[1]}/orders-1"]
    stated = {key: value for key, value in broker.items() if value is not None and value != []}
    assert {key: value for key, value in stated.items() if key not in {"log_dirs", "seconds"}} == {
        "broker_id": 7,
        "cluster_id": "abc",
        "outcome": "starts",
        "partitions_by_outcome": {"loads": 2},
        "kafka_version": "4.3",
        "metadata_log_dir": str(dirs[0]),
        "partitions": 2,
        "failing_partitions": 0,
        "segments": 2,
        "bytes_read": 2 * len(LOG),
        "bytes_needed": 2 * 4 * 4096,
        "records_lost": 0,
    }
    assert [
        (log_dir["dir"], log_dir["outcome"], log_dir["clean"], log_dir["partitions"])
        for log_dir in broker["log_dirs"]
    ] == [
        (str(dirs[0]), "online", True, 1),
        (str(dirs[1]), "online", True, 1),
    ]
    assert broker["seconds"] == 0.001


@pytest.mark.parametrize(
    ("first", "second", "config", "error", "message"),
    [
        (identity(), identity(node=8), {}, "RuntimeException", "node.id is 8, expected 7"),
        (identity(), identity(cluster="x"), {}, "RuntimeException", "cluster.id is x, expected abc"),
        (identity(), identity(), {"node_id": 3}, "RuntimeException", "node.id is 7, expected 3"),
        (
            identity(),
            identity(node=8),
            {"version": (3, 6)},
            "InconsistentBrokerMetadataException",
            "node.id is 8, expected 7",
        ),
        (identity(directory=ID), identity(directory=ID), {}, "RuntimeException", f"{ID} is also that of"),
        (identity(directory="AAAAAAAAAAAAAAAAAAAABA"), identity(), {}, "RuntimeException", "is reserved"),
        (identity(), "version=0\nbroker.id=7\n", {}, "RuntimeException", "cluster ID not found"),
        (identity(), None, {}, "RuntimeException", "no meta.properties"),
        (identity(), None, {"version": (3, 6)}, "KafkaException", "no meta.properties"),
        ("version=9\n", identity(), {}, "RuntimeException", "I/O error in the metadata log dir"),
        (identity(), "version=9\n", {"version": (3, 6)}, "RuntimeException", "version"),
        (identity(directory=ID), identity(directory=ID), {"version": (3, 6)}, None, None),
        ("version=0\nbroker.id=7\n", "version=0\nbroker.id=7\n", {"version": (3, 9)}, None, None),
        ("version=0\nbroker.id=7\n", "version=0\nbroker.id=7\n", {}, "RuntimeException", "ID not found"),
    ],
)
def test_meta_properties_that_end_the_process(dirs, first, second, config, error, message):
    for directory, text in zip(dirs, (first, second), strict=True):
        if text is None:
            (directory / "meta.properties").unlink()
        else:
            meta(directory, text)
    if "node.id=8" in (second or ""):  # of one broker, as a server.properties says
        config = {**config, "metadata_log_dir": str(dirs[0])}
    broker, _, findings = started(*dirs, **config)
    assert (broker["outcome"], broker["error"]) == ("fails" if error else "starts", error)
    assert error is None or message in broker["error_message"]
    assert ("START-009" in codes(findings)) == bool(error)


def test_a_partition_in_two_log_dirs_ends_the_process_but_for_one_that_is_deleted(dirs):
    shutil.copytree(dirs[0] / "orders-0", dirs[1] / "orders-0.0123456789abcdef0123456789abcdef-delete")
    shutil.copytree(dirs[0] / "orders-0", dirs[1] / "orders-0.0123456789abcdef0123456789abcdef-future")
    broker, rows, _ = started(*dirs)
    assert broker["outcome"] == "starts"
    deleted = next(row for row in rows if row["dir"].endswith("-delete"))
    assert {change["action"] for change in deleted["files"]} == {"delete"}
    assert (deleted["outcome"], deleted["log_end_offset"]) == ("deleted", None)
    shutil.copytree(dirs[0] / "orders-0", dirs[1] / "orders-0")
    broker, _, findings = started(*dirs)
    assert (broker["outcome"], broker["error"]) == ("fails", "IllegalStateException")
    assert broker["error_message"] == f"{dirs[1]}/orders-0: the same partition lies in {dirs[0]}/orders-0"
    assert codes(findings) == ["START-009"]


def test_a_failing_log_ends_the_process_or_takes_its_log_dir_offline(dirs):
    (dirs[1] / "orders-1" / "leader-epoch-checkpoint").write_text("0\n9\n")
    broker, _, findings = started(*dirs)
    assert broker["outcome"] == "starts-degraded"
    outcomes = [(log_dir["outcome"], log_dir["error"]) for log_dir in broker["log_dirs"]]
    assert outcomes == [("online", None), ("offline", "KafkaStorageException")]
    assert codes(findings) == ["START-008", "START-010"]
    for broker in (started(*dirs, metadata_log_dir=str(dirs[1]))[0], started(dirs[1])[0]):
        assert (broker["outcome"], broker["error"]) == ("fails", "KafkaStorageException")
    (dirs[1] / "orders-1" / "leader-epoch-checkpoint").write_text("0\n1\n0 -1\n")
    broker, _, _ = started(*dirs)
    assert (broker["outcome"], broker["error"]) == ("fails", "IllegalArgumentException")
    assert broker["failing_partitions"] == 1


@pytest.mark.parametrize(
    "name",
    [
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "replication-offset-checkpoint",
        "cleaner-offset-checkpoint",
    ],
)
def test_a_checkpoint_of_offsets_takes_its_log_dir_offline_unless_a_number_is_none(dirs, name):
    file = dirs[1] / name
    for text in ("0\n9\n", "7\n0\n", "0\n1\norders 1\n", "0\nx\n"):
        file.write_text(text)
        broker, rows, findings = started(*dirs)
        assert (broker["outcome"], broker["log_dirs"][1]["error"]) == (
            "starts-degraded",
            "KafkaStorageException",
        ), text
        assert [row["outcome"] for row in rows] == ["loads", "not-started"]
        assert "START-010" in codes(findings)
    for text in ("0\n1\norders 1 x\n", "0\n-1\n", "", "0\n0\n"):
        file.write_text(text)
        assert [log_dir["outcome"] for log_dir in started(*dirs)[0]["log_dirs"]] == ["online", "online"], text
    file.write_text("0\n9\n")
    broker, _, _ = started(*dirs, metadata_log_dir=str(dirs[1]))
    assert (broker["outcome"], broker["error"]) == ("fails", "KafkaStorageException")


OPEN = put_range(10, 2, producer_id=5, producer_epoch=0, base_sequence=0, attributes=0x10)
COMMIT = put_records(
    [put_record(key=b"\0\0\0\1", value=bytes(6))],
    base_offset=12,
    producer_id=5,
    producer_epoch=0,
    attributes=0x30,
)


@pytest.mark.parametrize(
    ("name", "tail", "error"),
    [
        ("recovery-point-offset-checkpoint", OPEN, "KafkaStorageException"),
        ("log-start-offset-checkpoint", OPEN, "KafkaStorageException"),
        ("log-start-offset-checkpoint", OPEN + COMMIT, "KafkaStorageException"),
        ("replication-offset-checkpoint", OPEN, None),
        ("cleaner-offset-checkpoint", OPEN, None),
        ("recovery-point-offset-checkpoint", b"", None),
    ],
)
def test_a_log_with_a_transaction_in_an_offline_log_dir_ends_the_process(dirs, name, tail, error):
    segment(dirs[1] / "orders-1", 0, LOG + tail)
    (dirs[1] / "orders-1" / f"{10:020d}.snapshot").write_bytes(EMPTY_SNAPSHOT)
    assert started(*dirs)[0]["outcome"] == "starts"
    (dirs[1] / name).write_text("0\n9\n")
    broker, _, _ = started(*dirs)
    assert broker["error"] == error
    if error:
        assert broker["cause_path"] == str(dirs[1] / name)
        assert "the start of orders-1 reads its first unstable offset 10" in broker["error_message"]


@pytest.mark.parametrize("fails_first", [True, False])
def test_a_log_with_a_transaction_after_one_that_fails_ends_the_process(dirs, fails_first):
    """As brokers of 3.9.1 and 4.3.1 did; they load logs in the order in which the log dir is listed."""
    names = [f"more-{number}" for number in range(2)]
    for name in names:
        segment(dirs[1] / name, 0, LOG)
        (dirs[1] / name / "partition.metadata").write_text(METADATA)
    first, second = sorted(names, key=os.listdir(dirs[1]).index)
    failing, other = (first, second) if fails_first else (second, first)
    (dirs[1] / failing / "leader-epoch-checkpoint").write_text("0\n9\n")
    segment(dirs[1] / other, 0, LOG + OPEN)
    (dirs[1] / other / f"{10:020d}.snapshot").write_bytes(EMPTY_SNAPSHOT)
    broker, _, _ = started(*dirs)
    assert [log_dir["outcome"] for log_dir in broker["log_dirs"]] == ["online", "offline"]
    assert broker["error"] == ("KafkaStorageException" if fails_first else None)
    assert broker["cause_path"] == str(dirs[1] / failing / "leader-epoch-checkpoint")


def bootstrap(directory, *values):
    records = [put_record(offset_delta=number, value=value) for number, value in enumerate(values)]
    (directory / "bootstrap.checkpoint").write_bytes(put_records(records))


NO_OP = b"\1\x14\0\0"
LEVEL_30 = b"\1\x0c\0" + b"\x11metadata.version" + b"\0\x1e\0"


def test_a_bootstrap_checkpoint_without_a_metadata_version_ends_the_process(dirs):
    bootstrap(dirs[0], LEVEL_30)
    assert started(*dirs)[0]["outcome"] == "starts"
    good = (dirs[0] / "bootstrap.checkpoint").read_bytes()
    for data, error, message in (
        (b"", "RuntimeException", "no FeatureLevelRecord for metadata.version"),
        (good[:-1], "RuntimeException", "no FeatureLevelRecord for metadata.version"),
        (good.replace(b"\0\x1e\0", b"\0\x63\0"), "IllegalArgumentException", "feature level 99"),
        (good.replace(b"\1\x0c\0", b"\1\x7c\0"), "RuntimeException", "type 124"),
    ):
        (dirs[0] / "bootstrap.checkpoint").write_bytes(data)
        broker, _, findings = started(*dirs)
        assert (broker["outcome"], broker["error"]) == ("fails", error), data
        assert message in broker["error_message"], broker["error_message"]
        assert "START-009" in codes(findings)
    shutil.move(dirs[0] / "bootstrap.checkpoint", dirs[1] / "bootstrap.checkpoint")
    assert started(*dirs)[0]["outcome"] == "starts"


def test_a_log_without_a_topic_id_becomes_a_stray_one_and_before_3_7_gets_it_anew(dirs):
    (dirs[0] / "orders-0" / "partition.metadata").unlink()
    segment(dirs[0] / "__cluster_metadata-0", 0, put_records([put_record(value=NO_OP)]))
    broker, _, findings = started(*dirs)
    assert (broker["outcome"], codes(findings)) == ("starts", ["START-012", "START-013"])
    broker, _, findings = started(*dirs, version=(3, 6))
    assert (broker["outcome"], codes(findings)) == ("starts", ["START-012", "START-013"])
    assert "deletes a log whose topic the metadata has not" in findings[0].message
    shutil.rmtree(dirs[0] / "__cluster_metadata-0")
    assert "START-012" not in codes(started(*dirs, version=(3, 6))[2])  # it writes the file anew


def test_a_log_dir_that_is_missing_was_not_formatted_and_an_unreadable_one_is_offline(dirs, tmp_path):
    broker, _, _ = started(*dirs, tmp_path / "none")
    assert (broker["outcome"], broker["error"]) == ("fails", "RuntimeException")
    (tmp_path / "file").write_text("")
    broker, _, findings = started(*dirs, tmp_path / "file" / "x")
    assert [log_dir["outcome"] for log_dir in broker["log_dirs"]] == ["online", "online", "offline"]
    assert "START-010" in codes(findings)


def test_a_file_in_the_place_of_a_log_dir_is_offline_unless_it_is_that_of_the_metadata_log(dirs, tmp_path):
    file = tmp_path / "file"
    file.write_text("x")
    broker, rows, findings = started(*dirs, file)
    assert broker["outcome"] == "starts-degraded"
    assert [(log_dir["dir"], log_dir["outcome"], log_dir["error"]) for log_dir in broker["log_dirs"]] == [
        (str(dirs[0]), "online", None),
        (str(dirs[1]), "online", None),
        (str(file), "offline", "IOException"),
    ]
    assert codes(findings) == ["START-010"]
    assert len(rows) == 2
    assert started(*dirs, file, metadata_log_dir=str(file))[0]["outcome"] == "fails"


def test_a_process_that_holds_the_lock_is_named(dirs):
    with locked(dirs[0]) as process:
        broker, _, findings = started(*dirs)
    assert broker["outcome"] == "starts"
    codes = [(finding.code, finding.message.split()[1]) for finding in findings]
    assert codes == [("START-011", str(process))]
    assert started(*dirs)[2] == []


def test_a_lock_of_another_pid_namespace_has_process_0(dirs, monkeypatch):
    """So answers F_GETLK of Linux in a debug container beside a broker."""
    monkeypatch.setattr("kcli.logdir.log_dirs._locked_by", lambda _path: 0)
    _, _, findings = started(*dirs)
    assert {one.message.partition(" holds ")[0] for one in findings if one.code == "START-011"} == {
        "a process of another container"
    }


def test_partitions_alone_have_no_row_of_a_broker(dirs):
    row, rows, _ = started(dirs[0] / "orders-0")
    assert (row["topic"], rows) == ("orders", [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trial", "error"),
    [
        ("damaged", None),
        ("clean-damaged", None),
        ("damaged-bad-epochs", "KafkaStorageException"),
        ("clean-damaged-zero-tail", "CorruptRecordException"),
    ],
)
def test_recorded_brokers_started_and_ended_as_predicted(tmp_path, trial, error):
    with tarfile.open(STARTUP) as archive:
        archive.extractall(tmp_path, filter="data")
    broker, rows, _ = started(*sorted(path for path in (tmp_path / trial).iterdir() if path.is_dir()))
    assert (broker["outcome"], broker["error"]) == ("fails" if error else "starts", error)
    assert json.loads(json.dumps(broker["log_dirs"])) == broker["log_dirs"]
    assert broker["partitions"] == len(rows)


def test_what_a_recorded_broker_made_stray_is_foretold(tmp_path):
    """It renamed both and began no-metadata-0 empty; unknown-3 is none of a topic that it knows."""
    with tarfile.open(STARTUP.with_name("strays.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    broker, rows, _ = started(tmp_path / "strays" / "d0", tmp_path / "strays" / "d1")
    strays = {row["topic"]: row["records_lost"] for row in rows if row["outcome"] == "stray"}
    assert strays == {"no-metadata": 120, "unknown": 135}
    assert {entry["action"] for row in rows if row["outcome"] == "stray" for entry in row["files"]} <= {
        "rename",
        "delete",
    }
    begun = {row["topic"] for row in rows if row["outcome"] == "created-empty"}
    assert ("no-metadata" in begun, "unknown" in begun) == (True, False)
    assert (broker["outcome"], broker["records_lost"]) == ("starts", 120 + 135 + 77)


def test_a_log_that_the_metadata_does_not_assign_to_the_broker_is_a_stray_one(demo, tmp_path):
    copy = tmp_path / "demo"
    shutil.copytree(demo, copy)
    assert [code for code in codes(started(copy)[2]) if code == "START-013"] == []
    file = copy / "orders-0" / "partition.metadata"
    text = file.read_text()
    file.write_text(text.replace("topic_id: ", "topic_id: A")[: len(text)])
    shutil.copytree(copy / "orders-1", copy / "orders-9")
    meta(copy, (copy / "meta.properties").read_text())
    broker, _, findings = started(copy)
    assert broker["outcome"] == "starts"
    strays = [finding for finding in findings if finding.code == "START-013"]
    assert [os.path.basename(finding.dir) for finding in strays] == ["orders-0", "orders-9"]
    meta(copy, (copy / "meta.properties").read_text().replace("node.id=1", "node.id=2"))
    strays = [finding for finding in started(copy)[2] if finding.code == "START-013"]
    assert len(strays) > 2
    assert any(finding.message == "its replicas are on brokers 1, not on 2" for finding in strays)


@pytest.mark.parametrize("batches", [(0, 10, 20), (0, 10, 10, 20), (0, 20, 10)])
def test_offsets_that_do_not_rise_are_a_finding_of_recovery(tmp_path, batches):
    directory = orders(
        tmp_path / "d", *(put_range(base, 10) for base in batches), clean=False, recovery=0, watermark=5
    )
    _, rows, findings = started(directory.parent)
    falls = [(finding.file, finding.position) for finding in findings if finding.code == "START-015"]
    assert [row["outcome"] for row in rows] == ["loads"]
    assert len(falls) == (list(batches) != sorted(set(batches)))


@pytest.mark.parametrize("words", [("D", "LINK"), ("D", "D"), ("D", "D/."), ("D", "--server-config", "FILE")])
@pytest.mark.parametrize("command", ["startup", "check"])
def test_a_log_dir_that_is_named_twice_is_one(kcli, demo, tmp_path, command, words):
    (tmp_path / "link").symlink_to(demo)
    (tmp_path / "server.properties").write_text(f"{BROKER}node.id=1\nlog.dirs={tmp_path / 'link'}\n")
    places = {
        "D": demo,
        "D/.": f"{demo}/.",
        "LINK": tmp_path / "link",
        "FILE": tmp_path / "server.properties",
    }

    def answer(*given):
        document = json.loads(kcli(command, *given, "-o", "json").stdout)
        codes = [finding["code"] for finding in document["findings"]]
        return len(document["rows"]), codes, document["errors"]

    assert answer(*(places.get(word, word) for word in words)) == answer(demo)
