"""`kcli spark submit-command`: the line it prints, and that the line runs as printed."""

import itertools
import os
import shlex
import shutil
import sys
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.processes import run_program

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def submit(kcli, tmp_path, *words):
    return kcli("spark", "submit-command", "--dir", tmp_path / "out", *words)


def test_the_line_names_everything(kcli, tmp_path):
    words = ("--master", "yarn", "--conf", "spark.executor.memory=2g", "--archive", tmp_path / "env.tar.gz")
    done = submit(kcli, tmp_path, *words, "--", "ls", "/data/a b")

    line = shlex.split(done.stdout.splitlines()[-1])
    out = tmp_path / "out"
    assert done.exit_code == 0
    assert line[0] == "PYSPARK_PYTHON=./environment/bin/python"
    assert ("--archives", f"{tmp_path}/env.tar.gz#environment") in itertools.pairwise(line)
    assert ("--conf", "spark.executor.memory=2g") in itertools.pairwise(line)
    assert ("--py-files", str(out / "kcli-packages.zip")) in itertools.pairwise(line)
    assert line[-4:] == [str(out / "kcli-submit.py"), "ls", "--spark", "/data/a b"]
    assert all(text.startswith("#") for text in done.stdout.splitlines()[:-1])


def test_without_an_archive_it_says_how_to_make_one(kcli, tmp_path):
    assert "venv-pack" in submit(kcli, tmp_path, "--", "ls", "/data").stdout
    assert "venv-pack" not in submit(kcli, tmp_path, "--master", "local[2]", "--", "ls", "/data").stdout


def test_the_zip_has_every_module_and_is_the_same_each_time(kcli, tmp_path):
    submit(kcli, tmp_path, "--", "ls", "/data")
    first = (tmp_path / "out" / "kcli-packages.zip").read_bytes()
    submit(kcli, tmp_path, "--", "ls", "/data")

    with zipfile.ZipFile(tmp_path / "out" / "kcli-packages.zip") as packed:
        names = set(packed.namelist())
    expected = {
        str(path.relative_to(ROOT))
        for package in ("formats", "kcli", "commands", "pyspark_kcli")
        for path in (ROOT / package).rglob("*.py")
    }
    assert expected <= names
    others = {name for name in names if not name.endswith(".py")}
    assert others and all(fnmatch(name, "kcli/manual/*.md") for name in others), "findings are in the manual"
    assert (tmp_path / "out" / "kcli-packages.zip").read_bytes() == first


def test_a_dry_run_writes_nothing(kcli, tmp_path):
    done = submit(kcli, tmp_path, "--dry-run", "--", "ls", "/data")

    assert done.exit_code == 0
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("inside", ["", "orders-0", "new", "orders-0/old", "orders-0/new/newer"])
def test_a_log_dir_is_refused(kcli, demo, tmp_path, inside):
    copy = shutil.copytree(demo, tmp_path / "data")
    (copy / "orders-0" / "old").mkdir()
    before = sorted(copy.rglob("*"))

    done = kcli("spark", "submit-command", "--dir", copy / inside, "--", "ls", "/data")

    assert (done.exit_code, done.stdout) == (5, "")
    assert "kcli never writes there" in done.stderr
    assert sorted(copy.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ((), "after --"),
        (("--conf", "x", "--", "ls", "a"), "--conf x: expected KEY=VALUE"),
        (
            ("--", "lss", "/a"),
            "lss is not a command of kcli; expected one of ls, check, diff, report, salvage, bundle, scan,",
        ),
        (("--", "epoch"), "nothing is not a command of kcli; expected one of show,"),
        (("--", "ls", "--jobs", "2", "/a"), "leave out --jobs"),
        (("--", "ls", "--spak", "/a"), "kcli ls --spak /a: no such option: --spak"),
        (("--", "ls", "--limit", "x", "/a"), "kcli ls --limit x /a: --limit: expected"),
        (("--", "epoch", "at"), "kcli epoch at: missing argument OFFSET"),
        (("--", "schema"), "kcli schema reads no paths"),
        (("--", "demo"), "kcli demo reads no paths"),
        (("--", "spark", "submit-command", "--", "ls", "/a"), "kcli spark submit-command reads no paths"),
        (("--", "rlmm", "partition", "u4NdSfWRQjaZ_ENyxMXLJA:0"), "kcli rlmm partition reads no paths"),
        (
            ("--", "ls", "--spark-master", "yarn", "/a"),
            "--spark-master is for a kcli that starts Spark itself: use --master before --",
        ),
        (("--", "ls", "--out", "/x.csv"), "kcli ls: expected at least one PATH"),
    ],
)
def test_a_command_line_that_cannot_run_on_spark_is_refused(kcli, tmp_path, words, answer):
    done = submit(kcli, tmp_path, *words)

    assert (done.exit_code, done.stdout) == (2, "")
    assert answer in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("ls /a", "ls --spark /a"),
        ("ls --spark /a", "ls --spark /a"),
        ("ls -- -a /b", "ls --spark -- -a /b"),
        ("dump --records --grep -- /a", "dump --spark --records --grep -- /a"),
        ("dump --grep --spark /a", "dump --spark --grep --spark /a"),
        ("epoch show -- -- /a", "epoch show --spark -- -- /a"),
    ],
)
def test_the_line_is_one_over_spark_whatever_its_words_mean(kcli, tmp_path, words, line):
    done = submit(kcli, tmp_path, "--dry-run", "--", *words.split())

    printed = shlex.split(done.stdout.splitlines()[-1])
    assert printed[printed.index(str(tmp_path / "out" / "kcli-submit.py")) + 1 :] == line.split()


@pytest.mark.parametrize(
    ("paths", "answer"),
    [(["/data", "-"], False), (["/data", "data"], True), (["/data", "--out", "x.csv"], True)],
)
def test_a_line_that_works_in_one_directory_alone_says_so(kcli, tmp_path, monkeypatch, paths, answer):
    monkeypatch.chdir(tmp_path)
    done = submit(kcli, tmp_path, "--dry-run", "--", "ls", *paths)

    assert (f"# The line works in {tmp_path} alone: paths in it are relative.\n" in done.stdout) is answer


@pytest.mark.parametrize("archive", ["env.tar.gz", "hdfs:///env.tar.gz", "s3a://b/env.tar.gz", "/env.tar.gz"])
def test_an_archive_is_found_from_everywhere(kcli, tmp_path, monkeypatch, archive):
    monkeypatch.chdir(tmp_path)
    line = shlex.split(
        submit(kcli, tmp_path, "--dry-run", "--archive", archive, "--", "ls", "/data").stdout.splitlines()[-1]
    )

    found = line[line.index("--archives") + 1]
    assert found == (f"{tmp_path}/{archive}" if archive == "env.tar.gz" else archive) + "#environment"


def test_a_directory_that_cannot_be_written_is_a_usage_error(kcli, tmp_path):
    (tmp_path / "out").write_text("")

    done = submit(kcli, tmp_path, "--", "ls", "/data")

    assert done.exit_code == 2
    assert "--dir" in done.stderr


@pytest.mark.spark
def test_the_line_runs_as_printed(kcli, demo, tmp_path):
    """Rows, what is damaged, and the exit status are those of a run without Spark."""
    demo = shutil.copytree(demo, tmp_path / "kcli-demo")
    (demo / "payments-0" / "leader-epoch-checkpoint").write_text("x")
    ask = ("epoch", "end-offset", "--epoch", "all", "-o", "csv", demo)
    line = submit(kcli, tmp_path, "--master", "local[2]", "--", *ask).stdout
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"

    done = run_program(["bash", "-c", line], cwd=tmp_path, env=environment)

    local = kcli(*ask)
    assert (done.stdout, done.returncode) == (local.stdout, local.exit_code)
    assert local.stderr and local.stderr in done.stderr
    assert len(done.stdout.splitlines()) > 20
