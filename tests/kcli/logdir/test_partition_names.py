"""Entries of a partition directory: files or not, what a start keeps, which have misleading names."""

import os

import pytest

from kcli.logdir.buffers import FileError
from kcli.logdir.find import file_target, find
from kcli.logdir.partition_names import (
    file_name,
    index_file,
    is_misnamed,
    leftovers,
    listed,
    opened_names,
    sibling,
    unexpected_names,
)
from kcli.logdir.targets import Selection
from tests.partitions import log_dir, segment

LOG, NEXT = f"{0:020}.log", f"{50:020}.log"


@pytest.fixture
def directory(tmp_path):
    directory = log_dir(tmp_path / "d0") / "orders-0"
    segment(directory, 0)
    return directory


def notes(directory):
    (target,) = find([str(directory)], Selection()).targets
    return [
        (note.kind, os.path.basename(note.path)) for note in unexpected_names(target, *listed(str(directory)))
    ]


def test_files_and_what_leads_to_files_are_listed_apart_from_the_rest(directory):
    (directory / "folder").mkdir()
    os.mkfifo(directory / "pipe")
    (directory / "linked").symlink_to(directory / LOG)
    (directory / "lost").symlink_to(directory / "nowhere")
    (directory / "round").symlink_to(directory / "round")

    files, others = listed(str(directory))

    assert {LOG, "linked"} <= set(files)
    assert others == ["folder", "lost", "pipe", "round"]


def test_a_directory_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileError, match="nowhere"):
        listed(str(tmp_path / "nowhere"))


def test_a_start_keeps_no_deleted_and_cleaned_files_and_renames_swaps():
    names = [LOG, f"{LOG}.deleted", f"{NEXT}.swap", f"{70:020}.log.cleaned", f"{90:020}.log.swap"]

    assert opened_names(names) == {LOG: LOG, f"{NEXT}.swap": NEXT}


@pytest.mark.parametrize(
    ("name", "others", "expected"),
    [
        (LOG, [], False),
        ("5.log", [], True),
        ("5.log", [f"{5:020}.log"], False),
        ("+5.log", [], True),
        ("5.index", [], False),
        ("", [], False),
    ],
)
def test_a_broker_opens_a_log_by_the_name_of_its_offset(name, others, expected):
    assert is_misnamed(name, [name, *others]) == expected


def test_entries_that_are_not_what_their_names_say_are_noted(directory):
    (directory / NEXT).mkdir()
    (directory / "x.log").touch()
    (directory / "7.log").touch()

    assert sorted(notes(directory)) == [
        ("no-file", NEXT),
        ("no-offset", "x.log"),
        ("non-canonical-name", "7.log"),
    ]


def test_a_leftover_that_a_start_deletes_is_not_noted(directory):
    (directory / "7.log.deleted").touch()

    assert notes(directory) == []


def offset_of(name):
    return int(name.partition(".")[0])


@pytest.mark.parametrize(
    ("names", "deleted", "swaps"),
    [
        (
            ["10.log.swap", "20.log.swap", "30.log.swap", "20.log.cleaned", "40.index.deleted", "50.log"],
            ["40.index.deleted", "20.log.cleaned", "20.log.swap", "30.log.swap"],
            ["10.log.swap"],
        ),
        (["0.log.swap", "9.log.swap"], [], ["0.log.swap", "9.log.swap"]),
        (["5.checkpoint.deleted"], [], []),
    ],
)
def test_swaps_below_the_first_cleaned_file_are_finished_and_all_else_goes(names, deleted, swaps):
    """A deleted snapshot of KRaft is no leftover of the log."""
    assert leftovers(names, offset_of) == (tuple(deleted), tuple(swaps))


def test_a_sibling_has_the_suffix_of_the_file(tmp_path):
    for name in ("7.log", "7.index", "7.log.deleted"):
        (tmp_path / name).write_bytes(b"")

    assert sibling(file_target(str(tmp_path / "7.log")), "index") == f"{tmp_path}/7.index"
    assert sibling(file_target(str(tmp_path / "7.log")), "timeindex") is None
    assert sibling(file_target(str(tmp_path / "7.log.deleted")), "index") is None


def test_the_name_of_a_target_says_its_offset(tmp_path):
    path = tmp_path / "00000000000000000007.log"
    path.write_bytes(b"")

    assert file_name(file_target(str(path))).base_offset == 7


def test_the_index_of_a_segment_is_the_one_that_a_start_takes(tmp_path):
    log = file_target(str(tmp_path / "7.log"))

    def index(target=log):
        found = index_file(target, "index")
        assert (found.kind, found.shown) == ("index", found.path)
        return found.path.removeprefix(f"{tmp_path}/")

    (tmp_path / "7.index").write_bytes(b"")
    assert index() == "7.index"
    assert index(file_target(str(tmp_path / "7.log.swap"))) == "7.index.swap"
    (tmp_path / "7.index.swap").write_bytes(b"")
    assert index() == "7.index.swap"
    (tmp_path / "6.log.cleaned").write_bytes(b"")  # then a start deletes the swap
    assert index() == "7.index"
