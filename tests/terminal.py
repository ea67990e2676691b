"""A terminal for processes under test."""

import fcntl
import os
import pty
import struct
import subprocess
import termios


def terminal(command, stream="stdout", columns=None, cwd=None, **environment):
    """Run a command with stdout or stderr on a terminal; return screen, the other stream, the status."""
    master, slave = pty.openpty()
    if columns is not None:
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    streams.update(dict.fromkeys(streams if stream == "both" else [stream], slave))
    process = subprocess.Popen(
        [str(word) for word in command],
        **streams,
        env={**os.environ, "TERM": "xterm", "PAGER": "", **environment},
        cwd=cwd,
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
