"""A shell on a terminal, and a person who types: what the line is after TAB."""

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

QUIET_SECONDS = 0.7
"""Without a byte from the shell: it has answered."""
BEGIN_OF_LINE, END_OF_LINE = b"\x01", b"\x05"

START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(kcli completion bash)"'),
    "zsh": (["zsh", "-f", "-i"], 'autoload -Uz compinit && compinit -u -D; eval "$(kcli completion zsh)"'),
    "fish": (["fish", "--no-config", "-i"], "kcli completion fish | source"),
}


class Shell:
    """A shell that completes kcli's words."""

    def __init__(self, name, folder):
        command, load = START[name]
        (folder / "bin").mkdir()
        kcli = folder / "bin" / "kcli"
        kcli.write_text(f'#!/bin/sh\nexec {sys.executable} -m kcli "$@"\n')
        kcli.chmod(0o755)
        root = Path(__file__).resolve().parent.parent
        environment = {
            **os.environ,
            "PATH": f"{kcli.parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(root),
            "HOME": str(folder),
            "TERM": "xterm",
            "PS1": "$ ",
        }
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            cwd=folder,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.shown()
        self.type(f"{load}; echo lo''aded\n".encode(), "loaded")

    def type(self, keys, until="", quiet=QUIET_SECONDS):
        """Press keys; return what the terminal shows then."""
        os.write(self.master, keys)
        return self.shown(until, quiet)

    def shown(self, until="", quiet=QUIET_SECONDS):
        """Return what the shell writes until `until` is among it and it is quiet."""
        data, end = b"", time.monotonic() + 120
        while time.monotonic() < end:
            if select.select([self.master], [], [], quiet)[0]:
                data += os.read(self.master, 65536)
            elif until.encode() in data:
                break
        return data.decode(errors="replace")

    def line_after_tab(self, line):
        """Type a line and TAB (later keys wait in the terminal); return the line that the shell then has."""
        shown = self.type(
            line.encode() + b"\t" + BEGIN_OF_LINE + b"echo '<''<' " + END_OF_LINE + b" '>''>'\n", ">>", 0.1
        )
        return shown.rpartition("<<")[2].partition(">>")[0].strip()

    def listed(self, line, last):
        """Type a line and TAB twice; return what the shell shows up to a word, and clear the line."""
        shown = self.type(line.encode() + b"\t\t", last)
        self.type(b"\x03")
        return shown

    def end(self):
        """End the shell."""
        self.process.kill()
        self.process.wait()
        os.close(self.master)
