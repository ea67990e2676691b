"""kcli as a process of its own, and which processes run."""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KCLI = [sys.executable, "-m", "kcli"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
"""With it kcli runs in any working directory."""
GONE_SECONDS = 30


def run_program(words, **options):
    """Run a program to its end, whatever its status; return that and its output as text."""
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


def processes():
    """Return {process: (parent, session, command line)} of all that run."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            words = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # gone since
            continue
        if fields[0] not in "ZX":
            found[int(path.name)] = (int(fields[1]), int(fields[3]), words)
    return found


def children_of(owner):
    return [process for process, (parent, _, _) in processes().items() if parent == owner]


def workers_of(owner):
    """Return the processes that the fork server of a command has forked: children of its children."""
    family = processes()
    children = {process for process, (parent, _, _) in family.items() if parent == owner}
    return [process for process, (parent, _, _) in family.items() if parent in children]


def of_session(leader):
    """Return {process: command line} of a session."""
    return {pid: words for pid, (_, session, words) in processes().items() if session == leader}


def is_gone(leader):
    end = time.monotonic() + GONE_SECONDS
    while of_session(leader) and time.monotonic() < end:
        time.sleep(0.1)
    return not of_session(leader)
