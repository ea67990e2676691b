"""Programs under test that go on as a user who may do only what everybody may."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
DROP = """
for parent in {parent for path in sys.argv[1:] for parent in pathlib.Path(path).parents}:
    if parent.stat().st_uid == os.geteuid() and parent != pathlib.Path("/"):
        parent.chmod(parent.stat().st_mode | 0o011)  # pytest closes its own to others at each of its starts
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
"""


def as_unprivileged(first, then, *paths):
    """Run a program over paths without root's rights (their parents are opened); return its stdout."""
    program = f"import os, pathlib, sys\n{first}\n{DROP}\n{then}"
    return subprocess.run(
        [sys.executable, "-c", program, *paths], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
