"""The metadata log beside its snapshots, as `KafkaRaftLog.createLog` opens it."""

import pytest

from kcli.jobs import epoch as epoch_jobs
from kcli.jobs import ls
from kcli.jobs.log_starts import StartRequest
from kcli.jobs.startup.replica_start import startup
from kcli.kafka.storage import metadata_log
from tests.kcli.jobs.starts import will_not_load
from tests.partitions import codes, log_dir, put_range, rows, segment, unit


@pytest.fixture
def metadata(tmp_path):
    """A log [0, 20) of epoch 3, stopped cleanly."""
    directory = log_dir(tmp_path / "d") / "__cluster_metadata-0"
    segment(directory, 0, put_range(0, 10, epoch=3) + put_range(10, 10, epoch=3))
    return directory


def snapshot(directory, offset, epoch, suffix=""):
    (directory / f"{offset:020d}-{epoch:010d}.checkpoint{suffix}").write_bytes(b"")


def ends(directory):
    (row,) = rows(ls.ls(unit(directory), request=StartRequest()))
    return row["log_start_offset"], row["log_end_offset"], row["high_watermark"]


@pytest.mark.parametrize(
    ("offset", "number", "message"),
    [
        (21, 3, "the log ends at offset 20, its newest snapshot at 21: all segments go"),
        (5, 4, "the log ends in leader epoch 3, its newest snapshot in 4: all segments go"),
    ],
)
def test_a_snapshot_that_is_ahead_empties_the_log_there(metadata, offset, number, message):
    snapshot(metadata, offset, number)
    assert ends(metadata) == (offset, offset, offset)
    outcome = epoch_jobs.show(unit(metadata))
    said = [finding.message for finding in outcome.findings if finding.code == "START-007"]
    assert (outcome.rows, said) == ([], [message])


def test_a_log_without_records_loses_nothing_to_its_snapshot(kcli, metadata):
    for path in metadata.glob("*.*"):
        path.unlink()
    (metadata / f"{0:020d}.log").write_bytes(b"")
    snapshot(metadata, 21, 3)
    assert ends(metadata) == (21, 21, 21)
    for command in ("ls", "check"):
        assert "START-007" not in kcli(command, metadata, "-o", "json").stdout


def test_an_older_snapshot_that_has_a_copy_alone_cannot_be_renamed(kcli, metadata):
    (metadata / f"{5:020d}-{3:010d} (1).checkpoint").write_bytes(b"")
    assert ends(metadata) == (0, 20, None)
    snapshot(metadata, 21, 3)
    outcome = startup(unit(metadata), request=StartRequest(now_ms=0))
    assert (codes(outcome)[0], outcome.rows[0].error) == ("START-008", "UncheckedIOException")
    assert will_not_load(kcli, metadata) == {str(metadata)}
    snapshot(metadata, 5, 3)
    assert ends(metadata) == (21, 21, 21)


def test_a_snapshot_need_not_be_a_file(metadata):
    (metadata / f"{21:020d}-{3:010d}.checkpoint").symlink_to("nowhere")
    assert ends(metadata) == (21, 21, 21)
    (metadata / f"{22:020d}-{3:010d}.checkpoint").mkdir()
    assert ends(metadata) == (22, 22, 22)


STRAY_NAMES = {
    "bootstrap.checkpoint": "NumberFormatException",
    f"old-{20:020d}-{3:010d}.checkpoint": "NumberFormatException",
    f"{20:020d}-{1 << 31:010d}.checkpoint": "NumberFormatException",
    f"{20:020d}.checkpoint": "NumberFormatException",
    "abc.checkpoint": "StringIndexOutOfBoundsException",
    "20-3.checkpoint": "StringIndexOutOfBoundsException",
    "20-3.checkpoint.part": "NumberFormatException",
    "2-3.checkpoint.part": "StringIndexOutOfBoundsException",
    "x.checkpoint.deleted": "NumberFormatException",
}


@pytest.mark.parametrize(("name", "exception"), STRAY_NAMES.items())
@pytest.mark.parametrize("kind", ["touch", "mkdir"])
def test_a_name_of_no_snapshot_ends_the_process(metadata, name, exception, kind):
    assert metadata_log.name_error(name) == exception
    getattr(metadata / name, kind)()
    outcome = startup(unit(metadata), request=StartRequest(now_ms=0))
    assert ("START-008" in codes(outcome), outcome.rows[0].error) == (True, exception)


@pytest.mark.parametrize("name", ["abc.checkpoint.tmp", "checkpoint", f"{5:020d}-{1:010d}.checkpoint.part"])
def test_other_names_leave_the_log_alone(metadata, name):
    (metadata / name).touch()
    assert metadata_log.name_error(name) is None
    assert ends(metadata) == (0, 20, None)
