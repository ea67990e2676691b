"""What `make dist` makes, where there is nothing but Python: no packages, no home, no environment."""

import fcntl
import os
import subprocess
import sys
import tarfile
import zipfile

import pytest

from kcli import __version__
from tests.packaging.man_page import man_page
from tests.processes import run_program

pytestmark = pytest.mark.slow
PYTHON = os.path.realpath(sys.executable)


@pytest.fixture(scope="module")
def built(tmp_path_factory, testrun_uid):
    """The directory of the distributions, which one of the processes of a test run builds."""
    folder = tmp_path_factory.getbasetemp().parent / f"dist-{testrun_uid}"
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            making = tmp_path_factory.mktemp("dist")
            subprocess.run([sys.executable, "-m", "tests.packaging", making], check=True, capture_output=True)
            making.rename(folder)
    return folder


@pytest.fixture(scope="module")
def bare(built, tmp_path_factory):
    """Run the one file with an empty environment, and the packages of this Python out of reach."""
    folder = tmp_path_factory.mktemp("host")

    def run(*words, **environment):
        return run_program(
            [PYTHON, "-I", "-S", built / "kcli.pyz", *map(str, words)],
            env={"PATH": "/usr/bin:/bin", "HOME": "", "TMPDIR": str(folder), **environment},
            cwd=folder,
        )

    return run


def installed(*words):
    """Run the kcli of this checkout."""
    done = run_program([sys.executable, "-m", "kcli", *map(str, words)])
    return done.returncode, done.stdout, done.stderr


COMMANDS = [
    "ls {demo}",
    "ls {demo} -o table",
    "epoch end-offset --epoch all {demo}",
    "truncate --dry-run --to-offset 30 {demo}/orders-0 -o json --fail-on never",
    "dump -o text {demo}/orders-0",
    "dump -o text --print-data-log {demo}",
    "dump -o ndjson --records {demo}",
    "scan {demo} --jobs 2",
    "rlmm dump {demo} -o csv --only rlmm_event",
    "lookup offset 25 {demo} --topic orders",
    "help",
    "sql FROM(epochs)SELECT(topic) {demo}",
    "help truncation",
    "explain EPOCH-003",
    "completion bash",
]


@pytest.mark.parametrize("words", COMMANDS)
def test_the_one_file_answers_as_an_installed_kcli_does(bare, demo, words):
    words = words.format(demo=demo).split()
    done = bare(*words)

    assert (done.returncode, done.stdout, done.stderr) == installed(*words)
    assert done.returncode == 0 and done.stdout


@pytest.mark.parametrize("extension", ["parquet", "csv", "ndjson"])
def test_the_one_file_writes_files(bare, demo, tmp_path, extension):
    paths = [tmp_path / f"{name}.{extension}" for name in ("bare", "installed")]
    words = ["dump", "--only", "dump_batch", demo, "--out"]

    assert bare(*words, paths[0]).returncode == installed(*words, paths[1])[0] == 0
    assert paths[0].read_bytes() == paths[1].read_bytes() != b""


def test_the_one_file_says_what_it_lacks(bare, demo):
    done = bare("ls", demo, "--spark")

    assert (done.returncode, done.stdout) == (4, "dir\n" if done.stdout == "dir\n" else done.stdout)
    assert "pyspark" in done.stderr and "Traceback" not in done.stderr


def test_the_one_file_unpacks_where_it_may(built, demo, tmp_path):
    def run(**environment):
        done = run_program(
            [PYTHON, "-I", "-S", built / "kcli.pyz", "--version"],
            env={"PATH": "/usr/bin:/bin", **environment},
        )
        return done.returncode, done.stdout + done.stderr

    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    version = (0, f"kcli {__version__}\n")
    assert run(HOME=str(home), TMPDIR=str(temporary)) == version
    assert os.listdir(home / ".cache") == ["kcli"] and os.listdir(temporary) == []

    (temporary / f"kcli-{os.getuid()}").mkdir()
    (temporary / f"kcli-{os.getuid()}").chmod(0o777)
    status, said = run(HOME="", TMPDIR=str(temporary))
    assert (status, said.splitlines()) == (
        1,
        ["kcli: no directory to unpack to: set SHIV_ROOT to one that you may write to"],
    )
    (home / ".cache" / "kcli").rename(tmp_path / "root")
    assert run(HOME="", TMPDIR=str(temporary), SHIV_ROOT=str(tmp_path / "root")) == version


def test_the_version_has_the_commit_that_was_built(bare):
    said = dict(line.split(maxsplit=1) for line in bare("--version", "-v").stdout.splitlines()[1:])
    head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout

    assert head.startswith(said["commit"].removesuffix("-dirty"))
    assert (said["pyspark"], said["pyarrow"] == "not installed") == ("not installed", False)


def test_the_wheel_has_three_packages_and_the_one_that_spark_looks_for(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("/METADATA"))).decode()

    assert wheel.name == f"kcli_for_kafka-{__version__}-py3-none-any.whl"
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {
        "formats",
        "kcli",
        "commands",
        "pyspark_kcli",
    }
    assert {"kcli/py.typed", "kcli/commit.txt", "kcli/manual/intro.md", "kcli/demo/demo.tar.gz"} <= set(names)
    assert {f"kcli/runbooks/{name}" for name in ("pre-start-gate.sh", "alerts.yml", "dashboard.json")} <= {
        *names
    }
    needed = [
        line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra" not in line
    ]
    assert not [line for line in needed if "confluent" in line or "pyspark" in line]
    assert "confluent-kafka" in metadata


def test_the_sdist_builds_without_the_checkout(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"pyproject.toml", "README.md", "LICENSE", "kcli/commit.txt", "formats/batch.py"} <= names


def test_the_man_page_is_built(built):
    assert (built / "kcli.1").read_text() == man_page()
