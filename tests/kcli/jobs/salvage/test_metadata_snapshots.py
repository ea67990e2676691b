"""Which snapshots of a metadata log are not in its salvaged copy: each is said."""

import gzip
import json

import pytest

from tests.partitions import log_dir, put_range, segment
from tests.recordings import pack
from tests.unprivileged import as_unprivileged

OLDER, NEWER = f"{5:020d}-{0:010d}.checkpoint", f"{10:020d}-{0:010d}.checkpoint"
SNAPSHOT = gzip.decompress((pack.DATA.parent / "batches" / "snapshot.checkpoint.gz").read_bytes())
STATE = (
    '{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,"currentVoters":[],'
    '"data_version":0}'
)


@pytest.fixture
def metadata(tmp_path):
    """A metadata log with two snapshots."""
    directory = log_dir(tmp_path / "d") / "__cluster_metadata-0"
    segment(directory, 0, put_range(0, 10))
    (directory / "quorum-state").write_text(STATE)
    for name in (OLDER, NEWER):
        (directory / name).write_bytes(SNAPSHOT)
    return directory


def left_out(kcli, directory, out):
    """Return status, what is said of snapshots of a copy, and the snapshots in it."""
    done = kcli("salvage", directory, "--out", out, "-o", "json")
    found = [
        (one["file"], one["message"])
        for one in json.loads(done.stdout)["findings"]
        if one["code"] == "SALV-004" and one["file"] != "leader-epoch-checkpoint"
    ]
    return done.exit_code, found, sorted(path.name for path in out.glob("*.checkpoint*"))


def put_directory(path):
    path.unlink()
    path.mkdir()


def put_dangling(path):
    path.unlink()
    path.symlink_to("nowhere")


@pytest.mark.parametrize("name", [OLDER, NEWER])
@pytest.mark.parametrize(
    ("change", "what"), [(put_directory, "a directory"), (put_dangling, "a symbolic link that leads nowhere")]
)
def test_what_is_no_file_is_left_out(kcli, metadata, tmp_path, name, change, what):
    change(metadata / name)
    message = f"cannot be read ({what}, not a regular file): it is not in the copy"
    (other,) = {OLDER, NEWER} - {name}
    assert left_out(kcli, metadata, tmp_path / "out") == (1, [(name, message)], [other])
    drawn = kcli("salvage", metadata, "--out", tmp_path / "again", "-o", "table").stdout
    assert f"Not saved: {name}. All batches are saved." in " ".join(drawn.split())


def test_one_that_may_not_be_read_costs_nothing_else(metadata, tmp_path):
    (metadata / OLDER).chmod(0)
    out = tmp_path / "out"
    out.mkdir()
    out.chmod(0o777)
    said = as_unprivileged(
        "from kcli.jobs.salvage.salvage import Salvage; from tests.partitions import unit",
        "done = Salvage(out=sys.argv[2] + '/copy', now_ms=0)(unit(sys.argv[1]))\n"
        "print(done.error, [(one.code, one.file) for one in done.findings if one.severity == 'error'])",
        metadata,
        out,
    )
    assert said == f"None [('SALV-004', '{OLDER}')]\n"
    assert [path.name for path in (out / "copy").glob("*.checkpoint")] == [NEWER]


@pytest.mark.parametrize("name", ["bootstrap.checkpoint", "abc.checkpoint", "abc-9.checkpoint.deleted"])
def test_a_name_of_no_snapshot_is_left_out(kcli, metadata, tmp_path, name):
    (metadata / name).touch()
    exit_code, ((file, message),), saved = left_out(kcli, metadata, tmp_path / "out")
    assert (exit_code, file, saved) == (1, name, [OLDER, NEWER])
    assert message.startswith("a node does not start with this name (")


@pytest.mark.parametrize("suffix", [".part", ".deleted"])
def test_what_a_node_deletes_is_no_loss(kcli, metadata, tmp_path, suffix):
    (metadata / f"{NEWER}{suffix}").touch()
    assert left_out(kcli, metadata, tmp_path / "out") == (0, [], [OLDER, NEWER])


FLIPPED = SNAPSHOT[:5000] + bytes([SNAPSHOT[5000] ^ 1]) + SNAPSHOT[5001:]
DAMAGED = (
    (FLIPPED, "offset 1: the checksum does not match"),
    (SNAPSHOT[:-75], "the snapshot has no footer: its end is lost"),
    (b"", "there is no batch in the snapshot"),
)


@pytest.mark.parametrize("name", [OLDER, NEWER])
@pytest.mark.parametrize(("data", "what"), DAMAGED)
def test_a_damaged_one_is_left_out(kcli, metadata, tmp_path, name, data, what):
    (metadata / name).write_bytes(data)
    (other,) = {OLDER, NEWER} - {name}
    message = f"damaged ({what}): it is not in the copy"
    assert left_out(kcli, metadata, tmp_path / "out") == (1, [(name, message)], [other])


@pytest.mark.parametrize(("data", "what"), DAMAGED)
def test_the_log_stays_where_a_damaged_one_is_ahead_of_it(kcli, metadata, tmp_path, data, what):
    (metadata / f"{40:020d}-{0:010d}.checkpoint").write_bytes(data)
    done = kcli("salvage", metadata, "--out", tmp_path / "out", "-o", "json")
    document = json.loads(done.stdout)
    (row,) = document["rows"]
    assert (row["log_start_offset"], row["log_end_offset"], row["lost"]) == (0, 10, [])
    found = [(one["code"], one["message"]) for one in document["findings"] if one["severity"] == "error"]
    assert (done.exit_code, found) == (1, [("SALV-004", f"damaged ({what}): it is not in the copy")])


def test_the_newest_one_stays_if_the_log_begins_above_the_whole_ones(kcli, metadata, tmp_path):
    (metadata / f"{0:020d}.log").unlink()
    segment(metadata, 6, put_range(6, 10))
    (metadata / NEWER).write_bytes(FLIPPED)
    assert left_out(kcli, metadata, tmp_path / "out") == (1, [], [OLDER, NEWER])
    reaches = (metadata / OLDER).rename(metadata / f"{6:020d}-{0:010d}.checkpoint").name
    exit_code, ((name, _),), saved = left_out(kcli, metadata, tmp_path / "again")
    assert (exit_code, name, saved) == (1, NEWER, [reaches])


def test_a_log_that_goes_for_a_newer_snapshot_is_left_out(kcli, metadata, tmp_path):
    segment(metadata, 10, put_range(10, 5) + put_range(15, 5))
    (metadata / f"{40:020d}-{0:010d}.checkpoint").write_bytes(SNAPSHOT)
    done = kcli("salvage", metadata, "--out", tmp_path / "out", "-o", "json")
    document = json.loads(done.stdout)
    (row,) = document["rows"]
    lost = [(one["first_offset"], one["reason"]) for one in row["lost"]]
    assert (done.exit_code, lost) == (1, [(0, "snapshot"), (10, "snapshot")])
    assert (row["batches"], row["batches_lost"], row["bytes"]) == (0, 3, 0)
    assert row["bytes_lost"] == sum(path.stat().st_size for path in metadata.glob("*.log"))
    assert [one["code"] for one in document["findings"]].count("START-007") == 1
