"""Where temporary files go, and files that processes share."""

import os
import tempfile

import pytest

from kcli.engine.errors import EngineMissingError
from kcli.engine.scratch import ScratchFile, scratch_directory


class TestTemporaryFiles:
    @pytest.fixture(autouse=True)
    def nowhere(self, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(tempfile, "tempdir", None)
        monkeypatch.setattr("kcli.engine.scratch.PLACES", ("/proc", "/no/such/place"))

    @pytest.mark.parametrize("chosen", ["", ".", "/proc/self", "/tmp/" + "x" * 100])
    def test_never_go_to_the_working_directory(self, monkeypatch, tmp_path, chosen):
        monkeypatch.setenv("TMPDIR", chosen)

        with pytest.raises(EngineMissingError, match="no temporary directory is writable"):
            scratch_directory()
        assert os.listdir(tmp_path) == []

    def test_go_where_there_is_room(self, monkeypatch):
        with tempfile.TemporaryDirectory(dir="/tmp") as room:
            monkeypatch.setenv("TMPDIR", room)

            assert scratch_directory() == tempfile.gettempdir() == room

    def test_a_command_says_so(self, monkeypatch, tmp_path, kcli):
        monkeypatch.setenv("TMPDIR", "/proc")
        result = kcli("demo")

        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (4, "", 1)
        assert "no temporary directory is writable" in result.stderr
        assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("has_memory_files", [True, False])
def test_a_message_is_read_as_it_was_written_whatever_was_there_before(monkeypatch, has_memory_files):
    if not has_memory_files:
        monkeypatch.delattr(os, "memfd_create")
    file = ScratchFile(3)

    for parts in ([b"first", b"", bytes(300_000)], [b"second"], [], [memoryview(b"third")]):
        file.write(parts)
        assert file.read() == list(parts)
        assert file.read() == list(parts)
