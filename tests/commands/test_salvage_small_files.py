"""`kcli salvage`: what becomes of epochs, topic id and vote where the small files are lost."""

import shutil

import pytest

from formats.java_text import CUT_SHORT
from tests.builders import put_batch, put_record
from tests.commands.answers import salvage
from tests.formats.recorded import stored
from tests.messages import put_set
from tests.partitions import orders, put_range, put_topic_id, snapshot
from tests.unprivileged import as_unprivileged

pytestmark = pytest.mark.slow

EMPTY = "an empty file, as a full disk or a power cut leaves one"
EPOCHS, TOPIC_ID = "leader-epoch-checkpoint", "partition.metadata"


def found_in(document):
    """Return code, file and message of the findings."""
    return [(finding["code"], finding["file"], finding["message"]) for finding in document["findings"]]


@pytest.fixture
def recorded(demo, tmp_path):
    """A copy of the demo's log dir: clicks-0 begins in remote storage and has no batch here."""
    return shutil.copytree(demo, tmp_path / "data")


def put(path, content):
    """Give a file this content; None: there is none."""
    path.unlink()
    if content is not None:
        path.write_bytes(content)


GARBAGE = b"garbage\n"
DAMAGED = "damaged (byte 0: line 1: expected the version, found 'garbage')"
NO_VERSION = "byte 0: line 1: expected version: 0, found"
CUT = f"damaged ({CUT_SHORT}"
NO_EPOCHS = "the copy, which begins at offset 180, has no epochs"
OF_BATCHES = "the copy has the epochs of its batches"
NO_ID = "the copy has none, and a KRaft broker renames such a directory to -stray"


@pytest.mark.parametrize(
    ("name", "file", "content", "code", "said"),
    [
        ("clicks-0", EPOCHS, GARBAGE, "SALV-004", f"{DAMAGED}: {NO_EPOCHS}"),
        ("clicks-0", EPOCHS, b"", "SALV-004", f"without entries: {NO_EPOCHS}"),
        ("clicks-0", EPOCHS, None, "SALV-004", f"missing: {NO_EPOCHS}"),
        ("orders-0", EPOCHS, GARBAGE, "SALV-005", f"{DAMAGED}: {OF_BATCHES}"),
        ("orders-0", EPOCHS, None, "SALV-005", f"missing: {OF_BATCHES}"),
        (
            "orders-0",
            TOPIC_ID,
            GARBAGE,
            "SALV-004",
            f"{CUT}; {NO_VERSION} 'garbage'): {NO_ID}",
        ),
        ("orders-0", TOPIC_ID, b"", "SALV-004", f"damaged ({EMPTY}; {NO_VERSION} nothing): {NO_ID}"),
        ("orders-0", TOPIC_ID, None, "SALV-004", f"missing: {NO_ID}"),
    ],
)
def test_what_is_lost_with_a_small_file(kcli, recorded, tmp_path, name, file, content, code, said):
    """The epochs of batches are not; those of remote segments are, also in a directory alone."""
    directory = recorded / name
    before, is_lost = (directory / file).read_bytes(), code == "SALV-004"
    put(directory / file, content)
    alone = [shutil.copytree(directory, tmp_path / name)] if name == "clicks-0" else []
    for number, one in enumerate((directory, *alone)):
        done, document = salvage(kcli, one, tmp_path / f"{number}")
        assert (done.exit_code, found_in(document)) == (int(is_lost), [(code, file, said)])
        copied = tmp_path / f"{number}" / file
        assert (copied.read_bytes() if copied.exists() else None) == (
            before if not is_lost else b"" if file == EPOCHS else None
        )
    drawn = kcli("salvage", directory, "--out", tmp_path / "again", "-o", "table").stdout
    assert (f"Not saved: {file}. All batches are saved." in drawn) == is_lost


def test_epochs_may_be_lost_with_batches(kcli, damaged, tmp_path):
    (damaged / EPOCHS).unlink()
    _, document = salvage(kcli, damaged, tmp_path / "out")

    said = "missing: the copy, which begins at offset 0, has the epochs of its batches alone"
    assert found_in(document)[-1] == ("SALV-004", EPOCHS, said)


@pytest.mark.parametrize(
    "batches",
    [[], [put_set(0, range(5))], [put_range(0, 5, epoch=-1)]],
    ids=["no batch", "magic 1", "no epoch"],
)
def test_a_log_without_epochs_needs_no_checkpoint(kcli, tmp_path, batches):
    directory = put_topic_id(orders(tmp_path / "data", *batches, epochs=None))
    done, document = salvage(kcli, directory, tmp_path / "out")
    assert (done.exit_code, document["findings"]) == (0, [])


def test_a_topic_id_is_missing_only_where_the_broker_knew_topic_ids(kcli, tmp_path):
    directory = orders(tmp_path / "data", put_range(0, 5))
    (tmp_path / "data" / "meta.properties").write_text("version=0\nbroker.id=7\n")
    assert salvage(kcli, directory, tmp_path / "1")[1]["findings"] == []
    put_topic_id(shutil.copytree(directory, tmp_path / "data" / "orders-1"))
    assert found_in(salvage(kcli, directory, tmp_path / "2")[1])[0][0] == "SALV-004"
    alone = shutil.move(directory, tmp_path / "orders-0")
    assert salvage(kcli, alone, tmp_path / "3")[1]["findings"] == []


def test_the_topic_id_of_a_metadata_log_is_never_lost_and_its_vote_may_be(kcli, recorded, tmp_path):
    """KRaft knows the topic id of its own log, and writes the file where there is none."""
    directory = recorded / "__cluster_metadata-0"
    put(directory / TOPIC_ID, None)
    assert salvage(kcli, directory, tmp_path / "1")[1]["findings"] == []
    put(directory / "quorum-state", b"garbage")
    done, document = salvage(kcli, directory, tmp_path / "2")
    ((code, file, message),) = found_in(document)
    assert (done.exit_code, code, file) == (1, "SALV-004", "quorum-state")
    assert message.startswith("damaged (") and message.endswith("): the copy has no vote")
    put(directory / "quorum-state", None)
    done, document = salvage(kcli, directory, tmp_path / "3")
    lost = ("SALV-004", "quorum-state", "missing: the copy has no vote")
    assert (done.exit_code, found_in(document)) == (1, [lost])


def test_small_files_that_cannot_be_read_are_errors(recorded, tmp_path):
    directory, out = recorded / "clicks-0", tmp_path / "out"
    before = snapshot(directory)
    for name in (EPOCHS, TOPIC_ID):
        (directory / name).chmod(0)
    out.mkdir()
    out.chmod(0o777)
    said = as_unprivileged(
        "from kcli.jobs.salvage.salvage import Salvage; from tests.partitions import unit",
        "done = Salvage(out=sys.argv[2] + '/copy', now_ms=0)(unit(sys.argv[1]))\n"
        "for one in done.findings: print(one.code, one.file, one.message)",
        directory,
        out,
    )
    assert [line.split(": ")[0] for line in said.splitlines()] == [
        f"SALV-004 {TOPIC_ID} cannot be read (permission denied)",
        f"SALV-004 {EPOCHS} cannot be read (permission denied)",
    ]
    assert snapshot(directory) == before


@pytest.mark.parametrize(("end", "count"), [(None, 3), (90, 3), (None, 0)])
def test_a_metadata_log_that_begins_above_its_snapshots_is_saved(kcli, tmp_path, end, count):
    """A node ends with IllegalStateException, with the copy too; its records are there all the same."""
    log_dir, directory = tmp_path / "d0", tmp_path / "d0" / "__cluster_metadata-0"
    directory.mkdir(parents=True)
    (log_dir / "meta.properties").write_text("version=1\ncluster.id=x\nnode.id=1\n")
    vote = '{"clusterId":"","leaderId":1,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,'
    vote += '"currentVoters":[{"voterId":1}],"data_version":0}'
    (directory / "quorum-state").write_text(vote)
    (directory / EPOCHS).write_text("0\n1\n1 100\n")
    no_op = put_record(value=b"\1\x14\0\0")
    batches = [
        put_batch(no_op, 1, base_offset=100 + number, partition_leader_epoch=1) for number in range(count)
    ]
    (directory / "00000000000000000100.log").write_bytes(b"".join(batches))
    if end is not None:
        (directory / f"{end:020}-0000000001.checkpoint").write_bytes(stored("snapshot.checkpoint"))
    done, document = salvage(kcli, directory, tmp_path / "out")

    message = "the log begins at offset 100, and no snapshot reaches it: no node starts with the copy"
    assert (done.exit_code, [finding["message"] for finding in document["findings"]]) == (1, [message])
    (row,) = document["rows"]
    assert (row["batches"], row["log_start_offset"], row["log_end_offset"]) == (count, 100, 100 + count)
    assert (tmp_path / "out" / "00000000000000000100.log").read_bytes() == b"".join(batches)
