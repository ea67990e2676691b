"""Every damage of a matrix is found by `check`, each by its own code; without damage it finds nothing."""

import gzip
import json
import os
import shutil
import tarfile
from pathlib import Path

import pytest

from formats.names import PartitionDir
from kcli.jobs.check.remote_events import user_partition
from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.logdir import concurrent_changes
from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import Walk
from tests.kcli.jobs.damages import (
    DAMAGES,
    FIRST,
    LAST,
    MIDDLE,
    PARTITION,
    cut,
    file,
    header,
    more,
    without_segment,
)
from tests.kcli.jobs.rlmm.dumps import batch
from tests.kcli.jobs.starts import does_not_start, will_not_load
from tests.messages import put_message
from tests.partitions import locked, orders, put_range, segment
from tests.recordings import pack
from tests.screens import STARTUP
from tests.tiered import cluster

pytestmark = pytest.mark.slow

KEPT = (PARTITION, "plain-0")
OTHER_ID = "version: 0\ntopic_id: u4NdSfWRQjaZ_ENyxMXLJA"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A log dir that a broker stopped cleanly, with two of its partitions."""
    folder = tmp_path_factory.mktemp("recorded")
    pack.unpack("truncation", folder)
    root = folder / "truncation" / "after-follower-stopped"
    for entry in root.iterdir():
        if entry.is_dir() and entry.name not in KEPT:
            shutil.rmtree(entry)
    names = tuple(name.rpartition("-")[0] for name in KEPT)
    for path in root.glob("*-offset-checkpoint"):
        lines = [line for line in path.read_text().splitlines()[2:] if line.startswith(names)]
        path.write_text("\n".join(["0", str(len(lines)), *lines, ""]))
    return root


def found(kcli, path, *options):
    document = json.loads(kcli("check", "-o", "json", *options, path).stdout)
    assert document["errors"] == []
    return document


@pytest.mark.parametrize("damage", DAMAGES, ids=[damage.name for damage in DAMAGES])
def test_a_damage_is_found_by_its_code(kcli, recorded, tmp_path, damage):
    root = tmp_path / "d0"
    shutil.copytree(recorded, root)
    damage.damage(root)
    document = found(kcli, tmp_path / "d*" if damage.wide else root / PARTITION, *damage.options)
    codes = {finding["code"]: finding for finding in document["findings"]}
    assert damage.code in codes, sorted(codes)
    severity = SEVERITIES.index(codes[damage.code]["severity"])
    results = {row["result"] for row in document["rows"]}
    assert results > {"clean"} or results - {"clean"} or severity == 0, (results, damage.code)


def test_a_batch_of_a_wrong_checksum_is_not_judged(kcli, recorded, tmp_path):
    root = tmp_path / "d0"
    shutil.copytree(recorded, root)
    header(FIRST, 1, max_timestamp=2**61, producer_epoch=77, attributes=0, crc=1)(root)
    assert {finding["code"] for finding in found(kcli, root / PARTITION)["findings"]} == {"LOG-003"}


def test_zeros_after_the_entries_of_an_index_are_its_preallocation_unless_it_was_closed(
    kcli, recorded, tmp_path
):
    root = tmp_path / "d0"
    shutil.copytree(recorded, root)
    more(file(LAST, "index"), bytes(80))(root)
    more(file(LAST, "timeindex"), bytes(120))(root)

    def of_zeros():
        findings = found(kcli, root / PARTITION)["findings"]
        return [finding["code"] for finding in findings if " zeros follow" in finding["message"]]

    assert of_zeros() == ["DUMP-003", "DUMP-003"]
    (root / ".kafka_cleanshutdown").unlink()
    assert of_zeros() == []


@pytest.mark.parametrize(
    ("kind", "code"), [("index", "DUMP-003"), ("timeindex", "IDX-004"), ("txnindex", "IDX-008")]
)
def test_an_index_of_nul_bytes_is_named_so_with_what_to_do(kcli, recorded, tmp_path, kind, code):
    root = tmp_path / "d0"
    shutil.copytree(recorded, root)
    path = file(FIRST, kind)(root)
    path.write_bytes(bytes(len(path.read_bytes()) if path.exists() else 0) or bytes(34))
    (nuls,) = (finding for finding in found(kcli, root / PARTITION)["findings"] if finding["code"] == code)
    assert nuls["message"].startswith(f"nothing but NUL bytes ({path.stat().st_size})")
    assert "remove the indexes of the segment" in nuls["message"]


def test_a_message_of_an_old_magic_whose_value_cannot_be_read(kcli, tmp_path):
    segment(tmp_path / "orders-0", 0, put_message(0, value=b"v") + put_message(1, value=(1000, b"v")))
    codes = [
        {finding["code"] for finding in found(kcli, tmp_path / "orders-0", *options)["findings"]}
        for options in ((), ("--records",))
    ]
    assert codes[1] - codes[0] == {"DUMP-002"}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES, ids=[damage.name for damage in DAMAGES])
def test_a_check_since_finds_it_as_one_of_everything_does(kcli, recorded, tmp_path, damage):
    root = tmp_path / "d0"
    shutil.copytree(recorded, root)
    since = ("--since", tmp_path / "state", *damage.options)
    found(kcli, tmp_path / "d*", *since)
    damage.damage(root)

    def answer(*words):
        document = found(kcli, tmp_path / "d*", *words)
        rows = [(row["dir"], row["result"], row["log_end_offset"]) for row in document["rows"]]
        return rows, {
            json.dumps(finding) for finding in document["findings"] if finding["severity"] != "info"
        }

    expected = answer(*damage.options)
    for night in (2, 3):
        assert answer(*since) == expected, night


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES, ids=[damage.name for damage in DAMAGES])
def test_what_will_not_load_is_what_does_not_start(kcli, recorded, tmp_path, damage):
    shutil.copytree(recorded, tmp_path / "d0")
    damage.damage(tmp_path / "d0")
    for shutdown in ("clean", "unclean"):
        if shutdown == "unclean":
            (tmp_path / "d0" / ".kafka_cleanshutdown").unlink()
        expected = does_not_start(kcli, tmp_path / "d*")
        assert will_not_load(kcli, tmp_path / "d*", *damage.options) == expected, shutdown


@pytest.mark.parametrize("newest_last", [True, False])
def test_the_newest_metadata_of_a_cluster_counts(kcli, tmp_path, newest_last):
    """Another broker's metadata log ends before the topic was created."""
    pack.unpack("single", tmp_path)
    root = tmp_path / "single" / "stopped"
    older = tmp_path / "older"
    log = older / "__cluster_metadata-0" / f"{0:020d}.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"".join(whole_batches(root / "__cluster_metadata-0" / log.name)[:3]))
    lines = (root / "meta.properties").read_text().replace("node.id=1", "node.id=2").splitlines()
    (older / "meta.properties").write_text("\n".join(line for line in lines if "directory.id" not in line))
    with_another_topic_id(root)
    paths = [older, root] if newest_last else [root, older]
    document = json.loads(kcli("check", "-o", "json", *paths).stdout)

    (message,) = [finding["message"] for finding in document["findings"] if finding["code"] == "TOPIC-001"]
    assert f"{root}/__cluster_metadata-0 has " in message, "the metadata log that was used"


def without_topic_id(root):
    (root / "empty-0" / "partition.metadata").unlink()


def with_another_topic_id(root):
    (root / "codecs-0" / "partition.metadata").write_text(OTHER_ID)


def with_two_topic_ids(root):
    shutil.rmtree(root / "__cluster_metadata-0")
    shutil.copytree(root / "codecs-0", root / "codecs-1")
    with_another_topic_id(root)


def with_a_stray(root):
    shutil.copytree(root / "codecs-0", root / "codecs-9")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (without_topic_id, "START-017"),
        (with_another_topic_id, "TOPIC-001"),
        (with_two_topic_ids, "TOPIC-001"),
        (with_a_stray, "START-013"),
    ],
)
def test_what_a_running_broker_may_be_doing_is_not_found(kcli, tmp_path, change, code):
    """It makes and deletes partitions, and a topic anew, while their files and the metadata log are read."""
    pack.unpack("single", tmp_path)
    root = tmp_path / "single" / "stopped"
    change(root)

    def codes():
        return {finding["code"] for finding in found(kcli, root)["findings"]}

    assert code in codes()
    with locked(root):
        assert code not in codes()


def test_a_producer_snapshot_that_is_being_written_is_read_again(kcli, tmp_path, recorded, monkeypatch):
    root = tmp_path / "log-dir"
    shutil.copytree(recorded, root)
    snapshot = file(MIDDLE, "snapshot")(root)
    whole = snapshot.read_bytes()
    monkeypatch.setattr(concurrent_changes, "SETTLING_MS", 60_000)
    monkeypatch.setattr(concurrent_changes.time, "sleep", lambda _: snapshot.write_bytes(whole))
    snapshot.write_bytes(b"")

    assert found(kcli, root)["findings"] == []
    assert snapshot.read_bytes() == whole


def test_records_without_a_topic_id_are_found_in_a_running_broker(kcli, tmp_path):
    """The file is there before the first record."""
    pack.unpack("single", tmp_path)
    root = tmp_path / "single" / "stopped"
    (root / "codecs-0" / "partition.metadata").unlink()
    with locked(root):
        assert "START-012" in {finding["code"] for finding in found(kcli, root)["findings"]}


def test_topic_ids_are_compared_where_the_cluster_is_known(kcli, tmp_path):
    """Log dirs without meta.properties may be of two clusters."""
    dirs = [orders(tmp_path / name, put_range(0, 5)) for name in ("data-1", "data-2")]
    dirs[1] = dirs[1].rename(dirs[1].parent / "orders-1")
    for directory, topic_id in zip(dirs, ("RnSlu3KWTpa6RtkdWNO6Dw", "u4NdSfWRQjaZ_ENyxMXLJA"), strict=True):
        (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")

    def codes():
        return {finding["code"] for finding in found(kcli, tmp_path / "data-*")["findings"]}

    assert "TOPIC-001" in codes()
    for directory in dirs:
        (directory.parent / "meta.properties").unlink()
    assert "TOPIC-001" not in codes()


def test_a_clean_start_without_a_producer_snapshot_forgets_the_producers(kcli, recorded, tmp_path):
    root = tmp_path / "d0"
    shutil.copytree(recorded, root)
    words = ("startup", "-o", "json", "--at", "0", root / PARTITION)
    before = json.loads(kcli(*words).stdout)
    for path in (root / PARTITION).glob("*.snapshot"):
        path.unlink()
    after = json.loads(kcli(*words).stdout)
    assert [bool(document["rows"][0]["producers"]) for document in (before, after)] == [True, False]
    codes = [{finding["code"] for finding in document["findings"]} for document in (before, after)]
    assert codes[1] - codes[0] == {"PROD-007"}


def whole_batches(path):
    raw = path.read_bytes()
    with DataFile(str(path)) as log:
        return [raw[at : at + header.size] for at, header in Walk(log)]


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("RLMM-001", lambda batches: [*batches, batch(9000, [b"\xff\xff"])]),
        ("RLMM-002", lambda batches: [*batches, batch(9000, [None])]),
        ("RLMM-012", lambda batches: batches[1:]),
    ],
)
def test_the_events_of_remote_log_metadata_are_checked_with_its_partition(kcli, tmp_path, code, change):
    directory = tmp_path / "__remote_log_metadata-3"
    shutil.copytree(cluster().node1 / directory.name, directory)
    path = directory / f"{0:020d}.log"
    assert found(kcli, directory)["rows"][0]["result"] == "clean"
    path.write_bytes(b"".join(change(whole_batches(path))))
    document = found(kcli, directory)
    assert code in {finding["code"] for finding in document["findings"]}
    assert document["rows"][0]["result"] in {"warning", "damaged"}


def test_events_in_a_segment_that_the_broker_has_deleted_do_not_count(kcli, tmp_path):
    directory = tmp_path / "__remote_log_metadata-3"
    shutil.copytree(cluster().node1 / directory.name, directory)
    shutil.copy(directory / f"{0:020d}.log", directory / f"{0:020d}.log.deleted")
    codes = {finding["code"] for finding in found(kcli, directory)["findings"]}
    assert not any(code.startswith("RLMM-") for code in codes)


def test_a_finding_about_remote_segments_is_of_the_partition_that_it_names_first():
    """One of severity info is none of the user's log, and others are of the metadata log itself."""
    assert user_partition(Finding("RLMM-012", "t-plain-7: segment x")) == PartitionDir("t-plain", 7)
    assert user_partition(Finding("RLMM-017", "t-plain-7: segment x")) is None
    assert user_partition(Finding("LOG-003", "t-plain-7: segment x")) is None


def test_what_the_events_show_counts_for_the_users_partition(kcli, tmp_path):
    root = tmp_path / "node1"
    shutil.copytree(cluster().node1, root)
    of_topic = sorted(path for path in root.glob("t-*-*") if path.is_dir())
    assert {row["result"] for row in found(kcli, root)["rows"] if row["topic"]} == {"clean"}
    for path in root.glob(f"__remote_log_metadata-*/{0:020d}.log"):
        batches = whole_batches(path)
        path.write_bytes(b"".join(batches[1:]))
    document = found(kcli, root)
    about = [finding for finding in document["findings"] if finding["code"] == "RLMM-012"]
    users = {finding["dir"] for finding in about if "__remote" not in finding["dir"]}
    assert users and users <= set(map(str, of_topic))
    for row in document["rows"]:
        if row["dir"] in users:
            own = [finding for finding in document["findings"] if finding["dir"] == row["dir"]]
            assert all(finding["message"].startswith(os.path.basename(row["dir"]) + ": ") for finding in own)
            assert (row["result"], row["findings"]) == (worst(own), len(own))
        elif row["topic"] and not row["topic"].startswith("__"):
            assert row["result"] == "clean"


def worst(findings):
    severities = {finding["severity"] for finding in findings}
    return "damaged" if "error" in severities else "warning" if "warning" in severities else "clean"


def test_the_matrix_is_as_large_as_it_should_be():
    assert len({damage.name for damage in DAMAGES}) == len(DAMAGES) >= 40
    assert all(isinstance(damage.name, str) and callable(damage.damage) for damage in DAMAGES)


def test_log_dirs_that_a_broker_did_not_start_with_will_not_load(kcli, tmp_path):
    with tarfile.open(STARTUP) as archive:
        archive.extractall(tmp_path, filter="data")
    results = {
        f"{path.parent.name}/{path.name}": {
            row["result"] for row in found(kcli, path)["rows"] if row["topic"]
        }
        for path in sorted(tmp_path.glob("*/*"))
    }
    failed = {name for name, found in results.items() if "will-not-load" in found}
    assert failed == {"clean-damaged-zero-tail/d0", "damaged-bad-epochs/d0"}
    assert results["damaged/d0"] == {"clean", "warning", "damaged"}


@pytest.mark.slow
def test_recordings_without_damage_are_clean(kcli, tmp_path: Path):
    for name in ("single", "tiered", "truncation", "failover"):
        pack.unpack(name, tmp_path)
    for path in sorted(path.parent for path in tmp_path.glob("*/*/meta.properties")):
        document = found(kcli, path, "--records")
        above = [finding for finding in document["findings"] if finding["severity"] != "info"]
        assert above == [], path


def test_batches_below_the_log_start_have_epochs_of_their_own(kcli, tmp_path):
    """As after DeleteRecords: the segment keeps batches whose epochs the checkpoint has no more."""
    batches = put_range(0, 10, epoch=0) + put_range(10, 15, epoch=2) + put_range(25, 5, epoch=4)
    directory = orders(tmp_path / "d", batches, epochs=((4, 25),), log_start=25, watermark=30, recovery=30)
    document = found(kcli, directory)
    assert [row["log_end_offset"] for row in document["rows"]] == [30]
    assert not {"EPOCH-007", "EPOCH-009"} & {finding["code"] for finding in document["findings"]}


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "crashed"])
def test_what_is_cut_off_a_log_is_not_missed_by_its_transaction_index(kcli, recorded, tmp_path, clean):
    """The marker of an aborted transaction is gone: that follows from the cut."""
    root = tmp_path / "d0"
    shutil.copytree(recorded, root)
    cut(file(MIDDLE, "log"), 700)(root)
    if clean:
        without_segment(LAST)(root)
    else:
        (root / ".kafka_cleanshutdown").unlink()
    codes = {finding["code"] for finding in found(kcli, root / PARTITION)["findings"]}
    assert "LOG-001" in codes and not {"IDX-008"} & codes


def test_a_metadata_log_without_damage_ends_below_its_newest_snapshot(kcli, tmp_path):
    pack.unpack("single", tmp_path)
    directory = tmp_path / "single" / "stopped" / "__cluster_metadata-0"
    before = found(kcli, directory)
    snapshot = gzip.decompress((pack.DATA.parent / "batches" / "snapshot.checkpoint.gz").read_bytes())
    (directory / "00000000000000005000-0000000009.checkpoint").write_bytes(snapshot)
    document = found(kcli, directory)
    more = [finding for finding in document["findings"] if finding not in before["findings"]]
    assert [(finding["code"], finding["expected"]) for finding in more] == [("START-007", 5000)]
    assert document["rows"][0]["log_end_offset"] == 5000
