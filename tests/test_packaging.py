"""What `make dist` makes, where there is nothing: no packages, no home, no environment, or no Python."""

import ast
import fcntl
import os
import re
import subprocess
import sys
import tarfile
import zipfile

import pytest

from kcli import __version__
from kcli.manual import page
from tests.packaging.folder import glibc
from tests.packaging.man_page import man_page
from tests.packaging.one_file import first_module
from tests.packaging.pieces import EVERY, FOLDER, HERE, ROOT
from tests.packaging.trial import COMMANDS, EMPTY, answer
from tests.processes import run_program

pytestmark = pytest.mark.slow
PYTHON = os.path.realpath(sys.executable)
ORIGIN = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "remote.origin.url",
    "GIT_CONFIG_VALUE_0": "https://user:password@forge.example/team/kcli.git",
}
"""Where the checkout would have been cloned from."""
X86_64 = pytest.mark.skipif(HERE.machine != "x86_64", reason="the folder is for x86_64")


@pytest.fixture(scope="module")
def built(tmp_path_factory, testrun_uid):
    """The directory of the distributions, which one of the processes of a test run builds."""
    folder = tmp_path_factory.getbasetemp().parent / f"dist-{testrun_uid}"
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            making = tmp_path_factory.mktemp("dist")
            subprocess.run(
                [sys.executable, "-m", "tests.packaging", "--small", making],
                check=True,
                capture_output=True,
                env=os.environ | ORIGIN,
            )
            making.rename(folder)
    return folder


@pytest.fixture(scope="module")
def bare(built, tmp_path_factory):
    """Run the one file with an empty environment, and the packages of this Python out of reach."""
    folder = tmp_path_factory.mktemp("host")

    def run(*words, **environment):
        return run_program(
            [PYTHON, "-I", "-S", built / HERE.file, *map(str, words)],
            env={"PATH": "/usr/bin:/bin", "HOME": "", "TMPDIR": str(folder), **environment},
            cwd=folder,
        )

    return run


def installed(*words):
    """Run the kcli of this checkout."""
    return run_program([sys.executable, "-m", "kcli", *map(str, words)])


@pytest.mark.parametrize("words", COMMANDS)
def test_the_one_file_and_the_folder_answer_as_the_source_does(built, bare, demo, words):
    done = bare(*words.format(demo=demo).split())
    expected = answer([sys.executable, "-m", "kcli"], words, demo)

    assert (done.returncode, done.stdout, done.stderr) == expected
    assert done.returncode == 0 and done.stdout
    if HERE.machine == "x86_64":
        assert answer([built / "kcli" / "kcli"], words, demo, EMPTY) == expected


@X86_64
def test_the_folder_runs_from_elsewhere_with_the_libc_that_the_manual_names(built, tmp_path):
    (tmp_path / "kcli").symlink_to(built / "kcli" / "kcli")
    foreign = {"PATH": "/usr/bin:/bin", "PYTHONHOME": "/nowhere", "PYTHONPATH": str(tmp_path)}
    done = run_program([tmp_path / "kcli", "--version"], env=foreign, cwd=tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (0, f"kcli {__version__}\n", "")
    assert f"glibc {glibc(built / 'kcli')} " in page("intro")


@X86_64
def test_an_answer_about_headers_loads_neither_arrow_nor_duckdb(built, demo):
    code = "import sys; from kcli.__main__ import main; sys.argv[1:] = sys.argv[2:]; main()"
    at_end = "import atexit, sys; atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))"
    start = [built / "kcli" / "bin" / "python3.11", "-I", "-S", "-c", f"{at_end}; {code}", "-"]
    for words in ("ls", "check", "epoch show"):
        loaded = run_program([*start, *words.split(), demo]).stderr.split()
        assert "kcli.__main__" in loaded
        assert [name for name in ("pyarrow", "duckdb", "pyspark", "pandas") if name in loaded] == []


@pytest.mark.parametrize("extension", ["parquet", "csv", "ndjson"])
def test_the_one_file_writes_files(bare, demo, tmp_path, extension):
    paths = [tmp_path / f"{name}.{extension}" for name in ("bare", "installed")]
    columns = "file,base_offset,count,max_timestamp,is_valid"  # not when the run began
    words = ["dump", "--only", "dump_batch", "--columns", columns, demo, "--out"]

    assert bare(*words, paths[0]).returncode == installed(*words, paths[1]).returncode == 0
    assert paths[0].read_bytes() == paths[1].read_bytes() != b""


def test_the_one_file_says_what_it_lacks(bare, demo):
    done = bare("ls", demo, "--spark")

    assert (done.returncode, done.stdout) == (4, "dir\n" if done.stdout == "dir\n" else done.stdout)
    assert "pyspark" in done.stderr and "Traceback" not in done.stderr


def test_the_one_file_unpacks_where_it_may(built, demo, tmp_path):
    def run(**environment):
        done = run_program(
            [PYTHON, "-I", "-S", built / HERE.file, "--version"],
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
    refusal = "kcli: no directory to unpack to: set KCLI_ROOT to one that you may write to\n"
    assert run(HOME="", TMPDIR=str(temporary)) == (1, refusal)
    (home / ".cache" / "kcli").rename(tmp_path / "root")
    assert run(HOME="", TMPDIR=str(temporary), KCLI_ROOT=str(tmp_path / "root")) == version


def test_the_one_file_names_the_one_for_another_python(tmp_path):
    first = tmp_path / "__main__.py"
    first.write_text(first_module(HERE._replace(python=(3, 99)), "0"))
    running = ".".join(map(str, HERE.python))
    done = run_program([PYTHON, "-I", "-S", first])

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"kcli: this file is for CPython 3.99 on {HERE.machine}, not for {running} on {HERE.machine}: "
        f"take {HERE.file}\n"
    )
    assert len({place.file for place in EVERY}) == 8
    ast.parse(first.read_text(), feature_version=(3, 6))  # an old Python says so, too


def test_the_version_has_the_commit_that_was_built(bare):
    said = dict(line.split(maxsplit=1) for line in bare("--version", "-v").stdout.splitlines()[1:])
    head = run_program(["git", "rev-parse", "HEAD"], check=True).stdout

    assert head.startswith(said["commit"].removesuffix("-dirty"))
    assert (said["pyspark"], said["pyarrow"] == "not installed") == ("not installed", False)


def test_the_wheel_has_three_packages_and_the_one_that_spark_looks_for(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("/METADATA"))).decode()

    assert wheel.name == f"kcli_for_kafka-{__version__}-py3-none-any.whl"
    top_level = {name.split("/")[0] for name in names if ".dist-info/" not in name and ".data/" not in name}
    assert top_level == {"formats", "kcli", "commands", "pyspark_kcli"}
    assert {"kcli/py.typed", "kcli/commit.txt", "kcli/manual/intro.md", "kcli/demo/demo.tar.gz"} <= set(names)
    assert {f"kcli/runbooks/{name}" for name in ("pre-start-gate.sh", "alerts.yml", "dashboard.json")} <= {
        *names
    }
    assert {
        f"kcli_for_kafka-{__version__}.data/data/share/{name}"
        for name in ("man/man1/kcli.1", "zsh/site-functions/_kcli", "fish/vendor_completions.d/kcli.fish")
    } <= {*names}
    assert re.findall(r"Project-URL: (.*)", metadata) == [
        "Source, https://forge.example/team/kcli",
        "Issues, https://forge.example/team/kcli/issues",
    ]
    assert re.findall(r"Python :: (3\.\d+)", metadata) == ["3.11", "3.12", "3.13", "3.14"]
    needed = [line for line in metadata.splitlines() if "Requires-Dist" in line and "extra" not in line]
    assert not [line for line in needed if "confluent" in line or "pyspark" in line]
    assert "confluent-kafka" in metadata


def test_the_sdist_builds_without_the_checkout(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"pyproject.toml", "README.md", "LICENSE", "kcli/commit.txt", "formats/batch.py"} <= names


def test_the_man_page_is_built(built):
    assert (built / "kcli.1").read_text() == man_page()


def test_the_container_is_made_of_what_is_built():
    added = re.findall(r"^(?:ADD|COPY) (\S+)", (ROOT / "Containerfile").read_text(), re.MULTILINE)

    assert added == [FOLDER]
    assert f"`{FOLDER}`" in page("intro")
