"""The metadata of a cluster in a process that asks more than once."""

import shutil

import pytest

from kcli.jobs.cluster_metadata import KnownMetadata, known_settings, metadata_image, newest_of
from kcli.kafka.kraft.metadata_image import Image, Topic
from kcli.kafka.kraft.metadata_loader import begin_run, image_in
from tests.partitions import locked

METADATA_LOG = "__cluster_metadata-0"


@pytest.fixture
def data(demo, tmp_path):
    """A log dir with the metadata log alone; its indexes are not there, a broker makes them anew."""
    shutil.copytree(demo / METADATA_LOG, tmp_path / METADATA_LOG)
    shutil.copy(demo / "meta.properties", tmp_path)
    for index in (tmp_path / METADATA_LOG).glob("*index"):
        index.unlink()
    return tmp_path


def test_metadata_that_has_changed_is_read_again(data):
    (log,) = (data / METADATA_LOG).glob("*.log")
    before = {path: metadata_image(str(path)).offset for path in (data, log.parent)}
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 3])

    for path, offset in before.items():
        assert metadata_image(str(path)).offset < offset


def test_what_a_running_broker_has_appended_is_read_by_the_next_run(data):
    (log,) = (data / METADATA_LOG).glob("*.log")
    whole = log.read_bytes()
    log.write_bytes(whole[: len(whole) // 3])
    with locked(data):
        before = image_in(str(data))
        log.write_bytes(whole)
        again = image_in(str(data))
        begin_run()
        after = image_in(str(data))

    assert before.offset == again.offset < after.offset


def test_of_a_later_epoch_a_shorter_metadata_log_is_the_newer():
    """A node that led before it was cut off has more records than the quorum that went on without it."""
    logs = [
        KnownMetadata("abc", node, f"d{node}", Image(epoch=epoch, offset=offset, topics={"id": Topic(name)}))
        for node, epoch, offset, name in ((1, 4, 900, "stale"), (2, 5, 800, "current"))
    ]
    assert newest_of(logs)["abc"].log_dir == "d2"
    assert {*known_settings(logs).topics["abc"]} == {"current"}
