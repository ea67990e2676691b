"""`python -m tests.packaging [DIR]` builds distributions; the one file unpacks its packages once."""

import fcntl
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from tests.packaging.man_page import man_page

ROOT = Path(__file__).resolve().parents[2]
COMMIT = ROOT / "kcli" / "commit.txt"
NOT_NEEDED = (
    "bin",
    "**/__pycache__",
    "**/tests",
    "**/*.pyx",
    "**/*.pxd",
    "**/*.pxi",
    "**/*.h",
    "numpy/f2py",
    "numpy/distutils",
    "pyarrow/include",
    "pyarrow/src",
    "pyarrow/libarrow_python.so",
    "pyarrow/libarrow_python.so.*.*.*",
    *(f"pyarrow/lib{name}.so*" for name in ("arrow_flight", "arrow_s3", "arrow_python_flight")),
    *(f"pyarrow/{name}.*.so" for name in ("_flight", "_dataset_*", "_substrait", "_s3fs", "_gcsfs")),
)
"""Of the packages: what kcli never imports."""


def main():
    """Build everything."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "dist").resolve()
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    # two builds of one checkout break each other
    with open(ROOT / "pyproject.toml", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wheel = packages(target)
    (target / "kcli.1").write_text(man_page())
    with tempfile.TemporaryDirectory() as folder:
        one_file(wheel, Path(folder), target / "kcli.pyz")
    for path in sorted(target.iterdir()):
        print(f"{path.stat().st_size / 1e6:7.2f} MB  {path.name}")


def packages(target):
    """Build sdist and wheel, the wheel from the sdist; return the wheel."""
    words = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    COMMIT.write_text(subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    try:
        python("-m", "build", "--no-isolation", "--outdir", target, ".")
    finally:
        COMMIT.unlink()
    (wheel,) = target.glob("*.whl")
    return wheel


def one_file(wheel, folder, target):
    """Make the file that runs where there is nothing but Python."""
    site = folder / "site-packages"
    limits = ROOT / "constraints.txt"
    python(
        "-m",
        "pip",
        "install",
        "-q",
        "--no-compile",
        "--only-binary",
        ":all:",
        "-c",
        limits,
        "--target",
        site,
        f"{wheel}[sql]",
    )
    for pattern in NOT_NEEDED:
        for path in list(site.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    plain = folder / "plain.pyz"
    python(
        "-m", "shiv.cli", "--site-packages", site, "--compile-pyc", "--extend-pythonpath",
        "--entry-point", "kcli.__main__:main", "--output-file", plain,
    )  # fmt: skip
    main_of_ours = (
        f"VERSION = {tuple(sys.version_info[:2])}\n{(Path(__file__).parent / 'root.py').read_text()}"
    )
    with zipfile.ZipFile(plain) as archive, target.open("wb") as file:
        file.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as ours:
            for entry in archive.infolist():
                ours.writestr(entry, main_of_ours if entry.filename == "__main__.py" else archive.read(entry))
    target.chmod(0o755)


def python(*words):
    """Run this Python in the checkout; what it says is shown if it fails."""
    done = subprocess.run(
        [sys.executable, *map(str, words)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


if __name__ == "__main__":
    main()
