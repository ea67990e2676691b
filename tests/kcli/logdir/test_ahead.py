"""Reading ahead: what was asked for is there, what went wrong is raised, no thread stays."""

import threading

import pytest

from kcli.logdir.ahead import Ahead
from kcli.logdir.buffers import DataFile, FileError


def test_pieces_one_after_the_other(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(bytes(range(200)))
    views = [memoryview(bytearray(50)) for _ in range(4)]
    with DataFile(str(path)) as file, Ahead(file.read_into) as ahead:
        assert not ahead.wait()
        for number, view in enumerate(views):
            ahead.begin(view, 50 * number)
            assert ahead.is_reading
            assert ahead.wait()
            assert not ahead.is_reading

    assert b"".join(views) == bytes(range(200))


def test_what_goes_wrong_is_raised_where_it_is_waited_for(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(bytes(100))
    with DataFile(str(path)) as file, Ahead(file.read_into) as ahead:
        path.write_bytes(bytes(10))
        ahead.begin(memoryview(bytearray(100)), 0)
        with pytest.raises(FileError, match="shrank"):
            ahead.wait()
        ahead.begin(memoryview(bytearray(10)), 0)
        assert ahead.wait()


def test_leaving_waits_for_what_is_read():
    going, read = threading.Event(), []

    def fill(_view, position):
        going.wait(10)
        read.append(position)

    before = threading.active_count()
    with Ahead(fill) as ahead:
        ahead.begin(memoryview(b""), 7)
        assert threading.active_count() == before + 1
        going.set()
    assert (read, threading.active_count()) == ([7], before)


def test_no_thread_without_work():
    before = threading.active_count()
    with Ahead(lambda view, position: None):
        assert threading.active_count() == before
