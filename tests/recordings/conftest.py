"""Fixtures: committed recordings, unpacked and checked once per session; what the read-only tests watch."""

from collections.abc import Callable
from pathlib import Path

import pytest

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
