"""Log dirs that do not fit together, and a damaged quorum-state: which commands say so."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from commands.app import app
from tests.partitions import orders, put_range, segment

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
    segment(metadata, 0, put_range(0, 3))
    (metadata / "quorum-state").write_text(STATE)
    return found


def findings(command, *paths):
    """Return code and path of what a command finds about log dirs, and its exit status."""
    done = CliRunner().invoke(app, [command, *map(str, paths), "-o", "json"])
    found = json.loads(done.stdout)["findings"]
    reported = [
        (one["code"], one["path"]) for one in found if one["code"] in {"START-009", "DIR-009", "DIR-010"}
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
    copied = shutil.copytree(log_dirs[0] / "d0-0", tmp_path / "copies" / "d0-0").parent
    assert findings(command, *log_dirs, copied)[0] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_log_dirs_of_one_node_id_and_two_clusters_side_by_side(log_dirs, command, tmp_path):
    meta(log_dirs[1], cluster="xyz", directory=IDS[1])
    assert findings(command, *log_dirs)[0] == [("DIR-009", str(log_dirs[1] / "meta.properties"))]
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
    if command in {"startup", "check"}:
        expected.append(("START-009", str(path)))
    assert sorted(findings(command, *log_dirs)[0]) == expected


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
    done = CliRunner().invoke(app, ["ls", *map(str, log_dirs), "-o", "json"])
    about = [one["code"] for one in json.loads(done.stdout)["findings"] if one["file"] == "meta.properties"]
    assert about == ["DIR-008"]
