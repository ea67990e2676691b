"""A terminal for processes under test."""

import os
import pty
import subprocess


def terminal(command, stream="stdout", **environment):
    """Run a command with a terminal as its stdout or stderr.

    Return what that showed, what the other stream said, and the exit status.
    """
    master, slave = pty.openpty()
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: slave}
    process = subprocess.Popen(
        [str(word) for word in command],
        **streams,
        env={**os.environ, "TERM": "xterm", "PAGER": "", **environment},
    )
    os.close(slave)
    shown = b""
    try:
        while data := os.read(master, 65536):
            shown += data
    except OSError:  # Linux says EIO when the last writer has gone
        pass
    os.close(master)
    answer = [said for said in process.communicate() if said is not None]
    return shown, b"".join(answer), process.returncode
