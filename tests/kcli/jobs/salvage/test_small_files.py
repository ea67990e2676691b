"""The small files of a salvaged copy: metadata snapshots are whole, leader epochs fit the batches, or not."""

import gzip
import json
import random

import pytest

from kcli.jobs import epoch as epoch_jobs
from kcli.jobs.salvage.salvage import Salvage
from tests.partitions import codes, epoch_lines, log_dir, orders, put_range, put_topic_id, rows, segment, unit
from tests.recordings import pack
from tests.unprivileged import as_unprivileged

pytestmark = pytest.mark.slow

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
        (finding["file"], finding["message"])
        for finding in json.loads(done.stdout)["findings"]
        if finding["code"] == "SALV-004" and finding["file"] != "leader-epoch-checkpoint"
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
        "import kcli.kafka.findings.catalogue; from kcli.jobs.salvage.salvage import Salvage\n"
        "from tests.partitions import unit",
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
    (SNAPSHOT[:-75], "the snapshot has no footer: its end is lost, as after a full disk"),
    (b"", "an empty file, as a full disk or a power cut leaves one; there is no batch in the snapshot"),
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
    found = [
        (finding["code"], finding["message"])
        for finding in document["findings"]
        if finding["severity"] == "error"
    ]
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
    lost = [(loss["first_offset"], loss["reason"]) for loss in row["lost"]]
    assert (done.exit_code, lost) == (1, [(0, "snapshot"), (10, "snapshot")])
    assert (row["batches"], row["batches_lost"], row["bytes"]) == (0, 3, 0)
    assert row["bytes_lost"] == sum(path.stat().st_size for path in metadata.glob("*.log"))
    assert [finding["code"] for finding in document["findings"]].count("START-007") == 1


def partition(root, lines, *epochs, **more):
    """Make a partition whose batches of ten records have these leader epochs."""
    batches = [put_range(10 * number, 10, epoch) for number, epoch in enumerate(epochs)]
    return put_topic_id(orders(root, *batches, epochs=lines, **more))


def salvaged(directory, out):
    """Return the codes of the findings, and the checkpoint of the copy."""
    outcome = Salvage(out=str(out), now_ms=0)(unit(directory))
    assert rows(outcome)
    return codes(outcome), (out / "leader-epoch-checkpoint").read_text()


def result_of(kcli, out):
    (row,) = json.loads(kcli("check", out, "-o", "json").stdout)["rows"]
    return row["result"]


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
@pytest.mark.parametrize(
    ("lines", "epochs", "kept"),
    [
        (((0, 0), (1, 30), (2, 10)), (0, 0, 0, 0, 0), ((0, 0),)),
        (((7, 12),), (0, 0, 0), ((0, 0),)),
        (((3, 40),), (3, 3, 5), ((3, 0), (5, 20))),
        (((0, 0), (1, 20)), (0, 1, 1), ((0, 0), (1, 10))),
        (((0, 0), (1, 10)), (0, 0, 1), ((0, 0), (1, 20))),
        (((1, 10),), (0, 1, 1), ((0, 0), (1, 10))),
    ],
    ids=["lines that erase others", "of another log", "above the log", "late", "early", "incomplete"],
)
def test_a_checkpoint_that_contradicts_the_batches_is_made_from_them(
    kcli, tmp_path, lines, epochs, kept, clean
):
    directory = partition(tmp_path / "data", lines, *epochs, clean=clean)
    before = (directory / "leader-epoch-checkpoint").read_text()
    out = tmp_path / "orders-0"

    assert salvaged(directory, out) == (["SALV-005"], epoch_lines(*kept))
    assert result_of(kcli, out) == "clean"
    assert (directory / "leader-epoch-checkpoint").read_text() == before


@pytest.mark.parametrize(
    ("lines", "epochs", "kept"),
    [
        (((0, 0), (2, 20)), (0, 0, 2), ((0, 0), (2, 20))),
        (((0, 0),), (0, 0, 3), ((0, 0), (3, 20))),
        ((), (0, 2, 2), ((0, 0), (2, 10))),
    ],
    ids=["as it is", "recovery adds", "no entries"],
)
def test_a_checkpoint_that_fits_is_that_of_recovery(tmp_path, lines, epochs, kept):
    directory = partition(tmp_path / "data", lines, *epochs)

    assert salvaged(directory, tmp_path / "orders-0") == ([], epoch_lines(*kept))


@pytest.mark.parametrize(
    ("epochs", "kept"),
    [((0, 9, 0, 0), ((0, 0),)), ((0, 0, -5, 0), ((0, 0),)), ((8, 0, 0, 0), ((0, 0),))],
    ids=["up", "negative", "the first"],
)
def test_epochs_that_fall_are_an_error_and_the_fewest_are_contradicted(kcli, tmp_path, epochs, kept):
    directory = partition(tmp_path / "data", ((0, 0),), *epochs)
    out = tmp_path / "orders-0"

    assert salvaged(directory, out) == (["SALV-004"], epoch_lines(*kept))
    assert kcli("salvage", directory, "--out", tmp_path / "again").exit_code == 1
    assert result_of(kcli, out) == "damaged"


def test_epochs_below_the_log_start_are_in_the_copy_without_a_finding(tmp_path):
    """DeleteRecords moved the log start: the copy has none, and begins where its batches do."""
    directory = partition(tmp_path / "data", ((1, 15),), 0, 1, 1, log_start=15)

    assert salvaged(directory, tmp_path / "orders-0") == ([], epoch_lines((0, 0), (1, 10)))


def test_epochs_that_fall_below_the_log_start_are_an_error(tmp_path):
    """In the copy these batches are not below the log start."""
    directory = partition(tmp_path / "data", ((0, 0), (4, 20)), 0, 3, 1, 4, log_start=30)

    assert salvaged(directory, tmp_path / "orders-0")[0] == ["SALV-004"]


def test_the_copy_has_an_epoch_for_each_offset_as_its_batches_do(tmp_path):
    """A broker's answer from the copy is that from the batches, whatever the file was."""
    choose = random.Random(18)
    for number in range(100):
        epochs = sorted(choose.choices(range(5), k=6))
        lines = [(choose.randrange(6), 10 * choose.randrange(8)) for _ in range(choose.randrange(4))]
        directory = partition(tmp_path / f"{number}", lines, *epochs, clean=choose.random() < 0.5)
        out = tmp_path / f"{number}-out" / "orders-0"
        out.parent.mkdir()
        found, _ = salvaged(directory, out)
        assert found in ([], ["SALV-005"])
        for offset in range(0, 60, 5):
            (row,) = rows(epoch_jobs.at(unit(out), offset=offset))
            assert row["epoch"] == epochs[offset // 10], (lines, epochs, offset)
