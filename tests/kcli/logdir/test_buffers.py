"""Opening and reading files: every trouble is a FileError with a stable code."""

import os
import pickle

import pytest

from formats.errors import CorruptError
from kcli.logdir.buffers import DataFile, FileError, file_error, read_optional, read_whole, reading, shown
from tests.unprivileged import as_unprivileged

pytestmark = pytest.mark.moving


def code_of(path):
    with pytest.raises(FileError) as error:
        DataFile(str(path))
    return error.value.code


def test_what_cannot_be_opened(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    (tmp_path / "file").write_bytes(b"")
    expected = {
        "fifo": "not-a-file",
        "loop": "symlink-loop",
        "broken": "not-found",
        "nowhere": "not-found",
        "file/x": "not-a-directory",
        ".": "is-a-directory",
        "n" * 300: "name-too-long",
    }
    assert {name: code_of(tmp_path / name) for name in expected} == expected


def test_no_permission(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"x")
    secret.chmod(0)
    reported = as_unprivileged(
        "from kcli.logdir.buffers import DataFile, FileError",
        "try:\n    DataFile(sys.argv[1])\nexcept FileError as error:\n    print(error.code, error, sep='|')",
        secret,
    )
    assert reported == f"no-permission|{secret}: permission denied\n"


def test_reading_by_position(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"0123456789")
    with DataFile(str(path)) as file:
        assert (file.size, file.read(3, 4), file.read(8, 5), file.read(10, 1), file.read(50, 1)) == (
            10,
            b"3456",
            b"89",
            b"",
            b"",
        )
        with path.open("ab") as more:
            more.write(b"abc")
        assert (file.grown(), file.read(8, 5)) == (3, b"89")
        path.write_bytes(b"0123")
        assert file.grown() == -6
        with pytest.raises(FileError) as error:
            file.read(2, 6)
        assert (error.value.code, error.value.position) == ("changed", 4)
        file.close()


def test_whole_files(tmp_path):
    path = tmp_path / "small"
    assert read_optional(str(path)) is None
    path.write_bytes(b"12345")
    assert read_optional(str(path)) == read_whole(str(path), 5) == b"12345"
    with pytest.raises(FileError) as error:
        read_whole(str(path), 4)
    assert error.value.code == "limit"
    with pytest.raises(FileError):
        read_optional(str(tmp_path))


def test_errors_name_the_file_and_survive_pickling():
    with pytest.raises(FileError) as caught, reading("/a/b"):
        raise CorruptError(7, "line 1", "a number", "x")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.path, again.code, again.position, again.field) == ("/a/b", "corrupt", 7, "line 1")
    assert str(again) == "/a/b: byte 7: line 1: expected a number, found x"
    assert file_error("/c", OSError(5, "Input/output error")).code == "read-failed"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/a/b%20", "/a/b%20"),
        ("/a/é\n", "/a/é\n"),
        (os.fsdecode(b"/a/\xff%"), "/a/%FF%25"),
        (os.fsdecode(b"\xc3("), "%C3("),
    ],
)
def test_paths_as_text(path, text):
    assert shown(path) == text
