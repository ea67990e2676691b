"""Log dirs that do not fit together, a quorum-state damaged or lost: who says so. One log end by all."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from commands.app import app
from kcli.kafka.kraft import metadata_loader
from kcli.logdir.log_dirs import lacks_quorum_state
from kcli.rows.bad_news import FORETELL_A_START
from tests.partitions import locked, orders, put_no_ops, put_range, segment

pytestmark = pytest.mark.slow

IDS = ("AAAAAAAAAAAAAAAAAAAAZw", "AAAAAAAAAAAAAAAAAAAAaA")
STATE = (
    '{"leaderId":1,"leaderEpoch":2,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
)


def meta(log_dir, cluster="abc", node=7, directory=None):
    lines = ["version=1", f"cluster.id={cluster}", f"node.id={node}"]
    lines += [f"directory.id={directory}"] if directory else []
    (log_dir / "meta.properties").write_text("\n".join(lines))


@pytest.fixture
def log_dirs(tmp_path):
    """Return two log dirs of broker 7, each with a partition; the first has the metadata log."""
    found = []
    for name, directory_id in zip(("d0", "d1"), IDS, strict=True):
        partition = orders(tmp_path / name, put_range(0, 3))
        partition.rename(partition.with_name(f"{name}-0"))
        meta(tmp_path / name, directory=directory_id)
        found.append(tmp_path / name)
    metadata = found[0] / "__cluster_metadata-0"
    segment(metadata, 0, put_no_ops(0, 3))
    (metadata / "quorum-state").write_text(STATE)
    return found


def findings(command, *paths):
    """Return code and path of what a command finds about log dirs, and its exit status."""
    done = CliRunner().invoke(app, [command, *map(str, paths), "-o", "json"])
    found = json.loads(done.stdout)["findings"]
    reported = [
        (finding["code"], finding["path"])
        for finding in found
        if finding["code"] in {"START-009", "DIR-008", "DIR-010"}
    ]
    return reported, done.exit_code


COMMANDS = ("ls", "scan", "check")


@pytest.mark.parametrize("command", [*COMMANDS, "startup"])
def test_log_dirs_that_fit_together(log_dirs, command):
    assert findings(command, *log_dirs)[0] == []


@pytest.mark.parametrize("command", [*COMMANDS, "startup"])
def test_a_log_dir_without_meta_properties(log_dirs, command):
    (log_dirs[1] / "meta.properties").unlink()
    assert findings(command, *log_dirs) == ([("START-009", str(log_dirs[1] / "meta.properties"))], 1)


@pytest.mark.parametrize("command", [*COMMANDS, "startup"])
@pytest.mark.parametrize("place", ["beside", "elsewhere"])
def test_a_log_dir_that_lost_all_its_files_is_one_of_the_broker(log_dirs, tmp_path, command, place):
    """One parent, or the same partition in both: `startup` takes each directory for a log dir anyway."""
    bare = tmp_path / (place if place == "beside" else f"{place}/d1")
    shutil.copytree(log_dirs[0] / "d0-0", bare / "d0-0")
    expected = [("START-009", str(bare / name)) for name in ("d0-0", "meta.properties")]
    found, status = findings(command, *log_dirs, bare)
    assert (sorted(found), status) == (expected, 1)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_of_copies_is_no_log_dir_where_nothing_says_so(log_dirs, tmp_path, command):
    copies = shutil.copytree(log_dirs[0] / "d0-0", tmp_path / "copies" / "of" / "other-0").parent
    assert findings(command, *log_dirs, copies)[0] == []
    meta(log_dirs[1], node=8, directory=IDS[1])  # two brokers: which of them has it is not known
    shutil.copytree(log_dirs[0] / "__cluster_metadata-0", log_dirs[1] / "__cluster_metadata-0")
    copied = shutil.copytree(log_dirs[0] / "d0-0", tmp_path / "copies" / "d0-0").parent
    assert findings(command, *log_dirs, copied)[0] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_log_dirs_of_one_node_id_and_two_clusters_side_by_side(log_dirs, command, tmp_path):
    meta(log_dirs[1], cluster="xyz", directory=IDS[1])
    path = str(log_dirs[1] / "meta.properties")
    ends = [("START-009", path)] if command in FORETELL_A_START else []
    assert findings(command, *log_dirs)[0] == [("DIR-008", path), *ends]
    assert findings(command, log_dirs[1])[0] == []
    (tmp_path / "elsewhere").mkdir()
    moved = log_dirs[1].rename(tmp_path / "elsewhere" / "d1")
    assert findings(command, log_dirs[0], moved)[0] == []


def test_startup_takes_them_for_one_broker(log_dirs):
    meta(log_dirs[1], cluster="xyz", directory=IDS[1])
    assert findings("startup", *log_dirs) == ([("START-009", str(log_dirs[1] / "meta.properties"))], 1)


@pytest.mark.parametrize("command", [*COMMANDS, "startup"])
@pytest.mark.parametrize("text", ["", "{broken", STATE.replace('"leaderEpoch":2,', ""), "[1]"])
def test_a_damaged_quorum_state(log_dirs, command, text):
    path = log_dirs[0] / "__cluster_metadata-0" / "quorum-state"
    path.write_text(text)
    expected = [("DIR-010", str(path))]
    if command in FORETELL_A_START:
        expected.append(("START-009", str(path)))
    assert sorted(findings(command, *log_dirs)[0]) == expected


@pytest.mark.parametrize("command", [*COMMANDS, "startup"])
def test_a_quorum_state_that_is_missing(log_dirs, command):
    path = log_dirs[0] / "__cluster_metadata-0" / "quorum-state"
    path.unlink()
    strays = command in FORETELL_A_START  # the metadata has no topic: the records of both logs are lost
    assert findings(command, *log_dirs) == ([("DIR-010", str(path))], int(strays))


def test_a_metadata_log_that_never_ran_lacks_no_quorum_state(log_dirs):
    """As `kafka-storage format --standalone` leaves it."""
    metadata = log_dirs[0] / "__cluster_metadata-0"
    for path in metadata.iterdir():
        path.unlink()
    (metadata / f"{0:020d}-{0:010d}.checkpoint").write_bytes(b"x")
    assert not lacks_quorum_state(str(metadata))
    (metadata / f"{1:020d}-{1:010d}.checkpoint").write_bytes(b"x")
    assert lacks_quorum_state(str(metadata))


@pytest.mark.parametrize(
    ("text", "exception"),
    [
        ("", "UncheckedIOException"),
        ("{broken", "UncheckedIOException"),
        ("[1]", "UncheckedIOException"),
        (STATE.replace('"data_version":1', '"data_version":2'), "IllegalStateException"),
        (STATE.replace('"leaderEpoch":2,', ""), "RuntimeException"),
    ],
)
def test_a_damaged_quorum_state_ends_the_process_from_3_9_on(log_dirs, text, exception):
    (log_dirs[0] / "__cluster_metadata-0" / "quorum-state").write_text(text)
    for version, expected in (("4.3", ("fails", exception)), ("3.9", ("fails", exception)), ("3.6", None)):
        words = ["startup", *map(str, log_dirs), "-o", "json", "--kafka-version", version]
        rows = json.loads(CliRunner().invoke(app, words).stdout)["rows"]
        (broker,) = (row for row in rows if row["type"] == "startup_broker")
        if expected is not None or exception == "UncheckedIOException":
            assert (broker["outcome"], broker["error"]) == (expected or ("starts", None)), version


def test_ids_that_lack_are_said_once(log_dirs):
    (log_dirs[1] / "meta.properties").write_text("version=0\n")
    for command, ends in (("scan", []), ("ls", ["START-009"]), ("check", ["START-009"])):
        done = CliRunner().invoke(app, [command, *map(str, log_dirs), "-o", "json"])
        found = json.loads(done.stdout)["findings"]
        about = [finding["code"] for finding in found if finding["file"] == "meta.properties"]
        assert sorted(about) == ["DIR-008", *ends], command


METADATA = "__cluster_metadata-0"
LAST = "00000000000000000087.log"
ASKED = {
    "ls": (("ls", "--recover"), "log_end_offset"),
    "ls by two processes": (("ls", "--recover", "--jobs", "2"), "log_end_offset"),
    "startup": (("startup",), "log_end_offset"),
    "check": (("check",), "log_end_offset"),
    "truncate": (("truncate", "--dry-run", "--to-offset", "999"), "log_end_offset_before"),
    "epoch end-offset": (("epoch", "end-offset", "--epoch", "6"), "end_offset"),
    "epoch show": (("epoch", "show"), "end_offset"),
    "epoch at": (("epoch", "at", "latest"), "offset"),
    "lookup offset": (("lookup", "offset", "latest"), "offset"),
    "replica fingerprint": (("replica", "fingerprint"), "log_end_offset"),
    "rlmm offsets": (("rlmm", "offsets"), "log_end_offset"),
}
"""What says where the log ends: the words, and the key in the last row of the log."""


@pytest.fixture
def falling(demo, tmp_path):
    """Return a log dir after a crash: a batch twice in orders-0; recovery makes an index entry there."""
    root = tmp_path / "d0"
    shutil.copytree(demo, root)
    (root / ".kafka_cleanshutdown").unlink()
    log = root / "orders-0" / LAST
    log.write_bytes(log.read_bytes() + log.read_bytes()[:311])
    return root


def log_ends(*arguments):
    """Return the log end of orders-0 by each command, and who says that a setting is not known."""
    ends, unknown = {}, set()
    selected = ("--topic", "orders", "--partition", "0", "-o", "json")
    for name, (words, key) in ASKED.items():
        done = CliRunner().invoke(app, [*words, *map(str, arguments), *selected])
        document = json.loads(done.stdout)
        rows = [row for row in document["rows"] if row.get("partition") == 0 and row["topic"] == "orders"]
        ends[name] = rows[-1][key]
        if any(finding["code"] == "START-015" for finding in document["findings"]):
            unknown.add(name)
    return ends, unknown


def everywhere(end):
    return dict.fromkeys(ASKED, end)


def test_every_command_recovers_with_the_settings_of_the_topic(falling):
    assert log_ends(falling) == (everywhere(87), set())


def test_the_metadata_log_in_another_log_dir_says_the_settings_of_the_topic(falling):
    other = falling.with_name("d1")
    other.mkdir()
    (falling / METADATA).rename(other / METADATA)
    ids = (falling / "meta.properties").read_text()
    (other / "meta.properties").write_text(ids.replace("directory.id=v", "directory.id=w"))
    assert log_ends(falling, other) == (everywhere(87), set())


def test_a_log_dir_goes_by_its_own_metadata_log_not_by_one_of_another_broker(falling):
    """It does not know the topic, and ends before the one of the other broker."""
    other = falling.with_name("d1")
    shutil.copytree(falling / METADATA, other / METADATA)
    (other / "meta.properties").write_text(identity_of_another(falling))
    log = falling / METADATA / "00000000000000000000.log"
    log.write_bytes(log.read_bytes()[:500])
    assert log_ends(falling, other) == (everywhere(92), set(ASKED))


def identity_of_another(log_dir):
    lines = (log_dir / "meta.properties").read_text().replace("node.id=1", "node.id=2").splitlines()
    return "\n".join(line for line in lines if not line.startswith("directory.id"))


@pytest.mark.parametrize(("interval", "has_metadata"), [(256, False), (8192, True)])
def test_a_server_config_says_the_settings_where_the_topic_does_not(falling, interval, has_metadata):
    if not has_metadata:
        shutil.rmtree(falling / METADATA)
    config = falling.with_name("server.properties")
    config.write_text(f"log.dirs={falling}\nlog.index.interval.bytes={interval}\n")
    assert log_ends("--server-config", config) == (everywhere(87), set())


def test_without_the_settings_every_command_takes_the_default_and_says_so(falling):
    shutil.rmtree(falling / METADATA)
    assert log_ends(falling) == (everywhere(92), set(ASKED))


@pytest.mark.parametrize(
    "words",
    [("epoch", "end-offset", "--epoch", "6"), ("lookup", "offset", "latest"), ("ls", "--recover"), ("ls",)],
)
def test_the_metadata_log_is_read_where_a_log_is_recovered(demo, falling, monkeypatch, words):
    asked = set()
    monkeypatch.setattr(metadata_loader, "configuration_of", lambda target: asked.add(target.path))
    for log_dir in (demo, falling):
        CliRunner().invoke(app, [*words, str(log_dir / "orders-0")])
    assert asked == {str(falling / "orders-0")}


def test_the_growing_metadata_log_of_a_running_broker_is_not_read_for_each_log(falling, monkeypatch):
    read = []
    metadata_of_log = metadata_loader.metadata_of_log
    log = falling / METADATA / "00000000000000000000.log"

    def counted(*words):
        read.append(words)
        return metadata_of_log(*words)

    monkeypatch.setattr(metadata_loader, "metadata_of_log", counted)
    with locked(falling):
        for _ in range(3):
            assert findings_of_ls(falling) == {"START-001"}
            log.write_bytes(log.read_bytes() + bytes(1))
    assert len(read) == 1


def findings_of_ls(log_dir):
    words = ["ls", "--recover", str(log_dir), "--topic", "orders", "--partition", "0", "-o", "json"]
    found = json.loads(CliRunner().invoke(app, words).stdout)["findings"]
    return {finding["code"] for finding in found} & {"START-001", "START-015"}
