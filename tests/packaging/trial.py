"""`python -m tests.packaging.trial [DIR] [ROOT...]` prints where the distributions answer as the source.

The one files run with every CPython that is there, the folder here and in each ROOT, a directory to change
root to, with a /dev/shm.
"""

import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from importlib import resources
from pathlib import Path

from tests.packaging.pieces import EVERY, FOLDER, HERE

COMMANDS = [
    "ls {demo}",
    "check {demo} -o json",
    "epoch end-offset --epoch all {demo}",
    "truncate --dry-run --to-offset 30 {demo}/orders-0 -o json --fail-on never",
    "dump -o text --print-data-log {demo}",
    "dump -o ndjson --records {demo}",
    "scan {demo} --jobs 2",
    "rlmm dump {demo} -o csv --only rlmm_event",
    "sql FROM(epochs)SELECT(topic) {demo}",
    "help truncation",
]
UNSHARE = ("--fork", "--pid", "--mount-proc")
"""Needs the rights of root; the loader of libraries asks /proc where a program is."""
EMPTY = {"PATH": "/nonexistent"}


def main():
    """Print for each file and place: the seconds of the first and second start, and the equal answers."""
    target, roots = Path(*sys.argv[1:2] or ["dist"]).resolve(), sys.argv[2:]
    print(f"{'file':26} {'where':36} {'first':>6} {'second':>6}  answers")
    with tempfile.TemporaryDirectory(prefix="kcli-trial-") as scratch:
        demo = unpack_demo(scratch)
        expected = [answer([sys.executable, "-m", "kcli"], words, demo) for words in COMMANDS]
        for place in EVERY:
            if place.machine == HERE.machine:
                for python in pythons(place.python):
                    with tempfile.TemporaryDirectory() as home:
                        start = [python, "-I", "-S", target / place.file]
                        row(place.file, python, start, demo, expected, {**EMPTY, "HOME": home})
        lay(target, scratch)
        row(FOLDER, "here", [Path(scratch, "kcli", "kcli")], demo, expected, EMPTY)
        for root in roots:
            inside = Path(f"{root}{scratch}")
            lay(target, inside)
            unpack_demo(inside)
            start = [shutil.which("unshare"), *UNSHARE, f"--root={root}", Path(scratch, "kcli", "kcli")]
            row(FOLDER, root, start, demo, expected, EMPTY)
            shutil.rmtree(inside)


def unpack_demo(folder):
    """Unpack the log dir that kcli ships, and return it."""
    with (
        (resources.files("kcli.demo") / "demo.tar.gz").open("rb") as file,
        tarfile.open(fileobj=file) as archive,
    ):
        archive.extractall(folder, filter="data")
    return Path(folder, "kcli-demo")


def lay(target, folder):
    with tarfile.open(target / FOLDER) as archive:
        archive.extractall(folder, filter="tar")


def pythons(version):
    """Return the CPythons of a version: on the path, and of pyenv."""
    name = "python{}.{}".format(*version)
    found = [shutil.which(name, path="/usr/local/bin:/usr/bin")]
    found += Path.home().glob(f".pyenv/versions/*/bin/{name}")
    return [str(path) for path in found if path]


def answer(start, words, demo, environment=None):
    """Return status and output of a command, and what it printed beside."""
    line = [*map(str, start), *words.format(demo=demo).split()]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, done.stdout, done.stderr


def row(file, where, start, demo, expected, environment):
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        answer(start, "--version", demo, environment)
        seconds.append(time.perf_counter() - began)
    same = [answer(start, words, demo, environment) for words in COMMANDS]
    count = sum(a == b for a, b in zip(same, expected, strict=True))
    print(
        f"{file:26} {where:36} {seconds[0]:6.2f} {seconds[1]:6.2f}  {count} of {len(COMMANDS)} equal",
        flush=True,
    )


if __name__ == "__main__":
    main()
