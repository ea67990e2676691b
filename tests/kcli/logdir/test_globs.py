"""Paths that arguments stand for."""

import pytest

from kcli.logdir.globs import expand


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    for name in ("a-0", "a-1", "b-0", ".hidden-0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0.log").write_bytes(b"")
    (tmp_path / "what[0]").mkdir()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("argument", "paths"),
    [
        ("a-0", ["a-0"]),
        ("a-*", ["a-0", "a-1"]),
        ("*-0", ["a-0", "b-0"]),
        (".*-0", [".hidden-0"]),
        ("*/0.log", ["a-0/0.log", "a-1/0.log", "b-0/0.log"]),
        ("*/none.log", ["*/none.log"]),
        ("gone", ["gone"]),
        ("what[0]", ["what[0]"]),
    ],
)
def test_a_glob_gives_what_it_matches_and_all_else_stays(argument, paths):
    assert list(expand([argument])) == paths
