"""kcli as a process of its own, and which processes run."""

import fcntl
import itertools
import os
import socket
import subprocess
import sys
import termios
import time
from collections import deque
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KCLI = [sys.executable, "-m", "kcli"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
"""With it kcli runs in any working directory."""
GONE_SECONDS = 120


def run_program(words, *, check=False, **options):
    """Run a program to its end, whatever its status unless `check`; return that and its output as text."""
    return subprocess.run(words, capture_output=True, text=True, check=check, **options)


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


def cpu_seconds(process):
    """Return how long a process has worked so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def let_work(process, seconds):
    """Wait until a process that goes on and on has worked for so long, however busy the machine is."""
    begun = cpu_seconds(process.pid)
    while cpu_seconds(process.pid) < begun + seconds:
        time.sleep(0.02)


def unread(pipe):
    """Return how many bytes of a pipe are unread so far."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


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


STEPS = itertools.count(0, 10)
CLAIMS: deque[socket.socket] = deque()
"""Names of ports that no other test process takes: between a look at a port and its broker seconds pass."""
MOST_CLAIMS = 20
"""Two for each base port: more than have a broker at a time. Most states are never started."""


def free_base_port():
    """Return a port such that those of nodes 1 to 3 are free, below those of Linux's own choice.

    Each call gives another one: clients of an earlier cluster may still ask at its ports.
    """
    first = os.getpid() * 610 % 12_000  # other processes, whose numbers may be the next ones, begin elsewhere
    for _ in range(1_200):
        base = 20_000 + (first + next(STEPS)) % 12_000
        if all(_is_free(base + offset) for offset in (1, 2, 3, 501, 502, 503)) and _claim(base):
            return base
    raise OSError("no port is free")


def _claim(base):
    """Take the ports from a base on for this process, for a while; return whether it has them."""
    for port in (base + 1, base + 501):
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0kcli tests: port {port}")  # a name without a file: it goes with the process
        except OSError:
            claim.close()
            return False
        CLAIMS.append(claim)
    while len(CLAIMS) > MOST_CLAIMS:
        CLAIMS.popleft().close()
    return True


def _is_free(port):
    with closing(socket.socket()) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
