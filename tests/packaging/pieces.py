"""Pieces of the distributions: wheels for each Python and machine, and a Python for the folder."""

import fnmatch
import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "kcli-linux-x86_64.tar.gz"
PLATFORMS = ("manylinux_2_28", "manylinux2014")
INTERPRETER = "org.bytedeco:cpython:3.11.3-1.5.9:jar:linux-x86_64"
"""A Python that Maven finds: linked to glibc 2.17, and to its own libraries by relative paths."""
INTERPRETER_SHA256 = "668b42f6a8b1a9789de7d3ca54a81fefb754cd8e885554b42858bbcbc0dd497c"
NOT_NEEDED = (
    *("*.data/*", "*/tests/*", "*.pyx", "*.pxd", "*.pxi", "*.h", "duckdb/experimental/*"),
    *(f"numpy/{name}" for name in ("f2py/*", "distutils/*", "random/*", "testing/*", "_core/_simd.*")),
    *("numpy/_core/*_tests.*", "pyarrow/_pyarrow_cpp_tests.*", "pyarrow/include/*", "pyarrow/src/*"),
    *("pyarrow/libarrow_python.so", "pyarrow/libarrow_python.so.*.*.*"),
    *(f"pyarrow/lib{name}.so*" for name in ("arrow_flight", "arrow_s3", "arrow_python_flight")),
    *(f"pyarrow/{name}.*.so" for name in ("_flight", "_dataset_*", "_substrait", "_s3fs", "_gcsfs")),
)
"""Of the wheels: what kcli never imports."""


class Place(NamedTuple):
    """A CPython as `(3, 11)`, and the machine it runs on as uname names it."""

    python: tuple[int, int]
    machine: str

    @property
    def file(self):
        """The name of the one file for it."""
        suffix = "" if self.machine == "x86_64" else f"-{self.machine}"
        return f"kcli-cp{self.python[0]}{self.python[1]}{suffix}.pyz"


EVERY = [Place((3, minor), machine) for machine in ("x86_64", "aarch64") for minor in range(11, 15)]
HERE = Place(sys.version_info[:2], os.uname().machine)


def run(words):
    """Run a program in the checkout and return its output; what it said is shown if it fails."""
    try:
        done = subprocess.run([*map(str, words)], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        sys.exit(f"{words[0]} is needed, and not on the path")
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return done.stdout


def download(wheel, place, scratch):
    """Return the wheels of kcli, its SQL and all that they need, for a Python and a machine."""
    folder = scratch / place.file
    version = ".".join(map(str, place.python))
    platforms = [word for name in PLATFORMS for word in ("--platform", f"{name}_{place.machine}")]
    words = f"download -q --only-binary :all: --implementation cp --python-version {version}".split()
    limits = ["-c", ROOT / "constraints.txt", "-d", folder]
    run([sys.executable, "-m", "pip", *words, *platforms, *limits, f"{wheel}[sql]"])
    return sorted(folder.glob("*.whl"))


def entries(wheels):
    """Yield the files to install as `(archive, entry)`."""
    for path in wheels:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                unneeded = any(fnmatch.fnmatchcase(entry.filename, pattern) for pattern in NOT_NEEDED)
                if not unneeded and not entry.is_dir():
                    yield archive, entry


def interpreter():
    """Return the archive of the folder's Python, which Maven downloads once for this checkout."""
    _, name, version, kind, classifier = INTERPRETER.split(":")
    path = Path(sys.prefix, "pieces", f"{name}-{version}-{classifier}.{kind}")
    if not path.exists():
        place = f"-DoutputDirectory={path.parent}"
        run(["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={INTERPRETER}", place])
    if hashlib.sha256(path.read_bytes()).hexdigest() != INTERPRETER_SHA256:
        path.unlink()
        sys.exit(f"{path} is not the Python that this was tested with")
    return path
