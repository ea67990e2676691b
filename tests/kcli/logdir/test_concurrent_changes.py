"""What a broker did to a path that was listed, not to be confused with a wrong path or a lost disk."""

import time

import pytest

from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.concurrent_changes import Removal, changed_since, comes_true, removal

pytestmark = pytest.mark.moving

LOG = "00000000000000000000.log"


@pytest.fixture
def directory(tmp_path):
    """A partition directory in a log dir, with a segment."""
    directory = tmp_path / "d0" / "orders-0"
    directory.mkdir(parents=True)
    (tmp_path / "d0" / "meta.properties").write_text("version=1\n")
    for name in (LOG, "00000000000000000000.index", "partition.metadata"):
        (directory / name).write_bytes(b"")
    return directory


def opened(path):
    """Return the error of opening a path."""
    with pytest.raises(FileError) as raised:
        DataFile(str(path))
    return raised.value


@pytest.mark.parametrize(
    ("name", "new"),
    [
        (LOG, f"{LOG}.deleted"),
        (f"{LOG}.swap", LOG),
        (f"{LOG}.cleaned", f"{LOG}.swap"),
        (f"{LOG}.swap", f"{LOG}.deleted"),
        ("leader-epoch-checkpoint.tmp", "leader-epoch-checkpoint"),
        ("00000000000000000007-0000000001.checkpoint.part", "00000000000000000007-0000000001.checkpoint"),
    ],
)
def test_a_renamed_file_is_a_removal_with_its_new_name(directory, name, new):
    (directory / LOG).rename(directory / new)
    gone = removal(opened(directory / name))
    assert gone == Removal(str(directory / name), new)
    assert gone.message == f"renamed to {new} after it was listed"


@pytest.mark.parametrize("suffix", ["-delete", "-stray", "-future"])
def test_a_renamed_directory_is_a_removal_with_its_new_name(directory, suffix):
    new = f"orders-0.{'0' * 32}{suffix}"
    directory.rename(directory.with_name(new))
    assert removal(opened(directory / LOG)) == Removal(str(directory), new)


def emptied(directory):
    for path in directory.iterdir():
        path.unlink()


def unmounted(directory):
    log_dir = directory.parent
    log_dir.rename(log_dir.with_name("unmounted"))
    log_dir.mkdir()


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        (lambda directory: (directory / LOG).unlink(), LOG),
        (lambda directory: directory.rename(directory.parent.parent / "elsewhere"), ""),
        (emptied, LOG),
        (lambda directory: directory.parent.rename(directory.parent.parent / "elsewhere"), None),
        (unmounted, None),
    ],
    ids=["file", "directory", "emptied directory", "log dir", "unmounted disk"],
)
def test_what_is_gone_was_removed_unless_the_disk_is_gone(directory, change, gone):
    change(directory)
    found = removal(opened(directory / LOG))
    assert found == (None if gone is None else Removal(str(directory / gone), None))
    assert found is None or found.message == "removed after it was listed"


def test_a_file_that_is_there_again_was_replaced(directory):
    (directory / LOG).unlink()
    error = opened(directory / LOG)
    (directory / LOG).write_bytes(b"")
    gone = removal(error)
    assert gone == Removal(str(directory / LOG), LOG)
    assert gone.message == "replaced while it was read"


def test_a_link_that_leads_nowhere_and_a_directory_are_none(directory):
    (directory / "link.log").symlink_to("nowhere")
    (directory / "0.log").mkdir()
    assert [removal(opened(directory / name)) for name in ("link.log", "0.log")] == [None, None]


@pytest.mark.parametrize(
    "change",
    [
        lambda directory: (directory / LOG).write_bytes(b"x"),
        lambda directory: (directory / LOG).rename(directory / f"{LOG}.deleted"),
        lambda directory: (directory / LOG).unlink(),
        lambda directory: (directory / "new").touch(),
    ],
)
def test_a_change_of_an_entry_is_a_change_of_the_directory(directory, change):
    time.sleep(0.05)
    began = time.time_ns()
    assert not changed_since(str(directory), began)
    change(directory)
    assert changed_since(str(directory), began)


def test_that_a_directory_is_gone_is_a_change(directory):
    assert changed_since(str(directory / "nowhere"), 0)


def test_what_comes_true_soon_after_a_change_of_the_directory_is_waited_for(directory):
    asked = []
    assert comes_true(str(directory), lambda: asked.append(1) or len(asked) == 3)
    assert not comes_true(str(directory), lambda: False)
    asked.clear()
    assert not comes_true(str(directory), lambda: asked.append(1))
    assert len(asked) == 1


def test_a_directory_that_is_gone_is_not_waited_for(directory):
    assert not comes_true(str(directory / "nowhere"), lambda: False)
