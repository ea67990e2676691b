"""What `kcli --version -v` prints: of what kcli was made, and what it runs with."""

import json
import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution, version

import kcli

DISTRIBUTION = "kcli-for-kafka"
LARGER_PACKAGES = ("pyarrow", "numpy", "pyspark", "duckdb")
COMMIT_FILE = "commit.txt"
"""Beside kcli's modules, where `make dist` built them."""


def version_lines() -> Iterator[str]:
    """Yield a line each for kcli, its commit, the Kafka versions it reads, Python and the larger packages."""
    yield f"kcli {kcli.__version__}"
    yield f"commit   {commit() or 'unknown'}"
    yield f"reads    files of Kafka {kcli.KAFKA_VERSIONS}"
    yield f"python   {platform.python_version()} on {platform.system()} {platform.machine()}"
    for package in LARGER_PACKAGES:
        yield f"{package:8} {_installed(package)}"
    yield f"files    {os.path.dirname(os.path.abspath(kcli.__file__))}"


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def commit() -> str | None:
    """Return the commit that kcli was made from: as built, as installed from git, or of the checkout."""
    folder = os.path.dirname(os.path.abspath(kcli.__file__))
    with suppress(OSError), open(os.path.join(folder, COMMIT_FILE), encoding="ascii") as file:
        return file.read().strip()
    with suppress(PackageNotFoundError, ValueError, KeyError):
        installed = json.loads(distribution(DISTRIBUTION).read_text("direct_url.json") or "")
        return str(installed["vcs_info"]["commit_id"])
    root = os.path.dirname(folder)
    if not os.path.exists(os.path.join(root, ".git")):
        return None
    with suppress(OSError):
        command = ["git", "-C", root, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our words
        return done.stdout.strip() or None
    return None
