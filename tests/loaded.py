"""A `kcli` for scripts that run it often: each command line is a fork of one process that has loaded it."""

import os
import subprocess
import sys
from contextlib import contextmanager

from tests.processes import ENVIRONMENT

PROGRAM = """#!{python} -IS
import os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect("\\0{address}")
socket.send_fds(server, [repr((sys.argv[1:], os.getcwd(), dict(os.environ))).encode()], [0, 1, 2])
sys.exit(int(server.recv(9)))
"""
SERVER = """
import ast, os, signal, socket, sys
from typer.testing import CliRunner
from commands.app import app
from kcli.__main__ import main
from kcli.logdir import buffers, concurrent_changes

concurrent_changes.SETTLING_MS = buffers.WRITING_MS = 0
address, *lines = sys.argv[1:]
for line in lines:
    CliRunner().invoke(app, line.split())

def answer(client):
    text, streams, *_ = socket.recv_fds(client, 1 << 20, 3)
    sys.argv[1:], directory, environment = ast.literal_eval(text.decode())
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        main()
    except SystemExit as end:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        client.send(b"%d" % (end.code or 0))

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
server = socket.socket(socket.AF_UNIX)
server.bind(f"\\0{address}")
server.listen()
print(flush=True)
while True:
    client, _ = server.accept()
    if os.fork() == 0:
        answer(client)
        os._exit(0)
    client.close()
"""


@contextmanager
def loaded(folder, lines):
    """Put `kcli` into a folder, which waits for no import once it has run these lines; give the folder."""
    address = f"kcli tests: {os.getpid()}"
    words = [sys.executable, "-c", SERVER, address, *lines]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=ENVIRONMENT) as server:
        server.stdout.readline()
        (folder / "kcli").write_text(PROGRAM.format(python=sys.executable, address=address))
        (folder / "kcli").chmod(0o755)
        yield folder
        server.kill()
