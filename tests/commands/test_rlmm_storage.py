"""`rlmm check --storage`: objects without events, events without objects, wrong sizes, leftovers."""

import json
import shutil

import pytest

from tests.tiered import cluster

pytestmark = pytest.mark.slow

TOPICS = "t-retention,t-local,t-idle,t-delete-records,t-txn"
RETENTION = "t-retention-0-oVPy32YcSEOASp51AKmbFg"
FIRST = "00000000000000000097-tD-Iy4VPTjCVh3OEEjBCsw"
DELETED = "00000000000000000000-t7kAG6qJQwCrFsDNCBqPhg"
UNKNOWN = "00000000000000000000-AAAAAAAAAAAAAAAAAAAAAQ"


@pytest.fixture
def tier(tmp_path):
    """A copy of a recorded remote storage, for damage."""
    return shutil.copytree(cluster().storage, tmp_path / "tier")


@pytest.fixture
def check(kcli):
    def ask(*words, topic=TOPICS):
        done = kcli("rlmm", "check", cluster().node1, "--topic", topic, "-o", "json", *words)
        document = json.loads(done.stdout)
        assert document["errors"] == [], done.stderr
        return [
            (finding["code"], finding["message"])
            for finding in document["findings"]
            if finding["code"] not in {"RLMM-009", "DIR-002"}
        ]

    return ask


def codes(found):
    return [code for code, _ in found]


def test_a_storage_that_is_as_the_events_say_has_no_findings(check, tier):
    assert check("--storage", tier) == []


@pytest.mark.parametrize(
    "layout",
    [
        "{size} {name}",
        "{name}\t{size}",
        "2026-11-21 14:15:57 {size:>10} {name}",
        "  1310   8 -rw-r--r--   1 kafka    kafka  {size:>10} Nov 21 14:15 {name}",
    ],
)
def test_a_listing_says_the_same_as_the_directory(check, tier, tmp_path, layout):
    (tier / RETENTION / f"{FIRST}.log").write_bytes(b"x")
    (tier / RETENTION / f"{UNKNOWN}.log").write_bytes(b"xy")
    lines = [
        layout.format(size=path.stat().st_size, name=f"bucket/{path.relative_to(tier)}")
        for path in sorted(tier.rglob("*"))
        if path.is_file()
    ]
    listing = tmp_path / "listing.txt"
    directory = "  1300   4 drwxr-xr-x   2 kafka    kafka        4096 Nov 21 14:15 bucket"
    listing.write_text("\n".join(["", directory, *lines, "TOTAL: 300 objects, 12345 bytes (1 KiB)", ""]))

    found = check("--storage", listing)
    assert codes(found) == codes(check("--storage", tier)) == ["RLMM-021", "RLMM-020"]
    assert found[1][1].endswith("segment AAAAAAAAAAAAAAAAAAAAAQ: no event names it; 1 object, 2 bytes")


def test_each_difference_has_its_code(check, tier):
    folder = tier / RETENTION
    (folder / f"{FIRST}.index").unlink()
    ((code, message),) = check("--storage", tier)
    assert code == "RLMM-021" and "offsets 97..145: .index not in remote storage" in message

    for path in folder.glob(f"{FIRST}.*"):
        path.unlink()
    ((code, message),) = check("--storage", tier)
    assert code == "RLMM-021" and "no object of it in remote storage" in message

    shutil.rmtree(folder)
    ((code, message),) = check("--storage", tier)
    assert code == "RLMM-021" and "none of its 8 copied segments has an object" in message

    (tier / RETENTION).mkdir()
    (tier / RETENTION / f"{DELETED}.log").write_bytes(b"xyz")
    found = check("--storage", tier)
    assert codes(found) == ["RLMM-020", "RLMM-021"] and "1 object, 3 bytes" in found[0][1]


@pytest.mark.parametrize("part", ["index", "timeindex", "snapshot", "leader_epoch_checkpoint", "log"])
def test_a_part_that_no_segment_has_is_missing_of_each(check, tier, part):
    for path in (tier / RETENTION).glob(f"*.{part}"):
        path.unlink()
    found = check("--storage", tier, topic="t-retention")
    assert codes(found) == ["RLMM-021"] * 8
    assert all(message.endswith(f": .{part} not in remote storage") for _, message in found)


def test_objects_whose_events_are_elsewhere_are_not_judged(kcli, check, tier, tmp_path):
    gone = tier / "gone-7-AAAAAAAAAAAAAAAAAAAAAQ"
    gone.mkdir()
    (gone / f"{UNKNOWN}.log").write_bytes(b"x")
    assert codes(check("--storage", tier, topic="t-*,gone")).count("RLMM-020") == 1

    node = tmp_path / "node"
    node.mkdir()
    for name in ("__remote_log_metadata-3", "meta.properties"):
        source = cluster().node1 / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, node / name)
    findings = json.loads(kcli("rlmm", "check", node, "--storage", tier, "-o", "json").stdout)["findings"]
    ((_, message),) = [
        (finding["code"], finding["message"]) for finding in findings if finding["code"] == "RLMM-025"
    ]
    assert "segments in remote storage: their events are in partitions that are not here" in message
    assert "RLMM-020" not in {finding["code"] for finding in findings}


def test_an_unfinished_copy_says_what_is_there_and_for_how_long(kcli, tier):
    words = ("rlmm", "check", cluster().node1, "--topic", "t-retention", "--storage", tier, "-o", "json")
    name = "00000000000000000048-JqwTFdTMRNijsIlWO1n6vA.log"
    (tier / RETENTION / name).write_bytes(b"half")
    (finding,) = json.loads(kcli(*words, "--at", "2026-11-24").stdout)["findings"]

    assert finding["code"] == "RLMM-009" and "by broker 2, nothing for " in finding["message"]
    assert finding["message"].endswith(f"1 object, 4 bytes: {tier / RETENTION / name}")
    early = kcli("rlmm", "check", cluster().node1, "--topic", "t-retention", "--at", "8", "-o", "json")
    assert json.loads(early.stdout)["findings"] == []


def test_several_processes_put_together_what_they_know(kcli, tier):
    (tier / RETENTION / f"{UNKNOWN}.log").write_bytes(b"xy")
    words = ("rlmm", "check", cluster().node1, "--storage", tier, "-o", "ndjson", "--at", "2026-11-24")

    assert kcli(*words, "--jobs", "2").stdout == kcli(*words).stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("some words\n", "line 1: expected the name and the size of an object, found 'some words'"),
        ("1 a/b.log\n", "none of its 1 objects has the name of a remote segment's"),
        (None, "no such file"),
    ],
)
def test_what_is_no_listing_is_refused(kcli, tmp_path, text, message):
    path = tmp_path / "listing"
    if text is not None:
        path.write_text(text)
    done = kcli("rlmm", "check", cluster().node1, "--storage", path)

    assert (done.exit_code, done.stdout) == (2, "") and message in done.stderr and str(path) in done.stderr


def test_the_names_of_the_open_source_plugin(check, tmp_path):
    """Their logs are transformed: sizes say nothing. A manifest and indexes belong to each segment."""
    rows = [path.name.split(".")[0] for path in sorted((cluster().storage / RETENTION).glob("*.log"))]
    lines = [
        f"tier/t-retention-oVPy32YcSEOASp51AKmbFg/0/{stem}.{part} 7"
        for stem in rows
        for part in ("log", "indexes", "rsm-manifest")
    ]
    listing = tmp_path / "listing"
    listing.write_text("\n".join(lines))
    assert check("--storage", listing, topic="t-retention") == []

    listing.write_text("\n".join(lines[:-1]))
    ((code, message),) = check("--storage", listing, topic="t-retention")
    assert code == "RLMM-021" and ".rsm-manifest not in remote storage" in message

    listing.write_text("\n".join(line for line in lines if ".log " in line))
    found = check("--storage", listing, topic="t-retention")
    assert codes(found) == ["RLMM-021"] * 8 and ".indexes, .rsm-manifest not in remote storage" in found[0][1]
