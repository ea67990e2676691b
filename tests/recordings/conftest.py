"""Fixtures: committed recordings, unpacked and checked once per session, and kcli as a function."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from tests.recordings import pack


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function: the name of a recording -> the folder that it was unpacked to, each file checked."""
    unpacked: dict[str, Path] = {}

    def find(name: str) -> Path:
        if name not in unpacked:
            unpacked[name] = pack.unpack(name, tmp_path_factory.mktemp("recordings"))
        return unpacked[name]

    return find


class Answer(NamedTuple):
    """The JSON document of a command, and its exit status."""

    rows: list[dict[str, Any]]
    findings: list[dict[str, Any]]
    errors: list[dict[str, Any]]
    status: int


@pytest.fixture(scope="session")
def ask() -> Callable[..., Answer]:
    """Return a function: words of a command line -> what kcli answers with `-o json`."""
    from commands.app import app

    def run(*words: object) -> Answer:
        done = CliRunner().invoke(app, [*map(str, words), "-o", "json"])
        assert done.stdout, done.stderr
        document = json.loads(done.stdout)
        return Answer(document["rows"], document["findings"], document["errors"], done.exit_code)

    return run
