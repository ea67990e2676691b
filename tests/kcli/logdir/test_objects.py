"""Listings of remote storage: the name and the size of each object."""

import pytest

from kcli.logdir.buffers import FileError
from kcli.logdir.objects import stored_objects

LISTINGS = {
    "aws": "2026-01-02 03:04:05       1234 t/a b.log\n",
    "find": "12 4 drwxr-xr-x 2 k k 4096 Jan 2 03:04 t\n13 4 -rw-r--r-- 1 k k 1234 Jan 2 03:04 t/a b.log\n",
    "name first": "\nt/a b.log 1234\n",
}


@pytest.mark.parametrize("name", LISTINGS)
def test_a_listing_has_names_and_sizes(tmp_path, name):
    (tmp_path / "list").write_text(LISTINGS[name])

    assert list(stored_objects(str(tmp_path / "list"))) == [("t/a b.log", 1234)]


def test_a_line_without_a_size_is_refused_where_it_begins(tmp_path):
    (tmp_path / "list").write_text("a 1\nb\n")
    with pytest.raises(FileError) as error:
        list(stored_objects(str(tmp_path / "list")))

    assert (error.value.code, error.value.position) == ("corrupt", 4)


def test_files_below_a_directory_are_objects(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "a").write_bytes(b"123")

    assert list(stored_objects(str(tmp_path))) == [(f"{tmp_path}/t/a", 3)]
