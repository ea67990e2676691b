"""`dump`, `check`, `scan`, `rlmm` of the plugin's objects answer as of the real cluster's own files."""

import json
import shutil
from pathlib import Path

import pytest

from tests.plugin import NO_KEY, store_all
from tests.stories import Story, first_segments
from tests.tiered import cluster
from tests.unprivileged import as_unprivileged

pytestmark = pytest.mark.slow

TOPICS = ("t-txn", "t-retention")
PLACE = ("type", "dir", "file", "path")


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "compressed"])
def root(request, tmp_path_factory):
    root = tmp_path_factory.mktemp("plugin")
    for topic in TOPICS:
        store_all(cluster().storage, root, topic, compression=request.param, metadata={"brokerId": 1})
    return root


@pytest.fixture
def ask(kcli):
    def ask(*words):
        done = kcli(*words, "-o", "json")
        assert done.exit_code != 70, done.stderr
        return json.loads(done.stdout), done.exit_code

    return ask


def rows(document, kind):
    """Return what rows of a type say, without where they are from, per segment."""
    found = [
        (row["file"].split(".")[0], {key: value for key, value in row.items() if key not in PLACE})
        for row in document["rows"]
        if row["type"] == kind
    ]
    return sorted(found, key=lambda each: each[0])


@pytest.mark.parametrize(
    "kind",
    ["dump_batch", "dump_index", "dump_timeindex", "dump_txnindex", "dump_producer", "dump_leader_epoch"],
)
def test_dump_shows_the_rows_of_the_files_that_were_stored(ask, root, kind):
    expected, _ = ask("dump", cluster().storage, "--topic", ",".join(TOPICS), "--only", kind)
    document, status = ask("dump", root, "--only", kind)

    assert (status, document["errors"], document["findings"]) == (0, [], [])
    assert rows(document, kind) == rows(expected, kind) != []


def test_records_and_text_of_a_log(ask, kcli, root):
    stored = sorted(cluster().storage.glob("t-txn-0-*/*.log"))[3]
    (mine,) = root.glob(f"t-txn-*/0/{stored.name}")
    assert rows(ask("dump", mine, "--records")[0], "dump_record") == rows(
        ask("dump", stored, "--records")[0], "dump_record"
    )
    one, other = (kcli("dump", path, "--records", "-o", "text").stdout for path in (mine, stored))
    assert one.splitlines()[1:] == other.splitlines()[1:]


def test_what_the_plugin_itself_stored(ask):
    """The bytes are of its own classes: see tests/data/plugin."""
    document, status = ask("dump", Path(__file__).parents[1] / "data" / "plugin" / "objects")
    expected, _ = ask("dump", cluster().storage, "--topic", "t-txn")
    assert (status, document["errors"], document["findings"]) == (0, [], [])
    for kind in ("dump_batch", "dump_index", "dump_timeindex", "dump_txnindex", "dump_producer"):
        (segment, *_) = {name for name, _ in rows(document, kind)}
        assert rows(document, kind) == [row for row in rows(expected, kind) if row[0] == segment]


def test_a_selection_reads_the_logs_alone_from_where_their_indexes_lead(ask, root):
    document, status = ask("dump", root, "--topic", "t-txn", "--offsets", "160..170")
    assert (status, document["findings"]) == (0, [])
    assert {row["type"] for row in document["rows"]} == {"dump_batch"}
    assert document["rows"][0]["base_offset"] <= 160 <= document["rows"][0]["last_offset"]
    assert document["rows"][-1]["base_offset"] <= 170 <= document["rows"][-1]["last_offset"]
    (log,) = root.glob("t-txn-*/0/00000000000000000000-*.log")
    document, status = ask("dump", log, "--time", "1795263064186..1795263064195")
    assert (status, document["findings"], len(document["rows"])) == (0, [], 2)


@pytest.mark.parametrize("below", ["", "t-txn-*", "t-txn-*/0"])
def test_topic_and_partition_come_from_the_directories(ask, root, below):
    (path,) = root.glob(below) if below else (root,)
    document, _ = ask("dump", path, "--topic", "t-txn", "--partition", "0", "--only", "dump_rsm_manifest")
    assert {(row["topic"], row["partition"]) for row in document["rows"]} == {("t-txn", 0)}
    assert len(document["rows"]) == len(list(root.glob("t-txn-*/0/*.log")))


def test_a_manifest_is_one_row(ask, root):
    path = min(root.glob("t-txn-*/0/*.rsm-manifest"))
    ((row,), status) = ask("dump", path)[0]["rows"], 0
    log = path.with_suffix(".log").stat().st_size
    assert (status, row["original_file_size"], row["stored_size"], row["chunks"]) == (0, 7840, log, 8)
    assert row["chunk_index"] == ("variable" if row["is_compressed"] else "fixed")
    assert row["remote_log_segment_metadata"] == {"brokerId": 1}
    last = row["stored_indexes"][-1]
    assert last["index"] == "transaction"
    assert last["position"] + last["size"] == path.with_suffix(".indexes").stat().st_size


@pytest.mark.parametrize("extension", ["indexes", "rsm-manifest", "log"])
def test_layout_has_every_byte_once(ask, root, extension):
    path = min(root.glob(f"t-txn-*/0/*.{extension}"))
    fields = [row for row in ask("dump", path, "--layout")[0]["rows"] if row["position"] is not None]
    ends = [row["position"] + row["size"] for row in fields]
    assert [row["position"] for row in fields] == [0, *ends[:-1]]
    assert ends[-1] == (7840 if extension == "log" else path.stat().st_size)


@pytest.mark.parametrize(
    "words", [("offset", "60"), ("offset", "200"), ("timestamp", "1795263064186")], ids=str
)
def test_rlmm_lookup_reads_the_objects(ask, root, words):
    def answer(storage):
        document, status = ask(
            "rlmm", "lookup", *words, cluster().node1, "--topic", "t-txn", "--storage", storage
        )
        (row,) = document["rows"]
        return status, document["errors"], {key: value for key, value in row.items() if key != "path"}

    assert answer(root) == answer(cluster().storage)
    assert answer(root)[2]["tier"] == "remote"


@pytest.mark.parametrize("compression", [False, True])
def test_rlmm_follow_takes_the_state_from_the_objects(tmp_path, compression):
    story = Story(tmp_path)
    first_segments(story)
    snapshot = next(cluster().storage.glob("t-txn-0-*/*.snapshot")).read_bytes()
    for log in story.storage.glob("*/*.log"):
        log.with_suffix(".snapshot").write_bytes(snapshot)
    leader = story.replica("a", [(6, 2), (7, 3)], [(0, 0), (1, 3), (2, 5), (3, 7)])
    follower = story.replica("b", [], [])
    expected = story.follow(follower, leader)
    store_all(story.storage, tmp_path / "plugin", "t", compression=compression, chunk_size=50)
    story.storage = tmp_path / "plugin"

    assert story.follow(follower, leader) == expected
    assert (expected["outcome"], expected["epochs_source"]) == ("tiered", "storage")
    for manifest in story.storage.glob("*/*/*.rsm-manifest"):
        manifest.unlink()
    row = story.follow(follower, leader)
    assert (row["outcome"], row["epochs_source"]) == ("failed", None)


def test_check_and_scan_of_logs(ask, root):
    logs = sorted(root.glob("t-txn-*/0/*.log"))
    stored = sorted(cluster().storage.glob("t-txn-0-*/*.log"))
    document, status = ask("check", *logs)
    assert (status, [row["result"] for row in document["rows"]]) == (0, ["clean"])
    assert rows(ask("scan", *logs)[0], "scan_segment") == rows(ask("scan", *stored)[0], "scan_segment")


def test_check_of_a_storage(ask, tmp_path):
    stems = store_all(cluster().storage, tmp_path, "t-txn", compression=True)
    store_all(cluster().storage, tmp_path, "t-retention", encryption=NO_KEY)
    log = stems[2].with_suffix(".log")
    data = bytearray(log.read_bytes())
    data[0] ^= 0xFF
    log.write_bytes(data)
    document, status = ask("check", tmp_path)

    assert status == 4
    of_topic = {row["topic"]: row["result"] for row in document["rows"]}
    assert of_topic["t-txn"] == "damaged"
    errors = {(error["error"], error["path"]) for error in document["errors"]}
    assert ("corrupt", str(log)) in errors
    assert {error for error, path in errors if path != str(log)} == {"encrypted"}
    whole, status = ask("check", tmp_path, "--topic", "t-txn", "--jobs", "2")
    assert (status, [row["segments"] for row in whole["rows"]]) == (4, [len(stems) - 1])


def test_a_partition_with_several_unread_objects_is_one_input(ask, kcli, tmp_path):
    store_all(cluster().storage, tmp_path, "t-txn")
    store_all(cluster().storage, tmp_path, "t-retention", encryption=NO_KEY)
    document, _ = ask("check", tmp_path)
    assert len({error["path"] for error in document["errors"]}) > 1
    said = kcli("check", tmp_path).stderr.splitlines()[-1]
    assert said == "kcli: 1 of 2 partitions and files gave an error"


def check(ask, root):
    document, _ = ask("rlmm", "check", cluster().node1, "--topic", ",".join(TOPICS), "--storage", root)
    return [
        (finding["code"], finding["message"].partition(": ")[2])
        for finding in document["findings"]
        if finding["code"] not in {"RLMM-009", "DIR-002"}
    ]


def test_rlmm_check_holds_objects_against_events_and_manifests(ask, tmp_path):
    stems = store_all(cluster().storage, tmp_path, "t-retention", compression=True)
    store_all(cluster().storage, tmp_path, "t-txn")
    assert check(ask, tmp_path) == []

    manifest = stems[0].with_suffix(".rsm-manifest")
    size = json.loads(manifest.read_text())["chunkIndex"]["originalFileSize"]
    manifest.write_text(manifest.read_text().replace(str(size), str(size - 1)))
    for stem, extension in zip(stems[1:], ("log", "indexes"), strict=False):
        with stem.with_suffix(f".{extension}").open("ab") as file:
            file.write(b"x")
    stems[3].with_suffix(".rsm-manifest").write_text("{}")
    found = check(ask, tmp_path)
    assert [code for code, _ in found] == ["RLMM-021", "RLMM-021", "RLMM-021", "RLMM-021"]
    assert f"had {size - 1} bytes by its manifest, by its event {size}" in found[0][1]
    assert ".log has" in found[1][1]
    assert ".indexes has" in found[2][1]
    assert "version" in found[3][1]


@pytest.mark.parametrize("compression", [False, True])
def test_rlmm_check_finds_an_empty_log_in_the_directory_and_in_its_listing(ask, tmp_path, compression):
    root, listing = tmp_path / "tier", tmp_path / "listing.txt"
    stems = store_all(cluster().storage, root, "t-retention", compression=compression)
    store_all(cluster().storage, root, "t-txn")
    with stems[0].with_suffix(".log").open("wb"):
        pass
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    listing.write_text("".join(f"{path.stat().st_size} {path.relative_to(root)}\n" for path in files))

    for storage in (root, listing):
        ((code, message),) = check(ask, storage)
        assert code == "RLMM-021"
        assert "its log has 0 bytes there, by its event " in message


def test_what_is_encrypted_is_refused_once_with_its_key_pair(ask, kcli, tmp_path):
    stem = store_all(cluster().storage, tmp_path, "t-txn", encryption=NO_KEY)[0]
    for extension in ("log", "indexes"):
        document, status = ask("dump", stem.with_suffix(f".{extension}"))
        (error,) = document["errors"]
        assert (status, document["rows"], error["error"], error["field"]) == (
            3,
            [],
            "encrypted",
            "encryption",
        )
        assert "'my-key-pair'" in error["message"]
        assert str(stem) in error["path"]
    (row,) = ask("dump", stem.with_suffix(".rsm-manifest"))[0]["rows"]
    assert row["encryption_key_id"] == "my-key-pair"
    done = kcli("rlmm", "lookup", "offset", "60", cluster().node1, "--topic", "t-txn", "--storage", tmp_path)
    assert done.exit_code in {3, 4}
    assert f"{tmp_path}/t-txn-" in done.stderr


@pytest.mark.parametrize("extension", ["log", "indexes", "rsm-manifest"])
@pytest.mark.parametrize("words", [(), ("--layout",), ("--records",)], ids=" ".join)
def test_damage_is_never_a_bug(ask, tmp_path, extension, words):
    stem = store_all(cluster().storage, tmp_path, "t-txn", compression=True)[0]
    path = stem.with_suffix(f".{extension}")
    data = path.read_bytes()
    places = range(0, len(data), max(1, len(data) // 12))
    for damaged in [
        *(data[:place] for place in places),
        *(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :] for place in places),
    ]:
        path.write_bytes(damaged)
        for each in (path, stem.with_suffix(".log"), stem.with_suffix(".indexes")):
            document, _ = ask("dump", each, *words)
            assert "internal" not in {error["error"] for error in document["errors"]}


RUN = "CliRunner().invoke(app, ['rlmm', *{words}, '--storage', sys.argv[2], '-o', 'json']).stdout"
IMPORTS = "from commands.app import app\nfrom typer.testing import CliRunner"


def refused(words, *paths):
    """Return the document of an `rlmm` command that may do only what everybody may."""
    run = RUN.format(words=words)
    return json.loads(as_unprivileged(f"{IMPORTS}\n{run}", f"print({run})", *paths))


def test_a_manifest_that_may_not_be_read_is_an_input_that_could_not_be_read(tmp_path):
    log_dir = shutil.copytree(cluster().node1, tmp_path / "node1")
    stem = store_all(cluster().storage, tmp_path / "objects", "t-retention")[0]
    stem.with_suffix(".rsm-manifest").chmod(0)
    words = "['check', sys.argv[1], '--topic', 't-retention']"
    document = refused(words, log_dir, tmp_path / "objects")

    assert [finding["code"] for finding in document["findings"] if finding["code"] == "RLMM-021"] == []
    errors = [(error["error"], error["path"]) for error in document["errors"]]
    assert errors == [("no-permission", str(stem.with_suffix(".rsm-manifest")))]
    assert [row["topic"] for row in document["rows"]] == ["t-retention"]


def test_a_storage_that_may_not_be_searched_is_no_lost_segment(tmp_path):
    log_dir = shutil.copytree(cluster().node1, tmp_path / "node1")
    stem = store_all(cluster().storage, tmp_path / "objects", "t-retention")[0]
    number = stem.parent.name
    words = f"['lookup', 'timestamp', '0', sys.argv[1], '--topic', 't-retention', '--partition', '{number}']"
    assert refused(words, log_dir, tmp_path / "objects")["errors"] == []
    stem.parent.chmod(0)
    document = refused(words, log_dir, tmp_path / "objects")
    stem.parent.chmod(0o755)

    (error,) = document["errors"]
    assert (document["rows"], error["error"]) == ([], "no-permission")
    assert error["path"].startswith(str(stem.parent))
