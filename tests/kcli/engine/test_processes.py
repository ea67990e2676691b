"""Where temporary files go."""

import os
import tempfile

import pytest

from kcli.engine.errors import EngineMissingError
from kcli.engine.processes import scratch_directory


class TestTemporaryFiles:
    @pytest.fixture(autouse=True)
    def nowhere(self, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(tempfile, "tempdir", None)
        monkeypatch.setattr("kcli.engine.processes.PLACES", ("/no/such/place", "/nor/this"))

    @pytest.mark.parametrize("chosen", ["", ".", "/no/such", "/tmp/" + "x" * 100])
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
        monkeypatch.setenv("TMPDIR", "/no/such/place")
        result = kcli("demo")

        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (4, "", 1)
        assert "no temporary directory is writable" in result.stderr
        assert os.listdir(tmp_path) == []
